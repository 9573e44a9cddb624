"""Memory that the system refuses costs a request, not the server, wherever a client chose the size."""

import socket
import threading

from fault.server.malloc import ESCAPED, LARGE, Malloc, batch_head
from table_client import BROKEN

ROUNDS = 20
CLIENTS = 4
BLOCKS = 3000


class AtRandom(Malloc):
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
        self.send_all(lambda client, i: client.put_block("films/long", i, b"a"), BLOCKS)
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

        self.shim.fail(64)
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
