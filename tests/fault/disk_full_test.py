"""A full disk turns writes into 503 while reads go on; space heals it; nothing is lost.

The data folder is a tmpfs of its own, so the test needs root.
"""

import os
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from table_client import Client
from server import Server

DISK_MB = 256
RESERVE_MB = 16
TABLE = "disk"


class SmallDisk(unittest.TestCase):
    """A server whose disk can be filled up; subclasses have the tests."""

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
        self.server = Server("--disk-reserve-mb", str(RESERVE_MB), engine="rocksdb",
                             data=os.path.join(self.disk, "data"))
        self.addCleanup(self.server.clean)
        self.addCleanup(self.stop)
        self.server.start()

    def stop(self):
        code = self.server.stop()
        self.assertEqual(code, 0, self.server.log()[-4000:])

    def fill(self, leave_mb):
        """Grow a file beside the data until only that much space is free."""
        space = os.statvfs(self.disk)
        more = space.f_bavail * space.f_frsize - leave_mb * 2**20
        with open(os.path.join(self.disk, "filler"), "ab") as filler:
            if more > 0:
                os.posix_fallocate(filler.fileno(), filler.tell(), more)


class DiskFull(SmallDisk):
    def setUp(self):
        super().setUp()
        self.client = Client(self.server.table_port)
        self.addCleanup(self.client.close)
        self.assertEqual(self.client.create_table(TABLE).status, 204)
        self.written, self.refused = set(), set()
        self.serial = 0

    def write(self):
        """Insert one entity, keep the books, return the reply."""
        self.serial += 1
        row = f"{self.serial:06}"
        reply = self.client.insert(TABLE, {"PartitionKey": "p", "RowKey": row, "s": "x" * 500})
        (self.written if reply.status == 204 else self.refused).add(row)
        if reply.status != 204:
            self.assertEqual((reply.status, reply.code), (503, "ServerBusy"), reply)
        return reply

    def until_writes_are(self, status):
        """The server may look at the disk only now and then."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if self.write().status == status:
                return
            time.sleep(0.05)
        self.fail(f"writes did not become {status}:\n{self.server.log()[-2000:]}")

    def reads_go_on(self):
        self.assertEqual(self.client.get(TABLE, "p", min(self.written)).status, 200)
        self.assertEqual({e["RowKey"] for e in self.client.scan(TABLE)}, self.written)

    def health_answers(self):
        try:
            with urllib.request.urlopen(self.server.admin_url + "/healthz", timeout=5) as reply:
                self.assertEqual(reply.status, 200)
        except urllib.error.HTTPError as error:
            self.assertEqual(error.code, 503)

    def test_full_disk(self):
        for _ in range(200):
            self.assertEqual(self.write().status, 204)

        self.fill(leave_mb=RESERVE_MB // 2)
        self.until_writes_are(503)
        entities = [{"PartitionKey": "p", "RowKey": f"batch{i}"} for i in range(10)]
        reply = self.client.batch(TABLE, entities)
        self.assertEqual((reply.status, reply.code), (503, "ServerBusy"), reply)
        self.reads_go_on()
        self.health_answers()

        # Not a byte is left, as when the neighbour did not stop at the reserve.
        self.fill(leave_mb=0)
        for _ in range(20):
            self.assertEqual(self.write().status, 503)
        self.reads_go_on()
        self.assertIsNone(self.server.process.poll(), "the server died")

        os.unlink(os.path.join(self.disk, "filler"))
        self.until_writes_are(204)
        for _ in range(50):
            self.assertEqual(self.write().status, 204)

        self.server.kill()
        self.client.close()
        self.server.start()
        self.reads_go_on()
        self.assertEqual(self.write().status, 204)


if __name__ == "__main__":
    unittest.main()
