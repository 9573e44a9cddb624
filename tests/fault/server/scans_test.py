"""Many slow scans of one client: others have their turn, clients that leave are forgotten, a stop
is quick.

And what takes long for blobs has its turn among them.
"""

import base64
import hashlib
import re
import select
import signal
import socket
import time
import unittest
import urllib.parse
import urllib.request

import blob_client
import sign
from table_client import Client
from server import ACCOUNT, KEY, Server
from until import until

OTHER = "otheraccount"
OTHER_KEY = "b3RoZXIga2V5IG9mIGFub3RoZXIgYWNjb3VudA=="
ROWS = 20000
SLOW_SCANS = 40
NEVER_MS = 600_000  # longer than any of this takes: no page ends by it, and no stop


def read_metric(server, name):
    with urllib.request.urlopen(f"{server.admin_url}/metrics") as reply:
        return int(re.search(rf"^tavola_{name} (\d+)$", reply.read().decode(), re.M)[1])


def slow_path():
    """A query that looks at every row, some thousand times."""
    comparisons = " or ".join(f"n eq {-i}" for i in range(1, 2200))
    return "/Scans()?" + urllib.parse.urlencode({"$filter": comparisons})


class SlowScans(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--query-timeout-ms", f"{NEVER_MS}", "--test-points", "--test-values",
                            f"grace-ms={NEVER_MS}", engine="rocksdb", in_memory=True,
                            env={"AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY};{OTHER}:{OTHER_KEY}"})
        cls.server.start()
        client = Client(cls.server.table_port)
        assert client.create_table("Scans").status == 204
        for first in range(0, ROWS, 100):
            rows = [{"PartitionKey": "p", "RowKey": f"{i:06}", "n": i}
                    for i in range(first, first + 100)]
            assert client.batch("Scans", rows).status == 202
        client.close()
        other = Client(cls.server.table_port, OTHER, OTHER_KEY)
        assert other.create_table("Mine").status == 204
        assert other.insert("Mine", {"PartitionKey": "p", "RowKey": "r"}).status == 204
        other.close()

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        log = cls.server.log()
        cls.server.clean()
        assert code == 0, log[-4000:]

    def setUp(self):
        self.connections = []
        self.addCleanup(self.leave)

    def leave(self):
        for connection in self.connections:
            connection.close()
        self.connections = []
        until(lambda: self.unfinished() == 0, "the scans end")

    def start_scans(self, count):
        """`count` slow scans, each on a connection of its own."""
        client, path = Client(self.server.table_port), slow_path()
        head = "".join(f"{name}: {value}\r\n" for name, value in client.headers(path).items())
        request = f"GET /{ACCOUNT}{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}\r\n".encode()
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", self.server.table_port), timeout=60)
            connection.sendall(request)
            self.connections.append(connection)
        until(lambda: self.unfinished() == count, "all scans are there")

    def metric(self, name):
        return read_metric(self.server, name)

    def unfinished(self):
        return self.metric("scans_waiting") + self.metric("scans_running")

    def answered(self):
        return len(select.select(self.connections, [], [], 0)[0])

    def test_another_account_has_its_turn(self):
        other = Client(self.server.table_port, OTHER, OTHER_KEY)
        self.addCleanup(other.close)
        self.start_scans(SLOW_SCANS)
        for path in ("/Mine()", "/Mine()?$filter=n+eq+1", "/Tables"):
            self.assertEqual(other.request("GET", path).status, 200)
            self.assertEqual(self.answered(), 0, "it had to wait for slow scans")

    def test_a_short_query_of_the_same_account_has_its_turn(self):
        self.start_scans(SLOW_SCANS)
        client = Client(self.server.table_port)
        self.addCleanup(client.close)
        reply = client.request("GET", "/Scans()?$top=3")
        self.assertEqual((reply.status, len(reply.json["value"])), (200, 3))
        self.assertEqual(self.answered(), 0, "it had to wait for slow scans")

    def test_points_are_read_and_written_meanwhile(self):
        self.start_scans(SLOW_SCANS)
        client = Client(self.server.table_port)
        self.addCleanup(client.close)
        for i in range(100):
            reply = client.get("Scans", "p", f"{i:06}")
            self.assertEqual((reply.status, reply.json["n"]), (200, i))
            reply = client.replace("Scans", {"PartitionKey": "q", "RowKey": "r"})
            self.assertEqual(reply.status, 204)
        self.assertEqual(self.answered(), 0, "it had to wait for slow scans")
        self.assertEqual(client.delete("Scans", "q", "r").status, 204)

    def test_lists_of_the_other_services_have_their_turn(self):
        self.start_scans(SLOW_SCANS)
        for port in (self.server.queue_port, self.server.blob_port):
            path = f"/{OTHER}?comp=list"
            date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
            headers = {"x-ms-date": date, "x-ms-version": "2020-10-02"}
            headers["Authorization"] = sign.storage_shared_key(OTHER, OTHER_KEY, "GET", path,
                                                               headers)
            request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
            with urllib.request.urlopen(request, timeout=60) as reply:
                self.assertEqual(reply.status, 200)
            self.assertEqual(self.answered(), 0, "it had to wait for slow scans")

    def test_scans_of_closed_connections_end(self):
        before = self.metric("scans_cancelled_total")
        self.start_scans(SLOW_SCANS)
        self.leave()
        self.assertEqual(self.metric("scans_cancelled_total"), before + SLOW_SCANS)

    def test_a_stop_waits_for_no_scan(self):
        """Each of them is answered at once: a page that ends early, with a token."""
        self.start_scans(32)
        self.server.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.process.wait(60), 0, self.server.log()[-2000:])
        self.server.start()
        for connection in self.connections:
            reply = connection.recv(65536).decode()
            self.assertTrue(reply.startswith("HTTP/1.1 200 "), reply[:200])
            self.assertIn("x-ms-continuation-NextRowKey:", reply)


class LongBlobs(unittest.TestCase):
    """A blob of many pieces is read row by row, which others must not wait for."""

    def setUp(self):
        self.server = Server()
        self.server.start()
        self.addCleanup(self.server.clean)
        self.addCleanup(self.server.stop)
        self.client = blob_client.Client(self.server.blob_port)
        self.addCleanup(self.client.close)
        self.assertEqual(self.client.request("PUT", "films?restype=container", b"").status, 201)
        self.data = {"few": self.put("few", 4), "many": self.put("many", 2000)}

    def put(self, name, count):
        """A blob of `count` pieces; its bytes."""
        ids = [blob_client.block_id(i) for i in range(2)]
        for i, block in enumerate(ids):
            reply = self.client.request(
                "PUT", f"films/{name}?comp=block&blockid={urllib.parse.quote(block)}",
                b"%d" % i * 100)
            self.assertEqual(reply.status, 201, reply)
        listed = "".join(f"<Latest>{ids[i % 2]}</Latest>" for i in range(count))
        reply = self.client.request("PUT", f"films/{name}?comp=blocklist",
                                    f"<BlockList>{listed}</BlockList>".encode())
        self.assertEqual(reply.status, 201, reply)
        return b"".join(b"%d" % (i % 2) * 100 for i in range(count))

    def turns_of(self, method, path, body=None, **headers):
        """The reply, and whether it took turns."""
        before = read_metric(self.server, "scan_turns_total")
        reply = self.client.request(method, path, body, **headers)
        return reply, read_metric(self.server, "scan_turns_total") > before

    def test_downloads_take_turns(self):
        for name, data in self.data.items():
            reply, took_turns = self.turns_of("GET", f"films/{name}")
            self.assertEqual((reply.status, reply.body), (200, data))
            self.assertEqual(took_turns, name == "many", name)

    def test_digests_take_turns(self):
        for name, data in self.data.items():
            reply, took_turns = self.turns_of("GET", f"films/{name}", x_ms_range="bytes=5-",
                                              x_ms_range_get_content_md5="true")
            self.assertEqual((reply.status, reply.body), (206, data[5:]))
            digest = base64.b64encode(hashlib.md5(data[5:]).digest()).decode()
            self.assertEqual(reply.headers["Content-MD5"], digest)
            self.assertEqual(took_turns, name == "many", name)

    def test_copies_take_turns(self):
        for name, data in self.data.items():
            source = f"http://127.0.0.1:{self.server.blob_port}/{ACCOUNT}/films/{name}"
            reply, took_turns = self.turns_of("PUT", f"films/{name}-copy", b"",
                                              x_ms_copy_source=source)
            self.assertEqual(reply.status, 202, reply)
            self.assertEqual(took_turns, name == "many", name)
            self.assertEqual(self.client.request("GET", f"films/{name}-copy").body, data)
