"""A node that ends at each step of a change to the ranges: the others finish it, or undo it.

Within 15 s of the end of the node everything can be read and written through another one, no
intent is left in the map, and no row is lost.  $CLUSTER_POINTS names others: "split.2 merge.4".
"""

import os
import time
import unittest

from cluster import admin, stand
from cluster.consistency_test import has_flag
from table_client import BROKEN, Client

TABLE = "points"
PARTITIONS, ROWS = 40, 25
WITHIN_S = 15
SLACK_S = 30  # for a busy machine
# Steps before and after the point at which a change is published, and its ends.
SPLIT = ("split.1", "split.4", "split.7", "split.8", "split.10")
MERGE = ("merge.1", "merge.3", "merge.5", "merge.6", "merge.8")
EXIT_CODE = 9


@unittest.skipIf(stand.IS_ALONE, "about ranges")
class Points(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        program = os.environ.get("TAVOLAD_RELEASE")
        if not has_flag(program, "--test-points"):
            raise unittest.SkipTest("the server has no --test-points")
        cls.nodes = stand.Nodes(2, "--test-points", program=program)
        cls.addClassCleanup(cls.nodes.clean)
        cls.nodes.start()
        client = Client(cls.nodes[0].table_port)
        assert client.create_table(TABLE).status == 204
        for partition in range(PARTITIONS):
            reply = client.batch(TABLE, [{"PartitionKey": f"{partition:03}", "RowKey": f"{row}",
                                          "Value": "x" * 200} for row in range(ROWS)])
            assert reply.status == 202, reply
        client.close()
        cls.extra = 0

    @classmethod
    def tearDownClass(cls):
        problems = cls.nodes.stop()
        assert not problems, "\n".join(problems)

    def key_for(self, op):
        """The key of a range that can be split, or merged with the one before it."""
        node, wanted = self.nodes[1], 1 if op == "split" else 2
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            ranges = admin.cluster(node)["ranges"]
            if len(ranges) == wanted:
                return ranges[-1]["key"]
            admin.force(node, "split" if len(ranges) < wanted else "merge", ranges[-1]["key"])
        return self.fail(f"there are {ranges}")

    def whole(self, client):
        """Whether all rows are there and every partition takes a write."""
        try:
            for partition in range(0, PARTITIONS, 5):
                reply = client.replace(TABLE, {"PartitionKey": f"{partition:03}", "RowKey": "new",
                                               "Value": f"{self.extra}"})
                if reply.status != 204:
                    return False
            found = [(one["PartitionKey"], one["RowKey"]) for one in client.scan(TABLE)]
        except BROKEN:
            return False
        except AssertionError:
            return False
        old = [keys for keys in found if keys[1] != "new"]
        self.assertEqual(len(found), len(set(found)), "rows were met twice")
        self.assertEqual(len(old), PARTITIONS * ROWS, "rows are missing")
        return True

    def end_at(self, point):
        admin.set_point(self.nodes[0], point, "exit")
        process, errors = self.nodes[0].process, []
        deadline = time.monotonic() + 60
        # A change may be refused, as while another one is being cleaned up: ask again.
        while process.poll() is None and time.monotonic() < deadline:
            op = point.partition(".")[0]
            try:
                errors.append(admin.force(self.nodes[0], op, self.key_for(op), wait_s=10))
            except admin.FAILED as error:
                errors.append(repr(error))  # it ended before it could answer
            time.sleep(0.2)
        self.assertEqual(process.poll(), EXIT_CODE,
                         f"{errors[-5:]}\n{self.nodes.logs()}")
        began = time.monotonic()
        client = Client(self.nodes[1].table_port)
        self.extra += 1
        self.assertTrue(stand.until(lambda: self.whole(client), WITHIN_S + SLACK_S, 0.2))
        took = time.monotonic() - began
        self.assertTrue(stand.until(lambda: not admin.cluster(self.nodes[1])["intents"],
                                    WITHIN_S + SLACK_S, 0.2), admin.cluster(self.nodes[1]))
        print(f"  points: {point}: whole after {took:.1f} s, no intent after "
              f"{time.monotonic() - began:.1f} s", flush=True)
        self.assertTrue(self.whole(client))
        client.close()
        self.nodes[0].start(wait_s=stand.START_S)


def test_of(point):
    def test(self):
        self.end_at(point)
    test.__name__ = f"test_{point.replace('.', '_')}"
    return test


for _point in os.environ.get("CLUSTER_POINTS", " ".join(SPLIT + MERGE)).split():
    setattr(Points, f"test_{_point.replace('.', '_')}", test_of(_point))
