"""Memory that the system refuses: what was written, what waits for memory, and the default budget."""

import os
import socket
import threading
import unittest

from blob_client import until_no_extents
from fault.server.malloc import ESCAPED, LARGE, Malloc, batch_head, program
from server import Server
from table_client import Client as TableClient
from until import until

ROUNDS = 40
DROPPED_EXTENTS = 4200  # the list of them is longer than the shim's LARGE_BYTES; snapshots count


class OneByOne(Malloc):
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
        self.send_all(lambda client, _: client.snapshot("old/large"), DROPPED_EXTENTS)
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
