"""GET /facts and POST /facts/recount: always what the entities add up to, and for nobody else.

What is expected comes from a model of the entities (tests/lib/table_model.py), which knows the
sizes of docs/disk-format.md and nothing of the server.
"""

import http.client
import json
import re
import threading
import unittest
import urllib.parse

import table_model
from server import ACCOUNT, KEY, Server
from table_client import Client, key_path
from table_model import Model, ask, facts_of, to_json
from until import until

SOME_OF_ALL = {
    "Text": ("Edm.String", "naïve 😀"), "Long": ("Edm.String", "x" * 200), "Yes": ("Edm.Boolean", True),
    "Small": ("Edm.Int32", -5), "Big": ("Edm.Int64", str(2**60)), "Real": ("Edm.Double", 1.5),
    "When": ("Edm.DateTime", "2026-11-17T09:00:00Z"), "Blob": ("Edm.Binary", bytes(range(200))),
    "Id": ("Edm.Guid", "c9da6455-213d-42c9-9a79-3e9149a57833"),
}
NAMES_ARE_COUNTED_IN_BYTES = {"Größe": ("Edm.Int32", 1), "n" * 130: ("Edm.Int32", 2)}


def metric(server, name):
    status, text = ask(server, "/metrics", token="")
    return int(re.search(rf"^{name} (\d+)$", text, re.MULTILINE)[1]) if status == 200 else None


class Table:
    """A table of the server and its model, changed by the same calls."""

    def __init__(self, test, client, name, account=ACCOUNT):
        self.test, self.client, self.name, self.model = test, client, name, Model(account)
        test.assertEqual(client.create_table(name).status, 204)

    def path(self, partition_key, row_key):
        return key_path(self.name, partition_key, row_key)

    def expect(self, reply, status):
        self.test.assertEqual(reply.status, status, reply)

    def insert(self, partition_key, row_key, properties):
        entity = to_json(partition_key, row_key, properties)
        self.expect(self.client.insert(self.name, entity), 204)
        self.model.put(partition_key, row_key, properties)

    def replace(self, partition_key, row_key, properties, **headers):
        reply = self.client.request("PUT", self.path(partition_key, row_key),
                                    to_json(partition_key, row_key, properties), **headers)
        self.expect(reply, 204)
        self.model.put(partition_key, row_key, properties)

    def merge(self, partition_key, row_key, properties, method="MERGE"):
        reply = self.client.request(method, self.path(partition_key, row_key),
                                    to_json(partition_key, row_key, properties))
        self.expect(reply, 204)
        self.model.merge(partition_key, row_key, properties)

    def delete(self, partition_key, row_key):
        self.expect(self.client.delete(self.name, partition_key, row_key), 204)
        self.model.delete(partition_key, row_key)

    def refused(self, status, method, path, entity=None, **headers):
        self.expect(self.client.request(method, path, entity, **headers), status)

    def batch(self, partition_key, changes, status=202):
        """Changes are (method, RowKey, properties or None); a status of 4xx: none is made."""
        sent = []
        for method, row_key, properties in changes:
            path = f"/{self.name}" if method == "POST" else self.path(partition_key, row_key)
            headers = {"If-Match": "*"} if method == "DELETE" else {}
            entity = None if properties is None else to_json(partition_key, row_key, properties)
            sent.append((method, path, entity, headers))
        self.expect(self.client.batch_of(sent), status)
        for method, row_key, properties in changes if status == 202 else ():
            if method == "DELETE":
                self.model.delete(partition_key, row_key)
            elif method == "MERGE":
                self.model.merge(partition_key, row_key, properties)
            else:
                self.model.put(partition_key, row_key, properties)

    def facts(self, server, parameters=""):
        return facts_of(server, self.name, parameters)

    def check(self, server):
        self.model.check(self.test, self.facts(server))

    def fill(self):
        """Entities of every kind, some of them replaced, merged and deleted again."""
        for partition in ("a", "b", "große"):
            for row in range(4):
                self.insert(partition, f"r{row:03}", SOME_OF_ALL | {"Row": ("Edm.Int32", row)})
        self.batch("b", [("POST", f"s{i:02}", {"N": ("Edm.Int64", str(i))}) for i in range(40)])
        self.replace("a", "r000", {"Only": ("Edm.Boolean", False)})
        self.merge("a", "r001", {"More": ("Edm.Double", 0.25)})
        self.delete("große", "r002")


class Counts(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(Server(engine="rocksdb"))
        self.client = Client(self.server.table_port)
        self.addCleanup(self.client.close)

    def restart(self):
        self.client.close()
        self.assertEqual(self.server.stop(), 0, self.server.log())
        self.server.start()

    def test_facts_are_those_of_the_entities_after_each_change(self):
        table = Table(self, self.client, "People")
        int5 = {"N": ("Edm.Int32", 5)}
        entity = to_json("p", "r", int5)
        stale = {"If_Match": "W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\""}
        steps = [
            ("nothing yet", lambda: None),
            ("an insert", lambda: table.insert("p", "r", int5)),
            ("the same again is refused", lambda: table.refused(409, "POST", "/People", entity)),
            ("all types", lambda: table.insert("p", "all", SOME_OF_ALL)),
            ("no properties", lambda: table.insert("p", "none", {})),
            ("long names", lambda: table.insert("p", "names", NAMES_ARE_COUNTED_IN_BYTES)),
            ("keys of several bytes", lambda: table.insert("ключ", "😀 é", int5)),
            ("empty keys", lambda: table.insert("", "", int5)),
            ("null is not stored", lambda: self.insert_null(table)),
            ("a replacement is longer", lambda: table.replace("p", "r", SOME_OF_ALL)),
            ("and shorter", lambda: table.replace("p", "r", {})),
            ("and just as long", lambda: table.replace("p", "r", {}, If_Match="*")),
            ("a replacement that inserts", lambda: table.replace("q", "new", int5)),
            ("one that must not", lambda: table.refused(
                404, "PUT", table.path("q", "none"), entity | {"PartitionKey": "q",
                                                               "RowKey": "none"}, If_Match="*")),
            ("a stale ETag", lambda: table.refused(412, "PUT", table.path("p", "r"), entity,
                                                   **stale)),
            ("a merge adds", lambda: table.merge("p", "r", {"Added": ("Edm.String", "x" * 300)})),
            ("a merge changes a type", lambda: table.merge("p", "r",
                                                           {"Added": ("Edm.Int64", "7")})),
            ("a merge of nothing", lambda: table.merge("p", "r", {})),
            ("PATCH that inserts", lambda: table.merge("q", "patched", int5, "PATCH")),
            ("a deletion", lambda: table.delete("p", "names")),
            ("of what is not there", lambda: table.refused(404, "DELETE", table.path("p", "names"),
                                                           If_Match="*")),
            ("with a stale ETag", lambda: table.refused(412, "DELETE", table.path("p", "r"),
                                                        **stale)),
            ("a batch of 100", lambda: table.batch("many", [("POST", f"{i:03}", int5)
                                                            for i in range(100)])),
            ("a batch of all kinds", lambda: table.batch("many", [
                ("POST", "new", SOME_OF_ALL), ("PUT", "000", SOME_OF_ALL), ("PUT", "put", int5),
                ("MERGE", "001", {"M": ("Edm.Double", 1.0)}), ("MERGE", "merged", int5),
                ("DELETE", "002", None)])),
            ("a batch that fails at its last", lambda: table.batch("many", [
                ("POST", "x", int5), ("DELETE", "003", None), ("POST", "004", int5)], 409)),
        ]
        for what, step in steps:
            with self.subTest(what):
                step()
                table.check(self.server)
        for partition, row in list(table.model.entities):
            table.delete(partition, row)
        table.check(self.server)
        self.assertEqual(table.facts(self.server)["entities"], 0)
        table.insert("after", "all", int5)
        table.check(self.server)

    def insert_null(self, table):
        entity = to_json("p", "null", {}) | {"Nothing": None}
        table.expect(self.client.insert(table.name, entity), 204)
        table.model.put("p", "null", {})

    def test_the_widest_entities_that_were_written(self):
        table = Table(self, self.client, "Wide")
        table.insert("p", "many", {f"P{i}": ("Edm.Int32", i) for i in range(30)})
        table.insert("p", "text", {"Essay": ("Edm.String", "é" * 25000)})
        table.insert("q", "bytes", {"Photo": ("Edm.Binary", b"x" * 50000)})
        extremes = table.facts(self.server)["extremes"]
        self.assertEqual(extremes["properties"],
                         {"count": 30, "partitionKey": "p", "rowKey": "many"})
        self.assertEqual((extremes["cost"]["partitionKey"], extremes["cost"]["rowKey"]),
                         ("q", "bytes"))
        self.assertEqual(extremes["string"], {"units": 25000, "long": 1, "property": "Essay"})
        self.assertEqual(extremes["binary"], {"bytes": 50000, "long": 1, "property": "Photo"})
        table.merge("p", "many", {f"M{i}": ("Edm.Int32", i) for i in range(5)})
        self.assertEqual(table.facts(self.server)["extremes"]["properties"],
                         {"count": 35, "partitionKey": "p", "rowKey": "many"})

    def test_the_same_after_a_restart(self):
        table = Table(self, self.client, "People")
        table.fill()
        before = table.facts(self.server)
        table.model.check(self, before)
        self.restart()
        self.assertEqual(table.facts(self.server), before)
        table.insert("a", "later", {})
        table.check(self.server)

    def test_counts_at_once_after_a_kill_and_all_else_soon(self):
        table = Table(self, self.client, "People")
        table.fill()
        before = table.facts(self.server)
        self.client.close()
        self.server.kill()
        self.server.start()
        table.model.check_counts(self, table.facts(self.server, "&parts=counts"))
        table.insert("b", "after", {"N": ("Edm.Int32", 1)})
        until(lambda: table.facts(self.server)["sample"]["keys"], "it is counted")
        table.check(self.server)
        table.delete("b", "after")
        self.assert_same_data(table.facts(self.server), before)
        self.assertEqual(metric(self.server, "tavola_facts_differences_total"), 0)

    def test_a_new_table_of_an_old_name_is_empty(self):
        table = Table(self, self.client, "People")
        table.fill()
        table.expect(self.client.request("DELETE", "/Tables('People')"), 204)
        self.assertEqual(ask(self.server, "/facts?table=People")[0], 404)
        for kills in (False, True):
            until(lambda: self.client.create_table("People").status == 204, "it is gone")
            empty = Model()
            empty.check(self, facts_of(self.server, "People"))
            self.assertEqual(self.client.insert("People", {"PartitionKey": "", "RowKey": ""}).status,
                             204)
            empty.put("", "", {})
            empty.check(self, facts_of(self.server, "People"))
            table.expect(self.client.request("DELETE", "/Tables('People')"), 204)
            if not kills:
                self.client.close()
                self.server.kill()
                self.server.start()

    def test_each_account_has_its_own(self):
        server = self.enterContext(Server(engine="rocksdb", env={
            "AZURITE_ACCOUNTS": f"first:{KEY};second:{KEY}"}))
        tables = {}
        for account in ("first", "second"):
            client = Client(server.table_port, account)
            self.addCleanup(client.close)
            tables[account] = Table(self, client, "People", account)
        tables["first"].fill()
        tables["second"].insert("p", "r", {})
        for account, table in tables.items():
            facts = facts_of(server, "People", f"&account={account}")
            self.assertEqual((facts["account"], facts["table"]), (account, "People"))
            table.model.check(self, facts)
        self.assertEqual(ask(server, "/facts?table=People")[0], 404)
        self.assertEqual(ask(server, "/facts?table=People&account=third")[0], 404)

    def test_a_name_is_found_in_any_case_and_shown_as_asked(self):
        Table(self, self.client, "People").insert("p", "r", {})
        self.assertEqual(facts_of(self.server, "pEOPLE")["entities"], 1)

    def test_counts_alone(self):
        table = Table(self, self.client, "People")
        table.fill()
        facts = table.facts(self.server, "&parts=counts")
        self.assertEqual(set(facts), {"account", "table", "exact", "basis", "entities", "bytes",
                                      "created", "replaced", "deleted"})
        table.model.check_counts(self, facts)

    def test_counts_and_keys(self):
        table = Table(self, self.client, "People")
        table.fill()
        whole, facts = table.facts(self.server), table.facts(self.server, "&parts=keys")
        self.assertEqual(set(facts), {"account", "table", "exact", "basis", "entities", "bytes",
                                      "created", "replaced", "deleted", "partitions", "sample"})
        sample = facts.pop("sample")
        self.assertEqual(facts, {name: whole[name] for name in facts})
        self.assertTrue(sample["isAll"])
        self.assertEqual({(key["partitionKey"], key["rowKey"]) for key in sample["keys"]},
                         set(table.model.entities))

    def test_a_recount_finds_the_same(self):
        table = Table(self, self.client, "People")
        table.fill()
        before = table.facts(self.server)
        self.recount("People", 1)
        after = table.facts(self.server)
        table.model.check(self, after)
        self.assert_same_data(after, before)
        self.assertEqual(len(after["largest"]), table_model.LARGEST)
        self.assertEqual(metric(self.server, "tavola_facts_differences_total"), 0)

    def assert_same_data(self, after, before):
        """But for the history, and for large entities that deletions left no list of."""
        self.assertGreaterEqual(len(after["largest"]), len(before["largest"]))
        for field in before:
            if field not in ("created", "deleted", "largest"):
                self.assertEqual(after[field], before[field], field)

    def recount(self, table, counts):
        status, text = ask(self.server, f"/facts/recount?table={table}", "POST")
        self.assertEqual((status, json.loads(text)), (202, {"state": "counting"}))
        until(lambda: metric(self.server, "tavola_facts_counts_total") >= counts and
                   metric(self.server, "tavola_facts_waiting") == 0, "it is counted")

    def test_recounts_while_others_write(self):
        """More entities than the sample has, so that partitions are counted by themselves."""
        writers = [Writer(self, self.server.table_port, f"w{number}") for number in range(3)]
        self.assertEqual(self.client.create_table(Writer.TABLE).status, 204)
        for writer in writers:
            writer.start()
        for count in range(1, 7):
            seen = min(writer.changes for writer in writers)
            self.recount(Writer.TABLE, count)
            until(lambda: min(writer.changes for writer in writers) > seen or
                       not all(writer.is_alive() for writer in writers), "all have written")
        for writer in writers:
            writer.ends.set()
        for writer in writers:
            writer.join()
            self.assertIsNone(writer.problem)
        model = Model()
        for writer in writers:
            model.entities.update(writer.model.entities)
            model.created += writer.model.created
            model.replaced += writer.model.replaced
            model.deleted += writer.model.deleted
        self.assertGreater(len(model.entities), table_model.SAMPLE)
        model.check(self, facts_of(self.server, Writer.TABLE), has_history=False)
        self.recount(Writer.TABLE, 7)
        facts = facts_of(self.server, Writer.TABLE)
        model.check(self, facts, has_history=False)
        exact = {p["partitionKey"] for p in facts["partitions"]["largest"] if p["exact"]}
        self.assertEqual(exact, set(model.partitions()))
        self.assertEqual(metric(self.server, "tavola_facts_differences_total"), 0)
        self.assertNotIn("facts_differ", self.server.log())


class Writer(threading.Thread):
    """A client that inserts many and then changes them in its own partition."""

    TABLE = "Busy"
    BATCHES = 6

    def __init__(self, test, port, partition):
        super().__init__()
        self.test, self.port, self.partition = test, port, partition
        self.ends = threading.Event()
        self.changes, self.problem, self.model = 0, None, Model()

    def run(self):
        client = Client(self.port)
        try:
            self.write(client)
        except Exception as problem:  # shown by the test
            self.problem = problem
        client.close()

    def write(self, client):
        some = {"N": ("Edm.Int32", 1), "T": ("Edm.String", "text")}
        for batch in range(self.BATCHES):
            rows = [f"{batch}-{i:02}" for i in range(100)]
            reply = client.batch(self.TABLE, [to_json(self.partition, row, some) for row in rows])
            self.test.assertEqual(reply.status, 202, reply)
            for row in rows:
                self.model.put(self.partition, row, some)
        while not self.ends.is_set():
            row = f"{self.changes % self.BATCHES}-{self.changes * 7 % 100:02}"
            entity = {"T": ("Edm.String", "x" * (self.changes * 13 % 400))}
            if self.changes % 3 == 2 and (self.partition, row) in self.model.entities:
                reply = client.delete(self.TABLE, self.partition, row)
                self.model.delete(self.partition, row)
            else:
                reply = client.replace(self.TABLE, to_json(self.partition, row, entity))
                self.model.put(self.partition, row, entity)
            self.test.assertEqual(reply.status, 204, reply)
            self.changes += 1


class Guard(unittest.TestCase):
    PATHS = (("GET", "/facts?table=People"), ("HEAD", "/facts?table=People"),
             ("POST", "/facts/recount?table=People"))

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--admin-name", "tavola.example", engine="rocksdb").start()
        cls.token = table_model.token_of(cls.server)
        client = Client(cls.server.table_port)
        assert client.create_table("People").status == 204
        assert client.insert("People", {"PartitionKey": "secret", "RowKey": "key"}).status == 204
        client.close()

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0, cls.server.log()
        cls.server.clean()

    def send(self, method, path, headers=(), body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.admin_port, timeout=60)
        connection.request(method, path, body, dict(headers))
        reply = connection.getresponse()
        text = reply.read()
        connection.close()
        return reply, text

    def test_only_who_has_the_token_is_answered(self):
        good = {"Authorization": f"Bearer {self.token}"}
        for method, path in self.PATHS:
            with self.subTest(method=method, path=path):
                self.assertIn(self.send(method, path, good)[0].status, (200, 202))
                for headers in ({}, {"Authorization": "Bearer " + "0" * 64},
                                {"Authorization": f"Basic {self.token}"},
                                {"Authorization": self.token}):
                    reply, text = self.send(method, path, headers)
                    self.assertEqual(reply.status, 401)
                    self.assertEqual(reply.headers["WWW-Authenticate"], "Bearer")
                    self.assertNotIn(b"secret", text)
                for headers in (good | {"Origin": "http://evil.example"},
                                good | {"Sec-Fetch-Site": "cross-site"},
                                good | {"Host": "evil.example"}):
                    reply, text = self.send(method, path, headers)
                    self.assertEqual(reply.status, 403)
                    self.assertNotIn(b"secret", text)

    def test_other_methods(self):
        good = {"Authorization": f"Bearer {self.token}"}
        for method, path, status in (("PUT", "/facts?table=People", 405),
                                     ("DELETE", "/facts?table=People", 405),
                                     ("POST", "/facts?table=People", 404),
                                     ("GET", "/facts/recount?table=People", 404)):
            with self.subTest(method=method, path=path):
                self.assertEqual(self.send(method, path, good)[0].status, status)

    def test_a_guess_at_a_name_without_the_token_tells_nothing(self):
        self.assertEqual(self.send("GET", "/facts?table=People")[1],
                         self.send("GET", "/facts?table=Nobody")[1])

    BAD = (
        ("/facts", 404, "there is no such table in this account"),
        ("/facts?table=", 404, "there is no such table in this account"),
        ("/facts?table=Nobody", 404, "there is no such table in this account"),
        ("/facts?table=People%00", 404, "there is no such table in this account"),
        ("/facts?table=People&account=", 404, "there is no such table in this account"),
        ("/facts?table=People&account=other", 404, "there is no such table in this account"),
        ("/facts?table=" + "x" * 5000, 404, "there is no such table in this account"),
        ("/facts?table=%FF%FE", 404, "there is no such table in this account"),
        ("/facts?table=%zz", 404, "there is no such table in this account"),
        ("/facts?table=People&parts=", 400, "parts is all, counts or keys"),
        ("/facts?table=People&parts=key", 400, "parts is all, counts or keys"),
        ("/facts?table=People&parts=ALL", 400, "parts is all, counts or keys"),
        ("/facts?table=Nobody&parts=key", 400, "parts is all, counts or keys"),
    )

    def test_bad_input_is_answered_with_one_line(self):
        good = {"Authorization": f"Bearer {self.token}"}
        recounts = [("/facts/recount" + path.removeprefix("/facts"), 404, line)
                    for path, status, line in self.BAD if status == 404]
        for path, status, line in (*self.BAD, *recounts):
            with self.subTest(path=path[:60]):
                method = "POST" if "recount" in path else "GET"
                reply, text = self.send(method, path, good)
                self.assertEqual((reply.status, text.decode()), (status, line + "\n"))
                self.assertEqual(reply.headers["Content-Type"], "text/plain; charset=utf-8")

    def test_a_body_is_not_needed_and_does_no_harm(self):
        good = {"Authorization": f"Bearer {self.token}"}
        path = "/facts/recount?table=People"
        self.assertEqual(self.send("POST", path, good, b"{}")[0].status, 202)
        self.assertEqual(self.send("POST", path, good, b"x" * 200000)[0].status, 413)

    def test_keys_are_json_whatever_they_are(self):
        client = Client(self.server.table_port)
        self.addCleanup(client.close)
        table = Table(self, client, "Hostile")
        for number, key in enumerate(('"', "\\\\", "</script>", "\u2028", "'", "é😀", "a" * 512)):
            path = urllib.parse.quote(key, safe="")
            if "\\" in key or "/" in key:  # not allowed in keys
                table.expect(client.insert("Hostile", to_json(key, path[:9], {})), 400)
            else:
                table.insert(key, f"r{number}", {})
        facts = table.facts(self.server)
        table.model.check(self, facts)

    def test_a_server_that_keeps_nothing_has_no_token_and_answers_nobody(self):
        with Server(engine="memory") as server:
            client = Client(server.table_port)
            self.assertEqual(client.create_table("People").status, 204)
            client.close()
            for method, path in self.PATHS:
                if method != "HEAD":
                    self.assertEqual(ask(server, path, method, token="0" * 64)[0], 401)


if __name__ == "__main__":
    unittest.main()
