"""SIGTERM while blobs are being uploaded: a clean end, and every answer holds."""

import random
import signal
import socket
import unittest

from fault.blob import load
from fault.half import send_head, until_it_stops
from blob_client import Client, until_no_extents
from server import Server

CONTAINER = "load"
SIZE = 5 * 2**20


class Stop(unittest.TestCase):
    """Subclasses have the tests."""

    GRACE_MS = 600_000  # longer than any of this takes: what must not be waited for is not

    def setUp(self):
        self.server = Server("--test-points", "--test-values",
                             f"grace-ms={self.GRACE_MS},silence-ms=600000", engine="rocksdb")
        self.server.start()
        self.client = Client(self.server.blob_port)
        self.assertEqual(self.client.create_container(CONTAINER).status, 201)

    def tearDown(self):
        self.client.close()
        code = self.server.stop()
        log = self.server.log()
        self.server.clean()
        self.assertEqual(code, 0, log[-2000:])

    def restart(self):
        self.client.close()
        self.assertEqual(self.server.process.wait(60), 0, self.server.log()[-4000:])
        self.server.start()

    def leave_nothing(self):
        self.assertEqual(self.client.delete_container(CONTAINER).status, 202)
        until_no_extents(self, self.server)

    def upload(self, content):
        """Half of it, to a server that has begun to stop."""
        head = self.client.head_of("PUT", f"{CONTAINER}/a", len(content),
                                   x_ms_blob_type="BlockBlob")
        connection = socket.create_connection(("127.0.0.1", self.server.blob_port), timeout=60)
        send_head(connection, head)
        connection.sendall(content[:len(content) // 2])
        self.server.process.send_signal(signal.SIGTERM)
        until_it_stops(self.server, self.server.blob_port)
        return connection


class InTime(Stop):
    def test_under_load_every_answer_is_kept_and_no_answer_is_lost(self):
        work = load.Load(self.server.blob_port, random.randrange(10**6), CONTAINER)
        work.start()
        work.until_acknowledged(50, self.server)
        self.server.process.send_signal(signal.SIGTERM)
        work.join()
        self.restart()
        work.check(self, lost_answers_are_faults=True)
        self.leave_nothing()

    def test_upload_under_way_is_finished(self):
        content = random.randbytes(SIZE)
        with self.upload(content) as connection:
            connection.sendall(content[SIZE // 2:])
            self.assertTrue(connection.recv(65536).startswith(b"HTTP/1.1 201 "))
        self.restart()
        self.assertEqual(self.client.get(f"{CONTAINER}/a").body, content)
        self.leave_nothing()


class Late(Stop):
    GRACE_MS = 1000

    def test_upload_that_never_ends_does_not_keep_it_alive(self):
        with self.upload(random.randbytes(SIZE)):
            self.assertEqual(self.server.process.wait(60), 0, self.server.log()[-4000:])
        self.restart()
        self.assertEqual(self.client.get(f"{CONTAINER}/a").status, 404)
        self.leave_nothing()
