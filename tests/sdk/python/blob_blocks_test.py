"""Block blobs: upload whole and in blocks, download whole and in parts, checksums, names."""

import hashlib
import io
import os
import tempfile

from azure.core.exceptions import (HttpResponseError, ResourceExistsError, ResourceModifiedError,
                                   ResourceNotFoundError)
from azure.storage.blob import BlobBlock, ContentSettings

from storage import MIB, BlobCase, name, some_bytes


def md5(data):
    return bytearray(hashlib.md5(data).digest())


class Uploads(BlobCase):
    def test_up_and_down(self):
        blob = self.container.get_blob_client(name())
        put = blob.upload_blob(b"hello, blob")
        self.assertRegex(put["etag"], r'^"?0x[0-9A-F]{15,16}"?$')
        self.assertEqual(put["content_md5"], md5(b"hello, blob"))
        self.assertTrue(put["request_server_encrypted"])
        stream = blob.download_blob()
        self.assertEqual((stream.size, stream.readall()), (11, b"hello, blob"))
        self.assertEqual(stream.properties.etag, put["etag"])
        self.assertEqual(stream.properties.content_settings.content_md5, md5(b"hello, blob"))
        self.assertEqual(stream.properties.content_settings.content_type,
                         "application/octet-stream")
        self.assertEqual(stream.properties.blob_type, "BlockBlob")

    def test_upload_does_not_replace_unless_told(self):
        blob = self.uploaded(b"first")
        self.refused(409, "BlobAlreadyExists", blob.upload_blob, b"second",
                     kind=ResourceExistsError)
        self.assertEqual(self.read(blob), b"first")
        blob.upload_blob(b"second", overwrite=True)
        self.assertEqual(self.read(blob), b"second")

    def test_blob_that_is_not_there(self):
        blob = self.container.get_blob_client(name())
        self.assertFalse(blob.exists())
        for function, arguments in ((blob.download_blob, ()), (blob.get_blob_properties, ()),
                                    (blob.set_blob_metadata, ({"a": "b"},)),
                                    (blob.set_http_headers, ()), (blob.create_snapshot, ()),
                                    (blob.get_block_list, ()), (blob.delete_blob, ())):
            with self.subTest(function.__name__):
                self.refused(404, "BlobNotFound", function, *arguments, kind=ResourceNotFoundError)

    def test_empty_blob(self):
        blob = self.uploaded(b"")
        self.assertEqual(blob.get_blob_properties().size, 0)
        self.assertEqual(self.read(blob), b"")
        self.refused(416, "InvalidRange", blob.download_blob, offset=0, length=1)

    def test_kinds_of_data(self):
        for what, data, expected in (("text", "żółw", "żółw".encode()),
                                     ("bytes", b"\0\xff", b"\0\xff"),
                                     ("file", io.BytesIO(b"a file"), b"a file"),
                                     ("generator", (b"part" for _ in range(3)), b"partpartpart")):
            with self.subTest(what):
                self.assertEqual(self.read(self.uploaded(data)), expected)

    def test_names(self):
        names = ["with space", "100%", "%41 is not A", "a+b", "a/b//c", "ünï-龜🐢", "q?x=1&y#z",
                 "semi;colon,comma", "'single' \"double\"", "(~!*)", "dots..in...it", "<xml>&amp;",
                 "x" * 1024]
        container = self.new_container()
        for one in names:
            with self.subTest(one[:30]):
                blob = container.get_blob_client(one)
                blob.upload_blob(one)
                self.assertEqual(self.read(blob).decode(), one)
        self.assertEqual([b.name for b in container.list_blobs()],
                         sorted(names, key=lambda one: one.encode()))
        self.assertEqual(list(container.list_blob_names()),
                         sorted(names, key=lambda one: one.encode()))
        for one in names:
            container.delete_blob(one)
        self.assertEqual(list(container.list_blobs()), [])

    def test_page_blob_is_refused_with_a_code(self):
        blob = self.container.get_blob_client(name())
        with self.assertRaises(HttpResponseError) as caught:
            blob.create_page_blob(512)
        self.assertTrue(400 <= caught.exception.status_code < 500, caught.exception)
        self.assertTrue(caught.exception.response.headers.get("x-ms-error-code"))
        self.assertFalse(blob.exists())


class Blocks(BlobCase):
    def test_blocks(self):
        blob = self.container.get_blob_client(name())
        for block, content in (("1", b"one"), ("2", b"two"), ("3", b"three")):
            blob.stage_block(block, content)
        self.assertFalse(blob.exists())
        committed, uncommitted = blob.get_block_list("all")
        self.assertEqual((committed, sorted((b.id, b.size) for b in uncommitted)),
                         ([], [("1", 3), ("2", 3), ("3", 5)]))
        put = blob.commit_block_list(
            [BlobBlock("3"), BlobBlock("1"), BlobBlock("2")], metadata={"a": "b"},
            content_settings=ContentSettings(content_type="text/plain"))
        self.assertEqual(self.read(blob), b"threeonetwo")
        got = blob.get_blob_properties()
        self.assertEqual((got.etag, got.metadata, got.content_settings.content_type),
                         (put["etag"], {"a": "b"}, "text/plain"))
        self.assertIsNone(got.content_settings.content_md5)
        blob.stage_block("4", b"vier")
        committed, uncommitted = blob.get_block_list("all")
        self.assertEqual([(b.id, b.size) for b in committed], [("3", 5), ("1", 3), ("2", 3)])
        self.assertEqual([(b.id, b.size) for b in uncommitted], [("4", 4)])
        blob.commit_block_list([BlobBlock("1"), BlobBlock("4")])
        self.assertEqual(self.read(blob), b"onevier")
        self.assertEqual(blob.get_block_list("uncommitted")[1], [])
        self.refused(400, "InvalidBlockList", blob.commit_block_list, [BlobBlock("9")])

    def test_parallel_blocks_and_parts(self):
        data = some_bytes(7 * MIB + 4321)
        blob = self.small_parts(name())
        blob.upload_blob(data, max_concurrency=4)
        self.assertEqual(len(blob.get_block_list()[0]), 8)
        self.assertEqual(blob.download_blob(max_concurrency=4).readall(), data)
        self.assertEqual(b"".join(blob.download_blob().chunks()), data)
        part = blob.download_blob(offset=MIB - 7, length=3 * MIB, max_concurrency=2).readall()
        self.assertEqual(part, data[MIB - 7:4 * MIB - 7])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "blob")
            with open(path, "wb") as file:
                self.assertEqual(blob.download_blob(max_concurrency=4).readinto(file), len(data))
            with open(path, "rb") as file:
                again = self.small_parts(name())
                again.upload_blob(file, max_concurrency=3, length=len(data))
        self.assertEqual(again.download_blob().readall(), data)

    def test_change_in_the_middle_of_a_download(self):
        blob = self.small_parts(name())
        blob.upload_blob(some_bytes(3 * MIB))
        stream = blob.download_blob()
        chunks = stream.chunks()
        next(chunks)
        self.container.get_blob_client(blob.blob_name).upload_blob(b"other", overwrite=True)
        self.refused(412, "ConditionNotMet", lambda: list(chunks), kind=ResourceModifiedError)


class Ranges(BlobCase):
    def test_ranges(self):
        blob = self.uploaded(b"0123456789")
        for offset, length, expected in ((0, 3, b"012"), (4, 2, b"45"), (7, None, b"789"),
                                         (9, 1, b"9"), (5, 1000, b"56789")):
            with self.subTest((offset, length)):
                self.assertEqual(self.read(blob, offset=offset, length=length), expected)
        error = self.refused(416, "InvalidRange", blob.download_blob, offset=10, length=1)
        self.assertEqual(error.response.headers["content-range"], "bytes */10")

    def test_validated(self):
        data = some_bytes(5 * MIB)
        blob = self.small_parts(name())
        blob.upload_blob(data, validate_content=True)
        self.assertEqual(blob.download_blob(validate_content=True).readall(), data)
        self.assertEqual(blob.download_blob(offset=1000, length=2 * MIB,
                                            validate_content=True).readall(),
                         data[1000:2 * MIB + 1000])
        blob.stage_block("1", b"text", validate_content=True)
        blob.commit_block_list([BlobBlock("1")], validate_content=True)
        self.assertEqual(self.read(blob), b"text")

    def test_wrong_md5(self):
        blob = self.uploaded(b"text")

        def spoil(request):
            request.http_request.headers["Content-MD5"] = "AAAAAAAAAAAAAAAAAAAAAA=="

        self.refused(400, "Md5Mismatch", blob.upload_blob, b"TEXT", overwrite=True,
                     raw_request_hook=spoil)
        self.refused(400, "Md5Mismatch", blob.stage_block, "1", b"TEXT", raw_request_hook=spoil)
        self.assertEqual(self.read(blob), b"text")

    def test_md5_of_the_blob_is_kept_as_given(self):
        given = md5(b"something else")
        blob = self.container.get_blob_client(name())
        blob.stage_block("1", b"text")
        blob.commit_block_list([BlobBlock("1")],
                               content_settings=ContentSettings(content_md5=given))
        self.assertEqual(blob.get_blob_properties().content_settings.content_md5, given)
