"""Memory that the system refuses costs a request, not the server, wherever a client chose the size."""

import base64
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import unittest

from blob_client import Client as BlobClient, until_no_extents
from queue_client import QueueClient
from server import Server
from table_client import BROKEN, Client as TableClient
from until import until

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 40
CLIENTS = 4
BLOCKS = 3000
DROPPED_EXTENTS = 4200  # the list of them is longer than the shim's LARGE_BYTES; snapshots count
LARGE = "x" * 30000
ESCAPED = "\n\"" * 15000
KEYS = {name: base64.b64encode(name.encode() * 8).decode() for name in ("greedy", "modest")}


class Shim:
    """Lets large allocations of servers that have `env` fail."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="tavola-malloc-")
        self.path = os.path.join(self.folder, "chance")
        shim = os.path.join(self.folder, "malloc_shim.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, str(HERE / "malloc_shim.c")],
                       check=True)
        pathlib.Path(self.path).write_bytes(bytes(2))
        self.env = {"LD_PRELOAD": shim, "TAVOLA_TEST_MALLOC": self.path}

    def fail(self, chance):
        """In 256ths.  In place: the server has the file mapped."""
        file = os.open(self.path, os.O_WRONLY)
        os.pwrite(file, bytes([chance]), 0)
        os.close(file)

    def has_failed(self):
        return pathlib.Path(self.path).read_bytes()[1] == 1

    def clean(self):
        shutil.rmtree(self.folder)


def program():
    """A sanitizer has a malloc of its own, and wants more addresses than a limit leaves."""
    return os.environ.get("TAVOLAD_RELEASE", str(HERE.parents[2] / "build" / "tavolad"))


def batch_head(client):
    """The beginning of a large batch."""
    return (f"POST /{client.account}/$batch HTTP/1.1\r\nHost: localhost\r\n"
            "Content-Length: 4000000\r\nContent-Type: multipart/mixed; boundary=b\r\n" + "".join(
                f"{name}: {value}\r\n" for name, value in client.headers("/$batch").items())
            + "\r\n--b").encode()


class Malloc(unittest.TestCase):
    def setUp(self):
        if not os.path.exists(program()):
            self.skipTest("needs a build without sanitizers: ./run --no-start")
        accounts = tempfile.NamedTemporaryFile("w", suffix=".accounts")
        self.addCleanup(accounts.close)
        accounts.write("".join(f"{name}:{key}\n" for name, key in KEYS.items()))
        accounts.flush()
        self.shim = Shim()
        self.addCleanup(self.shim.clean)
        self.server = Server("--accounts", accounts.name, "--memory-mb", "512", "--test-points",
                             "--test-values", "silence-ms=600000", program=program(),
                             engine="rocksdb", env=self.shim.env, in_memory=True)
        self.addCleanup(self.server.clean)
        self.server.start()
        self.addCleanup(self.stop)

    def stop(self):
        self.shim.fail(0)
        # All charges must have come back: the server asserts it when it stops.
        self.assertEqual(self.server.stop(60), 0, self.server.log()[-4000:])

    def clients(self, account):
        all_of = [kind(port, account, KEYS[account]) for kind, port in (
            (TableClient, self.server.table_port), (QueueClient, self.server.queue_port),
            (BlobClient, self.server.blob_port))]
        for client in all_of:
            self.addCleanup(client.close)
        return all_of

    def create_tables(self):
        for account in KEYS:
            self.assertEqual(self.clients(account)[0].create_table("Rows").status, 204)

    def fill(self):
        """What can be read in large answers."""
        self.create_tables()
        tables, queues, blobs = self.clients("greedy")
        for i in range(60):
            row = {"PartitionKey": "p", "RowKey": f"{i:03}", "A": LARGE, "B": ESCAPED}
            self.assertEqual(tables.insert("Rows", row).status, 204)
        row = {f"P{i}": LARGE for i in range(15)}
        self.assertEqual(
            tables.insert("Rows", {"PartitionKey": "one", "RowKey": "r", **row}).status, 204)
        self.assertEqual(queues.create("work").status, 201)
        for _ in range(32):
            self.assertEqual(queues.put("work", "<" * 12000).status, 201)
        self.assertEqual(blobs.create_container("films").status, 201)
        for i in range(60):
            reply = blobs.put(f"films/{i}", b"a", **{"x-ms-meta-long": "y" * 7000})
            self.assertEqual(reply.status, 201)
        for i in range(BLOCKS):
            self.assertEqual(blobs.put_block("films/long", i, b"a").status, 201)
        self.assertEqual(blobs.put_blocks("films/long", range(BLOCKS)).status, 201)

    def ask_for_much(self, clients, number):
        """Every kind of request whose client chooses how much memory it takes."""
        tables, queues, blobs = clients
        rows = [{"PartitionKey": f"b{number}", "RowKey": f"{i:03}", "A": LARGE} for i in range(40)]
        many = " or ".join(f"RowKey eq '{i:0>200}'" for i in range(200)).replace(" ", "%20")
        bodies = [
            lambda: tables.batch("Rows", rows),
            lambda: tables.request("POST", "/Rows", {
                "PartitionKey": f"e{number}", "RowKey": "r", "A": LARGE, "B": ESCAPED, "C": LARGE}),
            lambda: tables.request("MERGE", "/Rows(PartitionKey='one',RowKey='r')", {"Q": number},
                                   If_Match="*"),
            lambda: tables.request("GET", "/Rows()"),
            lambda: tables.get("Rows", "one", "r"),
            lambda: tables.request("GET", f"/Rows()?$filter={many}"),
            lambda: tables.request("GET", f"/Rows()?$filter={many}", x_tavola_explain="true"),
            lambda: queues.peek("work"),
            lambda: queues.get("work", numofmessages=32, visibilitytimeout=1),
            lambda: blobs.request("GET", "films?restype=container&comp=list&include=metadata"),
            lambda: blobs.request("GET", "films/long?comp=blocklist"),
            lambda: blobs.get("films/long"),
            lambda: blobs.put_blocks("films/long", range(BLOCKS)),
            lambda: blobs.put(f"films/large{number}", b"z" * 300000),
            lambda: blobs.copy(f"films/copy{number}", "films/long"),
            lambda: blobs.snapshot("films/long"),
            lambda: blobs.delete(f"films/copy{number}"),
        ]
        for send in bodies:
            try:
                self.statuses.append(send().status)
            except BROKEN:  # an answer of which a part had been sent
                self.statuses.append(0)
            self.assertIsNone(self.server.process.poll(), self.server.log()[-4000:])

    def leave_bodies(self):
        """Bodies that are announced and do not come; large ones have their memory at once."""
        tables = self.clients("greedy")[0]
        for _ in range(20):
            connection = socket.create_connection(("127.0.0.1", self.server.table_port), timeout=60)
            self.addCleanup(connection.close)
            connection.sendall(batch_head(tables))

    def test_large_allocations_fail_at_random(self):
        self.fill()
        self.statuses = []

        def ask(client):
            clients = self.clients("greedy")
            for i in range(ROUNDS):
                self.ask_for_much(clients, client * ROUNDS + i)

        self.shim.fail(50)
        self.leave_bodies()
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertIsNone(self.server.process.poll(), self.server.log()[-4000:])
        self.assertTrue(self.shim.has_failed())
        self.assertEqual(len(self.statuses), CLIENTS * ROUNDS * 17)
        self.assertIn(503, self.statuses)
        self.assertNotIn(500, self.statuses)

        # Nothing of another account is large.
        tables = self.clients("modest")[0]
        for i in range(100):
            row = {"PartitionKey": "p", "RowKey": f"{i}", "n": i}
            self.assertEqual(tables.insert("Rows", row).status, 204)
            self.assertEqual(tables.get("Rows", "p", f"{i}").status, 200)

        # And once there is memory again, everything goes.
        self.shim.fail(0)
        self.statuses = []
        self.ask_for_much(self.clients("greedy"), 10**6)
        self.assertNotIn(503, self.statuses, self.statuses)

    def test_what_was_written_is_never_answered_with_an_error(self):
        self.create_tables()
        tables = self.clients("greedy")[0]
        rows = [{"PartitionKey": "w", **{f"P{j}": ESCAPED for j in range(6)}} for _ in range(4)]
        outcomes = set()
        for i in range(10 * ROUNDS):  # chance decides how many are needed
            if i >= ROUNDS and len(outcomes) == 3:
                break
            self.shim.fail(100)
            insert = tables.request("POST", "/Rows", {**rows[0], "RowKey": f"i{i}"})
            named = [{**row, "RowKey": f"b{i}-{j}"} for j, row in enumerate(rows)]
            batch = tables.batch("Rows", named, prefer="return-content")
            self.shim.fail(0)
            for reply, row_key in ((insert, f"i{i}"), (batch, f"b{i}-0")):
                is_there = tables.get("Rows", "w", row_key).status == 200
                self.assertEqual(reply.status != 503, is_there, (reply.status, row_key))
                is_bare = (b"return-no-content" in reply.body or
                           reply.headers.get("Preference-Applied") == "return-no-content")
                outcomes.add("refused" if reply.status == 503 else
                             "no content" if is_bare else "content")
        self.assertEqual(outcomes, {"refused", "content", "no content"})

    def test_a_container_with_many_extents_is_dropped_once_there_is_memory(self):
        blobs = self.clients("greedy")[2]
        for container in ("old", "films"):
            self.assertEqual(blobs.create_container(container).status, 201)
        self.assertEqual(blobs.put("films/1", b"a").status, 201)
        self.assertEqual(blobs.put("old/large", b"z" * 300000).status, 201)
        for _ in range(DROPPED_EXTENTS):
            self.assertEqual(blobs.snapshot("old/large").status, 201)
        self.shim.fail(255)
        self.assertEqual(blobs.delete_container("old").status, 202)
        until(self.shim.has_failed, "memory is refused")
        self.assertEqual(blobs.get("films/1").status, 200)
        self.shim.fail(0)
        until_no_extents(self, self.server)


class Limited(Server):
    """Under a limit of address space, and with the budget that it chooses by that."""

    LIMIT_MIB = 1536

    def command(self):
        return ["prlimit", f"--as={self.LIMIT_MIB << 20}", *super().command()]


class AddressSpace(unittest.TestCase):
    def test_the_default_budget_fits(self):
        if not os.path.exists(program()):
            self.skipTest("needs a build without sanitizers: ./run --no-start")
        server = Limited(program=program(), engine="rocksdb")
        self.addCleanup(server.clean)
        server.start()
        self.addCleanup(lambda: self.assertEqual(server.stop(60), 0, server.log()[-4000:]))
        server.until_logged(f"memory_mb={Limited.LIMIT_MIB // 8} ")
        client = TableClient(server.table_port)
        self.addCleanup(client.close)
        self.assertEqual(client.create_table("Rows").status, 204)
        statuses = []

        def send(number):
            greedy = TableClient(server.table_port)
            rows = [{"PartitionKey": f"p{number}", "RowKey": f"{i:03}", "A": LARGE}
                    for i in range(100)]
            for _ in range(2):
                statuses.append(greedy.batch("Rows", rows).status)
                statuses.append(greedy.request("GET", "/Rows()").status)
            greedy.close()

        held = []
        for _ in range(10):
            held.append(socket.create_connection(("127.0.0.1", server.table_port), timeout=60))
            held[-1].sendall(batch_head(client))
        threads = [threading.Thread(target=send, args=(i,)) for i in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for connection in held:
            connection.close()
        self.assertEqual(len(statuses), 400)  # none was cut off
        self.assertLessEqual(set(statuses), {200, 202, 409, 503})
        reply = client.insert("Rows", {"PartitionKey": "small", "RowKey": "r"})
        self.assertEqual(reply.status, 204, reply)
