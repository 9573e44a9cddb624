"""whatif: the queries of a trace under other keys."""

import json
import pathlib
import tempfile

from tavola import TavolaTest

HEAD = {"tavolaTrace": 1, "started": "2026-01-02T03:04:05Z", "version": "0", "values": "full",
        "accounts": {"devstoreaccount1": 1}, "targets": False}
BY_EMAIL = "PartitionKey=email_{Email};RowKey={PartitionKey}_{RowKey}"


def query(shape, fingerprint, *values, at=0, table="Emp", examined=0):
    return {"t": at, "op": "QueryEntities", "s": 200, "T": table, "f": shape, "fp": fingerprint,
            "v": [{"t": kind, "v": value} for kind, value in values], "ex": examined}


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
                    "k": [{"pk": f"p{i % 4}", "rk": f"r{i:03}"} for i in numbers]}
        trace = self.trace(batch(1, 0, 4), batch(2, 8, 12), batch(3, 1, 1))
        self.rows(trace, "--key", BY_EMAIL,
                  says=r"breaks: 2 transactions .*hottest partition: 67 % -> 50 % of 6 writes")

    def test_cost_by_prices_of_the_users_own(self):
        prices = pathlib.Path(self.folder.name) / "prices"
        trace = self.trace(*(query("*", "9e65482ea53f1934") for _ in range(10)),
                           {"t": 1, "op": "InsertEntity", "s": 201, "T": "Emp",
                            "k": [{"pk": "p0", "rk": "r000"}]})
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
        self.fails(1, "whatif", trace, *good, says="line 3 is not JSON")
