"""What the recorder sees of real requests: GET /shapes, with a clock that the test moves."""

import http.client
import json
import unittest
import urllib.parse

from server import Server
from table_client import Client, key_path


class Watched(unittest.TestCase):
    """A server with a table, and how to ask it."""

    def start(self, *flags):
        self.server = Server(*flags)
        self.server.start()
        self.addCleanup(self.server.clean)
        self.addCleanup(self.server.stop)
        self.client = Client(self.server.table_port)
        self.addCleanup(self.client.close)
        self.assertEqual(self.client.create_table("People").status, 204)

    def admin(self, method, path, body=None, token=None):
        token = token or self.server.admin_token()
        connection = http.client.HTTPConnection("127.0.0.1", self.server.admin_port)
        try:
            connection.request(method, path, body and json.dumps(body),
                               {"Authorization": f"Bearer {token}"})
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def shapes(self, query="?table=people"):
        status, body = self.admin("GET", "/shapes" + query)
        self.assertEqual(status, 200, body)
        return {(shape["operation"], shape.get("text")): shape
                for shape in json.loads(body)["shapes"]}

    def query(self, filter_text=None, headers=None, **options):
        parameters = {f"${name}": value for name, value in options.items()}
        if filter_text is not None:
            parameters["$filter"] = filter_text
        path = "/People()?" + urllib.parse.urlencode(parameters)
        reply = self.client.request("GET", path, None, **(headers or {}))
        return reply


class On(Watched):
    def setUp(self):
        # A request is recorded when its answer has gone out.  On one thread that is before the next
        # request is answered, on whatever connection.
        self.start("--watch=all", "--watch-clock=manual", "--test-points", "--threads", "1")

    def load(self, partitions, rows):
        for p in range(partitions):
            for first in range(0, rows, 100):
                entities = [{"PartitionKey": f"p{p:03}", "RowKey": f"r{r:05}", "Age": r % 50}
                            for r in range(first, min(rows, first + 100))]
                self.assertEqual(self.client.batch("People", entities).status, 202)

    def test_queries_are_counted_with_their_plan_and_cost(self):
        self.load(2, 300)
        for age in range(5):
            reply = self.query(f"Age eq {age}", {"x-tavola-source": "src/login.c:88"})
            self.assertEqual(len(reply.json["value"]), 12)
        self.query("PartitionKey eq 'p001' and RowKey eq 'r00007'")
        self.query("PartitionKey eq 'p001' and (RowKey eq 'r00007' or RowKey eq 'r00008')")
        self.query("PartitionKey eq 'p001'", top=5, select="Age")
        shapes = self.shapes()

        scan = shapes["QueryEntities", "Age eq ?i"]
        self.assertEqual(scan["executions"], 5)
        self.assertEqual(scan["plans"], {"point": 0, "range": 0, "partition": 0, "table": 5})
        self.assertEqual((scan["examined"], scan["returned"]), (3000, 60))
        self.assertEqual(scan["sources"], ["src/login.c:88"])
        self.assertEqual(scan["example"], "Age eq 0")
        self.assertGreater(scan["bytesOut"], 60 * 20)
        point = shapes["QueryEntities", "PartitionKey eq ?s and RowKey eq ?s"]
        self.assertEqual((point["plans"]["point"], point["examined"]), (1, 1))
        self.assertEqual(point["fingerprint"], "1479dc17d96c2f0b")
        several = shapes["QueryEntities", "PartitionKey eq ?s and any(RowKey eq ?s)"]
        self.assertEqual((several["rangesMax"], several["listMax"]), (2, 2))
        first = shapes["QueryEntities", "PartitionKey eq ?s"]
        self.assertEqual((first["select"], first["top"], first["selected"]), (True, True, "Age"))
        self.assertEqual((first["returned"], first["examined"]), (5, 5))
        self.assertEqual(shapes["EntityGroupTransaction", None]["executions"], 6)

    def test_a_walk_is_one_execution(self):
        self.load(1, 2500)
        self.assertEqual(len(list(self.client.scan("People"))), 2500)
        shape = self.shapes()["QueryEntities", "*"]
        self.assertEqual((shape["executions"], shape["pages"]), (1, 3))
        self.assertEqual((shape["examinedMax"], shape["walks"]["toEnd"]), (2500, 1))
        self.query()
        self.admin("POST", "/clock", {"ms": 61_000})
        self.assertEqual(self.shapes()["QueryEntities", "*"]["walks"],
                         {"toEnd": 1, "left": 0, "ignored": 1})

    def test_an_hour_later_it_is_forgotten(self):
        self.query("Age eq 1")
        self.assertEqual(len(self.shapes()), 1)
        status, body = self.admin("POST", "/clock", {"ms": 2 * 3600 * 1000})
        self.assertEqual(status, 200, body)
        self.assertEqual(self.shapes(), {})

    def test_the_window_is_as_long_as_it_says(self):
        def seconds(query=""):
            return json.loads(self.admin("GET", "/shapes" + query)[1])["windowSeconds"]

        self.assertEqual(seconds(), 0)
        self.admin("POST", "/clock", {"ms": 90_000})
        self.assertEqual(seconds(), 90)
        mark = json.loads(self.admin("POST", "/advice/marks")[1])["mark"]
        self.admin("POST", "/clock", {"ms": 7000})
        self.assertEqual(seconds("?since=" + mark), 7)
        for _ in range(20):
            self.admin("POST", "/clock", {"ms": 419_000})
        # What was counted in it is seen for just as long.
        self.query("Age eq 1")
        while self.shapes():
            before = seconds()
            self.assertTrue(3000 <= before <= 3600, before)
            self.admin("POST", "/clock", {"ms": 100_000})

    def test_what_is_not_judged(self):
        entity = {"PartitionKey": "p", "RowKey": "r"}
        self.assertEqual(self.client.insert("People", entity).status, 204)
        self.query("Age eq 1", {"User-Agent": "tavola-tool tavola/0.1.0"})
        self.query("Age eq 1", {"x-tavola-explain": "true"})
        self.client.request("GET", key_path("People", "p", "r"), None, x_tavola_explain="true")
        wrong = Client(self.server.table_port, key="d3Jvbmc=")
        self.assertEqual(wrong.get("People", "p", "r").status, 403)
        wrong.close()
        self.assertEqual(set(self.shapes()), {("InsertEntity", None)})

    def test_values_are_never_shown(self):
        self.query("Name eq 'geheim' and Age gt 4711", {"x-tavola-source": "not a place"})
        status, body = self.admin("GET", "/shapes")
        self.assertEqual(status, 200)
        self.assertNotIn(b"geheim", body)
        self.assertNotIn(b"4711", body)
        self.assertNotIn(b"not a place", body)

    def test_bad_requests(self):
        self.assertEqual(self.admin("GET", "/shapes", token="wrong")[0], 401)
        for body in ({}, {"ms": -1}, {"ms": "x"}, {"s": 1}):
            self.assertEqual(self.admin("POST", "/clock", body)[0], 400, body)

    def test_advice_of_a_run(self):
        status, body = self.admin("POST", "/advice/marks")
        self.assertEqual(status, 201, body)
        mark = json.loads(body)["mark"]
        for query, status in ("", 200), (f"?since={mark}", 200), ("?since=m99", 404), \
                ("?limit=x", 400), ("?rule=none", 400):
            self.assertEqual(self.admin("GET", "/advice" + query)[0], status, query)

    def test_long_filters_have_shapes_too(self):
        text = " or ".join(f"Age eq {i}" for i in range(400))
        self.assertGreater(len(text), 2048)
        self.assertEqual(self.query(text).status, 200)
        shape = self.shapes()["QueryEntities", "any(Age eq ?i)"]
        self.assertEqual((shape["executions"], shape["comparisonsMax"]), (1, 400))



class Churn(Watched):
    """With 8 MiB there is room for 512 tables."""

    def test_tables_that_come_and_go_make_room_for_new_ones(self):
        self.start("--watch=all", "--watch-clock=manual", "--test-points", "--threads", "1",
                   "--watch-memory-mb", "8")
        for n in range(560):
            self.assertEqual(self.client.create_table(f"Day{n}").status, 204)
            self.client.request("GET", f"/Day{n}()?$filter=Age%20eq%205", None)
            if n % 20 == 0:  # as each second of the real clock does
                self.client.request("DELETE", f"/Tables('Day{n}')", None)
                self.admin("POST", "/clock", {"ms": 1000})
        self.admin("POST", "/clock", {"ms": 1000})
        self.assertEqual(self.shapes("?table=Day1"), {})
        self.assertEqual(self.shapes("?table=Day559")["QueryEntities", "Age eq ?i"]["executions"], 1)
        # What has left comes back when it is used.
        self.client.request("GET", "/Day1()?$filter=Age%20eq%205", None)
        self.assertEqual(self.shapes("?table=Day1")["QueryEntities", "Age eq ?i"]["executions"], 1)


class Off(Watched):
    def setUp(self):
        self.start("--watch=off")

    def test_nothing_is_served(self):
        self.query("Age eq 1")
        self.assertEqual(self.admin("GET", "/shapes")[0], 404)
        self.assertEqual(self.admin("POST", "/clock", {"ms": 1})[0], 404)


if __name__ == "__main__":
    unittest.main()
