"""No file of large data without a blob: clients that vanish, containers that go, deletes."""

import socket
import struct
import unittest

from blob_client import Client, extent_files, numbers, until_no_extents
from fault.half import send_head
from server import Server
from until import until

SIZE = 3 * 2**20
CONTENT = bytes(range(256)) * (SIZE // 256)


class BlobFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(engine="rocksdb")
        cls.server.start()

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        log = cls.server.log()
        cls.server.clean()
        if code != 0:
            raise AssertionError(f"the server ended with exit code {code}: {log[-4000:]}")

    def setUp(self):
        self.client = Client(self.server.blob_port)
        self.addCleanup(self.client.close)
        self.name = self.id().rpartition("_")[2]
        self.ok(self.client.create_container(self.name))

    def ok(self, reply):
        self.assertLess(reply.status, 300, reply)
        return reply

    def end(self):
        self.ok(self.client.delete_container(self.name))
        until_no_extents(self, self.server)

    def until_files_are(self, count):
        until(lambda: len(extent_files(self.server.data)) == count == numbers(self.server)[0],
              lambda: f"{count} files, not {extent_files(self.server.data)}, {numbers(self.server)}")

    def vanish(self, path, sent, is_rude, **headers):
        """Announce SIZE bytes, send some of them, and disconnect."""
        head = self.client.head_of("PUT", path, SIZE, **headers)
        with socket.create_connection(("127.0.0.1", self.server.blob_port), timeout=60) as s:
            send_head(s, head)
            s.sendall(CONTENT[:sent])
            if is_rude:  # a reset instead of an end
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def test_client_that_vanishes(self):
        """In the middle of an upload, at its start and one byte before its end."""
        block = {"x_ms_blob_type": "BlockBlob"}
        self.ok(self.client.put_append(f"{self.name}/log"))
        self.ok(self.client.put(f"{self.name}/old", CONTENT))
        self.until_files_are(1)
        for sent in (0, 1, 70000, SIZE // 2, SIZE - 1):
            for is_rude in (False, True):
                self.vanish(f"{self.name}/new", sent, is_rude, **block)
                self.vanish(f"{self.name}/old", sent, is_rude, **block)
                self.vanish(f"{self.name}/new?comp=block&blockid=AAAA", sent, is_rude)
                self.vanish(f"{self.name}/log?comp=appendblock", sent, is_rude)
        self.until_files_are(1)
        self.assertEqual(self.client.get(f"{self.name}/old").body, CONTENT)
        self.assertEqual(self.client.get(f"{self.name}/log").body, b"")
        self.assertEqual({b.name for b in self.client.list(self.name, "uncommittedblobs")},
                         {"log", "old"})
        self.end()

    def test_upload_that_is_refused_at_its_end(self):
        """A wrong checksum, a condition that is not met, a lease: known when all is written."""
        path = f"{self.name}/a"
        self.ok(self.client.put(path, CONTENT))
        for headers in ({"Content_MD5": "AAAAAAAAAAAAAAAAAAAAAA=="}, {"If_None_Match": "*"},
                        {"If_Match": '"0x1"'},
                        {"x_ms_lease_id": "11111111-2222-3333-4444-555555555555"}):
            reply = self.client.put(path, CONTENT[::-1], **headers)
            self.assertIn(reply.status, (400, 409, 412), reply)
        self.until_files_are(1)
        self.assertEqual(self.client.get(path).body, CONTENT)
        self.end()

    def test_container_that_goes(self):
        """With blobs, snapshots, copies, appends and blocks that were never committed."""
        path = f"{self.name}/a"
        self.ok(self.client.put(path, CONTENT))
        self.ok(self.client.snapshot(path))
        self.ok(self.client.put(path, CONTENT[::-1]))
        self.ok(self.client.copy(f"{self.name}/b", path))
        self.ok(self.client.put_append(f"{self.name}/log"))
        self.ok(self.client.append(f"{self.name}/log", CONTENT))
        for number in range(5):
            self.ok(self.client.put_block(f"{self.name}/blocks", number, CONTENT))
        self.assertEqual(len(extent_files(self.server.data)), 9)
        self.end()

    def test_overwritten_and_deleted_one_by_one(self):
        path = f"{self.name}/a"
        for _ in range(3):
            self.ok(self.client.put(path, CONTENT))
        self.until_files_are(1)
        self.ok(self.client.snapshot(path))
        self.ok(self.client.put(path, CONTENT[::-1]))
        self.until_files_are(2)
        for number in range(4):
            self.ok(self.client.put_block(path, number, CONTENT))
        self.until_files_are(6)
        self.ok(self.client.put_blocks(path, (0, 1)))  # the others go, and the content that was
        self.until_files_are(3)
        self.ok(self.client.delete(path))
        until_no_extents(self, self.server)
        self.end()

    def test_reader_of_what_is_deleted(self):
        """A client that has begun to read gets every byte; then the file goes."""
        path = f"{self.name}/a"
        large = CONTENT * 8
        self.ok(self.client.put(path, large))
        with socket.create_connection(("127.0.0.1", self.server.blob_port), timeout=60) as s:
            s.sendall(self.client.head_of("GET", path, None, Connection="close"))
            answer = s.recv(1024)
            self.ok(self.client.delete(path))
            self.assertEqual(self.client.get(path).status, 404)
            until(lambda: not extent_files(self.server.data) or numbers(self.server)[2],
                  "the file is to be removed")
            while part := s.recv(1 << 20):
                answer += part
        self.assertEqual(answer.partition(b"\r\n\r\n")[2], large)
        until_no_extents(self, self.server)
        self.end()

    def test_reader_that_vanishes(self):
        path = f"{self.name}/a"
        self.ok(self.client.put(path, CONTENT * 8))
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", self.server.blob_port), timeout=60) as s:
                s.sendall(self.client.head_of("GET", path, None))
                s.recv(1024)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.ok(self.client.delete(path))
        until_no_extents(self, self.server)
        self.end()
