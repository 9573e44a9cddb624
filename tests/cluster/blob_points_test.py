"""Nodes that end in an upload, a removal or a sweep: blobs stay whole, and what is left over goes.

Then every blob can be read and written through another one; what was not acknowledged is not
there; and when the dead are buried, the pool holds the data of the blobs and nothing else.
"""

import os
import time
import unittest

from blob_client import BROKEN, Client
from cluster import admin, stand
from cluster.consistency_test import has_flag
from cluster.points_test import EXIT_CODE, leader_of

MIB = 1 << 20
PARTS_MIB = 9  # three parts of a pool
WAIT_S = 240  # for a busy machine: silence, two sweeps
UPLOAD = ("extent.part", "extent.len", "extent.whole")
VALUES = {"TAVOLA_TEST_VALUES": "pace=2,dead-ms=15000,sweep-gap-ms=1000,remove-delay-ms=500"}


@unittest.skipIf(stand.IS_ALONE, "about Ceph")
class BlobPoints(unittest.TestCase):
    def setUp(self):
        program = os.environ.get("TAVOLAD_RELEASE")
        if not has_flag(program, "--test-points"):
            self.skipTest("the server has no --test-points")
        self.nodes = stand.Nodes(2, "--test-points", program=program, envs={0: VALUES, 1: VALUES})
        self.addCleanup(self.nodes.clean)
        self.nodes.start()
        self.kept = {}  # path -> content, as acknowledged
        client = Client(self.nodes[0].blob_port)
        self.assertEqual(client.create_container("films").status, 201)
        client.close()
        for number in range(3):
            self.put(self.nodes[number % 2], f"films/{number}", number)

    def put(self, node, path, fill, mib=PARTS_MIB):
        content = bytes([fill % 251]) * (mib * MIB)
        client = Client(node.blob_port)
        try:
            self.assertEqual(client.put(path, content).status, 201)
        finally:
            client.close()
        self.kept[path] = content

    def parts_by_extent(self):
        """{id: its parts} of all data in the pool."""
        found = {}
        for name in stand.ceph().objects(self.nodes.pool):
            if name.startswith("tv.X."):
                extent, _, part = name.rpartition(".")
                found.setdefault(extent, set()).add(part)
        return found

    def is_whole(self, node):
        """Whether all that was acknowledged is there, and a blob can be put."""
        client = Client(node.blob_port)
        try:
            for path, content in self.kept.items():
                reply = client.get(path)
                if reply.status != 200:
                    return False
                self.assertTrue(reply.body == content, f"{path} has changed")
            self.kept.pop("films/new", None)  # one that is not acknowledged may be there or not
            self.put(node, "films/new", len(self.kept) + 100, 1)
            return True
        except (*BROKEN, AssertionError) as error:
            if "has changed" in str(error):
                raise
            return False
        finally:
            client.close()

    def until_ended(self, point, number):
        process = self.nodes[number].process
        self.assertTrue(stand.until(lambda: process.poll() is not None, WAIT_S, 0.05),
                        f"{point} was not met\n{self.nodes.logs()}")
        self.assertEqual(process.poll(), EXIT_CODE, self.nodes.logs())

    def check_through(self, number, point):
        began = time.monotonic()
        node = self.nodes[number]
        self.assertTrue(stand.until(lambda: self.is_whole(node), pause_s=0.2),
                        self.nodes.logs())
        print(f"  points: {point}: whole after {time.monotonic() - began:.1f} s", flush=True)

    def end_at(self, point, number, path, fill):
        """A node ends there when a blob is put through it; look through the other one."""
        admin.set_point(self.nodes[number], point, "exit")
        try:
            self.put(self.nodes[number], path, fill)
        except BROKEN:
            pass  # it has ended in the middle of it
        self.until_ended(point, number)
        self.check_through(1 - number, point)

    def start(self, number):
        self.nodes[number].start(wait_s=stand.START_S)

    def until_swept(self):
        """Every blob has one extent, of all its parts; there is nothing else in the pool."""
        def is_swept():
            parts = sorted(len(parts) for parts in self.parts_by_extent().values())
            return parts == sorted(-(-len(content) // (4 * MIB)) for content in self.kept.values())
        began = time.monotonic()
        self.assertTrue(stand.until(is_swept, WAIT_S, 0.1),
                        f"{self.parts_by_extent()}\n{self.nodes.logs()}")
        print(f"  points: swept after {time.monotonic() - began:.1f} s", flush=True)

    def test_uploads_removals_and_sweeps(self):
        for number, point in enumerate(UPLOAD):
            path = f"films/lost{number}"
            self.end_at(point, 0, path, 77)
            client = Client(self.nodes[1].blob_port)
            self.assertEqual(client.get(path).status, 404)
            client.close()
            self.start(0)
        # What a blob was before is removed a while after it was replaced.
        self.end_at("extent.remove", 0, "films/0", 78)
        self.start(0)

        # Something is left for a sweep, and those who do it do not come to its end.
        leader = leader_of(self.nodes)
        self.end_at("extent.whole", 1 - leader, "films/lost", 79)
        admin.set_point(self.nodes[leader], "sweep.mark", "exit")
        self.until_ended("sweep.mark", leader)
        self.start(1 - leader)
        self.check_through(1 - leader, "sweep.mark")
        admin.set_point(self.nodes[1 - leader], "sweep.remove", "exit")
        self.until_ended("sweep.remove", 1 - leader)
        self.start(leader)
        self.check_through(leader, "sweep.remove")
        self.until_swept()
        self.start(1 - leader)
        for number in range(2):
            self.check_through(number, "the end")
        self.assertEqual(self.nodes.stop(), [])
