"""The counts of a table after kill -9 under load: those of its entities, every time.

Load inserts, replaces, deletes and sends batches.  After each kill the store is verified, which
counts every row, and after each restart the server's own count is that of a scan.
"""

import os
import random
import re
import subprocess
import unittest
import urllib.parse
import urllib.request

from fault.table import load
from server import Server, binary
from table_client import Client
from until import until

ROUNDS = 5


def verify(data):
    return subprocess.run([binary(), "--verify", "--data", str(data)], timeout=300,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)


class Facts(unittest.TestCase):
    def count(self, client, table):
        reply = client.request("GET", f"/{table}()?$top=1")
        self.assertEqual(reply.status, 200)
        plan = reply.headers["x-tavola-plan"]
        found = re.search(r"; entities=(\d+)$", plan)
        self.assertIsNotNone(found, plan)
        return int(found[1])

    def test_counts_are_those_of_the_entities_after_each_kill(self):
        seed = int(os.environ.get("TAVOLA_SEED", random.randrange(10**6)))
        chance = random.Random(seed)
        server = Server(engine="rocksdb")
        print(f"  table/facts: seed {seed}", flush=True)
        server.start()
        try:
            client = Client(server.table_port)
            self.assertEqual(client.create_table(load.TABLE).status, 204)
            client.close()
            writers = load.Load(server.table_port, seed)
            for _ in range(ROUNDS):
                writers.start()
                writers.until_acknowledged(chance.randrange(200, 500), server)
                server.kill()
                writers.join()
                report = verify(server.data)
                self.assertEqual(report.returncode, 0, report.stdout + report.stderr)
                server.start()
                client = Client(server.table_port)
                self.assertEqual(self.count(client, load.TABLE), len(list(client.scan(load.TABLE))))
                client.close()
            self.assertEqual(server.stop(), 0)
            report = verify(server.data)
            self.assertEqual(report.returncode, 0, report.stdout + report.stderr)
        finally:
            server.stop()
            server.clean()


class EstimateErrors(unittest.TestCase):
    """One of 1,024 queries that are answered whole is estimated, too: how far that was off."""

    EVERY = 1024

    def setUp(self):
        self.server = Server(engine="rocksdb", in_memory=True)
        self.server.start()
        self.addCleanup(self.server.clean)
        self.addCleanup(self.server.stop)
        self.client = Client(self.server.table_port)
        self.addCleanup(self.client.close)
        self.assertEqual(self.client.create_table("People").status, 204)
        for partition in ("a", "b"):
            rows = [{"PartitionKey": partition, "RowKey": f"r{i:02}", "Age": i} for i in range(50)]
            self.assertEqual(self.client.batch("People", rows).status, 202)

    def query(self, filter_text, **options):
        options = {"$filter": filter_text, **{f"${k}": v for k, v in options.items()}}
        reply = self.client.request("GET", "/People()?" + urllib.parse.urlencode(options))
        self.assertEqual(reply.status, 200)
        return reply

    def estimate(self, filter_text, **options):
        options = {"$filter": filter_text, **{f"${k}": v for k, v in options.items()}}
        reply = self.client.request("GET", "/People()?" + urllib.parse.urlencode(options),
                                    x_tavola_explain="true")
        self.assertEqual(reply.status, 200)
        return reply.json["estimate"]

    def test_a_few_entities_are_counted_and_tested(self):
        for filter_text, top, examined, returned in (
                ("Age ge 10", None, 100, 80), ("PartitionKey eq 'a' and Age lt 5", None, 50, 5),
                ("PartitionKey eq 'a' and Age ge 10", 3, 13, 3), ("Age eq 999", None, 100, 0)):
            with self.subTest(filter_text):
                estimate = self.estimate(filter_text, **({"top": top} if top else {}))
                plan = self.query(filter_text, **({"top": top} if top else {})).headers[
                    "x-tavola-plan"]
                self.assertIn(f"examined={examined}; returned={returned}", plan)
                self.assertEqual(
                    [estimate[name] for name in ("low", "examined", "high", "exact")],
                    [examined, examined, examined, True])
                self.assertEqual(
                    [estimate[name] for name in ("returnedLow", "returned", "returnedHigh",
                                                 "returnedBasis")],
                    [returned, returned, returned, "counted"])

    def test_what_is_rare_is_known_by_what_such_queries_returned(self):
        rows = [{"PartitionKey": "c", "RowKey": f"r{i:04}", "Age": 7} for i in range(1500)]
        for first in range(0, len(rows), 100):
            self.assertEqual(self.client.batch("People", rows[first:first + 100]).status, 202)
        rare = "PartitionKey eq 'c' and Age eq {}"
        # Who asks waits only a moment for a sample; on a busy machine the next one has it.
        until(lambda: self.estimate(rare.format(1))["returnedBasis"] == "sample",
              "the table is sampled")
        self.assertEqual(self.estimate(rare.format(1), top=5)["returnedBasis"], "sample")
        self.query(rare.format(2))
        # A request is recorded after its answer has gone out.
        until(lambda: self.estimate(rare.format(1))["returnedBasis"] == "history",
              "the query is known")
        estimate = self.estimate(rare.format(3))
        self.assertEqual((estimate["returned"], estimate["returnedLow"]), (0, 0))
        # The sample knows the value, and what is common: no need of others.
        self.assertEqual(self.estimate(rare.format(7))["returnedBasis"], "sample")
        self.assertEqual(self.estimate(rare.format(1), top=5)["returnedBasis"], "sample")

    def noted(self):
        """{(basis, bound): how many were off by no more}."""
        with urllib.request.urlopen(self.server.admin_url + "/metrics") as reply:
            text = reply.read().decode()
        lines = re.findall(r'^tavola_estimate_error_ratio_bucket{basis="(.*)",le="(.*)"} (\d+)$',
                           text, re.MULTILINE)
        self.assertTrue(lines)
        return {(basis, bound): int(count) for basis, bound, count in lines}

    def noted_in_all(self):
        return sum(count for (_, bound), count in self.noted().items() if bound == "+Inf")

    def test_point_reads_and_pages_with_a_token_are_not_estimated(self):
        self.query("PartitionKey eq 'a' and RowKey eq 'r07'")
        self.assertEqual(self.client.get("People", "a", "r07").status, 200)
        page = self.query("PartitionKey eq 'a'", top=10)
        self.assertIn("x-ms-continuation-NextRowKey", page.headers)
        self.assertEqual(self.noted_in_all(), 0)

    def test_one_of_many_whole_queries_is(self):
        self.query("PartitionKey eq 'a' and Age ge 10")
        # So few keys are counted for the estimate, which is exact therefore.
        self.assertEqual(self.noted()["counted", "1"], 1)
        for _ in range(self.EVERY - 1):
            self.query("PartitionKey eq 'b' and Age ge 10")
        self.assertEqual(self.noted_in_all(), 1)
        self.query("Age ge 10")
        self.assertEqual(self.noted_in_all(), 2)


if __name__ == "__main__":
    unittest.main()
