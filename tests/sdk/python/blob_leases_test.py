"""Leases of blobs: acquire, renew, change, release, break, and what they protect."""

import uuid

from azure.storage.blob import BlobLeaseClient

from helpers import needs_clock, pass_time
from storage import MIB, BlobCase, some_bytes


class Leases(BlobCase):
    def state(self, blob):
        lease = blob.get_blob_properties().lease
        return lease.state, lease.status, lease.duration

    def test_life_of_a_lease(self):
        blob = self.uploaded()
        etag = blob.get_blob_properties().etag
        lease = blob.acquire_lease(lease_duration=60)
        self.assertEqual((lease.etag, self.state(blob)), (etag, ("leased", "locked", "fixed")))
        lease.renew()
        old, new = lease.id, str(uuid.uuid4())
        lease.change(new)
        self.assertEqual(lease.id, new)
        self.refused(409, "LeaseIdMismatchWithLeaseOperation", BlobLeaseClient(blob, old).renew)
        lease.release()
        self.assertEqual(self.state(blob), ("available", "unlocked", None))

    def test_conflicts(self):
        blob = self.uploaded()
        lease = blob.acquire_lease(lease_id=str(uuid.uuid4()))
        self.assertEqual(self.state(blob), ("leased", "locked", "infinite"))
        self.refused(409, "LeaseAlreadyPresent", blob.acquire_lease)
        wrong = str(uuid.uuid4())
        for function, arguments in ((blob.set_blob_metadata, ({"a": "b"},)),
                                    (blob.set_http_headers, ()),
                                    (blob.stage_block, ("1", b"x")),
                                    (blob.commit_block_list, ([],)),
                                    (blob.delete_blob, ())):
            with self.subTest(function.__name__):
                self.refused(412, "LeaseIdMissing", function, *arguments)
                self.refused(412, "LeaseIdMismatchWithBlobOperation", function, *arguments,
                             lease=wrong)
        self.assertEqual(self.read(blob), b"content")
        blob.set_blob_metadata({"a": "b"}, lease=lease)
        blob.upload_blob(b"mine", overwrite=True, lease=lease)
        self.assertEqual(self.read(blob), b"mine")
        self.assertEqual(self.state(blob), ("leased", "locked", "infinite"))
        blob.delete_blob(lease=lease)

    def test_upload_by_the_holder_of_the_lease(self):
        """Not to overwrite is the client's default; the id of the lease says that it may."""
        blob = self.uploaded()
        self.refused(409, "BlobAlreadyExists", blob.upload_blob, b"other")
        lease = blob.acquire_lease()
        blob.upload_blob(b"mine", lease=lease)
        self.assertEqual(self.read(blob, lease=lease), b"mine")
        self.refused(412, "LeaseIdMissing", blob.upload_blob, b"other")
        large = some_bytes(3 * MIB)
        self.small_parts(blob.blob_name).upload_blob(large, lease=lease)
        self.assertEqual(self.read(blob), large)
        lease.release()

    def test_no_lease(self):
        blob = self.uploaded()
        self.refused(412, "LeaseNotPresentWithBlobOperation", blob.set_blob_metadata, {"a": "b"},
                     lease=str(uuid.uuid4()))
        self.refused(409, "LeaseNotPresentWithLeaseOperation", BlobLeaseClient(blob).break_lease)

    @needs_clock
    def test_break(self):
        blob = self.uploaded()
        lease = blob.acquire_lease()
        self.assertIn(lease.break_lease(60), range(1, 61))
        self.assertEqual(self.state(blob)[:2], ("breaking", "locked"))
        self.refused(412, "LeaseIdMissing", blob.set_blob_metadata, {"a": "b"})
        pass_time(61)
        self.assertEqual(self.state(blob)[:2], ("broken", "unlocked"))
        blob.set_blob_metadata({"a": "b"})
        blob.acquire_lease(lease_duration=60).release()
