"""A blob of 150 MB, up and down in parallel parts, while the server holds little of it."""

import hashlib
import os
import tempfile

import server

from storage import BlobCase, some_bytes

LENGTH = 150_000_000
PID = os.environ.get("SDK_TEST_SERVER_PID")
PEAK_MIB_MAX = int(os.environ.get("SDK_TEST_PEAK_MIB") or 512)


class Large(BlobCase):
    def measured(self, what, function):
        if PID:
            with open(f"/proc/{PID}/clear_refs", "w", encoding="ascii") as file:
                file.write("5")  # forget the peak so far
        function()
        if PID:
            peak_mib = server.peak_memory_kib(PID) / 1024
            print(f"    {what}: the server's peak memory {peak_mib:.0f} MiB", flush=True)
            self.assertLess(peak_mib, PEAK_MIB_MAX)

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
                self.measured("150 MB up, four at a time",
                              lambda: blob.upload_blob(file, max_concurrency=4, length=LENGTH))
            self.assertEqual(blob.get_blob_properties().size, LENGTH)
            with open(target, "wb") as file:
                self.measured("150 MB down, four at a time",
                              lambda: blob.download_blob(max_concurrency=4).readinto(file))
            self.assertEqual(self.checksum(target), self.checksum(source))

    def checksum(self, path):
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
