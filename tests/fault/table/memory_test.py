"""Clients that request much and read nothing: they are refused before the memory is gone."""

import os
import socket
import unittest

from table_client import Client
from server import Server
from until import until

CLIENTS = 300  # each with a page of 4 MiB
MEMORY_MB = 512
MEMORY_MIB_MAX = 900  # the budget; the rest for the store and the process
LARGE = "x" * 30000


def resident_mib(process):
    with open(f"/proc/{process.pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") >> 20


class Memory(unittest.TestCase):
    def setUp(self):
        # However long it takes until all have asked, the first are not closed for not reading.
        self.server = Server("--memory-mb", str(MEMORY_MB), "--test-points", "--test-values",
                             "silence-ms=600000", in_memory=True)
        self.addCleanup(self.server.clean)
        self.server.start()
        self.addCleanup(self.server.stop)
        self.client = Client(self.server.table_port)
        self.addCleanup(self.client.close)
        self.assertEqual(self.client.create_table("Pages").status, 204)
        for i in range(100):
            reply = self.client.insert("Pages", {"PartitionKey": "p", "RowKey": f"{i:03}",
                                                 "A": LARGE, "B": LARGE})
            self.assertEqual(reply.status, 204, reply)

    def ask(self):
        """Request a page and read no more than the status of the answer."""
        head = "GET /{}/Pages() HTTP/1.1\r\nHost: localhost\r\n".format(self.client.account) + "".join(
            f"{name}: {value}\r\n" for name, value in self.client.headers("/Pages()").items())
        connection = socket.socket()
        connection.settimeout(60)
        # A window so small that the kernel cannot hold the page for a client that does not read.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", self.server.table_port))
        connection.sendall(head.encode() + b"\r\n")
        return connection, int(connection.recv(12)[9:])

    def is_whole(self, reply):
        return reply.status == 200 and len(reply.json["value"]) == self.whole

    def test_pages_that_nobody_reads_are_bounded(self):
        self.whole = len(self.client.request("GET", "/Pages()").json["value"])
        asked = [self.ask() for _ in range(CLIENTS)]
        statuses = [status for _, status in asked]
        self.assertEqual(set(statuses), {200, 503})
        self.assertLess(resident_mib(self.server.process), MEMORY_MIB_MAX)

        # A client that reads or writes one entity does not notice.
        self.assertEqual(self.client.get("Pages", "p", "000").status, 200)
        self.assertEqual(self.client.delete("Pages", "p", "000").status, 204)
        # A page that has begun when there is no more memory goes out as it is.
        refused = self.client.request("GET", "/Pages()")
        self.assertFalse(self.is_whole(refused))
        if refused.status == 200:
            self.assertIn("x-ms-continuation-NextRowKey", refused.headers)
        else:
            self.assertEqual((refused.status, refused.code), (503, "ServerBusy"))

        for connection, _ in asked:
            connection.close()
        until(lambda: self.is_whole(self.client.request("GET", "/Pages()")), "the memory comes back")
        self.assertEqual(len(list(self.client.scan("Pages"))), 99)
