"""Bodies of any size and any number pass through a bounded memory.

The numbers are VmHWM of the release build ($TAVOLAD_RELEASE) where there is one;
a sanitizer's shadow would drown them.  The data goes to memory (/dev/shm) where
that has the room, so that the disk is not what is measured.
"""

import os
import select
import shutil
import socket
import tempfile
import unittest
import zlib

from blob_client import Client, until_no_extents
from server import Server

CLIENTS = 64
MIB = 2**20
MEMORY_MIB_MAX = 256
# Whatever kept these in memory would need more than that: twice and four times as much.
SIZE = 16 * MIB
STREAM = 512 * MIB
ROOM = max(CLIENTS * SIZE, STREAM) * 3 // 2
CONTAINER = "much"
PIECE = os.urandom(MIB)


def roomy_folder():
    """A folder with room for the largest test and half of it again."""
    for parent in ("/dev/shm", tempfile.gettempdir()):
        if os.path.isdir(parent) and shutil.disk_usage(parent).free > ROOM:
            return tempfile.mkdtemp(prefix="tavola-much-", dir=parent)
    raise unittest.SkipTest(f"no folder has {ROOM // MIB} MiB of room")


class BlobMemory(unittest.TestCase):
    def setUp(self):
        self.folder = roomy_folder()
        self.addCleanup(shutil.rmtree, self.folder)
        self.server = Server("--test-points", "--test-values", "silence-ms=600000",
                             program=os.environ.get("TAVOLAD_RELEASE"), engine="rocksdb",
                             data=os.path.join(self.folder, "data"))
        self.addCleanup(self.server.clean)
        self.server.start()
        self.addCleanup(self.stop)
        self.client = Client(self.server.blob_port, timeout_s=300)
        self.addCleanup(self.client.close)
        self.assertEqual(self.client.create_container(CONTAINER).status, 201)
        self.idle = self.server.peak_memory_kib() // 1024

    def stop(self):
        self.assertEqual(self.server.stop(60), 0, self.server.log()[-4000:])

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.server.blob_port), timeout=300)

    def is_bounded(self, what):
        peak = self.server.peak_memory_kib() // 1024
        print(f"  blob/memory: {what}: {self.idle} MiB before, {peak} MiB at most", flush=True)
        self.assertLess(peak, MEMORY_MIB_MAX)

    def end(self):
        self.assertEqual(self.client.delete_container(CONTAINER).status, 202)
        until_no_extents(self, self.server)

    def test_slow_uploads(self):
        """All of them under way at once, a little of each at a time."""
        uploads = [self.connect() for _ in range(CLIENTS)]
        for i, upload in enumerate(uploads):
            upload.sendall(self.client.head_of("PUT", f"{CONTAINER}/{i}", SIZE,
                                               x_ms_blob_type="BlockBlob"))
        for _ in range(SIZE // MIB):
            for upload in uploads:
                upload.sendall(PIECE)
        for upload in uploads:
            answer = upload.recv(65536)
            self.assertTrue(answer.startswith(b"HTTP/1.1 201 "), answer)
            upload.close()
        self.is_bounded(f"{CLIENTS} uploads of {SIZE // MIB} MiB")
        for i in (0, CLIENTS - 1):
            reply = self.client.get(f"{CONTAINER}/{i}")
            self.assertEqual(reply.body, PIECE * (SIZE // MIB))
        self.end()

    def test_slow_downloads(self):
        content = PIECE * (SIZE // MIB)
        self.assertEqual(self.client.put(f"{CONTAINER}/a", content).status, 201)
        downloads = [self.connect() for _ in range(CLIENTS)]
        for download in downloads:
            download.sendall(self.client.head_of("GET", f"{CONTAINER}/a", None,
                                                 Connection="close"))
        for download in downloads:  # all are under way before one is read
            self.assertTrue(select.select([download], [], [], 60)[0])
        read = dict.fromkeys(downloads, 0)
        while read:
            ready, _, _ = select.select(list(read), [], [], 60)
            self.assertTrue(ready, "the downloads stand still")
            for download in ready:
                part = download.recv(MIB // 4)
                read[download] += len(part)
                if not part:
                    self.assertGreater(read.pop(download), SIZE)
                    download.close()
        self.is_bounded(f"{CLIENTS} downloads of {SIZE // MIB} MiB")
        self.end()

    def test_one_that_is_large(self):
        """Much in one request, and out again."""
        sent = got = 0
        with self.connect() as upload:
            upload.sendall(self.client.head_of("PUT", f"{CONTAINER}/large", STREAM,
                                               x_ms_blob_type="BlockBlob"))
            for i in range(STREAM // MIB):
                piece = PIECE[i % MIB:] + PIECE[:i % MIB]
                upload.sendall(piece)
                sent = zlib.crc32(piece, sent)
            answer = upload.recv(65536)
        self.assertTrue(answer.startswith(b"HTTP/1.1 201 "), answer)
        self.is_bounded(f"{STREAM // MIB} MiB in")

        with self.connect() as download:
            download.sendall(self.client.head_of("GET", f"{CONTAINER}/large", None,
                                                 Connection="close"))
            data = download.recv(MIB)
            while b"\r\n\r\n" not in data:
                data += download.recv(MIB)
            self.assertTrue(data.startswith(b"HTTP/1.1 200 "), data[:200])
            data = data.partition(b"\r\n\r\n")[2]
            length = 0
            while data:
                got, length = zlib.crc32(data, got), length + len(data)
                data = download.recv(MIB)
        self.assertEqual((length, got), (STREAM, sent))
        self.is_bounded(f"{STREAM // MIB} MiB out")
        self.end()
