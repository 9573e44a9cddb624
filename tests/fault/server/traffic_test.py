"""Traffic by key as a client of the admin port sees it, with a clock that the test moves."""

import http.client
import json
import math
import pathlib
import struct
import unittest
import urllib.parse

from server import Server
from table_client import Client, key_path


class Traffic(unittest.TestCase):
    def setUp(self):
        self.server = Server("--watch=all", "--watch-clock=manual", "--test-points", "--threads", "1")
        self.addCleanup(self.server.clean)
        self.start()

    def start(self):
        self.server.start()
        self.addCleanup(lambda: self.server.process.poll() is None and self.server.kill())
        self.client = Client(self.server.table_port)
        self.addCleanup(self.client.close)

    def admin(self, method, path, body=None, token=None):
        if token is None:
            token = self.server.admin_token()
        connection = http.client.HTTPConnection("127.0.0.1", self.server.admin_port)
        try:
            connection.request(method, path, body and json.dumps(body),
                               {"Authorization": f"Bearer {token}"} if token else {})
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def minute(self):
        status, body = self.admin("POST", "/clock", {"ms": 60_000})
        self.assertLess(status, 300, body)

    def traffic(self, measure="reads", table="People", path="/traffic", **more):
        query = urllib.parse.urlencode({"table": table, "measure": measure} | more)
        status, body = self.admin("GET", f"{path}?{query}")
        self.assertEqual(status, 200, body)
        return body

    def sums(self, measure, **more):
        return [sum(slot) for slot in json.loads(self.traffic(measure, **more))["cells"]]

    def insert(self, table, partition_key, row_key):
        reply = self.client.insert(table, {"PartitionKey": partition_key, "RowKey": row_key})
        self.assertEqual(reply.status, 204)

    def load(self):
        self.assertEqual(self.client.create_table("People").status, 204)
        for i in range(100):
            self.insert("People", f"p{i:03}", "r")
        self.minute()

    def test_requests_count_in_their_minute(self):
        self.load()
        for i in range(10):
            self.assertEqual(self.client.get("People", "p007", "r").status, 200)
        self.assertEqual(self.client.get("People", "p007", "none").status, 404)
        self.assertEqual(self.client.delete("People", "p009", "r").status, 204)
        stale = {"If-Match": "W/\"datetime'2020-01-01T00%3A00%3A00Z'\""}
        self.assertEqual(self.client.request("DELETE", key_path("People", "p008", "r"), None, **stale).status, 412)
        self.assertEqual(len(self.client.request("GET", "/People()").json["value"]), 99)
        self.minute()

        self.assertEqual(self.sums("writes")[-2:], [100, 0])
        self.assertEqual(self.sums("reads")[-2:], [0, 11 + 99])
        self.assertEqual(self.sums("deletes")[-2:], [0, 1])
        self.assertEqual(self.sums("conflicts")[-2:], [0, 1])
        self.assertEqual(self.sums("scanned")[-2:], [0, 99])
        self.assertGreaterEqual(self.sums("bytes")[-2], 100)

    def test_it_is_there_after_a_restart_and_after_a_crash(self):
        self.load()
        self.server.kill()
        self.start()
        self.assertEqual(sum(self.sums("writes")), 100)
        self.assertEqual(self.client.get("People", "p007", "r").status, 200)
        self.minute()
        self.minute()
        self.assertEqual(sum(self.sums("reads")), 1)
        # A stop keeps the minute that is open, too.  The write has the time of the moved clock,
        # from which the next start goes on.
        self.assertEqual(self.client.get("People", "p008", "r").status, 200)
        self.insert("People", "p100", "r")
        self.assertEqual(self.server.stop(), 0)
        self.start()
        self.assertEqual((sum(self.sums("reads")), sum(self.sums("writes"))), (2, 101))
        self.server.stop()

    def test_a_hot_key_stands_alone_and_is_found(self):
        self.load()
        for _ in range(15):
            for i in range(400):
                self.client.get("People", "p050", "r")
                self.client.get("People", f"p{i % 100:03}", "r")
            self.minute()
        view = json.loads(self.traffic("reads", buckets=64))
        at = view["keys"].index(["p050", "r"])
        self.assertEqual(view["keys"][at + 1], ["p050", "r", ""])
        self.assertEqual(view["cells"][-1][at], 404)
        finding, = [f for f in view["findings"] if f["kind"] == "hot-line"]
        self.assertEqual((finding["bucket"], finding["oneKey"], finding["verdict"]), (at, True, "watch"))

        # The same as bytes; and one cell of it exactly, with all measures.
        heat = self.traffic("reads", buckets=64, format="heat")
        length, = struct.unpack("<I", heat[4:8])
        header = json.loads(heat[8:8 + length])
        self.assertEqual(heat[:4], b"TVH1")
        self.assertEqual(header, {name: view[name] for name in header})
        cells = heat[8 + length:]
        self.assertEqual(len(cells), view["slots"] * view["buckets"])
        self.assertEqual(cells[-view["buckets"] + at], round(1 + 254 * math.log(404) / math.log(view["max"])))
        cell = json.loads(self.traffic(path="/traffic/cell", **{
            "from": view["from"] + (view["slots"] - 1) * 60, "low": "p050\x01r", "high": "p050\x01r\x01"}))
        self.assertEqual((cell["reads"], cell["writes"], cell["recorded"]), (404, 0, True))

    def test_a_table_that_was_deleted_is_not_shown_and_its_heir_begins_anew(self):
        self.load()
        self.assertEqual(self.client.request("DELETE", "/Tables('People')").status, 204)
        self.assertEqual(self.admin("GET", "/traffic?table=People")[0], 404)
        self.assertEqual(self.client.create_table("People").status, 204)
        self.minute()
        self.assertEqual(sum(self.sums("writes")), 0)

    def test_a_table_that_was_deleted_is_not_kept_in_longer_columns(self):
        self.load()
        self.assertEqual(self.client.create_table("Other").status, 204)
        self.insert("Other", "p", "r")
        self.assertEqual(self.client.request("DELETE", "/Tables('Other')").status, 204)
        for _ in range(20):
            self.minute()
        self.assertEqual(self.server.stop(), 0)
        folder = pathlib.Path(self.server.data) / "watch"
        blocks = {}
        for path in folder.iterdir():
            layer = path.name.partition(".")[0]
            blocks[layer] = blocks.get(layer, 0) + path.read_bytes().count(b"devstoreaccount1")
        self.assertEqual((blocks["minute"], blocks["ten"]), (2, 1))

    def test_a_wall_is_told_from_scans_of_a_part_by_the_count_of_rows(self):
        self.load()
        for i in range(100, 120):  # more than what is cheap to scan whole
            self.insert("People", f"p{i:03}", "r")
        for filter, is_wall in (("PartitionKey lt 'p080'", False), ("PartitionKey ge 'p'", True)):
            for _ in range(12):
                path = "/People()?$filter=" + urllib.parse.quote(filter)
                self.assertEqual(self.client.request("GET", path).status, 200)
                self.minute()
            view = json.loads(self.traffic("scanned"))
            walls = [f for f in view["findings"] if f["kind"] == "wall"]
            self.assertEqual(bool(walls), is_wall, (filter, view["buckets"], walls))
        self.assertEqual(walls[0]["share"], 1)
        # Of a part of the table the number of rows is not known.
        part = json.loads(self.traffic("scanned", low="p050"))
        self.assertNotIn("wall", [f["kind"] for f in part["findings"] if f["share"]])

    def test_keys_are_for_the_holder_of_the_token(self):
        self.load()
        for path in ("/traffic?table=People", "/traffic/cell?table=People"):
            self.assertEqual(self.admin("GET", path, token="")[0], 401)
            self.assertEqual(self.admin("GET", path, token="0" * 64)[0], 401)

    def test_bad_parameters_are_told(self):
        self.load()
        for query in ("grain=2m", "from=yesterday", "to=-1", "measure=love", "buckets=0", "buckets=1537",
                      "buckets=x", "low=b&high=a", "low=%03", "format=xml", "low=%FF"):
            status, body = self.admin("GET", f"/traffic?table=People&{query}")
            self.assertEqual((status, body.count(b"\n")), (400, 1), (query, body))
        for query in ("", "table=Nobody", "table=People&account=nobody"):
            self.assertEqual(self.admin("GET", f"/traffic?{query}")[0], 404, query)
