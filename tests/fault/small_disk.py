"""A server whose disk can be filled up: a tmpfs of its own, so it needs root."""

import os
import subprocess
import tempfile
import unittest

from server import Server

DISK_MB = 256
RESERVE_MB = 16


class SmallDisk(unittest.TestCase):
    """Subclasses have the tests."""

    def setUp(self):
        self.disk = tempfile.mkdtemp(prefix="tavola-disk-")
        self.addCleanup(os.rmdir, self.disk)
        if os.geteuid() != 0:
            self.skipTest("mounting a small tmpfs needs root")
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs",
                                  self.disk], capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"a small tmpfs cannot be mounted: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.disk], check=True)
        self.server = Server("--disk-reserve-mb", str(RESERVE_MB), "--test-points",
                             "--test-values", "silence-ms=600000", engine="rocksdb", data=os.path.join(self.disk, "data"))
        self.addCleanup(self.server.clean)
        self.addCleanup(self.stop)
        self.server.start()

    def stop(self):
        code = self.server.stop()
        self.assertEqual(code, 0, self.server.log()[-4000:])

    def fill(self, leave_mb):
        """Grow a file next to the data until only that much space is free."""
        space = os.statvfs(self.disk)
        more = space.f_bavail * space.f_frsize - leave_mb * 2**20
        with open(os.path.join(self.disk, "filler"), "ab") as filler:
            if more > 0:
                os.posix_fallocate(filler.fileno(), filler.tell(), more)
