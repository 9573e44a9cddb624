"""The limit of open files: clients wait at it, the store never meets it."""

import pathlib
import socket
import unittest

from table_client import Client
from server import Server

FILES = 256
BUFFER_KB = 1024
ENTITIES = 40
ENTITY = {f"P{i}": "x" * 30000 for i in range(10)}


class FewFiles(Server):
    def command(self):
        return ["prlimit", f"--nofile={FILES}:{FILES}", *super().command()]


class Files(unittest.TestCase):
    def setUp(self):
        self.server = FewFiles("--test-points", "--test-values", f"buffer-kb={BUFFER_KB}",
                               engine="rocksdb", in_memory=True)
        self.addCleanup(self.server.clean)
        self.server.start()
        self.addCleanup(self.server.stop)
        self.client = Client(self.server.table_port)
        self.addCleanup(self.client.close)
        self.assertEqual(self.client.create_table("Files").status, 204)

    def logs(self):
        return {path.name for path in pathlib.Path(self.server.data).glob("*.log")}

    def test_a_flood_of_connections_leaves_the_store_its_files(self):
        # More than there are files; those that are not accepted wait in the kernel.
        flood = [socket.create_connection(("127.0.0.1", self.server.table_port), timeout=60)
                 for _ in range(FILES + 50)]
        # Enough for the store to begin a new log file, which is where it would find none left.
        before = self.logs()
        for i in range(ENTITIES):
            reply = self.client.insert("Files", dict(ENTITY, PartitionKey="p", RowKey=f"{i:04}"))
            self.assertEqual(reply.status, 204, reply)
        self.assertGreater(self.logs(), set())
        self.assertFalse(self.logs() & before, "it has begun no new file")
        # With so few files a thread has room for one connection: all end before the next comes.
        for connection in flood:
            connection.close()
        self.client.close()
        self.assertEqual(len(list(Client(self.server.table_port).scan("Files"))), ENTITIES)
