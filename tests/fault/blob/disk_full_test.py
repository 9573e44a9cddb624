"""A full disk turns uploads into 503 while reads go on; space heals it; no file is left over.

The data folder is a tmpfs of its own, so the test needs root.
"""

import errno
import os
import socket

from blob_client import Client, extent_files, until_no_extents
from fault.small_disk import RESERVE_MB, SmallDisk
from until import until

CONTAINER = "disk"
MIB = 2**20


class BlobDiskFull(SmallDisk):
    def setUp(self):
        super().setUp()
        self.client = Client(self.server.blob_port)
        self.addCleanup(self.client.close)
        self.assertEqual(self.client.create_container(CONTAINER).status, 201)
        self.written = {}
        self.serial = 0

    def write(self, size=MIB):
        """Put one blob, record it, return the reply."""
        self.serial += 1
        path, content = f"{CONTAINER}/{self.serial:06}", os.urandom(size)
        reply = self.client.put(path, content)
        if reply.status == 201:
            self.written[path] = content
        else:
            self.assertEqual((reply.status, reply.code), (503, "ServerBusy"), reply)
        return reply

    def until_writes_are(self, status):
        until(lambda: self.write().status == status,
              lambda: f"writes become {status}:\n{self.server.log()[-2000:]}")

    def is_busy(self, reply):
        self.assertEqual((reply.status, reply.code), (503, "ServerBusy"), reply)

    def reads_go_on(self):
        listed = {f"{CONTAINER}/{blob.name}" for blob in self.client.list(CONTAINER)}
        self.assertEqual(listed, {self.log, *self.written})
        for path, content in self.written.items():
            self.assertEqual(self.client.get(path).body, content, path)
        self.assertEqual(self.client.get(self.log).body, b"line")

    def files_are_those_of_blobs(self):
        until(lambda: len(extent_files(self.server.data)) == len(self.written),
              lambda: f"{len(self.written)} files, not {len(extent_files(self.server.data))}")

    def fill_up(self):
        """Take the last byte, whoever else is writing."""
        for _ in range(100):
            try:
                self.fill(leave_mb=0)
                return
            except OSError as error:
                self.assertEqual(error.errno, errno.ENOSPC)

    def upload_until_it_is_full(self):
        """The disk fills up in the middle of a body that had room when it began."""
        self.fill(leave_mb=RESERVE_MB + 40)
        head = self.client.head_of("PUT", f"{CONTAINER}/huge", 100 * MIB,
                                   x_ms_blob_type="BlockBlob")
        piece = os.urandom(MIB)
        with socket.create_connection(("127.0.0.1", self.server.blob_port), timeout=60) as s:
            before = {path for path, _ in extent_files(self.server.data)}
            s.sendall(head + piece * 10)
            until(lambda: {path for path, _ in extent_files(self.server.data)} - before,
                  "the upload has begun")
            self.fill_up()
            s.sendall(piece * 10)
            answer = s.recv(65536)
        self.assertRegex(answer, rb"^HTTP/1.1 503 (?s:.*)ServerBusy")
        self.assertEqual(self.client.get(f"{CONTAINER}/huge").status, 404)

    def test_full_disk(self):
        self.log = f"{CONTAINER}/log"
        self.assertEqual(self.client.put_append(self.log).status, 201)
        self.assertEqual(self.client.append(self.log, b"line").status, 201)
        for _ in range(20):
            self.assertEqual(self.write().status, 201)

        self.upload_until_it_is_full()
        self.until_writes_are(503)
        some = min(self.written)
        self.is_busy(self.client.put_block(f"{CONTAINER}/blocks", 0, b"x" * MIB))
        self.is_busy(self.client.append(self.log, b"x" * MIB))
        self.is_busy(self.client.put(some, b"x" * MIB))
        self.is_busy(self.client.put(f"{CONTAINER}/small", b"x"))
        self.is_busy(self.client.copy(f"{CONTAINER}/copy", some))
        self.is_busy(self.client.snapshot(some))
        self.reads_go_on()
        self.files_are_those_of_blobs()
        self.assertIsNone(self.server.process.poll(), "the server died")

        os.unlink(os.path.join(self.disk, "filler"))
        self.until_writes_are(201)
        for _ in range(10):
            self.assertEqual(self.write().status, 201)
        self.files_are_those_of_blobs()

        self.server.kill()
        self.client.close()
        self.server.start()
        self.reads_go_on()
        self.files_are_those_of_blobs()
        self.assertEqual(self.client.delete_container(CONTAINER).status, 202)
        until_no_extents(self, self.server)
