"""A blob of 300 MB, up and down in parallel parts, while the server holds little of it."""

import hashlib
import os
import tempfile
import time

import server

from storage import BlobCase, some_bytes

LENGTH = 300_000_000
# The sanitizers of a test build keep up to 256 MiB of what was freed.
PEAK_MIB_MAX = 512
PID = os.environ.get("SDK_TEST_SERVER_PID")


class Large(BlobCase):
    def timed(self, what, function):
        if PID:
            with open(f"/proc/{PID}/clear_refs", "w", encoding="ascii") as file:
                file.write("5")  # forget the peak so far
        began = time.monotonic()
        function()
        figure = f"{what}: {LENGTH / 1e6 / (time.monotonic() - began):.0f} MB/s"
        if PID:
            peak_mib = server.peak_memory_kib(PID) / 1024
            figure += f", server's peak memory {peak_mib:.0f} MiB"
            self.assertLess(peak_mib, PEAK_MIB_MAX)
        print(f"    {figure}", flush=True)

    def test_up_and_down(self):
        part = bytearray(some_bytes(1_000_000))
        with tempfile.TemporaryDirectory(prefix="tavola-sdk-") as folder:
            source, target = os.path.join(folder, "source"), os.path.join(folder, "target")
            with open(source, "wb") as file:
                for at in range(LENGTH // len(part)):
                    part[:4] = at.to_bytes(4, "little")
                    file.write(part)
            blob = self.container.get_blob_client("large")
            with open(source, "rb") as file:
                self.timed("300 MB up, four at a time",
                           lambda: blob.upload_blob(file, max_concurrency=4, length=LENGTH))
            self.assertEqual(blob.get_blob_properties().size, LENGTH)
            with open(target, "wb") as file:
                self.timed("300 MB down, four at a time",
                           lambda: blob.download_blob(max_concurrency=4).readinto(file))
            self.assertEqual(self.checksum(target), self.checksum(source))

    def checksum(self, path):
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
