"""Nodes whose Ceph user may do too little: what they say, which is the capability that is missing."""

import itertools
import os
import re
import subprocess
import unittest
import urllib.error
import urllib.request

from cluster import stand
from server import ROOT, Server
from table_client import Client

WAIT_S = 180
MON = ("mon", 'allow r, allow command "osd blocklist"', "mgr", "allow r")
TOOL = os.environ.get("TAVOLA", str(ROOT / "build" / "tavola"))
numbers = itertools.count(1)


def health(server, path="/healthz"):
    """(status, text)"""
    try:
        with urllib.request.urlopen(server.admin_url + path, timeout=WAIT_S) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@unittest.skipIf(stand.IS_ALONE, "about Ceph")
class WeakUsers(unittest.TestCase):
    def setUp(self):
        self.ceph = stand.ceph()
        self.pool = self.ceph.new_pool()
        self.addCleanup(self.ceph.drop_pool, self.pool)

    def user(self, osd, others=MON):
        """A user with these capabilities, whose key is where ceph.conf looks for it."""
        name = f"weak{os.getpid()}-{next(numbers)}"
        self.ceph.ceph("auth", "get-or-create", f"client.{name}", "osd", osd, *others, "-o",
                       str(self.ceph.folder / f"client.{name}.keyring"))
        self.addCleanup(self.ceph.ceph, "auth", "rm", f"client.{name}")
        return name

    def node(self, user):
        server = Server(*stand.rados_flags(self.pool, user=user), "--test-points", "--test-values",
                        "pace=10,dead-ms=3000", engine="rados")
        self.addCleanup(server.clean)
        self.addCleanup(lambda: server.process and server.process.poll() is None and server.kill())
        return server

    def refused(self, user):
        """What a node says that does not start: one line, and that of its log."""
        server = self.node(user)
        done = subprocess.run(server.command(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=WAIT_S, env=server.env)
        self.assertGreater(done.returncode, 0, f"not ended as it should: {done.stdout}")
        self.assertNotEqual(done.returncode, 99, done.stdout)
        self.assertLessEqual(len(done.stdout.strip().splitlines()), 2, done.stdout)
        return done.stdout

    def make_store(self):
        with stand.Nodes(1, pool=self.pool):
            pass

    def assertNames(self, text, cap):
        self.assertIn(f"lacks {cap}", text)
        self.assertIn(f"osd 'allow rwx pool={self.pool}'", text)

    def test_a_user_of_another_pool(self):
        self.assertNames(self.refused(self.user(f"allow rwx pool={self.pool}-no")), "osd r")

    def test_a_user_that_may_not_write(self):
        self.make_store()
        self.assertNames(self.refused(self.user(f"allow rx pool={self.pool}")), "osd w")

    def test_a_user_that_may_not_write_to_a_new_pool(self):
        self.assertNames(self.refused(self.user(f"allow rx pool={self.pool}")), "osd w")

    def test_a_user_without_x(self):
        """Locks are classes of the OSD: without them a node is on no list, and nobody can lead."""
        self.make_store()
        self.assertNames(self.refused(self.user(f"allow rw pool={self.pool}")), "osd x")

    def test_a_user_that_may_not_blocklist(self):
        """The leader cannot shut out a dead node, and says which right it lacks for that."""
        leader = self.node(self.user(f"allow rwx pool={self.pool}", ("mon", "allow r", "mgr", "allow r")))
        leader.start(wait_s=WAIT_S)
        other = self.node("tavola")
        other.start(wait_s=WAIT_S)
        other.kill()
        self.assertTrue(stand.until(lambda: health(leader)[0] == 503, WAIT_S, 0.1), leader.log())
        for text in (health(leader)[1], leader.log()):
            self.assertIn("lacks mon osd blocklist", text)
            self.assertIn('mon \'allow r, allow command "osd blocklist"\'', text.replace("\\", ""))
        self.assertEqual(len(re.findall("event=ceph_caps", leader.log())), 1)
        # It is as good as others for clients.
        self.assertEqual(health(leader, "/ready")[0], 200)
        client = Client(leader.table_port)
        self.assertEqual(client.create_table("weak").status, 204)
        self.assertEqual(client.insert("weak", {"PartitionKey": "p", "RowKey": "r"}).status, 204)
        client.close()
        done = subprocess.run([TOOL, "cluster", "check", "--admin", leader.admin_url],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=WAIT_S)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("lacks mon osd blocklist", done.stdout)
        with urllib.request.urlopen(leader.admin_url + "/metrics", timeout=WAIT_S) as reply:
            self.assertIn("tavola_ceph_caps_missing 1\n", reply.read().decode())
        self.assertEqual(leader.stop(), 0)
