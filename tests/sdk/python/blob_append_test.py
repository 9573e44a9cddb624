"""Append blobs: create, append, their conditions, and that they are not block blobs."""

from azure.core import MatchConditions
from azure.core.exceptions import ResourceModifiedError, ResourceNotFoundError

from storage import BlobCase, name, some_bytes


class Appends(BlobCase):
    def appendable(self, **options):
        blob = self.container.get_blob_client(name())
        blob.create_append_blob(**options)
        return blob

    def test_growing(self):
        blob = self.appendable(metadata={"a": "b"})
        first = blob.append_block(b"one, ")
        self.assertEqual((first["blob_append_offset"], first["blob_committed_block_count"]),
                         ("0", 1))
        second = blob.append_block("two")
        self.assertEqual((second["blob_append_offset"], second["blob_committed_block_count"]),
                         ("5", 2))
        self.assertEqual(self.read(blob), b"one, two")
        got = blob.get_blob_properties()
        self.assertEqual((got.blob_type, got.size, got.append_blob_committed_block_count, got.etag),
                         ("AppendBlob", 8, 2, second["etag"]))

    def test_upload_appends(self):
        blob = self.container.get_blob_client(name())
        data = some_bytes(5_000_000)
        blob.upload_blob(data, blob_type="AppendBlob")
        blob.upload_blob(b"more", blob_type="AppendBlob", overwrite=False)
        self.assertEqual(self.read(blob), data + b"more")

    def test_conditions(self):
        blob = self.appendable()
        etag = blob.get_blob_properties().etag
        blob.append_block(b"12345", appendpos_condition=0)
        self.refused(412, "AppendPositionConditionNotMet", blob.append_block, b"x",
                     appendpos_condition=4)
        blob.append_block(b"67890", appendpos_condition=5, maxsize_condition=10)
        self.refused(412, "MaxBlobSizeConditionNotMet", blob.append_block, b"x",
                     maxsize_condition=10)
        self.refused(412, "ConditionNotMet", blob.append_block, b"x", etag=etag,
                     match_condition=MatchConditions.IfNotModified, kind=ResourceModifiedError)
        self.assertEqual(self.read(blob), b"1234567890")

    def test_checked(self):
        blob = self.appendable()
        blob.append_block(b"text", validate_content=True)

        def spoil(request):
            request.http_request.headers["Content-MD5"] = "AAAAAAAAAAAAAAAAAAAAAA=="

        self.refused(400, "Md5Mismatch", blob.append_block, b"text", raw_request_hook=spoil)
        self.assertEqual(self.read(blob), b"text")

    def test_wrong_types(self):
        block, append = self.uploaded(), self.appendable()
        self.refused(409, "InvalidBlobType", block.append_block, b"x")
        self.refused(409, "InvalidBlobType", append.stage_block, "1", b"x")
        missing = self.container.get_blob_client(name())
        self.refused(404, "BlobNotFound", missing.append_block, b"x", kind=ResourceNotFoundError)
