"""Starts that cannot go well, and nodes that lose what they stand on.

One clear line, the right exit code or status, and nothing lost.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

from cluster import stand
from server import Server
from table_client import BROKEN, Client

WAIT_S = 180
BLOCKLISTED = 75


def health(server, path="/healthz"):
    """The status of /healthz; None when there is no answer."""
    try:
        with urllib.request.urlopen(server.admin_url + path, timeout=WAIT_S) as reply:
            return reply.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


@unittest.skipIf(stand.IS_ALONE, "about Ceph")
class BadStarts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="tavola-start-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.ceph = stand.ceph()

    def refused(self, *flags):
        """Start a node that ends by itself; returns the lines that it wrote."""
        server = Server(*flags, engine="rados")
        self.addCleanup(server.clean)
        done = subprocess.run(server.command(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=WAIT_S, env=server.env)
        self.assertNotIn(done.returncode, (0, 99), done.stdout)
        self.assertGreater(done.returncode, 0, f"ended by a signal: {done.stdout}")
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        self.assertLessEqual(len(lines), 2, f"one clear line, not:\n{done.stdout}")
        return done.stdout

    def conf_with(self, old, new):
        """A copy of ceph.conf with something in it that is different."""
        path = pathlib.Path(self.folder) / "ceph.conf"
        text = pathlib.Path(self.ceph.conf).read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new))
        return str(path)

    def test_a_file_that_is_not_there(self):
        self.assertIn("/nowhere/ceph.conf",
                      self.refused(*stand.rados_flags("tavola", "/nowhere/ceph.conf")))

    def test_a_wrong_key(self):
        keyring = pathlib.Path(self.folder) / "client.tavola.keyring"
        subprocess.run(["ceph-authtool", str(keyring), "--create-keyring", "--gen-key", "-n",
                        "client.tavola"], check=True, stdout=subprocess.DEVNULL)
        conf = self.conf_with(f"keyring = {self.ceph.folder}/$name.keyring",
                              f"keyring = {self.folder}/$name.keyring")
        self.assertRegex(self.refused(*stand.rados_flags("tavola", conf)),
                         "(?i)key|permission|denied|permitted")

    def test_a_user_that_does_not_exist(self):
        self.assertRegex(self.refused(*stand.rados_flags("tavola", user="nobody")), "nobody")

    def test_a_pool_that_does_not_exist(self):
        self.assertIn("nopool", self.refused(*stand.rados_flags("nopool")))

    def test_no_mon_answers(self):
        text = pathlib.Path(self.ceph.conf).read_text()
        line = next(line for line in text.splitlines() if line.startswith("mon_host"))
        conf = self.conf_with(line, "mon_host = v2:127.0.0.1:1")
        self.assertRegex(self.refused(*stand.rados_flags("tavola", conf)),
                         "(?i)mon|timed out|connect")

    def test_a_store_of_another_format(self):
        """What a later version wrote is not touched."""
        pool = self.ceph.new_pool()
        self.addCleanup(self.ceph.drop_pool, pool)
        with stand.Nodes(1, pool=pool):
            pass
        rados = ["-p", pool]
        value = os.path.join(self.folder, "format")
        self.ceph.script("rados", *rados, "getomapval", "tv.route", "f", value,
                         stdout=subprocess.DEVNULL)
        old = pathlib.Path(value).read_bytes()
        self.set_format(rados, re.sub(rb"\d+", b"99", old))
        text = self.refused(*stand.rados_flags(pool))
        self.assertRegex(text, "(?i)format|version|newer|level")
        self.set_format(rados, old)
        with stand.Nodes(1, pool=pool):
            pass

    def set_format(self, rados, value):
        subprocess.run([str(stand.SCRIPT), "rados", str(self.ceph.folder), *rados, "setomapval",
                        "tv.route", "f"], input=value, check=True)


@unittest.skipIf(stand.IS_ALONE, "about Ceph")
class Losses(unittest.TestCase):
    def setUp(self):
        self.ceph = stand.ceph()

    def insert(self, client, row, **more):
        try:
            return client.insert("kept", {"PartitionKey": "p", "RowKey": row, **more}).status
        except BROKEN:
            return None

    def test_a_lost_mon(self):
        """Reads and writes go on without it."""
        self.addCleanup(self.ceph.until_clean)
        with stand.Nodes(1) as nodes:
            client = Client(nodes[0].table_port)
            client.create_table("kept")
            self.assertEqual(self.insert(client, "before"), 204)
            self.ceph.kill("mon.a")
            for row in range(50):
                self.assertEqual(self.insert(client, f"{row}"), 204)
            self.assertEqual(len(list(client.scan("kept"))), 51)
            self.ceph.spawn("mon.a")
            self.assertEqual(self.insert(client, "after"), 204)
            client.close()

    def test_a_full_pool(self):
        """Puts are refused with 503; reads and deletes go on, also through a load balancer, so that it
        can be emptied; and it ends by itself."""
        with stand.Nodes(2) as nodes:
            client = Client(nodes.balance()["table"])
            self.assertTrue(stand.until(lambda: client.create_table("kept").status in (204, 409)))
            for row in range(10):
                self.assertEqual(self.insert(client, f"{row}", Text="x" * 30000), 204)
            # Ceph counts the data of objects for a quota, and not their rows.
            with tempfile.NamedTemporaryFile() as filler:
                filler.write(b"x" * 2_000_000)
                filler.flush()
                self.ceph.script("rados", "-p", nodes.pool, "put", "filler", filler.name)
            self.ceph.ceph("osd", "pool", "set-quota", nodes.pool, "max_bytes", "1000000")
            status = []

            def is_refused():
                status.append(self.insert(client, f"more{len(status)}", Text="x" * 30000))
                return status[-1] == 503
            self.assertTrue(stand.until(is_refused, WAIT_S, 0.2), status[-5:])
            self.assertTrue(stand.until(lambda: [health(node) for node in nodes] == [503, 503],
                                        WAIT_S, 0.2))
            self.assertEqual([health(node, "/ready") for node in nodes], [200, 200])
            # Which is what the balancer asks, so it has them both.
            self.assertIn("httpchk GET /ready\n", pathlib.Path(nodes.balancer.config).read_text())
            self.assertEqual(client.get("kept", "p", "1").status, 200)
            self.assertEqual(client.delete("kept", "p", "1").status, 204)
            self.assertEqual(client.get("kept", "p", "1").status, 404)
            self.ceph.ceph("osd", "pool", "set-quota", nodes.pool, "max_bytes", "0")
            self.assertTrue(stand.until(
                lambda: self.insert(client, "again") in (204, 409), WAIT_S, 0.2))
            self.assertTrue(stand.until(lambda: health(nodes[0]) == 200, WAIT_S, 0.2))
            client.close()

    def test_a_node_that_is_shut_out(self):
        """It ends with 75 so that its supervisor starts it again; the others go on."""
        with stand.Nodes(2) as nodes:
            client = Client(nodes[1].table_port)
            client.create_table("kept")
            self.assertEqual(self.insert(client, "before"), 204)
            before = self.clients(nodes.pool, 2)
            victim = Server(*stand.rados_flags(nodes.pool), engine="rados")
            self.addCleanup(victim.clean)
            victim.start(wait_s=WAIT_S)
            self.addCleanup(lambda: victim.process.poll() is None and victim.kill())
            for address in self.clients(nodes.pool, 3) - before:
                self.ceph.ceph("osd", "blocklist", "add", address)
            other = Client(victim.table_port)
            stand.until(lambda: self.insert(other, "lost") or victim.process.poll() is not None)
            other.close()
            self.assertEqual(victim.process.wait(WAIT_S), BLOCKLISTED, victim.log()[-2000:])
            self.assertEqual(self.insert(client, "after"), 204)
            victim.start(wait_s=WAIT_S)
            other = Client(victim.table_port)
            self.assertEqual(other.get("kept", "p", "before").status, 200)
            self.assertEqual(self.insert(other, "back"), 204)
            other.close()
            client.close()
            self.assertEqual(victim.stop(), 0)

    def clients(self, pool, count):
        """The addresses of all nodes on a pool, once there are so many: they watch its catalogues."""
        def find():
            done = self.ceph.script("rados", "-p", pool, "listwatchers", "tv.cat", check=False,
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            found = {word.partition("=")[2] for word in done.stdout.split()
                     if word.startswith("watcher=")}
            return found if len(found) == count else None
        found = stand.until(find)
        self.assertTrue(found, f"there are not {count} watchers")
        return found
