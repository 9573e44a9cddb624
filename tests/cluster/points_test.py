"""A node that ends at a step of a write, a drop or a change of ranges: others finish or undo it.

Then everything can be read and written through another one, no intent is left in the map, and no
row is lost.  $CLUSTER_POINTS names others: "split.2 merge.4".  blob_points_test.py does the same
for blobs.
"""

import os
import time
import unittest

from cluster import admin, stand
from cluster.consistency_test import has_flag
from table_client import BROKEN, Client

TABLE = "points"
PARTITIONS, ROWS = 40, 25
BATCH = 10
# Else a dead leader is followed by another after 15 s, and its intents are old after 10.
PACE = {"TAVOLA_TEST_VALUES": "pace=5"}
# Steps before and after the point at which a change is published, and its ends.
SPLIT = ("split.1", "split.4", "split.7", "split.8", "split.10")
MERGE = ("merge.1", "merge.4", "merge.6", "merge.7", "merge.9")
FENCE = ("fence.1", "fence.2", "fence.2.range", "fence.3")
OTHERS = ("write.before", "write.after_ack", "copy.again", "drop.1", "clean.remove")
# What one node does for all.
LEADERS = ("drop.1", "clean.remove")
EXIT_CODE = 9


def leader_of(nodes):
    """The number of the node that leads."""
    def find():
        for number, node in enumerate(nodes):
            try:
                shown = admin.cluster(node)
            except admin.FAILED:
                continue
            if shown["leader"] and shown["leader"] == shown["self"]:
                return [number]
        return None
    found = stand.until(find, pause_s=0.1)
    assert found, nodes.logs()
    return found[0]


@unittest.skipIf(stand.IS_ALONE, "about ranges")
class Points(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        program = os.environ.get("TAVOLAD_RELEASE")
        if not has_flag(program, "--test-points"):
            raise unittest.SkipTest("the server has no --test-points")
        cls.nodes = stand.Nodes(2, "--test-points", program=program, envs={0: PACE, 1: PACE})
        cls.addClassCleanup(cls.nodes.clean)
        cls.nodes.start()
        client = Client(cls.nodes[0].table_port)
        assert client.create_table(TABLE).status == 204
        for partition in range(PARTITIONS):
            reply = client.batch(TABLE, [{"PartitionKey": f"{partition:03}", "RowKey": f"{row}",
                                          "Value": "x" * 200} for row in range(ROWS)])
            assert reply.status == 202, reply
        client.close()
        cls.tries = 0  # of all tests, so that names are new

    @classmethod
    def tearDownClass(cls):
        problems = cls.nodes.stop()
        assert not problems, "\n".join(problems)

    def setUp(self):
        self.after = []  # checks through the other node, when it has ended
        self.victim = self.other = None

    # --- what meets a point: each returns what came of it, or ends with the node

    def change_ranges(self, op):
        ranges = []
        wanted = 1 if op == "split" else 2
        deadline = time.monotonic() + stand.WAIT_S
        while time.monotonic() < deadline:
            ranges = admin.cluster(self.other)["ranges"]
            if len(ranges) == wanted:
                return admin.force(self.victim, op, ranges[-1]["key"])
            admin.force(self.other, "split" if len(ranges) < wanted else "merge",
                        ranges[-1]["key"])
        return self.fail(f"there are {ranges}")

    def clean(self):
        """A split leaves rows that the leader removes."""
        return self.change_ranges("split")

    def drop(self):
        """A table, through the node that is to end."""
        table = f"doomed{self.tries}"
        client = Client(self.victim.table_port)
        try:
            assert client.create_table(table).status == 204
            client.batch(table, self.batch_of("p"))
            self.after.append(lambda: self.check_is_new(table))
            return client.request("DELETE", f"/Tables('{table}')").status
        finally:
            client.close()

    def write(self):
        partition = f"written{self.tries}"
        client = Client(self.victim.table_port)
        self.after.append(lambda: self.check_is_whole(partition))
        try:
            return client.batch(TABLE, self.batch_of(partition)).status
        finally:
            client.close()

    def meet(self, point):
        type(self).tries += 1
        kind = point.partition(".")[0]
        if kind in ("split", "merge", "copy"):
            return self.change_ranges("merge" if kind == "merge" else "split")
        return {"fence": self.drop, "drop": self.drop, "write": self.write,
                "clean": self.clean}[kind]()

    # --- what must hold then

    def batch_of(self, partition):
        return [{"PartitionKey": partition, "RowKey": f"new{row}"} for row in range(BATCH)]

    def check_is_new(self, table):
        """A table of this name can be made, and has nothing of the one that was dropped."""
        client = Client(self.other.table_port)
        try:
            made = stand.until(lambda: client.create_table(table).status == 204, pause_s=0.1)
            self.assertTrue(made, self.nodes.logs())
            self.assertEqual(list(client.scan(table)), [])
            self.assertEqual(client.batch(table, self.batch_of("p")).status, 202)
        finally:
            client.close()

    def check_is_whole(self, partition):
        """A transaction that nobody was told of is there or is not, and can be made again."""
        client = Client(self.other.table_port)
        try:
            rows = [one for one in client.scan(TABLE) if one["PartitionKey"] == partition]
            self.assertIn(len(rows), (0, BATCH))
            self.assertEqual(client.batch(TABLE, self.batch_of(partition)).status,
                             409 if rows else 202)
        finally:
            client.close()

    def intents(self):
        """Those in the pool; what a node shows is some seconds old."""
        keys = stand.ceph().script("rados", "-p", self.nodes.pool, "listomapkeys", "tv.route",
                                   stdout=-1).stdout.split("\n")
        return [key for key in keys if key.startswith(("i|", "l|"))]

    def whole(self, client):
        """Whether all rows are there and every partition takes a write."""
        try:
            for partition in range(0, PARTITIONS, 5):
                reply = client.replace(TABLE, {"PartitionKey": f"{partition:03}", "RowKey": "new",
                                               "Value": f"{self.tries}"})
                if reply.status != 204:
                    return False
            found = [(one["PartitionKey"], one["RowKey"]) for one in client.scan(TABLE)]
        except BROKEN:
            return False
        except AssertionError:
            return False
        old = [keys for keys in found if not keys[1].startswith("new")]
        self.assertEqual(len(found), len(set(found)), "rows were met twice")
        self.assertEqual(len(old), PARTITIONS * ROWS, "rows are missing")
        return True

    def arm(self, point):
        """Set the point at the node that will come to it: there, if another leads by now."""
        number = leader_of(self.nodes) if point in LEADERS else 0
        if self.victim is self.nodes[number]:
            return
        if self.victim:
            if self.victim.process.poll() is not None:
                return  # it has come to it meanwhile, so another leads
            admin.set_point(self.victim, "", "clear")
        self.victim, self.other = self.nodes[number], self.nodes[1 - number]
        admin.set_point(self.victim, point, "exit")

    def has_ended(self):
        return self.victim.process.poll() is not None

    def end_at(self, point):
        results = []
        self.arm(point)
        deadline = time.monotonic() + stand.WAIT_S
        # A change may be refused, as while another one is being cleaned up: ask again.
        while not self.has_ended() and time.monotonic() < deadline:
            self.after.clear()
            try:
                results.append(self.meet(point))
                # In its next round; once more, if that was another's by then.
                if point in LEADERS and not stand.until(self.has_ended, 20, 0.05):
                    self.arm(point)
            except (*admin.FAILED, *BROKEN) as error:
                results.append(repr(error))  # it ended before it could answer
                if point in LEADERS:
                    stand.until(self.has_ended, 20, 0.05)
            time.sleep(0.05)
        self.assertEqual(self.victim.process.poll(), EXIT_CODE,
                         f"{results[-5:]}\n{self.nodes.logs()}")
        began = time.monotonic()
        client = Client(self.other.table_port)
        type(self).tries += 1
        self.assertTrue(stand.until(lambda: self.whole(client), pause_s=0.2), self.nodes.logs())
        took = time.monotonic() - began
        self.assertTrue(stand.until(lambda: not self.intents(), pause_s=0.2),
                        f"{self.intents()}\n{self.nodes.logs()}")
        print(f"  points: {point}: whole after {took:.1f} s, no intent after "
              f"{time.monotonic() - began:.1f} s", flush=True)
        self.assertTrue(self.whole(client))
        for check in self.after:
            check()
        client.close()
        self.victim.start(wait_s=stand.START_S)


def test_of(point):
    def test(self):
        self.end_at(point)
    test.__name__ = f"test_{point.replace('.', '_')}"
    return test


for _point in os.environ.get("CLUSTER_POINTS", " ".join(SPLIT + MERGE + FENCE + OTHERS)).split():
    setattr(Points, f"test_{_point.replace('.', '_')}", test_of(_point))
