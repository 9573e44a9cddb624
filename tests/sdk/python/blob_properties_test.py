"""What a blob has in addition to its content: properties, metadata, conditions, snapshots,
copies."""

import time

from azure.core import MatchConditions
from azure.core.exceptions import (HttpResponseError, ResourceModifiedError,
                                   ResourceNotFoundError)
from azure.storage.blob import (BlobSasPermissions, ContentSettings, generate_blob_sas)

from storage import ACCOUNTS, HOUR, SECOND, BlobCase, blob_service, name, now

OTHER = '"0x8D6D4168CB24240"'
CHANGED = {"etag": OTHER, "match_condition": MatchConditions.IfNotModified}


class Properties(BlobCase):
    SETTINGS = {"content_type": "text/plain; charset=utf-8", "content_encoding": "identity",
                "content_language": "de", "cache_control": "max-age=60",
                "content_disposition": 'attachment; filename="a b.txt"'}

    def shown(self, blob):
        settings = blob.get_blob_properties().content_settings
        return {one: settings[one] for one in self.SETTINGS}

    def test_content_settings(self):
        blob = self.uploaded(content_settings=ContentSettings(**self.SETTINGS))
        self.assertEqual(self.shown(blob), self.SETTINGS)
        listed, = self.container.list_blobs(name_starts_with=blob.blob_name)
        self.assertEqual({one: listed.content_settings[one] for one in self.SETTINGS},
                         self.SETTINGS)
        blob.set_http_headers(ContentSettings(content_type="text/html"))
        self.assertEqual(self.shown(blob),
                         {**dict.fromkeys(self.SETTINGS), "content_type": "text/html"})

    def test_metadata(self):
        blob = self.uploaded(metadata={"one": "1", "two": "zwei"})
        first = blob.get_blob_properties()
        self.assertEqual(first.metadata, {"one": "1", "two": "zwei"})
        blob.set_blob_metadata({"three": "drei = 3"})
        second = blob.get_blob_properties()
        self.assertEqual(second.metadata, {"three": "drei = 3"})
        self.assertNotEqual(second.etag, first.etag)
        self.assertEqual(second.creation_time, first.creation_time)

    def test_all_that_head_tells(self):
        got = self.uploaded(b"12345").get_blob_properties()
        self.assertEqual((got.size, got.blob_type, got.server_encrypted), (5, "BlockBlob", True))
        self.assertEqual((got.lease.state, got.lease.status, got.lease.duration),
                         ("available", "unlocked", None))
        self.assertEqual((got.blob_tier, got.blob_tier_inferred), ("Hot", True))
        self.assertTrue(got.creation_time and got.last_modified)


class Conditions(BlobCase):
    def test_reads(self):
        blob = self.uploaded()
        etag = blob.get_blob_properties().etag
        same = {"etag": etag, "match_condition": MatchConditions.IfNotModified}
        for get in (blob.download_blob, blob.get_blob_properties):
            with self.subTest(get.__name__):
                get(**same)
                get(if_modified_since=now() - HOUR)
                get(if_unmodified_since=now() + HOUR)
                self.refused(412, "ConditionNotMet", get, **CHANGED, kind=ResourceModifiedError)
                self.refused(412, "ConditionNotMet", get, if_unmodified_since=now() - HOUR,
                             kind=ResourceModifiedError)
                for unchanged in ({"if_modified_since": now() + HOUR},
                                  {"etag": etag, "match_condition": MatchConditions.IfModified}):
                    with self.assertRaises(HttpResponseError) as caught:
                        get(**unchanged)
                    self.assertEqual(caught.exception.status_code, 304)

    def test_writes(self):
        blob = self.uploaded()
        etag = blob.get_blob_properties().etag
        same = {"etag": etag, "match_condition": MatchConditions.IfNotModified}
        for function, arguments in ((blob.upload_blob, (b"x",)), (blob.set_blob_metadata, ({},)),
                                    (blob.set_http_headers, ()), (blob.create_snapshot, ()),
                                    (blob.commit_block_list, ([],)), (blob.delete_blob, ())):
            named = {"overwrite": True} if function == blob.upload_blob else {}
            with self.subTest(function.__name__):
                self.refused(412, "ConditionNotMet", function, *arguments, **CHANGED, **named,
                             kind=ResourceModifiedError)
                self.refused(412, "ConditionNotMet", function, *arguments, **named,
                             if_unmodified_since=now() - HOUR, kind=ResourceModifiedError)
        blob.upload_blob(b"new", overwrite=True, **same)
        self.refused(412, "ConditionNotMet", blob.upload_blob, b"newer", overwrite=True, **same,
                     kind=ResourceModifiedError)
        blob.delete_blob(etag=blob.get_blob_properties().etag,
                         match_condition=MatchConditions.IfNotModified)


class Snapshots(BlobCase):
    def at(self, blob, snapshot):
        return self.container.get_blob_client(blob.blob_name, snapshot=snapshot)

    def test_snapshot_keeps_what_was(self):
        blob = self.uploaded(b"first", metadata={"n": "1"})
        snapshot = blob.create_snapshot()["snapshot"]
        self.assertRegex(snapshot, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$")
        blob.upload_blob(b"second", overwrite=True)
        old = self.at(blob, snapshot)
        self.assertEqual(self.read(old), b"first")
        self.assertEqual(old.get_blob_properties().metadata, {"n": "1"})
        self.assertEqual(self.read(blob), b"second")
        listed = list(self.container.list_blobs(name_starts_with=blob.blob_name,
                                                include=["snapshots"]))
        self.assertEqual([(b.snapshot, b.size) for b in listed], [(snapshot, 5), (None, 6)])

    def test_deleting_with_snapshots(self):
        blob = self.uploaded()
        one, two = (blob.create_snapshot()["snapshot"] for _ in range(2))
        self.refused(409, "SnapshotsPresent", blob.delete_blob)
        self.at(blob, one).delete_blob()
        blob.delete_blob(delete_snapshots="only")
        self.refused(404, "BlobNotFound", self.at(blob, two).get_blob_properties,
                     kind=ResourceNotFoundError)
        self.assertTrue(blob.exists())
        blob.create_snapshot()
        blob.delete_blob(delete_snapshots="include")
        self.assertFalse(blob.exists())


class Copies(BlobCase):
    def signed(self, blob, account):
        token = generate_blob_sas(account, blob.container_name, blob.blob_name,
                                  account_key=ACCOUNTS[account][0],
                                  permission=BlobSasPermissions(read=True), expiry=now() + HOUR)
        return f"{blob.url}?{token}"

    def finished(self, blob):
        deadline = time.monotonic() + 60
        while True:
            copy = blob.get_blob_properties().copy
            if copy.status != "pending" or time.monotonic() > deadline:
                return copy
            time.sleep(0.05)

    def test_copy_in_the_account(self):
        source = self.uploaded(b"to be copied", metadata={"a": "b"},
                               content_settings=ContentSettings(content_type="text/plain"))
        target = self.container.get_blob_client(name())
        answer = target.start_copy_from_url(source.url)
        self.assertIn(answer["copy_status"], ("success", "pending"))
        copy = self.finished(target)
        self.assertEqual((copy.status, copy.id, copy.progress),
                         ("success", answer["copy_id"], "12/12"))
        self.assertEqual(self.read(target), b"to be copied")
        got = target.get_blob_properties()
        self.assertEqual((got.metadata, got.content_settings.content_type),
                         ({"a": "b"}, "text/plain"))
        self.refused(409, "NoPendingCopyOperation", target.abort_copy, answer["copy_id"])

    def test_copy_in_one_step_and_from_another_account(self):
        there = self.new_container(SECOND)
        source = there.upload_blob("source", b"from afar")
        target = self.container.get_blob_client(name())
        with self.assertRaises(HttpResponseError) as caught:
            target.start_copy_from_url(source.url)
        self.assertTrue(400 <= caught.exception.status_code < 500)
        target.start_copy_from_url(self.signed(source, SECOND), requires_sync=True)
        self.assertEqual(self.read(target), b"from afar")

    def test_source_that_is_not_there_or_not_ours(self):
        target = self.container.get_blob_client(name())
        with self.assertRaises(ResourceNotFoundError):
            target.start_copy_from_url(self.container.get_blob_client("none").url)
        with self.assertRaises(HttpResponseError) as caught:
            target.start_copy_from_url("http://127.0.0.1:1/account/container/blob")
        self.assertTrue(400 <= caught.exception.status_code < 500, caught.exception)

    def test_conditions_of_the_source(self):
        source, target = self.uploaded(b"new"), self.uploaded(b"old")
        self.refused(412, "SourceConditionNotMet", target.start_copy_from_url, source.url,
                     source_if_unmodified_since=now() - HOUR)
        self.assertEqual(self.read(target), b"old")
        target.start_copy_from_url(source.url, source_if_modified_since=now() - HOUR)
        self.assertEqual(self.finished(target).status, "success")
        self.assertEqual(self.read(target), b"new")


class Others(BlobCase):
    def test_blobs_of_two_accounts_are_apart(self):
        blob = self.uploaded()
        theirs = blob_service(SECOND).get_blob_client(self.container.container_name, blob.blob_name)
        self.assertFalse(theirs.exists())
