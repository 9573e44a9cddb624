"""A drop that is known to the catalogue, and not yet to every node: whoever hears of it by a 404, or
has made a new one of that name, loses nothing that he is then told was written.

A is the node that drops and stops or ends before its fence, B, which leads, the one that is asked
next, C one that has not heard of any of it.
"""

import threading
import unittest

from blob_client import BROKEN as BLOB_BROKEN, Client as BlobClient
from cluster import admin, stand
from cluster.consistency_test import has_flag
from cluster.points_test import EXIT_CODE, leader_of
from queue_client import QueueClient
from table_client import BROKEN as TABLE_BROKEN, Client as TableClient

BROKEN = (*TABLE_BROKEN, *BLOB_BROKEN)
ROUNDS = 3
PAUSE_MS = 3000  # of the drop; the requests of a round are quicker


class Table:
    """A table as all three kinds are asked for: each answer is a status."""

    made = 204

    def __init__(self, node):
        self.client = TableClient(node.table_port)

    def create(self, name):
        return self.client.create_table(name).status

    def drop(self, name):
        return self.client.request("DELETE", f"/Tables('{name}')").status

    def write(self, name, item):
        return self.client.insert(name, {"PartitionKey": "p", "RowKey": item}).status

    def has(self, name, item):
        return self.client.get(name, "p", item).status == 200


class Queue:
    made = 201

    def __init__(self, node):
        self.client = QueueClient(node.queue_port)

    def create(self, name):
        return self.client.create(name).status

    def drop(self, name):
        return self.client.drop(name).status

    def write(self, name, item):
        return self.client.put(name, item).status

    def has(self, name, item):
        return item in [message.MessageText for message in self.client.peek(name).messages]


class Container:
    made = 201

    def __init__(self, node):
        self.client = BlobClient(node.blob_port)

    def create(self, name):
        return self.client.create_container(name).status

    def drop(self, name):
        return self.client.delete_container(name).status

    def write(self, name, item):
        return self.client.put(f"{name}/{item}", b"content").status

    def has(self, name, item):
        return self.client.get(f"{name}/{item}").status == 200


@unittest.skipIf(stand.IS_ALONE, "about many nodes")
class Drops(unittest.TestCase):
    def setUp(self):
        if not has_flag(None, "--test-points"):
            self.skipTest("the server has no --test-points")
        self.nodes = stand.Nodes(3, "--test-points")
        self.addCleanup(self.nodes.clean)
        self.nodes.start()
        self.clients = []
        leader = leader_of(self.nodes)
        self.a, self.b, self.c = (self.nodes[leader + i] for i in (1, 0, 2))
        admin.set_point(self.c, "follow", "fail")

    def tearDown(self):
        for client in self.clients:
            client.client.close()
        problems = self.nodes.stop()
        self.assertFalse(problems, "\n".join(problems))

    def round(self, kind, number, drops):
        """`drops(client, name)` begins a drop at A and returns when it may be under way."""
        name = f"doomed{number}"
        a, b, c = self.clients = [kind(node) for node in (self.a, self.b, self.c)]
        self.assertEqual(a.create(name), kind.made)
        for client in (a, b, c):
            self.assertIn(client.write(name, f"old{id(client)}"), (201, 204))
        drops(a, name)
        self.assertTrue(stand.until(lambda: b.create(name) == kind.made), self.nodes.logs())
        self.assertIn(c.write(name, "new"), (201, 204), self.nodes.logs())
        self.assertTrue(b.has(name, "new"), f"acknowledged and lost\n{self.nodes.logs()}")

    def race(self, kind):
        """A create that comes while the drop waits before its fence."""
        for number in range(ROUNDS):
            answers, thread = [], None

            def drops(client, name):
                nonlocal thread
                thread = threading.Thread(target=lambda: answers.append(client.drop(name)))
                thread.start()
            admin.set_point(self.a, "fence.1", "pause", ms=PAUSE_MS, count=1)
            self.round(kind, number, drops)
            thread.join()
            self.assertIn(answers[0], (202, 204))

    def end(self, kind):
        """A ends before its fence; the client asks B to drop it, and is told that it is gone."""
        def drops(client, name):
            with self.assertRaises(BROKEN):
                client.drop(name)
            self.assertEqual(self.clients[1].drop(name), 404)
        admin.set_point(self.a, "fence.1", "exit")
        self.round(kind, 0, drops)
        self.assertEqual(self.a.process.wait(), EXIT_CODE)
        self.a.start(wait_s=stand.START_S)

    def test_a_table_is_made_while_another_node_drops_it(self):
        self.race(Table)

    def test_a_queue_is_made_while_another_node_drops_it(self):
        self.race(Queue)

    def test_a_container_is_made_while_another_node_drops_it(self):
        self.race(Container)

    def test_a_table_is_made_whose_drop_was_not_finished(self):
        self.end(Table)

    def test_a_queue_is_made_whose_drop_was_not_finished(self):
        self.end(Queue)

    def test_a_container_is_made_whose_drop_was_not_finished(self):
        self.end(Container)
