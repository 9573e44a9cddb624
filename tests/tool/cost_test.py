"""tavola advise --cost: what was asked of a real server, by prices of the test's own."""

import csv
import http.client
import io
import json
import pathlib
import tempfile

from server import Server
from server_test import OneAnswer, http as reply
from table_client import Client
from tavola import TavolaTest, needs_tavolad

PRICES = "currency = EUR  # not anybody's\nper_10000_transactions = 10\nper_gib_month = 3000\n"
ENTITIES, BATCHES, PAGES, READS, SCANS = 2500, 25, 3, 7, 4
# The clock of the server stands still but for half an hour.
PER_DAY = 48
TRANSACTIONS = BATCHES + PAGES + READS + SCANS * PAGES


@needs_tavolad("it has no admin port")
class CostTest(TavolaTest):
    """A server whose clock stands still."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        # With one thread a request is recorded before the next is answered.
        cls.watched = Server("--watch=all", "--watch-clock=manual", "--test-points", "--threads",
                             "1")
        cls.watched.start()
        cls.addClassCleanup(cls.watched.clean)
        cls.addClassCleanup(cls.watched.stop)
        cls.admin = ("--admin", cls.watched.admin_url, "--data", cls.watched.data)

    def facts(self, table):
        token = self.watched.admin_token()
        connection = http.client.HTTPConnection("127.0.0.1", self.watched.admin_port)
        self.addCleanup(connection.close)
        connection.request("GET", f"/facts?table={table}",
                           headers={"Authorization": f"Bearer {token}"})
        return json.loads(connection.getresponse().read())

    def cost(self, *words):
        return json.loads(self.ok("advise", "--cost", *words, "-o", "json", *self.admin))


class Cost(CostTest):
    """What was asked of the server is the same in all tests."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        client = Client(cls.watched.table_port)
        cls.addClassCleanup(client.close)
        cls.load(client)
        cls.watched.pass_time(30 * 60)

    @staticmethod
    def load(client):
        for table in ("People", "Gone", "Idle"):
            assert client.create_table(table).status == 204
        for first in range(0, ENTITIES, 100):
            entities = [{"PartitionKey": "p", "RowKey": f"r{i:05}", "Age": i % 5}
                        for i in range(first, first + 100)]
            assert client.batch("People", entities).status == 202
        assert len(list(client.scan("People"))) == ENTITIES
        for i in range(READS):
            assert client.get("People", "p", f"r{i:05}").status == 200
        for _ in range(SCANS):
            token = ""
            for _ in range(PAGES):
                page = client.request("GET", "/People()?$filter=Age%20ge%200" + token, None)
                assert page.status == 200
                headers = {name.lower(): value for name, value in dict(page.headers).items()}
                if "x-ms-continuation-nextpartitionkey" in headers:
                    token = ("&NextPartitionKey=" + headers["x-ms-continuation-nextpartitionkey"] +
                             "&NextRowKey=" + headers["x-ms-continuation-nextrowkey"])
        assert client.insert("Gone", {"PartitionKey": "p", "RowKey": "r"}).status == 204
        assert client.request("DELETE", "/Tables('Gone')", None).status == 204

    def prices(self, text=PRICES):
        path = self.folder / "own.prices"
        path.write_text(text)
        return ("--prices", str(path))

    def test_pages_are_transactions_and_a_batch_is_one(self):
        answer = self.cost("People")
        self.assertEqual(
            [(shape["Operation"], shape.get("Filter"), shape["Transactions"], shape["Executions"])
             for shape in answer["Shapes"]],
            [("EntityGroupTransaction", None, BATCHES, BATCHES),
             ("QueryEntities", "Age ge ?i", SCANS * PAGES, SCANS),
             ("QueryEntity", None, READS, READS),
             ("QueryEntities", "*", PAGES, 1)])
        self.assertAlmostEqual(sum(shape["SharePercent"] for shape in answer["Shapes"]), 100)
        self.assertAlmostEqual(answer["Shapes"][1]["SharePercent"],
                               100 * SCANS * PAGES / TRANSACTIONS)

    def test_a_day_is_the_window_as_often_as_it_goes_into_one(self):
        answer = self.cost("People")
        self.assertEqual(answer["Sum"] | {"StoredBytes": 0, "BilledBytes": 0},
                         {"WindowSeconds": 1800, "Transactions": TRANSACTIONS,
                          "TransactionsPerDay": TRANSACTIONS * PER_DAY, "StoredBytes": 0,
                          "BilledBytes": 0, "BilledBytesError": 0})
        for shape in answer["Shapes"]:
            self.assertEqual(shape["TransactionsPerDay"], shape["Transactions"] * PER_DAY)

    def test_bytes_are_those_of_the_services_formula(self):
        answer = self.cost("people")
        table, = answer["Tables"]
        # 4, the keys "p" and "r00000", and Age: 8, its name and 4.
        billed = ENTITIES * (4 + 2 * 7 + 8 + 2 * 3 + 4)
        self.assertEqual((table["Entities"], table["BilledBytes"], table["BilledBytesError"],
                          table["StoredBytes"], table["IsExact"]),
                         (ENTITIES, billed, 0, self.facts("People")["bytes"], True))
        self.assertEqual(answer["Sum"]["BilledBytes"], billed)

    def test_without_prices_nothing_has_a_price(self):
        self.assertNotIn("Cost", self.ok("advise", "--cost", "-o", "json", *self.admin))
        self.assertNotIn("EUR", self.ok("advise", "--cost", *self.admin))

    def test_with_prices_a_day_has_a_price(self):
        answer = self.cost("People", *self.prices())
        total = answer["Sum"]
        self.assertEqual(total["Currency"], "EUR")
        self.assertAlmostEqual(total["CostPerDayOfTransactions"],
                               TRANSACTIONS * PER_DAY / 10000 * 10)
        self.assertAlmostEqual(total["CostPerDayOfBytes"], total["BilledBytes"] / 2**30 * 100)
        self.assertAlmostEqual(total["CostPerDay"],
                               total["CostPerDayOfTransactions"] + total["CostPerDayOfBytes"])
        self.assertAlmostEqual(sum(shape["CostPerDay"] for shape in answer["Shapes"]),
                               total["CostPerDayOfTransactions"])

    def test_all_tables_that_were_used(self):
        answer = self.cost()
        self.assertEqual({table["Table"]: table["IsGone"] for table in answer["Tables"]},
                         {"People": False, "Gone": True})
        self.assertEqual(answer["Sum"]["Transactions"], TRANSACTIONS + 1)

    def test_people_see_the_costliest_first(self):
        lines = self.ok("advise", "--cost", "People", *self.prices(), *self.admin).splitlines()
        self.assertEqual(len(lines), 8)
        self.assertRegex(lines[0], r"\A 53\.2 % +1,200 a day +1\.2  People  EntityGroupTransaction\Z")
        self.assertRegex(lines[1], r"\A 25\.5 % +576 a day +0\.576  People  QueryEntities "
                                   r"Age ge \?i  \(12 pages of 4 queries\)\Z")
        self.assertEqual(lines[4:6], ["", "47 transactions in 30 minutes, 2,256 a day: "
                                          "2.256 EUR a day"])
        self.assertRegex(lines[6], r"\A90,000 bytes as the service bills them, 1 table: "
                                   r"[0-9.]+ EUR a day\Z")
        self.assertRegex(lines[7], r"\Atogether [0-9.]+ EUR a day\Z")

    def test_what_is_short_is_not_said_to_be_a_day(self):
        mark = self.ok("advise", "mark", *self.admin).strip()
        self.assertEqual(self.ok("advise", "--cost", "--since", mark, *self.admin).splitlines()[-2],
                         "0 transactions in 1 second, 0 a day if it stayed so")

    def test_a_limit_cuts_the_list_and_not_the_sum(self):
        answer = self.cost("People", "--limit", "1")
        self.assertEqual([shape["Operation"] for shape in answer["Shapes"]],
                         ["EntityGroupTransaction"])
        self.assertEqual(answer["Sum"]["Transactions"], TRANSACTIONS)

    def test_other_formats_have_a_record_for_each_shape(self):
        notes = r"47 transactions[^\n]+\n[\d,]+ bytes[^\n]+\ntogether[^\n]+\n"
        text = self.ok("advise", "--cost", "People", *self.prices(), "-o", "csv", *self.admin,
                       says=notes)
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([row["Transactions"] for row in rows], ["25", "12", "7", "3"])
        self.assertEqual(json.loads(self.ok("advise", "--cost", "-o", "json", *self.admin)),
                         self.cost())

    def test_a_table_without_traffic_has_bytes_alone(self):
        answer = self.cost("Idle")
        self.assertEqual((answer["Shapes"], answer["Sum"]["Transactions"]), ([], 0))
        self.assertEqual(answer["Tables"][0]["Entities"], 0)
        self.fails(3, "advise", "--cost", "Nowhere", *self.admin, says="no table 'Nowhere'")

    def test_what_cannot_be_meant(self):
        for text, says in (
                ("", "needs per_10000_transactions and per_gib_month"),
                ("per_gib_month = 1\n", "needs per_10000_transactions"),
                ("price = 1\n", "line 1 names neither"),
                (PRICES + "per_gib_month = -1\n", "line 4 has no price"),
                (PRICES + "per_gib_month = nan\n", "line 4 has no price")):
            with self.subTest(text):
                self.fails(2, "advise", "--cost", *self.prices(text), *self.admin, says=says)
        self.fails(2, "advise", "--cost", "--prices", "/nowhere", *self.admin, says="cannot read")
        self.fails(2, "advise", *self.prices(), *self.admin, says="--prices needs --cost")
        self.fails(2, "advise", "--cost", "--limit", "0", *self.admin, says="--limit")
        # Nothing is sent: there is nobody to answer.
        self.fails(2, "advise", "--cost", "-o", "yaml", "--admin", "http://127.0.0.1:1",
                   says="yaml")

    def test_servers_that_do_not_say(self):
        with Server("--watch=off") as server:
            self.fails(1, "advise", "--cost", "--admin", server.admin_url, "--data", server.data,
                       says="records no requests: see its --watch")
        self.fails(6, "advise", "--cost", "--admin", "http://127.0.0.1:1", "--data",
                   self.watched.data, says="no server answers")
        shape = {"account": "a", "table": "T", "operation": "QueryEntity"}
        good = {"windowSeconds": 60, "shapes": [shape | {"executions": 1}]}
        for body in ({}, [], {"shapes": []}, {"shapes": 1, "windowSeconds": 60},
                     good | {"windowSeconds": "x"}, good | {"shapes": [shape]},
                     good | {"shapes": [shape | {"executions": -1}]}, good | {"shapes": [1]},
                     good | {"shapes": [shape | {"executions": 10**18}]}):
            with self.subTest(body), OneAnswer(
                    reply(200, json.dumps(body)), token=self.watched.admin_token()) as server:
                self.fails(1, "advise", "--cost", "--admin", server.url, "--data",
                           self.watched.data, says="does not answer as a tavolad does")

    def test_prices_that_no_number_can_hold(self):
        shape = {"account": "a", "table": "T", "operation": "QueryEntity", "executions": 10**9}
        body = json.dumps({"windowSeconds": 60, "shapes": [shape]})
        with OneAnswer(reply(200, body), token=self.watched.admin_token()) as server:
            self.fails(1, "advise", "--cost", *self.prices(PRICES.replace("= 10\n", "= 1e308\n")),
                       "--admin", server.url, "--data", self.watched.data,
                       says="the prices are too large to count with")

    def test_what_a_terminal_would_obey_is_shown(self):
        shape = {"account": "a", "table": "T", "operation": "QueryEntities", "text": "\x1b[31m",
                 "executions": 1, "pages": 1}
        body = json.dumps({"windowSeconds": 1, "shapes": [shape]})
        with OneAnswer(reply(200, body), token=self.watched.admin_token()) as server:
            text = self.ok("advise", "--cost", "--admin", server.url, "--data", self.watched.data)
        self.assertEqual(text.splitlines(), [
            "100.0 %         86,400 a day  T  QueryEntities \\x1b[31m", "",
            "1 transaction in 1 second, 86,400 a day if it stayed so",
            "0 bytes as the service bills them, 1 table (1 not counted)"])

    def test_what_is_something_is_not_nothing(self):
        shapes = [{"account": "a", "table": "T", "operation": "QueryEntity", "executions": n}
                  for n in (123456, 1)]
        with OneAnswer(reply(200, json.dumps({"windowSeconds": 3600, "shapes": shapes})),
                       token=self.watched.admin_token()) as server:
            lines = self.ok("advise", "--cost", "--admin", server.url, "--data",
                            self.watched.data).splitlines()
        self.assertEqual(lines[:2], ["100.0 %      2,962,944 a day  T  QueryEntity",
                                     " <0.1 %             24 a day  T  QueryEntity"])
        self.assertEqual(lines[3], "123,457 transactions in 60 minutes, 2,962,968 a day")

    def test_accounts_are_named_when_there_are_more(self):
        shapes = [{"account": name, "table": "T", "operation": "QueryEntity", "executions": 1}
                  for name in ("b", "a")]
        with OneAnswer(reply(200, json.dumps({"windowSeconds": 60, "shapes": shapes})),
                       token=self.watched.admin_token()) as server:
            text = self.ok("advise", "--cost", "--admin", server.url, "--data", self.watched.data)
        self.assertEqual([line.split("  ")[-2] for line in text.splitlines()[:2]], ["a/T", "b/T"])


class Changing(CostTest):
    """Tests that ask for more."""

    def test_since_a_mark_counts_what_came_after_it(self):
        client = Client(self.watched.table_port)
        self.addCleanup(client.close)
        client.create_table("People")
        self.assertEqual(client.batch("People", [
            {"PartitionKey": "p", "RowKey": f"r{i:05}", "Age": i} for i in range(100)]).status, 202)
        mark = self.ok("advise", "mark", *self.admin).strip()
        for i in range(3):
            self.assertEqual(client.get("People", "p", f"r{i:05}").status, 200)
        # A request is recorded before the next one of its connection is answered.
        client.request("GET", "/Tables")
        answer = self.cost("People", "--since", mark)
        self.assertEqual([(shape["Operation"], shape["Transactions"])
                          for shape in answer["Shapes"]], [("QueryEntity", 3)])
        self.assertEqual((answer["Sum"]["WindowSeconds"], answer["Sum"]["TransactionsPerDay"]),
                         (1, 3 * 24 * 3600))
        self.assertEqual(answer["Sum"]["BilledBytes"], 36 * 100)
        self.fails(1, "advise", "--cost", "--since", "m999", *self.admin, says="no such mark")

    def test_bytes_of_entities_that_differ_are_exact(self):
        def units(i):
            return i * 7919 % 400
        for name, count in (("Few", 300), ("Many", 2500)):
            client = Client(self.watched.table_port)
            self.addCleanup(client.close)
            client.create_table(name)
            billed = 0
            for first in range(0, count, 100):
                self.assertEqual(client.batch(name, [
                    {"PartitionKey": "p", "RowKey": f"r{i:05}", "Text": "x" * units(i)}
                    for i in range(first, first + 100)]).status, 202)
                billed += sum(4 + 2 * 7 + 8 + 2 * 4 + 4 + 2 * units(i)
                              for i in range(first, first + 100))
            facts = self.facts(name)
            self.assertEqual((facts["billedBytes"], facts["billedBytesError"]), (billed, 0))
