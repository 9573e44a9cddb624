"""Nodes that die in the middle of uploads, whose clocks are wrong, or that are of another version.

All of it takes long in real life; --test-values makes it short (docs/cluster-tests.md).
"""

import concurrent.futures
import http.client
import re
import subprocess
import threading
import types
import unittest
import urllib.error
import urllib.request

from blob_client import BROKEN, Client as BlobClient
from cluster import admin, record, stand
from cluster.points_test import leader_of
from queue_client import QueueClient
from server import Server
from table_client import Client as TableClient

MIB = 1 << 20
WAIT_S = 180


def pretending(values):
    """The environment of a node that pretends these."""
    return {"TAVOLA_TEST_POINTS": "1", "TAVOLA_TEST_VALUES": values}


def health(server, path="/healthz"):
    """(status, text) of /healthz."""
    try:
        with urllib.request.urlopen(server.admin_url + path, timeout=WAIT_S) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@unittest.skipIf(stand.IS_ALONE, "about Ceph")
class Members(unittest.TestCase):
    def start(self, count, *flags, envs=None, pool=None, unhealthy=()):
        nodes = stand.Nodes(count, *flags, envs=envs, pool=pool)
        self.addCleanup(nodes.clean)
        return nodes.start(unhealthy)

    def end(self, nodes):
        """Stop those that still run, and see that they ended well."""
        problems = [problem for problem in nodes.stop() if "ended with -9" not in problem]
        self.assertEqual(problems, [])

    def log_has(self, servers, pattern):
        """One of them, as when whoever leads writes it."""
        found = stand.until(lambda: any(re.search(pattern, server.log()) for server in servers),
                            WAIT_S)
        self.assertTrue(found, f"no line with {pattern}:\n" +
                        "\n".join(server.log()[-3000:] for server in servers))

    def rados(self, nodes, *words):
        done = stand.ceph().script("rados", "-p", nodes.pool, *words, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        return done.stdout


class Uploads(Members):
    """A node is killed while clients upload through it."""

    VALUES = pretending("dead-ms=15000,sweep-gap-ms=1000,remove-delay-ms=1000")

    def extents(self, nodes):
        """The ids of all runs of large data in the pool."""
        return {name.rsplit(".", 1)[0] for name in stand.ceph().objects(nodes.pool)
                if name.startswith("tv.X.")}

    def put_until_killed(self, node, kept):
        """Upload blobs; those that were acknowledged are in `kept`."""
        client, number = BlobClient(node.blob_port, timeout_s=WAIT_S), 0
        try:
            while True:
                path, content = f"films/late{number}", bytes([number % 251]) * (5 * MIB)
                if client.put(path, content).status == 201:
                    kept[path] = content
                number += 1
        except BROKEN:
            client.close()

    def kill_in_uploads(self, *flags):
        """Three nodes, of which the last was killed; they, and what was acknowledged."""
        nodes = self.start(3, *flags, envs={number: self.VALUES for number in range(3)})
        client, kept = BlobClient(nodes[0].blob_port), {}
        self.addCleanup(client.close)
        self.assertEqual(client.create_container("films").status, 201)
        for number in range(4):
            path, content = f"films/{number}", bytes([number]) * (MIB * (number + 1))
            self.assertEqual(client.put(path, content).status, 201)
            kept[path] = content
        before = self.extents(nodes)

        # One whose body does not end, so that there is surely data without a row.
        half = BlobClient(nodes[2].blob_port, timeout_s=WAIT_S)
        half.connection.connect()
        half.connection.sock.sendall(half.head_of("PUT", "films/half", 64 * MIB,
                                                  x_ms_blob_type="BlockBlob") + bytes(30 * MIB))
        writer = threading.Thread(target=self.put_until_killed, args=(nodes[2], kept))
        writer.start()
        found = stand.until(lambda: len(self.extents(nodes) - before) >= 3 and len(kept) > 4, WAIT_S)
        self.killed = admin.cluster(nodes[2])["self"]
        nodes[2].kill()
        writer.join()
        half.close()
        self.assertTrue(found, nodes.logs())
        self.assertGreater(len(kept), 4)
        return nodes, client, kept

    def check_kept(self, client, kept):
        for path, content in kept.items():
            reply = client.get(path)
            self.assertEqual((reply.status, reply.body == content), (200, True), path)

    def until_swept(self, nodes, client):
        """Every blob has one run of data, so that is how many are to be left."""
        def is_swept():
            return len(self.extents(nodes)) == len(client.list("films"))
        self.assertTrue(stand.until(is_swept, WAIT_S, 0.5),
                        f"{self.extents(nodes)}\n{nodes.logs()}")

    def test_what_a_killed_node_has_left_is_swept_and_nothing_else(self):
        nodes, client, kept = self.kill_in_uploads()
        self.log_has(nodes, f"event=dead_node incarnation={self.killed} ")
        self.log_has(nodes, "event=sweep .*extents_removed=[1-9]")
        self.until_swept(nodes, client)
        self.check_kept(client, kept)
        # What is replaced now goes after all that the sweep has asked for, and nothing more goes.
        for content in (b"a" * MIB, b"b" * MIB):
            self.assertEqual(client.put("films/0", content).status, 201)
            kept["films/0"] = content
        self.until_swept(nodes, client)
        self.check_kept(client, kept)
        self.end(nodes)

    def test_without_sweeps_everything_stays_until_a_node_with_sweeps_leads(self):
        nodes, client, kept = self.kill_in_uploads("--no-sweep")
        left = self.extents(nodes)
        self.log_has(nodes, f"event=dead_node incarnation={self.killed} ")
        self.log_has(nodes, "event=sweep .*extents_kept=[1-9]")
        # What was under way when it was killed may have come since.
        self.assertEqual(left - self.extents(nodes), set())
        self.end(nodes)

        nodes = self.start(1, envs={0: self.VALUES}, pool=nodes.pool)
        client = BlobClient(nodes[0].blob_port)
        self.addCleanup(client.close)
        self.until_swept(nodes, client)
        self.check_kept(client, kept)
        self.end(nodes)


class Clocks(Members):
    def test_a_clock_that_is_far_ahead_takes_no_writes_and_one_a_little_ahead_does(self):
        # The last knows before it listens that its clock is wrong.
        nodes = self.start(3, unhealthy=[2], envs={1: pretending("clock-ms=3000"),
                                                   2: pretending("clock-ms=14000")})
        tables = [TableClient(node.table_port) for node in nodes]
        for table in tables:
            self.addCleanup(table.close)
        self.assertEqual(tables[0].create_table("clocks").status, 204)

        # The one in the middle is the median; the last is 11 s ahead of it.
        self.assertIn("ahead of the others", health(nodes[2])[1])
        # The others take its clients.
        self.assertEqual([health(node, "/ready")[0] for node in nodes], [200, 200, 503])
        self.log_has([nodes[2]], "event=clock .*writes=refused")

        # ETags and Timestamps of a row grow, whoever writes it.
        last = 0
        for number in range(30):
            table = tables[number % 2]
            reply = table.replace("clocks", {"PartitionKey": "p", "RowKey": "r", "n": number})
            self.assertEqual(reply.status, 204, reply)
            stamp = record.ticks(reply.headers["ETag"])
            self.assertGreater(stamp, last)
            last = stamp
        self.assertEqual([health(nodes[number])[0] for number in (0, 1)], [200, 200])

        entity = {"PartitionKey": "p", "RowKey": "x"}
        self.assertEqual(tables[2].insert("clocks", entity).status, 503)
        self.assertEqual(tables[2].create_table("more").status, 503)
        self.assertEqual(tables[2].get("clocks", "p", "r").json["n"], 29)
        self.assertEqual(len(list(tables[2].scan("clocks"))), 1)
        queue, blob = QueueClient(nodes[2].queue_port), BlobClient(nodes[2].blob_port)
        self.addCleanup(queue.close)
        self.addCleanup(blob.close)
        self.assertEqual(blob.create_container("none").status, 503)
        self.assertEqual(tables[0].insert("clocks", entity).status, 204)
        self.end(nodes)


    def start_two(self):
        """The clock of one is ahead.  The store has the highest level."""
        nodes = self.start(2, envs={1: pretending("clock-ms=600")})
        highest = admin.cluster(nodes[0])["nodes"][0]["level"]
        raised = stand.until(lambda: admin.cluster(nodes[0])["level"] == highest, WAIT_S, 0.2)
        self.assertTrue(raised, nodes.logs())
        return nodes

    def test_blobs_and_containers_keep_their_order_through_nodes_whose_clocks_differ(self):
        nodes = self.start_two()
        blobs = [BlobClient(node.blob_port) for node in nodes]
        for blob in blobs:
            self.addCleanup(blob.close)
        self.assertEqual(blobs[0].create_container("order").status, 201)

        # A blob that is made, changed and deleted through both: no ETag and no snapshot comes twice.
        last_etag, last_snapshot = 0, ""
        for number in range(60):
            one, other = blobs[number % 2], blobs[number // 2 % 2]
            for reply in (one.put("order/b", f"{number}".encode()),
                          other.request("PUT", "order/b?comp=metadata", b"", x_ms_meta_n="1")):
                self.assertIn(reply.status, (200, 201), reply)
                etag = int(reply.headers["ETag"].strip('"'), 16)
                self.assertGreater(etag, last_etag)
                last_etag = etag
            snapshot = one.snapshot("order/b")
            self.assertEqual(snapshot.status, 201, snapshot)
            self.assertGreater(snapshot.headers["x-ms-snapshot"], last_snapshot)
            last_snapshot = snapshot.headers["x-ms-snapshot"]
            self.assertEqual(other.get("order/b", last_snapshot).body, f"{number}".encode())
            if number % 3:
                self.assertEqual(other.delete("order/b").status, 202)

        # Likewise a container.
        last_etag = 0
        for number in range(20):
            one, other = blobs[number % 2], blobs[number // 2 % 2]
            for reply in (one.create_container("again"),
                          other.request("PUT", "again?restype=container&comp=metadata", b"",
                                        x_ms_meta_n="1")):
                self.assertIn(reply.status, (200, 201), reply)
                etag = int(reply.headers["ETag"].strip('"'), 16)
                self.assertGreater(etag, last_etag)
                last_etag = etag
            self.assertEqual(other.delete_container("again").status, 202)
        self.end(nodes)

    def test_messages_keep_their_order_through_nodes_whose_clocks_differ(self):
        nodes = self.start_two()
        queues = [QueueClient(node.queue_port) for node in nodes]
        for queue in queues:
            self.addCleanup(queue.close)
        self.assertEqual(queues[0].create("order").status, 201)

        # What one has put the other one sees, and gives out.
        for number in range(20):
            self.assertEqual(queues[number % 2].put("order", f"seen {number}").status, 201)
            for found in (queues[1 - number % 2].peek("order"),
                          queues[1 - number % 2].get("order", visibilitytimeout=3600)):
                self.assertEqual([message.MessageText for message in found.messages],
                                 [f"seen {number}"])
        texts = [f"in order {number}" for number in range(60)]
        for number, text in enumerate(texts):
            self.assertEqual(queues[number % 2].put("order", text).status, 201)
        found = [message.MessageText for _ in range(2) for message in
                 queues[0].get("order", visibilitytimeout=3600, numofmessages=32).messages]
        self.assertEqual(found, texts)
        self.end(nodes)


class Rows(Members):
    def address_of(self, node):
        """In the Ceph cluster, as soon as the node tells."""
        def find():
            told = admin.cluster(node)
            return [one["address"] for one in told["nodes"] if str(one["incarnation"]) == str(told["self"])]
        return stand.until(find, WAIT_S)[0]

    def test_a_row_shuts_out_nobody_but_the_node_that_wrote_it(self):
        """Rows that nobody beats for: of a client that is no node, of a healthy node, of a dead one."""
        values = pretending("dead-ms=5000")
        nodes = self.start(3, envs={number: values for number in range(3)})
        import rados  # as stand.py does
        stranger = stand.ceph().connection()
        with stranger.open_ioctx(nodes.pool) as io, rados.WriteOpCtx() as change:
            healthy = self.address_of(nodes[1])
            rows = [(f"n|{900 + number:013}", f"live {address} h:1 1.0 99 1767225600000 7".encode())
                    for number, address in enumerate([stranger.get_addrs(), healthy])]
            io.set_omap(change, *zip(*rows))
            io.operate_write_op(change, "tv.nodes")
        killed = admin.cluster(nodes[2])["self"]
        nodes[2].kill()
        self.log_has(list(nodes)[:2], f"event=dead_node incarnation={killed} ")
        for key, _ in rows:  # which has a number to the base of 32
            self.log_has(list(nodes)[:2], f"event=unknown_node incarnation={int(key[2:], 32)} ")
        shut_out = stand.ceph().ceph("osd", "blocklist", "ls")
        self.assertNotIn(stranger.get_addrs(), shut_out)
        self.assertNotIn(healthy, shut_out)
        for node in list(nodes)[:2]:
            client = TableClient(node.table_port)
            self.addCleanup(client.close)
            self.assertEqual(client.create_table(f"t{node.table_port}").status, 204)
        for key, _ in rows:
            self.rados(nodes, "rmomapkey", "tv.nodes", key)
        self.end(nodes)


class Silence(Members):
    def finish(self, client, rest):
        """Send the rest of a body; the answer to it."""
        client.connection.sock.sendall(rest)
        answer = http.client.HTTPResponse(client.connection.sock)
        answer.begin()
        return types.SimpleNamespace(status=answer.status, body=answer.read())

    def test_every_request_is_answered_while_the_pool_does_not_answer(self):
        """In the time that the node was told; it works again when the pool does."""
        nodes = self.start(1, envs={0: pretending("pool-ms=2000")})
        server = nodes[0]
        table, blob = TableClient(server.table_port), BlobClient(server.blob_port)
        queue = QueueClient(server.queue_port)
        for client in (table, blob, queue):
            self.addCleanup(client.close)
        self.assertEqual(table.create_table("kept").status, 204)
        self.assertEqual(table.create_table("gone").status, 204)
        self.assertEqual(table.insert("kept", {"PartitionKey": "p", "RowKey": "r"}).status, 204)
        self.assertEqual(blob.create_container("films").status, 201)
        self.assertEqual(blob.put("films/a", b"x" * (5 * MIB)).status, 201)
        self.assertEqual(queue.create("work").status, 201)
        self.assertEqual(queue.put("work", "hello").status, 201)
        asked = {
            "entity": lambda: TableClient(server.table_port).get("kept", "p", "r"),
            "insert": lambda: TableClient(server.table_port).insert(
                "kept", {"PartitionKey": "p", "RowKey": "new"}),
            "query": lambda: TableClient(server.table_port).request("GET", "/kept()"),
            "tables": lambda: TableClient(server.table_port).request("GET", "/Tables"),
            "blob": lambda: BlobClient(server.blob_port).get("films/a"),
            "blobs": lambda: BlobClient(server.blob_port).request(
                "GET", "films?restype=container&comp=list"),
            "peek": lambda: QueueClient(server.queue_port).peek("work"),
            "message": lambda: QueueClient(server.queue_port).put("work", "more"),
            "upload": lambda: self.finish(upload, bytes(8 * MIB)),
            # Behind each other, in the lane of one range.
            **{f"insert {number}": lambda number=number: TableClient(server.table_port).insert(
                "kept", {"PartitionKey": "p", "RowKey": f"new{number}"}) for number in range(10)},
        }
        # Begun before the silence: else it would end where the container is looked up.
        upload = BlobClient(server.blob_port, timeout_s=WAIT_S)
        self.addCleanup(upload.close)
        upload.connection.connect()
        upload.connection.sock.sendall(upload.head_of("PUT", "films/b", 9 * MIB,
                                                      x_ms_blob_type="BlockBlob") + bytes(MIB))
        admin.set_point(server, "fence.1", "pause", ms=5000)
        with concurrent.futures.ThreadPoolExecutor(len(asked) + 1) as executor:
            drop = executor.submit(lambda: TableClient(server.table_port, timeout_s=WAIT_S).request(
                "DELETE", "/Tables('gone')"))
            self.assertTrue(stand.until(lambda: admin.met(server, "fence.1"), WAIT_S))
            with stand.ceph().silence():
                started = {name: executor.submit(ask) for name, ask in asked.items()}
                found = {name: one.result() for name, one in {**started, "drop": drop}.items()}
        for name, reply in found.items():
            with self.subTest(name=name):
                self.assertEqual(reply.status, 500, reply)
                self.assertIn(b"OperationTimedOut", reply.body)
        self.assertTrue(stand.until(lambda: table.get("kept", "p", "r").status == 200, WAIT_S))
        self.assertTrue(stand.until(
            lambda: table.insert("kept", {"PartitionKey": "p", "RowKey": "last"}).status
            in (204, 409), WAIT_S))
        self.assertEqual(blob.get("films/a").body, b"x" * (5 * MIB))
        self.end(nodes)


    def test_a_start_says_that_the_pool_does_not_answer(self):
        nodes = self.start(1)
        late = Server(*stand.rados_flags(nodes.pool), engine="rados",
                      env=pretending("pool-ms=2000"))
        self.addCleanup(late.clean)
        with stand.ceph().silence():
            with self.assertRaisesRegex(RuntimeError, f"tavolad: .*: {stand.NO_ANSWER}: see"):
                late.start(wait_s=WAIT_S)
        self.assertEqual(late.process.wait(WAIT_S), 2)
        late.start(wait_s=WAIT_S)
        self.assertEqual(late.stop(), 0)
        self.end(nodes)


class Stops(Members):
    def test_a_stop_does_not_wait_for_ever_for_a_pool_that_does_not_answer(self):
        nodes = self.start(1, envs={0: pretending("stop-pool-ms=2000")})
        table = TableClient(nodes[0].table_port)
        self.addCleanup(table.close)
        self.assertEqual(table.create_table("last").status, 204)
        with stand.ceph().silence():
            code = nodes[0].stop(wait_s=WAIT_S)
        self.assertEqual(code, 69, nodes.logs())
        self.log_has(nodes, "event=stop .*the pool does not answer")


class Levels(Members):
    def level(self, nodes):
        return self.rados(nodes, "getomapval", "tv.route", "f", "/dev/stdout")

    def test_the_level_is_raised_when_the_last_old_node_has_gone(self):
        nodes = self.start(3, envs={number: pretending(f"level={level}")
                                    for number, level in enumerate((1, 2, 3))})
        # The leader, which looks after them at each of its beats, has seen all three.
        leader = nodes[leader_of(nodes)]
        admin.set_point(leader, "level.look", "count")
        looked = stand.until(lambda: admin.met(leader, "level.look") >= 3)
        self.assertTrue(looked, nodes.logs())
        self.assertIn("1 1", self.level(nodes))
        nodes[0].stop(wait_s=WAIT_S)
        raised = stand.until(lambda: "1 2" in self.level(nodes), WAIT_S, 0.2)
        self.assertTrue(raised, nodes.logs())

        # The old one cannot come back, and says why.
        done = subprocess.run(nodes[0].command(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=WAIT_S,
                              env=nodes[0].env)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("the pool is used by newer nodes (level 2)", done.stdout)

        # Nobody does this to nodes that run; if it happens they end at once, and say why.
        version = int(re.search(r"(\d+)\s*$", self.rados(nodes, "getomapval", "tv.route", "v",
                                                         "/dev/stdout"))[1])
        self.rados(nodes, "setomapval", "tv.route", "f", "1 3")
        self.rados(nodes, "setomapval", "tv.route", "v", str(version + 1000))
        self.assertEqual(nodes[1].process.wait(WAIT_S), 75)
        self.log_has([nodes[1]], "event=newer_nodes level=3")
        self.assertIsNone(nodes[2].process.poll())
        self.assertEqual(nodes[2].stop(wait_s=WAIT_S), 0)
