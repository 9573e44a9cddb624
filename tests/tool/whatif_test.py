"""whatif: the queries of a trace under other keys."""

import json
import pathlib
import tempfile
import time
import urllib.parse

from server import Server
from table_client import Client
from tavola import TIMEOUT_S, TavolaTest, needs_tavolad

HEAD = {"tavolaTrace": 1, "started": "2026-01-02T03:04:05Z", "version": "0", "values": "full",
        "accounts": {"devstoreaccount1": 1}, "targets": False}
BY_EMAIL = "PartitionKey=email_{Email};RowKey={PartitionKey}_{RowKey}"


def query(shape, fingerprint, *values, at=0, table="Emp", examined=0):
    return {"t": at, "op": "QueryEntities", "s": 200, "T": table, "f": shape, "fp": fingerprint,
            "v": [{"t": kind, "v": str(value)} for kind, value in values], "ex": examined}


class WhatIf(TavolaTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.TemporaryDirectory(prefix="tavola-whatif-")
        cls.is_loaded = False

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        if not type(self).is_loaded:
            type(self).is_loaded = True
            self.ok("table", "create", "Emp")
            self.ok("import", "Emp", says="imported .*\n", stdin="".join(json.dumps({
                "PartitionKey": f"p{i % 4}", "RowKey": f"r{i:03}", "Email": f"u{i // 2}@x",
                "Age": i % 10}) + "\n" for i in range(200)))

    def trace(self, *lines, head=HEAD):
        path = pathlib.Path(self.folder.name) / "run.trace"
        path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n"
                                for line in [head, *lines]))
        return str(path)

    def rows(self, trace, *flags, says=".*"):
        out = self.ok("whatif", trace, "--table", "Emp", *flags, "-o", "ndjson",
                      says=f"(?s:.*{says}.*)")
        return [json.loads(line) for line in out.splitlines()]

    def test_an_index_copy_turns_a_table_scan_into_a_partition(self):
        trace = self.trace(*(query("Email eq ?s", "7ea1374a206cc01a", ("s", f"u{i}@x"))
                             for i in range(10)))
        row, = self.rows(trace, "--copy", BY_EMAIL,
                         says=r"10 queries replayed: 200\.0 -> 2\.0 examined each; .*"
                              r"2 writes per insert; 0 transactions break")
        self.assertEqual((row["PlanBefore"], row["ExaminedBefore"]), ("table", 200))
        self.assertEqual((row["PlanAfter"], row["ExaminedAfter"]), ("partition", 2))
        self.assertEqual((row["Executions"], row["Replayed"], row["Returned"], row["By"]),
                         (10, 10, 2, "copy 1"))

    def test_a_new_key_takes_the_place_of_the_old_one(self):
        trace = self.trace(query("PartitionKey eq ?s and RowKey eq ?s", "1479dc17d96c2f0b",
                                 ("s", "p1"), ("s", "r001")),
                           query("PartitionKey eq ?s and Age ge ?i", "aa", ("s", "p1"), ("i", 8)))
        point, ages = self.rows(trace, "--key",
                                "PartitionKey={PartitionKey};RowKey={Age}_{RowKey}")
        self.assertEqual((point["PlanBefore"], point["ExaminedBefore"]), ("point", 1))
        self.assertEqual((point["PlanAfter"], point["ExaminedAfter"]), ("partition", 50))
        self.assertEqual((ages["PlanBefore"], ages["ExaminedBefore"]), ("partition", 50))
        self.assertEqual((ages["PlanAfter"], ages["ExaminedAfter"], ages["Returned"]),
                         ("range", 10, 10))

    def test_lists_and_shapes_without_values(self):
        trace = self.trace(query("PartitionKey eq ?s and any(RowKey eq ?s)", "26", ("s", "p0"),
                                 ("s", "r000"), ("s", "r004"), ("s", "r001")),
                           query("*", "9e65482ea53f1934"),
                           query("Email eq ?s", "7e"), query("Other eq ?s", "7f", ("s", "z")))
        rows = self.rows(trace, "--copy", BY_EMAIL, says="1 executions were not replayed")
        self.assertEqual([row["Returned"] for row in rows], [2, 200, 0, 0])
        self.assertEqual([row["Replayed"] for row in rows], [1, 1, 0, 1])

    def test_hashes_stand_for_values_of_the_data(self):
        hashed = [{"t": 0, "op": "QueryEntities", "s": 200, "T": "Emp", "f": "Age eq ?i", "fp": "5",
                   "v": [{"t": "i", "n": 2, "h": f"{i % 3:012x}"}]} for i in range(9)]
        row, = self.rows(self.trace(*hashed, head={**HEAD, "values": "hash"}),
                         "--copy", "PartitionKey={Age};RowKey={PartitionKey}_{RowKey}")
        self.assertEqual((row["ExaminedBefore"], row["ExaminedAfter"], row["Replayed"]),
                         (200, 20, 9))

    def test_writes_and_transactions(self):
        def batch(at, *numbers):
            return {"t": at, "op": "EntityGroupTransaction", "s": 202, "T": "Emp",
                    "k": [{"op": "UpdateEntity", "pk": f"p{i % 4}", "rk": f"r{i:03}", "o": 3}
                          for i in numbers]}
        trace = self.trace(batch(1, 0, 4), batch(2, 8, 12), batch(3, 1, 1))
        self.rows(trace, "--key", BY_EMAIL,
                  says=r"breaks: 2 transactions .*hottest partition: 67 % -> 50 % of 6 units")

    def test_where_inserts_go_and_the_worst_ten_seconds(self):
        # Ten a second for 20 seconds, in the order of their RowKeys, to four partitions in turn.
        trace = self.trace(*({"t": 100_000 * i, "op": "InsertEntity", "s": 201, "T": "Emp",
                              "k": [{"op": "InsertEntity", "pk": f"p{i % 4}", "rk": f"r{i:03}",
                                     "o": 2, "u": 1}]} for i in range(200)))
        self.rows(trace, "--key", "PartitionKey=all;RowKey={RowKey}",
                  says=r"hottest partition: 25 % -> 100 % of 200 units of 1 KiB written; in its "
                       r"worst 10 s 2\.5 -> 10 units a second, 25 % -> 100 % of that time's\n"
                       r"inserts go to all over \(D -?0\.[0-3]\d\) -> the end \(D 1\.00\)\n")

    def test_more_than_it_holds_is_a_sample_of_whole_partitions(self):
        trace = self.trace(query("Age eq ?i", "5", ("i", 3)), query("*", "9e65482ea53f1934"),
                           *(query("PartitionKey eq ?s", "6", ("s", f"p{i}")) for i in range(4)))
        rows = {row["Query"]: row for row in self.rows(
            trace, "--key", "PartitionKey={PartitionKey};RowKey={Age}_{RowKey}", "--limit", "120",
            says=r"a sample of whole partitions, (50|100) of 200 entities: .* scaled by up to [24];"
                 r".*[23] executions name partitions that are not in the sample")}
        self.assertEqual((rows["*"]["ExaminedBefore"], rows["*"]["Returned"]), (200, 200))
        self.assertEqual((rows["Age eq ?i"]["ExaminedBefore"], rows["Age eq ?i"]["PlanBefore"]),
                         (200, "table"))
        whole = rows["PartitionKey eq ?s"]
        self.assertEqual((whole["Executions"], whole["ExaminedBefore"], whole["ExaminedAfter"]),
                         (4, 50, 50))
        self.assertIn(whole["Replayed"], (1, 2))
        self.fails(2, "whatif", trace, "--table", "Emp", "--copy", BY_EMAIL, "--limit", "49",
                   says="the partitions of Emp are too large")

    def test_cost_by_prices_of_the_users_own(self):
        prices = pathlib.Path(self.folder.name) / "prices"
        trace = self.trace(*(query("*", "9e65482ea53f1934") for _ in range(10)),
                           {"t": 1, "op": "InsertEntity", "s": 201, "T": "Emp",
                            "k": [{"op": "InsertEntity", "pk": "p0", "rk": "r000", "o": 2}]})
        flags = ("--copy", BY_EMAIL, "--prices", str(prices))
        prices.write_text("currency = EUR  # mine\n\nper_10000_transactions = 1000\n"
                          "per_gib_month = 1073741824\n")
        self.rows(trace, *flags, says=r"cost: 11 -> 12 transactions of the trace, "
                                      r"1\.1 -> 1\.2 EUR; (\d+) -> \d+ bytes, \1 -> \d+ EUR a month")
        for text, says in (("price = 1\n", "names neither currency"),
                           ("per_gib_month = 1\n", "needs per_10000_transactions"),
                           ("per_gib_month = -1\n", "line 1 has no price"),
                           ("per_gib_month\n", "is not 'name = value'")):
            prices.write_text(text)
            self.fails(2, "whatif", trace, "--table", "Emp", *flags, says=says)
        self.fails(2, "whatif", trace, "--table", "Emp", "--copy", BY_EMAIL, "--prices",
                   "/no/such/file", says="cannot read the prices")

    def test_refusals_are_one_line(self):
        trace = self.trace(query("Email eq ?s", "7e", ("s", "u1@x")))
        good = ("--table", "Emp", "--copy", BY_EMAIL)
        for code, words, says in (
                (2, (trace, "--copy", BY_EMAIL), "which table"),
                (2, (trace, "--table", "Emp"), "which keys"),
                (2, (trace, "--table", "Emp", "--key", "PartitionKey={Email}"), "needs both keys"),
                (2, (trace, "--table", "Emp", "--key", "PartitionKey={Email};RowKey=x"),
                 r"not unique: 100 entities .*add _\{RowKey\}"),
                (2, (trace, "--table", "Emp", "--key", "PartitionKey={No};RowKey={RowKey}"),
                 "200 entities have no No"),
                (2, (trace, "--table", "Other", "--copy", BY_EMAIL), "no request for the table"),
                (1, ("/no/such/file", *good), "cannot read"),
                (1, (__file__, *good), "is not a trace")):
            with self.subTest(says=says):
                self.fails(code, "whatif", *words, says=says)
        with open(trace, "a", encoding="ascii") as file:
            file.write("{\n")
        self.fails(1, "whatif", trace, *good, says="line 3 is not one of a trace")
        self.fails(2, "whatif", self.trace(query("A eq ?s", "7e"), head={**HEAD, "names": "hash"}),
                   *good, says="hides names")


@needs_tavolad("it writes no trace")
class RealTraces(TavolaTest):
    """A server writes the trace, of traffic whose numbers are known."""

    def traced(self, *flags):
        """(path of the trace, environment to reach the server that wrote it)"""
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="tavola-whatif-"))
        path = pathlib.Path(folder) / "run.trace"
        server = self.enterContext(Server("--trace", str(path), *flags))
        client = Client(server.table_port)
        self.addCleanup(client.close)
        self.traffic(client)
        deadline = time.monotonic() + TIMEOUT_S
        while path.read_bytes().count(b"\n") < 1 + self.requests:
            self.assertLess(time.monotonic(), deadline, "the trace is not written")
            time.sleep(0.02)
        return str(path), self.env | {
            "AZURE_STORAGE_CONNECTION_STRING": server.connection_string}

    def traffic(self, client):
        """60 of 100 entities are in one partition; each has an address of its own."""
        self.requests = 0

        def send(method, path, body=None, status=200):
            self.requests += path != "/Tables"
            reply = client.request(method, path, body)
            self.assertEqual(reply.status, status, reply)

        def ask(table, text):
            send("GET", f"/{table}()?" + urllib.parse.urlencode({"$filter": text}))

        for table in ("Other", "Emp"):
            send("POST", "/Tables", {"TableName": table}, 201)
        # The text of this shape stands on a line of another table.
        ask("Other", "Email eq 'nobody@x'")
        for i in range(98):
            partition = "p0" if i < 58 else f"p{1 + i % 4}"
            send("POST", "/Emp", {"PartitionKey": partition, "RowKey": f"r{i:03}",
                                  "Email": f"u{i}@x", "Age": float(i % 10)}, 201)
        client.batch("Emp", [{"PartitionKey": "p0", "RowKey": f"r{i:03}", "Email": f"u{i}@x",
                              "Age": float(i % 10)} for i in (98, 99)])
        self.requests += 1
        send("POST", "/Emp", {"PartitionKey": "p0", "RowKey": "r000"}, 409)
        for i in range(10):
            ask("Emp", f"Email eq 'u{i}@x'")
        for _ in range(3):
            ask("Emp", "PartitionKey eq 'p0' and Age ge 8.0")
        for i in range(5):
            send("GET", f"/Emp(PartitionKey='p0',RowKey='r{i:03}')")

    def replayed(self, trace, env, *flags):
        """({query: its row}, what is said of all)"""
        done = self.run_tool("whatif", trace, "--table", "Emp", *flags, "-o", "ndjson", env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [json.loads(line) for line in done.stdout.decode().splitlines()]
        return {row["Query"]: row for row in rows}, done.stderr.decode()

    def check_queries(self, rows):
        self.assertEqual(
            {query: (row["Executions"], row["Replayed"], row["PlanBefore"], row["ExaminedBefore"],
                     row["PlanAfter"], row["ExaminedAfter"]) for query, row in rows.items()},
            {"Email eq ?s": (10, 10, "table", 100, "partition", 1),
             "PartitionKey eq ?s and Age ge ?d": (3, 3, "partition", 60, "table", 100),
             "PartitionKey eq ?s and RowKey eq ?s": (5, 5, "point", 1, "table", 100)})

    def test_plans_examined_rows_and_hottest_partition_are_those_of_the_traffic(self):
        trace, env = self.traced("--trace-values", "full")
        rows, said = self.replayed(trace, env, "--key", "PartitionKey={Email};RowKey={RowKey}")
        self.check_queries(rows)
        self.assertEqual(rows["Email eq ?s"]["Returned"], 1)
        self.assertEqual(rows["PartitionKey eq ?s and Age ge ?d"]["Returned"], 12)
        self.assertRegex(said, r"breaks: 1 transactions of the trace would span partitions")
        self.assertRegex(said, r"18 queries replayed: 65\.8 -> 45\.0 examined each; "
                               r"largest partition 60 -> 1 of 100 entities")
        self.assertRegex(said, r"hottest partition: 60 % -> 1 % of 100 units of 1 KiB written; ")

    def test_entities_of_the_data_stand_for_hashes(self):
        trace, env = self.traced()
        rows, said = self.replayed(trace, env, "--key", "PartitionKey={Email};RowKey={RowKey}")
        self.assertNotIn("p0", pathlib.Path(trace).read_text())
        self.assertEqual(
            {query: (row["Executions"], row["Replayed"], row["PlanBefore"], row["PlanAfter"])
             for query, row in rows.items()},
            {"Email eq ?s": (10, 10, "table", "partition"),
             "PartitionKey eq ?s and Age ge ?d": (3, 3, "partition", "table"),
             "PartitionKey eq ?s and RowKey eq ?s": (5, 5, "point", "table")})
        self.assertEqual((rows["Email eq ?s"]["ExaminedBefore"],
                          rows["Email eq ?s"]["ExaminedAfter"]), (100, 1))
        self.assertEqual(rows["PartitionKey eq ?s and Age ge ?d"]["ExaminedBefore"], 60)
        self.assertRegex(said, r"breaks: 1 transactions")
        self.assertRegex(said, r"hottest partition: 60 % -> 1 % of 100 units")
        self.assertRegex(said, r"the keys of writes are hashes: entities of the data stand in")

    def test_without_values_only_the_counts_are_known(self):
        trace, env = self.traced("--trace-values", "shape")
        rows, said = self.replayed(trace, env, "--key", "PartitionKey={Email};RowKey={RowKey}")
        self.assertEqual({query: (row["Executions"], row["Replayed"])
                          for query, row in rows.items()},
                         {"Email eq ?s": (10, 0), "PartitionKey eq ?s and Age ge ?d": (3, 0),
                          "PartitionKey eq ?s and RowKey eq ?s": (5, 0)})
        self.assertRegex(said, r"the trace does not show the keys of 100 writes")
        self.assertRegex(said, r"18 executions were not replayed")
