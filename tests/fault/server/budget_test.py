"""One account that holds all it can get: the server stays within its memory, and another is served."""

import base64
import os
import socket
import tempfile
import threading
import unittest
import urllib.request

from table_client import Client
from server import Server
from until import until

CLIENTS = 120
MEMORY_MB = 128
# Caches and write buffers of the store, and the process.
REST_MIB = 450
LARGE = "x" * 30000
PATIENT = ("--test-points", "--test-values", "silence-ms=600000")  # with bodies that do not come
KEYS = {name: base64.b64encode(name.encode() * 8).decode() for name in ("greedy", "modest")}


class Budget(unittest.TestCase):
    def setUp(self):
        accounts = tempfile.NamedTemporaryFile("w", suffix=".accounts")
        self.addCleanup(accounts.close)
        accounts.write("".join(f"{name}:{key}\n" for name, key in KEYS.items()))
        accounts.flush()
        self.server = Server("--memory-mb", str(MEMORY_MB), "--accounts", accounts.name, *PATIENT,
                             program=os.environ.get("TAVOLAD_RELEASE"), engine="rocksdb",
                             in_memory=True)
        self.addCleanup(self.server.clean)
        self.server.start()
        self.addCleanup(self.stop)
        for name in KEYS:
            client = self.client(name)
            self.assertEqual(client.create_table("Rows").status, 204)

    def stop(self):
        # All charges must have come back: the server asserts it when it stops.
        self.assertEqual(self.server.stop(60), 0, self.server.log()[-4000:])

    def client(self, name):
        client = Client(self.server.table_port, name, KEYS[name], timeout_s=120)
        self.addCleanup(client.close)
        return client

    def metric(self, name):
        url = f"http://127.0.0.1:{self.server.admin_port}/metrics"
        with urllib.request.urlopen(url) as reply:
            text = reply.read().decode()
        return float(next(line for line in text.splitlines() if line.startswith(name + " "))
                     .split()[1])

    def until_nothing_is_held(self):
        until(lambda: self.metric("tavola_memory_held_bytes") <= 2**20, "the memory comes back")

    def serve_modest(self, until):
        """Small writes and reads of the other account, of which none may be refused."""
        client, count = self.client("modest"), 0
        while count < 20 or not until():
            reply = client.insert("Rows", {"PartitionKey": "p", "RowKey": f"{count}", "n": count})
            self.assertEqual(reply.status, 204, reply)
            self.assertEqual(client.get("Rows", "p", f"{count}").status, 200)
            count += 1

    def is_bounded(self):
        if "TAVOLAD_RELEASE" in os.environ:  # a sanitizer's shadow would drown it
            self.assertLess(self.server.peak_memory_kib() >> 10, MEMORY_MB + REST_MIB)

    def test_many_large_batches(self):
        statuses = []

        def send(number):
            client = self.client("greedy")
            rows = [{"PartitionKey": f"p{number}", "RowKey": f"{i:03}", "A": LARGE}
                    for i in range(100)]
            statuses.append(client.batch("Rows", rows).status)

        threads = [threading.Thread(target=send, args=(i,)) for i in range(CLIENTS)]
        for thread in threads:
            thread.start()
        self.serve_modest(lambda: not any(thread.is_alive() for thread in threads))
        for thread in threads:
            thread.join()
        self.assertEqual(len(statuses), CLIENTS)
        self.assertLessEqual(set(statuses), {202, 503})
        self.assertIn(202, statuses)
        self.is_bounded()
        self.until_nothing_is_held()

    def test_bodies_that_do_not_come(self):
        client, held = self.client("greedy"), []
        for _ in range(CLIENTS):
            head = (f"POST /greedy/$batch HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n"
                    "Content-Type: multipart/mixed; boundary=b\r\n" + "".join(
                        f"{name}: {value}\r\n"
                        for name, value in client.headers("/$batch").items()))
            connection = socket.create_connection(("127.0.0.1", self.server.table_port), timeout=60)
            connection.sendall(head.encode() + b"\r\n--b")
            held.append(connection)
        until(lambda: self.metric("tavola_memory_refused_total"), "a request is refused")
        self.assertLessEqual(self.metric("tavola_memory_held_bytes"), MEMORY_MB << 20)
        self.serve_modest(lambda: True)
        for connection in held:
            connection.close()
        self.until_nothing_is_held()


@unittest.skipUnless("TAVOLAD_RELEASE" in os.environ, "a sanitizer keeps what was freed")
class FreedMemory(unittest.TestCase):
    """What requests have held goes back to the system, not into the allocator for good."""

    KEPT_MIB, REST_MIB = 128, 60

    def resident_mib(self):
        with open(f"/proc/{self.server.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) >> 10

    def bodies_that_are_given_up(self):
        client = Client(self.server.table_port)
        head = ("POST /devstoreaccount1/$batch HTTP/1.1\r\nHost: localhost\r\n"
                "Content-Length: 4000000\r\nContent-Type: multipart/mixed; boundary=b\r\n" + "".join(
                    f"{name}: {value}\r\n" for name, value in client.headers("/$batch").items()))
        held = []
        for _ in range(CLIENTS):
            connection = socket.create_connection(("127.0.0.1", self.server.table_port), timeout=60)
            connection.sendall(head.encode() + b"\r\n" + b"x" * 3_999_000)
            held.append(connection)
        until(lambda: self.resident_mib() > self.KEPT_MIB + self.REST_MIB,
              lambda: f"the bodies are held; there are {self.resident_mib()} MiB")
        for connection in held:
            connection.close()

    def test_it_goes_back(self):
        self.server = Server("--memory-mb", "1024", *PATIENT,
                             program=os.environ["TAVOLAD_RELEASE"], engine="rocksdb",
                             in_memory=True)
        self.addCleanup(self.server.clean)
        self.server.start()
        self.addCleanup(self.server.stop)
        for _ in range(3):
            self.bodies_that_are_given_up()
        until(lambda: self.resident_mib() <= self.KEPT_MIB + self.REST_MIB,
              lambda: f"{self.resident_mib()} MiB stay")


class SmallestBudget(unittest.TestCase):
    """What the protocol allows fits the least budget: else it would be refused for ever."""

    def setUp(self):
        self.server = Server("--memory-mb", "64")
        self.addCleanup(self.server.clean)
        self.server.start()
        self.addCleanup(lambda: self.assertEqual(self.server.stop(60), 0))
        self.client = Client(self.server.table_port, timeout_s=120)
        self.addCleanup(self.client.close)
        self.assertEqual(self.client.create_table("Rows").status, 204)

    def test_the_largest_batch(self):
        rows = [{"PartitionKey": "p", "RowKey": f"{i:03}", "A": "x" * 20900, "B": "y" * 20900}
                for i in range(100)]
        self.assertGreater(len(self.client.batch_body("Rows", rows)[0]), 4 * 2**20)
        self.assertEqual(self.client.batch("Rows", rows).status, 202)
