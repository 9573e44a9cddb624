"""Long scans: pages that end by the clock; and the counters of plans.

Other requests meanwhile: server/scans_test.py.
"""

import re
import unittest
import urllib.parse
import urllib.request

from table_client import Client
from server import Server

PARTITIONS = 3
ROWS = 4000  # in each
QUERY_MS = 20


class LongScans(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--query-timeout-ms", str(QUERY_MS), in_memory=True)
        cls.server.start()
        client = Client(cls.server.table_port)
        assert client.create_table("Scans").status == 204
        for p in range(PARTITIONS):
            for first in range(0, ROWS, 100):
                rows = [{"PartitionKey": f"p{p}", "RowKey": f"{i:06}", "n": i, "text": "x" * 100}
                        for i in range(first, first + 100)]
                reply = client.batch("Scans", rows)
                assert reply.status == 202, reply
        client.close()

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        log = cls.server.log()
        cls.server.clean()
        assert code == 0, log[-4000:]

    def setUp(self):
        self.client = Client(self.server.table_port)
        self.addCleanup(self.client.close)

    def pages(self, client, filter_text, **options):
        """Follow the tokens; yield (entities, examined) for each page."""
        token = {}
        while True:
            query = urllib.parse.urlencode({"$filter": filter_text, **options, **token})
            reply = client.request("GET", f"/Scans()?{query}")
            self.assertEqual(reply.status, 200, reply)
            plan = reply.headers["x-tavola-plan"]
            yield reply.json["value"], int(re.search(r"examined=(\d+)", plan)[1])
            token = {name: reply.headers[f"x-ms-continuation-{name}"]
                     for name in ("NextPartitionKey", "NextRowKey")}
            if token["NextPartitionKey"] is None:
                return

    def slow_filter(self, last):
        """Passes what `last` does, after a thousand comparisons that fail on every row."""
        return " or ".join([f"n eq {-i}" for i in range(1, 1001)] + [last])

    def test_scan_that_finds_nothing_ends(self):
        pages = list(self.pages(self.client, self.slow_filter("n eq -1001")))
        self.assertGreater(len(pages), 1, "the scan was never interrupted")
        self.assertEqual(sum(examined for _, examined in pages), PARTITIONS * ROWS)
        self.assertTrue(all(entities == [] for entities, _ in pages))

    def test_interrupted_scan_finds_each_entity_once(self):
        found, interrupted = [], 0
        for entities, _ in self.pages(self.client, self.slow_filter(f"n ge {ROWS - 3}")):
            found += [(e["PartitionKey"], e["n"]) for e in entities]
            interrupted += not entities
        self.assertEqual(found, [(f"p{p}", n) for p in range(PARTITIONS)
                                 for n in range(ROWS - 3, ROWS)])
        self.assertGreater(interrupted, 0)

    def test_rows_that_come_and_go_between_pages(self):
        """What is there all the time is found once, whatever happens around it."""
        changes = Client(self.server.table_port)
        self.addCleanup(changes.close)
        found = []
        pages = self.pages(self.client, "PartitionKey eq 'p1' and n ge 0", **{"$top": "500"})
        for number, (entities, _) in enumerate(pages):
            found += [e["RowKey"] for e in entities]
            # One after the page, one before it; and the next row itself goes and comes back.
            at = int(found[-1].split("-")[0])
            for key in (f"{at:06}-x", f"{max(at - 400, 0):06}-x"):
                self.assertEqual(changes.replace("Scans", {"PartitionKey": "p1", "RowKey": key,
                                                           "n": 0}).status, 204)
                self.addCleanup(self.remove, key)
            if at + 1 < ROWS:
                self.assertEqual(changes.delete("Scans", "p1", f"{at + 1:06}").status, 204)
                self.addCleanup(changes.replace, "Scans",
                                {"PartitionKey": "p1", "RowKey": f"{at + 1:06}", "n": at + 1,
                                 "text": "x" * 100})
        steady = [key for key in found if "-" not in key]
        self.assertEqual(len(found), len(set(found)), "a row came twice")
        self.assertEqual(found, sorted(found))
        self.assertEqual(len(steady), ROWS - number)

    def remove(self, key):
        Client(self.server.table_port).delete("Scans", "p1", key)


class Counters(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.clean)
        self.server.start()
        self.addCleanup(self.server.stop)
        self.client = Client(self.server.table_port)
        self.addCleanup(self.client.close)

    def metrics(self, **headers):
        request = urllib.request.Request(f"{self.server.admin_url}/metrics", headers=headers)
        with urllib.request.urlopen(request) as reply:
            return reply.read().decode()

    def counts(self, table):
        """The counters of a table, by plan."""
        text = self.metrics(Authorization=f"Bearer {self.server.admin_token()}")
        return {plan: int(count) for name, plan, count in re.findall(
            r'^tavola_table_queries_total\{account="[a-z0-9]+",table="(\w+)",plan="(\w+)"\} (\d+)$',
            text, re.MULTILINE) if name == table}

    def ask(self, filter_text, **headers):
        query = urllib.parse.quote(filter_text)
        self.assertEqual(self.client.request("GET", f"/Counted()?$filter={query}",
                                             **headers).status, 200)

    def test_names_of_tables_are_the_owners_alone(self):
        self.assertEqual(self.client.create_table("Counted").status, 204)
        self.ask("PartitionKey eq 'a'")
        self.assertEqual(sum(self.counts("Counted").values()), 1)
        for headers in ({}, {"Authorization": "Bearer " + "0" * 64}):
            text = self.metrics(**headers)
            self.assertNotIn("Counted", text)
            self.assertNotIn("devstoreaccount1", text)
            self.assertRegex(text, r"(?m)^tavola_queries_total\{plan=\"\w+\"\} 1$")

    def test_queries_are_counted_by_table_and_plan(self):
        self.assertEqual(self.client.create_table("Counted").status, 204)
        self.assertEqual(self.client.create_table("Other").status, 204)
        self.client.insert("Counted", {"PartitionKey": "p", "RowKey": "r"})
        self.assertEqual(self.counts("Counted"), {})

        self.ask("PartitionKey eq 'p' and RowKey eq 'r'")
        self.assertEqual(self.client.get("Counted", "p", "r").status, 200)
        self.assertEqual(self.client.get("Counted", "p", "none").status, 404)
        self.ask("PartitionKey eq 'p' and RowKey gt 'r'")
        self.ask("PartitionKey eq 'p'")
        self.ask("PartitionKey eq 'p' and n eq 5")
        for _ in range(4):
            self.ask("n eq 5")
        expected = {"point": 3, "range": 1, "partition": 2, "table": 4}
        self.assertEqual(self.counts("Counted"), expected)

        # What is not run is not counted: explained, refused.
        self.ask("n eq 5", x_tavola_explain="true")
        self.client.request("GET", "/Counted()?$filter=n+eq")
        self.assertEqual(self.counts("Counted"), expected)
        self.assertEqual(self.counts("Other"), {})
