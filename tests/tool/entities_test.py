"""Tables and entities: every verb does what it says."""

import json

from server_test import OneAnswer, http
from tavola import IS_AZURITE, TavolaTest, needs_tavolad


class Tables(TavolaTest):
    def test_create_list_exists_delete(self):
        self.assertEqual(self.ok("table", "create", "People"), "")
        self.assertEqual(self.ok("table", "exists", "People"), "true\n")
        self.fails(4, "table", "create", "People",
                   says=r"TableAlreadyExists: .* \(request [0-9a-f-]{36}\)")
        self.ok("table", "create", "People", "--if-absent")
        self.ok("table", "create", "Pets")
        self.assertEqual(self.ok("table", "list", "-o", "value"), "People\nPets\n")
        self.assertEqual(self.ok("table", "list", "--prefix", "Pet", "-o", "value"), "Pets\n")
        self.ok("table", "delete", "Pets", "--yes")
        self.ok("table", "delete", "People", "-y")
        done = self.run_tool("table", "exists", "People")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, b"false\n", b""))
        self.fails(3, "table", "delete", "People", "--yes", says="ResourceNotFound|TableNotFound")
        self.ok("table", "delete", "People", "--yes", "--if-exists")

    @needs_tavolad("it takes no policy of a table without start and expiry")
    def test_policies(self):
        self.ok("table", "create", "Guarded")
        self.assertEqual(self.ok("table", "policy", "list", "Guarded"), "")
        self.ok("table", "policy", "set", "Guarded", "read", "--permissions", "r",
                "--expiry", "2030-01-01")
        self.ok("table", "policy", "set", "Guarded", "write", "--permissions", "au",
                "--start", "2026-01-01T12:00Z")
        self.ok("table", "policy", "set", "Guarded", "read", "--permissions", "rd")
        self.assertEqual(self.lines("table", "policy", "list", "Guarded"), [
            {"Id": "write", "Permissions": "au", "Start": "2026-01-01T12:00:00Z"},
            {"Id": "read", "Permissions": "rd"}])
        self.ok("table", "policy", "delete", "Guarded", "write", "--yes")
        self.fails(3, "table", "policy", "delete", "Guarded", "write", "--yes", says="no policy")
        for i in range(4):
            self.ok("table", "policy", "set", "Guarded", f"p{i}", "--permissions", "r")
        self.fails(2, "table", "policy", "set", "Guarded", "sixth", says="five policies")


class Entities(TavolaTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls().ok("table", "create", "People")

    def properties(self, partition, row):
        entity = json.loads(self.ok("get", "People", partition, row))
        return {name: value for name, value in entity.items()
                if name not in ("odata.etag", "PartitionKey", "RowKey", "Timestamp")}

    def test_insert_put_merge_get_delete(self):
        self.ok("insert", "People", "a", "1", "Name=Ada", "Age:int32=36")
        self.fails(4, "insert", "People", "a", "1", "Name=Eve", says="EntityAlreadyExists")
        self.assertEqual(self.properties("a", "1"), {"Name": "Ada", "Age": 36})
        self.ok("merge", "People", "a", "1", "Age:int32=37")
        self.assertEqual(self.properties("a", "1"), {"Name": "Ada", "Age": 37})
        self.ok("put", "People", "a", "1", "Name=Ida")
        self.assertEqual(self.properties("a", "1"), {"Name": "Ida"})
        self.ok("delete", "People", "a", "1", "--yes")
        self.fails(3, "get", "People", "a", "1", says="ResourceNotFound")
        self.fails(3, "delete", "People", "a", "1", "--yes", says="ResourceNotFound")
        self.ok("delete", "People", "a", "1", "--yes", "--if-exists")

    def test_a_write_tells_its_keys_and_its_etag(self):
        for verb in ("insert", "put", "merge"):
            with self.subTest(verb):
                written, = self.lines(verb, "People", "told", "1", "A=1")
                self.assertEqual((written["PartitionKey"], written["RowKey"]), ("told", "1"))
                self.assertEqual(written["ETag"], json.loads(self.ok("get", "People", "told", "1"))["odata.etag"])
        shown = self.ok("put", "People", "told", "2", "A=1", "-o", "csv").splitlines()
        self.assertEqual(shown[0], "PartitionKey,RowKey,ETag")
        self.assertRegex(shown[1], "^told,2,")
        self.fails(2, "put", "People", "told", "3", "A=1", "-o", "yaml", says="no format 'yaml'")
        self.fails(3, "get", "People", "told", "3", says="ResourceNotFound")

    def test_a_batch_is_made_as_a_whole(self):
        path = self.home / "changes"
        self.ok("insert", "People", "all", "old", "N:int32=1")
        path.write_text("# comments and empty lines\n\ninsert all new 'Name=two words'\n"
                        "put all put A=1\nmerge all old N:int32=2\nmerge all up A=1 --or-insert\n")
        written = self.lines("batch", "People", str(path))
        self.assertEqual([each["RowKey"] for each in written], ["new", "put", "old", "up"])
        etag = json.loads(self.ok("get", "People", "all", "new"))["odata.etag"]
        self.assertEqual((self.properties("all", "new"), written[0]["ETag"]), ({"Name": "two words"}, etag))
        quoted = etag.replace('"', '\\"')
        lines = ["delete all old", f'put all new A=2 --if-match "{quoted}"', "delete all put"]
        self.ok("batch", "People", stdin="\n".join(lines))
        self.assertEqual(self.ok("keys", "People", "all", "-o", "value"), "all\tnew\nall\tup\n")

        for text, code, says in (
                ("delete all up\ninsert all new A=1", 4, ":2: because of this line nothing was written"),
                ("delete all up\nmerge all none A=1", 3, ":2: because of this line nothing was written"),
                ("delete all up\nquery People", 2, "a batch has lines of insert, put, merge and delete"),
                ("delete all", 2, "a batch has lines of"),
                ("delete all up\nput all x A:int32=y", 2, "not of type int32"),
                ("put 'all x", 2, "a quote is not closed"),
                ("", 2, "has no line with a write"),
                ("put a x\nput b x", 2, "INVALID"),
                ("\n".join(f"put all x{i}" for i in range(101)), 2, "100 writes at most")):
            with self.subTest(text[:60]):
                done = self.run_tool("batch", "People", stdin=text)
                self.assertEqual((done.returncode, done.stdout), (code, b""), done.stderr)
                self.assertIn(says, done.stderr.decode())
        self.assertEqual(self.ok("keys", "People", "all", "-o", "value"), "all\tnew\nall\tup\n")

    def test_merge_wants_an_entity_unless_told_otherwise(self):
        self.fails(3, "merge", "People", "m", "1", "A=1", says="ResourceNotFound")
        self.ok("merge", "People", "m", "1", "A=1", "--or-insert")
        self.assertEqual(self.properties("m", "1"), {"A": "1"})

    def test_etags(self):
        self.ok("insert", "People", "e", "1", "A=1")
        etag = self.ok("get", "People", "e", "1", "--select", "odata.etag", "-o", "value").strip()
        self.assertRegex(etag, "^W/\"datetime'")
        self.ok("merge", "People", "e", "1", "A=2", "--if-match", etag)
        for verb in (("merge", "A=3"), ("put", "A=3"), ("delete", "--yes")):
            self.fails(4, verb[0], "People", "e", "1", *verb[1:], "--if-match", etag,
                       says="UpdateConditionNotSatisfied")
        self.fails(3, "put", "People", "e", "none", "--if-match", "*", says="ResourceNotFound")
        self.ok("put", "People", "e", "1", "A=4", "--if-match", "*")

    def test_keys_of_all_kinds(self):
        for key in ("", "O'Hara", "a b%20c", "\u00fc\u4e2d\U0001f600", "-x"):
            with self.subTest(key):
                self.ok("put", "--", "People", key, key, "Key=" + key.replace("-", "d"))
                entity = json.loads(self.ok("get", "--", "People", key, key))
                self.assertEqual((entity["PartitionKey"], entity["RowKey"]), (key, key))
                self.ok("delete", "--yes", "--", "People", key, key)

    def test_delete_where(self):
        for i in range(5):
            self.ok("put", "People", "w", str(i), f"N:int32={i}")
        self.assertEqual(self.ok("delete", "People", "--where", "PartitionKey eq ? and N ge ?",
                                 "w", "2:int32", "--yes"), "3\n")
        self.assertEqual(self.ok("keys", "People", "w", "-o", "value"), "w\t0\nw\t1\n")
        self.fails(2, "delete", "People", "w", "--yes", says="--where")
        self.fails(2, "delete", "People", "w", "0", "--where", "N ge 0", "--yes", says="it goes")
        self.assertEqual(self.ok("keys", "People", "w", "-o", "value"), "w\t0\nw\t1\n")


class Queries(TavolaTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        tool = cls()
        tool.ok("table", "create", "Log")
        for partition in "abc":
            for row in range(4):
                tool.ok("put", "Log", partition, f"r{row}", f"N:int32={row}", "Text=it's")

    @staticmethod
    def where(words):
        return ("--where", *words) if words else ()

    def keys(self, *arguments, says=""):
        shown = self.ok("query", "Log", *arguments, "--select", "PartitionKey,RowKey", "-o",
                        "value", says=says)
        return shown.replace("\tr", "").split()

    def test_filters(self):
        for filter_and_values, expected in (
                ((), [p + r for p in "abc" for r in "0123"]),
                (("PartitionKey eq 'a'",), ["a0", "a1", "a2", "a3"]),
                (("PartitionKey eq ?", "b"), ["b0", "b1", "b2", "b3"]),
                (("PartitionKey eq ? and N gt ?", "b", "1:int32"), ["b2", "b3"]),
                (("N lt ?", "1:int32"), ["a0", "b0", "c0"]),
                (("N ge ?", "-1:int32"), [p + r for p in "abc" for r in "0123"]),
                (("Text eq ? and RowKey eq ?", "it's", "r0"), ["a0", "b0", "c0"]),
                (("Text eq ?", "x' or 'a' eq 'a"), [])):
            with self.subTest(filter_and_values):
                self.assertEqual(self.keys(*self.where(filter_and_values)), expected)
                self.assertEqual(self.ok("count", "Log", *self.where(filter_and_values)),
                                 f"{len(expected)}\n")

    def test_limit_and_token(self):
        note = "next token: [!-~]+\n"
        self.assertEqual(self.keys("--limit", "5", says=note), ["a0", "a1", "a2", "a3", "b0"])
        seen, token = [], None
        while True:
            done = self.run_tool("query", "Log", "--limit", "5", "--page-size", "2", "--select",
                                 "RowKey", "-o", "value", *(("--token", token) if token else ()))
            seen += done.stdout.decode().split()
            if not done.stderr:
                break
            token = done.stderr.decode().removeprefix("next token: ").strip()
        self.assertEqual(len(seen), 12)
        self.assertEqual(self.keys("--page-size", "5"), self.keys())
        self.fails(2, "query", "Log", "--token", "nonsense", says="(?i)token")

    @needs_tavolad("it tells no plan, so the tool tells its own")
    def test_plan_tells_what_was_examined(self):
        for filter_and_values, expected in (
                (("PartitionKey eq 'a' and RowKey eq 'r0'",),
                 "plan: point; examined 1, returned 1, requests 1\n"),
                (("PartitionKey eq 'a' and RowKey ge 'r2'",),
                 "plan: range; examined 2, returned 2, requests 1\n"),
                (("PartitionKey eq ? and N eq ?", "a", "1:int32"),
                 "plan: partition scan; examined 4, returned 1, requests 1\n"),
                (("N eq 1",), "plan: table scan; examined 12, returned 3, requests 1\n"),
                ((), "plan: table scan; examined 12, returned 12, requests 1\n")):
            with self.subTest(filter_and_values):
                self.ok("query", "Log", *self.where(filter_and_values), "--plan", says=expected)

    def test_explain(self):
        elsewhere = "by the filter alone: the service does not tell\n"
        for filter_and_values, plan, reads, returns in (
                (("PartitionKey eq ? and RowKey eq ?", "a", "r1"), "point", "1 entity", "all of them"),
                (("PartitionKey eq 'a' and RowKey lt 'r2'",), "range", "2 entities", "all of them"),
                (("PartitionKey eq 'a'",), "partition scan", "4 entities", "all of them"),
                (("N eq 1",), "table scan", "12 entities", "3 entities"),
                ((), "table scan", "12 entities", "all of them")):
            with self.subTest(filter_and_values):
                shown = self.ok("explain", "Log", *self.where(filter_and_values),
                                says=elsewhere if IS_AZURITE else "")
                told = "" if IS_AZURITE else (rf"reads:   {reads}\nreturns: {returns}\npages:   1\n"
                                              r"azure:   [\w ]+, reads \d+\n")
                self.assertRegex(shown, rf"\Aplan:    {plan}\nfilter:  .+\n{told}advice:  .+\n\Z")
        self.assertEqual(self.lines("explain", "Log", "--where", "N eq ?", "1:int64", "-o", "json",
                                    says=elsewhere if IS_AZURITE else "")[0]["Filter"], "N eq 1L")
        self.fails(3, "explain", "Nothing", "--where", "N eq 1", says="TableNotFound")

    @needs_tavolad("it does not explain queries")
    def test_explain_refuses_what_the_server_refuses(self):
        self.fails(1, "explain", "Log", "--where", "N eq", says="InvalidInput: .*position 4")
        self.fails(1, "query", "Log", "--where", "N gt one",
                   says="NotImplemented: .*; a filter compares .* text goes in single quotes")
        self.fails(2, "query", "Log", "--where", "PartitionKey eq 'a",
                   says="a text of the filter has no quote at its end: PartitionKey eq 'a")
        self.assertEqual(self.ok("explain", "Log", "--where", "false"), "plan:    none\nfilter:  false\n"
                         "advice:  No entity can match, so nothing is read.\n")
        for filter_, azure in (
                ("N eq 1", "table scan, reads 12"),
                ("PartitionKey eq 'a' or PartitionKey eq 'b'",
                 "table scan, reads 12; a guess, since its plan for such filters is not documented"),
                (" or ".join(["N eq 1"] * 16), "refused, for more than 15 comparisons")):
            self.assertIn(f"\nazure:   {azure}\n", self.ok("explain", "Log", "--where", filter_))

    def test_explain_refuses_where_the_service_tells_nothing(self):
        with OneAnswer(http(200, '{"value":[]}')) as service:
            env = self.env | {"AZURE_STORAGE_CONNECTION_STRING": "AccountName=a;AccountKey=YQ==;"
                              f"TableEndpoint={service.url}/a"}
            for filter_, says in (("N gt", "refuses this filter: .*position 4"),
                                  ("N gt one", "refuses this filter"),
                                  ("startswith(RowKey, 'b')", "refuses this filter")):
                self.fails(2, "explain", "Log", "--where", filter_, says=says, env=env)
            self.assertRegex(self.ok("explain", "Log", "--where", "N gt 1", env=env, says="by the filter .*\n"),
                             "\\Aplan:    table scan\n")

    def test_what_is_nested_is_planned_as_the_server_takes_it(self):
        """By the filter alone and by the server: to the same depth."""
        with OneAnswer(http(200, '{"value":[]}')) as service:
            env = self.env | {"AZURE_STORAGE_CONNECTION_STRING": "AccountName=a;AccountKey=YQ==;"
                              f"TableEndpoint={service.url}/a"}
            deep = "not " * 1000 + "PartitionKey eq 'a'"
            self.assertRegex(self.ok("explain", "Log", "--where", deep, env=env, says="by the filter .*\n"),
                             "\\Aplan:    partition scan\n")
            self.fails(2, "explain", "Log", "--where", f"not {deep}", says="nested more than 1000 deep", env=env)
        if not IS_AZURITE:
            self.assertRegex(self.ok("explain", "Log", "--where", deep), "\\Aplan:    partition scan\n")
            self.fails(1, "explain", "Log", "--where", f"not {deep}", says="nested more than 1000 deep")

    @needs_tavolad("it does not look at the types of properties")
    def test_a_literal_of_another_type_is_told_where_it_runs(self):
        warning = "warning: N is Int32 in 12 of 12 sampled entities; write 1\n"
        needs_type = "warning: a value behind the filter is text unless it names its type, .*\n"
        for verb, text in (("query", ""), ("count", "0\n")):
            for words, more in ((("N eq '1'",), ""), (("N eq ?", "1"), needs_type)):
                with self.subTest(verb=verb, words=words):
                    self.assertEqual(self.ok(verb, "Log", "--where", *words, says=warning + more), text)
        self.ok("query", "Log", "--where", "n eq 1",
                says="warning: n is in none of 12 sampled entities; write N\n")
        self.assertIn(warning, self.ok("explain", "Log", "--where", "N eq '1'"))
        self.assertEqual(len(self.lines("query", "Log", "--where", "N lt '9'", "--page-size", "5",
                                        says=warning.replace("write 1", "write 9"))), 12, "once")
        # Not of what is compared as it is stored, of keys, nor of the whole table.
        for words in (("N eq 1",), ("PartitionKey eq '1'",), ("Nobody eq '1'",), ()):
            with self.subTest(words):
                self.ok("query", "Log", *self.where(words))
        for line in ("table stats Log --where|N eq '1'", f"export Log {self.home}/n.csv --where|N eq '1'",
                     "copy Log Logged --create --where|N eq '1'"):
            verb, where = line.split("|")
            self.ok(*verb.split(), where, says=warning + r"(\w.*\n)*")
        # Before anything is deleted.
        self.ok("table", "create", "Few")
        self.ok("insert", "Few", "a", "1", "N:int32=1")
        done = self.run_tool("delete", "Few", "--where", "N lt '9'")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertRegex(done.stderr.decode(), r"\Awarning: N is Int32 in 1 of 1 [^\n]*\ntavola: [^\n]*--yes")

    def test_keys(self):
        self.assertEqual(self.ok("keys", "Log", "--partitions", "-o", "value"), "a\nb\nc\n")
        self.assertEqual(self.ok("keys", "Log", "--partitions", "--limit", "2", "-o", "value"),
                         "a\nb\n")
        self.assertEqual(self.ok("keys", "Log", "b", "-o", "value"), "b\tr0\nb\tr1\nb\tr2\nb\tr3\n")
        self.assertEqual(self.lines("keys", "Log", "b", "r3"),
                         [{"PartitionKey": "b", "RowKey": "r3"}])
        self.assertEqual(len(self.ok("keys", "Log").splitlines()), 12)
        self.fails(3, "keys", "Nothing", says="TableNotFound")
        self.fails(3, "keys", "Nothing", "--partitions", says="TableNotFound")

    def test_tail(self):
        self.assertEqual(self.ok("tail", "Log", "c", "-n", "2", "--select", "RowKey", "-o",
                                 "value"), "r3\nr2\n")
        self.assertEqual(len(self.ok("tail", "Log", "c").splitlines()), 4)
        self.assertEqual(self.ok("tail", "Log", "C",
                                 says="no entity of table Log has the PartitionKey 'C'\n"), "")

    def test_a_table_of_nearly_that_name(self):
        self.ok("table", "create", "Employees", "--if-absent")
        self.fails(3, "query", "Employes", says=r"TableNotFound.*; did you mean 'Employees'\?")
        self.fails(3, "count", "Nothing", says=r"TableNotFound: [^;]*\Z")

    def test_a_table_that_is_not_there(self):
        for verb in (("query",), ("count",), ("tail", "p"), ("get", "p", "r")):
            with self.subTest(verb):
                self.fails(3, verb[0], "Nothing", *verb[1:], says="TableNotFound|ResourceNotFound")
