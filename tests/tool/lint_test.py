"""tavola lint, with a server that records what tests do to its tables."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import urllib.parse
import xml.etree.ElementTree

from server import ROOT, Server
from table_client import Client, key_path
from tavola import PROGRAM, TIMEOUT_S, TavolaTest, needs_tavolad

SCAN = "7ea1374a206cc01a"  # Email eq ?s
LIST = "26c092cf0b9a39dc"  # PartitionKey eq ?s and any(RowKey eq ?s)


def fnv(text):
    """32 bits of a hash without a key, of which short texts are found by trying all."""
    value = 0xcbf29ce484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return f"{value >> 32:08x}"


@needs_tavolad("it has no admin port")
class LintTest(TavolaTest):
    """A server, a table, and a folder that the tool is run in."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # A request is recorded when its answer has gone out: on one thread, before the next one.
        cls.watched = cls.enterClassContext(Server("--watch=all", "--threads", "1"))
        cls.client = Client(cls.watched.table_port)
        cls.addClassCleanup(cls.client.close)
        cls.client.create_table("Employees")
        for p in range(3):
            cls.client.batch("Employees", [
                {"PartitionKey": f"p{p}", "RowKey": f"r{r:03}", "Email": f"{p}.{r}@x.org"}
                for r in range(100)])

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tavola-lint-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.lint_env = self.env | {
            "TAVOLA_ADMIN": self.watched.admin_url,
            "TAVOLA_ADMIN_TOKEN_FILE": f"{self.watched.data}/admin.token"}

    def query(self, filter_text, source=None):
        reply = self.client.request(
            "GET", "/Employees()?" + urllib.parse.urlencode({"$filter": filter_text}),
            **({"x-tavola-source": source} if source else {}))
        self.assertEqual(reply.status, 200, reply)

    def tool(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, env=self.lint_env,
                              cwd=self.folder, timeout=TIMEOUT_S, text=True)

    def mark(self):
        return self.tool("advise", "mark").stdout.strip()

    def scan(self):
        """A run with a scan of the table; its mark."""
        mark = self.mark()
        self.query("Email eq '1.7@x.org'", "src/login.c:88")
        return mark

    def configure(self, text):
        (self.folder / "tavola-lint.toml").write_text(text)

    def lint(self, code, *arguments):
        """What it prints, when it ends with this code."""
        done = self.tool("lint", *arguments)
        self.assertEqual((done.returncode, done.stderr), (code, ""), done.stdout)
        return done.stdout

    def refused(self, code, *arguments, says):
        done = self.tool("lint", *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"\Atavola: [^\n]+\n\Z")
        self.assertRegex(done.stderr, says)
        self.assertEqual(done.stdout, "")

    def found(self, *arguments, code=1):
        """{rule: what is said of its finding}"""
        report = json.loads(self.lint(code, *arguments, "-o", "json"))
        return {one["finding"]["rule"]: one for one in report["findings"]}


class Findings(LintTest):
    def test_a_scan_fails_the_build_and_names_its_place(self):
        text = self.lint(1, "--since", self.scan())
        self.assertRegex(text, r"\Atavola lint: 1 request, 1 query shape, 1 table, [\d.]+ s "
                               r"recorded \(complete, nothing sampled\)\n\n")
        self.assertIn(f"Q01 table-scan-property  Employees  [{SCAN}]\n  Email eq ?s\n", text)
        self.assertIn("  from   src/login.c:88\n", text)
        self.assertIn("PartitionKey = email_{Email}", text)
        self.assertRegex(text, r"\n1 finding \(1 \w+\); fails on warning\n\Z")
        self.assertNotIn("1.7@x.org", text)

    def test_keys_are_no_finding(self):
        mark = self.mark()
        self.query("PartitionKey eq 'p1' and RowKey eq 'r001'")
        self.assertRegex(self.lint(0, "--since", mark), r"\n0 findings; fails on warning\n\Z")

    def test_nothing_recorded_is_not_success(self):
        self.refused(7, "--since", self.mark(), says="0 requests were recorded, and 1 is needed")
        self.configure("min_requests = 3")
        self.refused(7, "--since", self.scan(), says="1 request was .* 3 are needed")
        self.refused(7, "--since", "m999", says="no such mark")

    def test_what_cannot_be_asked(self):
        mark = self.mark()
        self.refused(2, "-o", "yaml", says="text, github, junit, json or sarif")
        self.refused(2, "--config", "none.toml", says="cannot read none.toml")
        self.refused(6, "--since", mark, "--admin", "http://127.0.0.1:1", says="no server answers")
        token = self.folder / "token"
        token.write_text("0" * 64)
        token.chmod(0o600)
        self.refused(5, "--since", mark, "--token-file", str(token), says="does not prove")


class Configuration(LintTest):
    def test_levels_of_rules(self):
        mark = self.scan()
        for text, code, level in (
                ('[rules]\ntable-scan-property = "error"', 1, "error"),
                ('[rules]\ntable-scan-property = "info"', 0, "info"),
                ('fail_on = "info"\n[rules]\nQ01 = "info"', 1, "info"),
                ('[rules]\nQ = "info"', 0, "info"),
                ('[rules]\nQ = "off"\ntable-scan-property = "warning"', 1, "warning"),
                ('[rules]\nQ = "off"', 0, None),
                ('fail_on = "error"\n[rules]\nQ01 = "warning"', 0, "warning")):
            with self.subTest(text):
                self.configure(text)
                found = self.found("--since", mark, code=code)
                self.assertEqual(found["table-scan-property"]["severity"] if level else found,
                                 level or {})

    def test_thresholds_are_of_a_run(self):
        mark = self.scan()
        self.configure('[thresholds]\ntable-scan-property.examined = 1000000')
        self.assertEqual(self.found("--since", mark, code=0), {})
        self.refused(2, says="are of a run: give --since")

    def test_limits(self):
        mark = self.scan()
        for limit, title in (
                ("examined_over = 299", "examined 300 entities, over the limit of 299"),
                ("examined_over = 300", None),
                ("examined_over = 1\nreturned_up_to = 0", None),
                ("ratio_over = 299.5", "300 entities are examined for each"),
                ("pages_over = 0", "takes 1 pages"),
                ('plan = "table"', "The plan is table"),
                ('plan = "partition"', None),
                ('examined_over = 1\ntable = "Emp*ees"', "over the limit of 1"),
                ('examined_over = 1\ntable = ["Audit*", "x"]', None)):
            with self.subTest(limit):
                self.configure(f'[rules]\nQ01 = "off"\n[[limit]]\n{limit}\n')
                found = self.found("--since", mark, code=1 if title else 0)
                if title:
                    self.assertIn(title, found["limit"]["finding"]["title"])
                    self.assertEqual(found["limit"]["finding"]["code"], "Q99")
                    self.assertEqual(found["limit"]["finding"]["sources"], ["src/login.c:88"])
                else:
                    self.assertEqual(found, {})

    def test_what_is_allowed(self):
        mark = self.scan()
        for allow, code in ((f'rule = "table-scan-property"\ntable = "Emp*"\nshape = "{SCAN}"', 0),
                            ('text = "Email eq ?s"', 0), ('rule = "Q"', 0),
                            ('rule = "Q01"\nuntil = "2999-01-31"', 0),
                            ('rule = "Q01"\nuntil = "2020-01-31"', 1),
                            ('table = "Audit*"', 1), ('shape = "0"', 1), ('rule = "Q02"', 1)):
            with self.subTest(allow):
                self.configure(f'[[allow]]\nreason = "nightly report"\n{allow}\n')
                text = self.lint(code, "--since", mark)
                if code == 0:
                    self.assertIn(f"allowed Q01 Employees [{SCAN}] nightly report", text)
                    self.assertIn("0 findings, 1 allowed; fails on warning", text)
                elif "until" in allow:
                    self.assertIn("was allowed until 2020-01-31: nightly report", text)
                else:
                    self.assertIn("unused [[allow]] on line 1: nightly report", text)

    def test_mistakes_are_named_with_their_line(self):
        for text, line, says in (
                ('fail_no = "error"', 1, "no key 'fail_no'; did you mean 'fail_on'"),
                ('version = 2', 1, "version is 1"),
                ('\n[rules]\ntable-scan-propery = "error"', 3, "mean 'table-scan-property'"),
                ('[rules]\nQ01 = "fatal"', 2, 'takes "error", "warning", "info" or "off"'),
                ('fail_on = "off"', 1, 'takes "error", "warning" or "info"'),
                ('[rule]', 1, "no section 'rule'; did you mean 'rules'"),
                ('[limit]', 1, r"write \[\[limit\]\]"),
                ('[[limits]]', 1, "did you mean 'limit'"),
                ('[[limit]]\ntable = "a"', 1, "has examined_over"),
                ('[[limit]]\nexamined = 5', 2, "no key of .* 'examined'"),
                ('[[limit]]\nplan = "scan"', 2, "a plan is"),
                ('[[allow]]\nrule = "Q01"', 1, "has no reason"),
                ('[[allow]]\nreason = "x"', 1, "has no rule, table, shape or text"),
                ('[[allow]]\nuntil = "soon"', 2, "until takes a day"),
                ('[thresholds]\nor-of-keys.execution = 1', 2, "mean 'or-of-keys.executions'"),
                ('[thresholds]\nor-of-keys.executions = -1', 2, "not negative"),
                ('[thresholds]\nall.window_min = 5', 2, "cannot be set"),
                ('min_requests = 1\nmin_requests = 2', 2, "stands on line 1"),
                ('[rules]\n[rules]', 2, "stands on line 1"),
                ('a.b = 1', 1, "have a dot"), ('fail_on = "x', 1, "does not end"),
                ('fail_on', 1, "key = value"), ('fail_on = yes', 1, "a value is"),
                ('min_requests = 1 2', 1, "follows"), ('min_requests = 1_0', 1, "not a number"),
                ('fail_on = "\\q"', 1, "stands before"), ('\0', 1, "not text")):
            with self.subTest(text):
                self.configure(text)
                self.refused(2, "--since", "m1", says=rf"tavola-lint.toml:{line}: .*{says}")

    def test_a_baseline_silences_what_was_there(self):
        mark = self.scan()
        self.assertEqual(self.lint(0, "--since", mark, "--update-baseline"),
                         "tavola-lint.baseline.json: 1 finding\n")
        kept = json.loads((self.folder / "tavola-lint.baseline.json").read_text())
        self.assertEqual(kept, {"version": 1, "ids": [
            f"table-scan-property@devstoreaccount1/Employees/{SCAN}"]})
        text = self.lint(0, "--since", mark)
        self.assertIn("0 findings, 1 in the baseline", text)
        self.query("Email ge 'x'")
        text = self.lint(1, "--since", mark)
        self.assertIn("1 finding (", text)
        self.assertRegex(text, r"(?m)^  seen   In \d+ seconds? of the run, \d+ quer(y|ies) read ")

        mark = self.mark()
        self.query("PartitionKey eq 'p1' and RowKey eq 'r001'")
        self.assertIn("stale baseline table-scan-property@", self.lint(0, "--since", mark))
        for text in ("[]", '{"version":1,"ids":["a","b"'):
            (self.folder / "tavola-lint.baseline.json").write_text(text)
            self.refused(2, "--since", mark, says="not a baseline")

    def contend(self, server, number):
        """A run in which writers of one entity are in each other's way; its mark."""
        client = Client(server.table_port)
        client.create_table("Contended")
        key = (f"{number:08}", f"{number + 1:08}")
        client.insert("Contended", {"PartitionKey": key[0], "RowKey": key[1]})
        self.lint_env |= {"TAVOLA_ADMIN": server.admin_url,
                          "TAVOLA_ADMIN_TOKEN_FILE": f"{server.data}/admin.token"}
        mark = self.mark()
        for _ in range(8):
            reply = client.request("MERGE", key_path("Contended", *key), {"N": 1},
                                   if_match="W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\"")
            self.assertEqual(reply.status, 412, reply)
        client.close()
        return mark, key

    def test_keys_cannot_be_guessed_and_a_baseline_holds_in_the_next_store(self):
        mark, key = self.contend(self.watched, 31415926)
        shown = [self.lint(1, "--since", mark, "-o", name)
                 for name in ("text", "github", "junit", "json", "sarif")]
        self.assertEqual(self.found("--since", mark)["etag-contention"]["finding"]["subject"]["kind"],
                         "entity")
        self.assertEqual(self.lint(0, "--since", mark, "--update-baseline"),
                         "tavola-lint.baseline.json: 1 finding\n")
        shown.append((self.folder / "tavola-lint.baseline.json").read_text())
        for text in shown:
            for secret in (*key, fnv(key[0]), fnv(key[1]), fnv("\x01".join(key))):
                self.assertNotIn(secret, text)
        with Server("--watch=all", "--threads", "1") as server:  # another store, and other keys
            mark, _ = self.contend(server, 27182818)
            self.assertIn("0 findings, 1 in the baseline", self.lint(0, "--since", mark))

    def test_the_baseline_is_beside_the_configuration(self):
        (self.folder / "ci").mkdir()
        (self.folder / "ci" / "lint.toml").write_text("version = 1\n")
        mark = self.scan()
        self.lint(0, "--since", mark, "--config", "ci/lint.toml", "--update-baseline")
        self.assertTrue((self.folder / "ci" / "tavola-lint.baseline.json").exists())
        self.lint(0, "--since", mark, "--config", "ci/lint.toml")
        self.lint(1, "--since", mark)


class Formats(LintTest):
    def test_annotations(self):
        mark = self.scan()
        text = self.lint(1, "--since", mark, "-o", "github")
        self.assertRegex(text, r"(?m)^::\w+ file=src/login.c,line=88,title=Q01 "
                               r"table-scan-property::Employees, Email eq \?s: A query")
        mark = self.mark()
        self.query("Phone eq 'a'")
        self.assertRegex(self.lint(1, "--since", mark, "-o", "github"),
                         r"(?m)^::\w+ file=tavola-lint.toml,line=1,title=Q01")

    def test_junit(self):
        self.configure('[[allow]]\nrule = "or-of-keys"\nreason = "<few> & \\"short\\""\n')
        mark = self.scan()
        self.query("PartitionKey eq 'p1' and (RowKey eq 'r001' or RowKey eq 'r002')")
        suite = xml.etree.ElementTree.fromstring(
            self.lint(1, "--since", mark, "-o", "junit"))
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("skipped")),
                         ("2", "1", "1"))
        cases = {case.get("classname"): case for case in suite}
        self.assertIn("Email eq ?s",
                      cases["tavola.lint.table-scan-property"].find("failure").get("message"))
        self.assertIn('<few> & "short"',
                      cases["tavola.lint.or-of-keys"].find("skipped").get("message"))

    def test_sarif(self):
        self.configure(f'[[allow]]\nshape = "{LIST}"\nreason = "short lists"\n')
        mark = self.scan()
        self.query("PartitionKey eq 'p1' and (RowKey eq 'r001' or RowKey eq 'r002')")
        run, = json.loads(self.lint(1, "--since", mark, "-o", "sarif"))["runs"]
        self.assertEqual({rule["id"] for rule in run["tool"]["driver"]["rules"]}, {"Q01", "Q05"})
        results = {result["ruleId"]: result for result in run["results"]}
        place = results["Q01"]["locations"][0]["physicalLocation"]
        self.assertEqual(place, {"artifactLocation": {"uri": "src/login.c"},
                                 "region": {"startLine": 88}})
        self.assertNotIn("suppressions", results["Q01"])
        self.assertEqual(results["Q05"]["suppressions"][0]["justification"], "short lists")

    def test_json(self):
        report = json.loads(self.lint(1, "--since", self.scan(), "-o", "json"))
        self.assertEqual((report["version"], report["fails"], report["window"]["requests"]),
                         (1, True, 1))
        one, = report["findings"]
        self.assertEqual(one["state"], "open")
        self.assertEqual(one["finding"]["evidence"]["executions"], 1)


class Traces(LintTest):
    """What a server writes with --trace, and lint of that."""

    def traced(self, *flags):
        """A trace of a scan, a list of keys, a few writes and reads; its lines."""
        path = self.folder / "t.trace"
        with Server("--trace", str(path), *flags) as server:
            client = Client(server.table_port)
            client.create_table("Employees")
            client.batch("Employees", [
                {"PartitionKey": "Sales", "RowKey": f"emp_{r:05}", "Email": f"{r}@secret.org"}
                for r in range(100)])
            for number in range(3):
                client.request("GET", "/Employees()?" + urllib.parse.urlencode(
                    {"$filter": f"Email eq '{number}@secret.org'"}),
                    **{"x-tavola-source": "src/login.c:88"})
            client.request("GET", "/Employees()?" + urllib.parse.urlencode(
                {"$filter": "PartitionKey eq 'Sales' and "
                            "(RowKey eq 'emp_00001' or RowKey eq 'emp_00002')"}))
            client.request("GET", "/Employees(PartitionKey='Sales',RowKey='emp_00007')")
            client.insert("Employees", {"PartitionKey": "HR", "RowKey": "1", "Age": 5})
            client.close()
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        return path, [json.loads(line) for line in path.read_text().splitlines()]

    def test_each_request_is_a_line(self):
        _, (head, *lines) = self.traced()
        self.assertEqual((head["tavolaTrace"], head["values"], head["hash"], head["targets"]),
                         (1, "hash", "hmac-sha256/12", False))
        self.assertEqual([line["op"] for line in lines],
                         ["EntityGroupTransaction"] + 4 * ["QueryEntities"] +
                         ["QueryEntity", "InsertEntity"])
        batch, scan, again, _, keys, _, insert = lines
        self.assertEqual((len(batch["k"]), batch["k"][0]["op"], batch["k"][0]["kc"]),
                         (100, "InsertEntity", "a_9{5}"))
        self.assertEqual(len({key["pk"] for key in batch["k"]}), 1)
        self.assertEqual(len({key["rk"] for key in batch["k"]}), 100)
        self.assertEqual((scan["f"], scan["fp"], scan["p"], scan["ex"], scan["re"], scan["src"]),
                         ("Email eq ?s", SCAN, "table", 100, 1, "src/login.c:88"))
        self.assertNotIn("f", again)
        self.assertEqual([(v["t"], v["n"]) for v in scan["v"]], [("s", 12)])
        self.assertNotEqual(scan["v"][0]["h"], again["v"][0]["h"])
        # The values stand as the marks of the shape do, and equal keys are equal hashes.
        self.assertEqual(keys["f"], "PartitionKey eq ?s and any(RowKey eq ?s)")
        self.assertEqual("h:" + keys["v"][0]["h"], batch["k"][0]["pk"])
        self.assertEqual({"h:" + v["h"] for v in keys["v"][1:]},
                         {batch["k"][1]["rk"], batch["k"][2]["rk"]})
        self.assertEqual(insert["n"], {"np": 1, "kib": 1, "types": {"Age": "i"}})

    def test_what_is_not_shown(self):
        for flags, hidden in (((), ("secret.org", "Sales", "emp_0")),
                              (("--trace-values", "shape"), ("secret.org", "Sales", '"h:', '"v":')),
                              (("--trace-names", "hash"), ("secret.org", "Sales", "Employees",
                                                           "Email", "Age", "devstoreaccount1"))):
            path, _ = self.traced(*flags)
            for text in (*hidden, "SharedKey", "sig="):
                self.assertNotIn(text, path.read_text(), flags)

    def test_full_has_values(self):
        _, lines = self.traced("--trace-values", "full")
        self.assertEqual(lines[2]["v"], [{"t": "s", "v": "0@secret.org"}])
        self.assertEqual((lines[1]["k"][3]["pk"], lines[1]["k"][3]["rk"]), ("Sales", "emp_00003"))

    def test_lint_finds_in_it_what_it_finds_on_the_server(self):
        for flags in ((), ("--trace-values", "full"), ("--trace-values", "shape")):
            path, _ = self.traced(*flags)
            found = self.found("--trace", str(path))
            self.assertEqual(set(found), {"table-scan-property", "or-of-keys"}, flags)
            scan = found["table-scan-property"]["finding"]
            self.assertEqual(scan["id"],
                             f"table-scan-property@devstoreaccount1/Employees/{SCAN}")
            self.assertEqual((scan["evidence"]["executions"], scan["sources"]),
                             (3, ["src/login.c:88"]))
            self.assertRegex(self.lint(1, "--trace", str(path)),
                             r"\Atavola lint: 7 requests, 2 query shapes, 1 table, ")
            self.configure('[rules]\nQ05 = "off"\n[[limit]]\nexamined_over = 99\n'
                           '[thresholds]\ntable-scan-property.executions = 4')
            self.assertEqual(set(self.found("--trace", str(path))), {"limit"})
            (self.folder / "tavola-lint.toml").unlink()

    def judged(self, *flags, traffic):
        """What lint finds in a trace of this traffic."""
        path = self.folder / "t.trace"
        with Server("--trace", str(path), *flags) as server:
            client = Client(server.table_port)
            client.create_table("Data")
            traffic(client)
            client.close()
        report = json.loads(self.tool("lint", "--trace", str(path), "-o", "json").stdout)
        return {one["finding"]["rule"]: one["finding"] for one in report["findings"]}

    def test_rules_on_data_that_a_trace_can_tell(self):
        def write(client):
            client.insert("Data", {"PartitionKey": "w", "RowKey": "r"} |
                          {f"p{i}": i for i in range(240)})
            client.batch("Data", [{"PartitionKey": "p", "RowKey": f"order_{i:04}", "Year": i // 50}
                                  for i in range(100)])
            client.insert("Data", {"PartitionKey": "p", "RowKey": "a1", "Age": 5})
            client.insert("Data", {"PartitionKey": "p", "RowKey": "a2", "Age": "5"})
            reply = client.insert("Data", {"PartitionKey": "w", "RowKey": "long",
                                           "Text": "x" * 40000})
            self.assertEqual(reply.status, 400)
            client.create_table("Numbers")
            client.batch("Numbers", [{"PartitionKey": "n", "RowKey": str(i)}
                                     for i in range(1, 60)])
            for path, text in (
                    ("Numbers", "PartitionKey eq 'n' and RowKey ge '1' and RowKey lt '5'"),
                    ("Data", "PartitionKey eq 'p' and Age gt 1")):
                client.request("GET", f"/{path}()?" + urllib.parse.urlencode({"$filter": text}))

        found = self.judged(traffic=write)
        self.assertEqual((found["wide-entity"]["severity"],
                          found["wide-entity"]["evidence"]["properties"]), ("warning", 240))
        self.assertEqual((found["type-drift"]["severity"], found["type-drift"]["subject"]["name"]),
                         ("warning", "Age"))
        self.assertEqual((found["long-value"]["severity"],
                          found["long-value"]["evidence"]["refused"]), ("error", 1))
        self.assertNotIn("unpadded-number", found)  # needs the keys
        found = self.judged("--trace-values", "full", traffic=write)
        self.assertEqual(found["unpadded-number"]["severity"], "warning")

    def test_matches_that_lie_side_by_side(self):
        def scan(client):
            for first in range(0, 400, 100):
                client.batch("Data", [{"PartitionKey": "p", "RowKey": f"{i // 20:03}_{i:04}",
                                       "Kind": i // 20, "Odd": i % 20}
                                      for i in range(first, first + 100)])
            for i in range(3):
                client.request("GET", "/Data()?" + urllib.parse.urlencode(
                    {"$filter": f"PartitionKey eq 'p' and Kind eq {i + 5}"}))

        for flags in ((), ("--trace-values", "full"), ("--trace-values", "shape")):
            found = self.judged(*flags, traffic=scan)
            self.assertEqual((found["partition-scan-range"]["code"],
                              found["partition-scan-range"]["evidence"]["density"]), ("Q03", 1),
                             flags)

    def test_several_traces_are_one_run(self):
        path, _ = self.traced()
        found = self.found("--trace", str(path), str(path))
        self.assertEqual(found["table-scan-property"]["finding"]["evidence"]["executions"], 6)

    def test_what_was_lost_is_said(self):
        path, _ = self.traced()
        text = path.read_text().replace('"op":"InsertEntity","s"', '"lost":12,"op":"InsertEntity","s"')
        path.write_text(text)
        self.assertIn("(incomplete: 12 requests are missing,", self.lint(1, "--trace", str(path)))

    def test_what_is_no_trace(self):
        path, _ = self.traced()
        whole = path.read_bytes()
        for text, says in ((b"", "is empty"), (b"hello\n", "not a trace"),
                           (b'{"a":1}\n', "not a trace"),
                           (whole.replace(b'Trace":1', b'Trace":2', 1), "of version 2"),
                           (whole[:-20], "cut off in the middle of line 8"),
                           (whole + b"{}\n", "line 9 is not one of a trace"),
                           (b"\x1f\x8b\x08", "packed")):
            path.write_bytes(text)
            self.refused(2, "--trace", str(path), says=says)
        self.refused(2, "--trace", "none", says="cannot read none")
        self.refused(2, "--trace", str(path), "--since", "m1", says="give one of them")
        self.refused(2, str(path), says="write lint --trace")

    def test_flags_of_the_server(self):
        for flags, says in ((("--trace", "/nonexistent/t"), "cannot write the trace"),
                            (("--trace", "t.gz"), "without .gz"),
                            (("--trace", "t", "--watch=off"), "needs --watch"),
                            (("--trace-values", "all"), "shape, hash or full"),
                            (("--trace-names", "x"), "clear or hash")):
            with self.subTest(flags):
                server = Server(*flags)
                self.addCleanup(server.clean)
                with self.assertRaisesRegex(RuntimeError, says):
                    server.start()


class Documented(LintTest):
    def test_the_pipeline_of_the_docs(self):
        """The script and the configuration of docs/lint.md, as they stand there."""
        page = (ROOT / "docs/lint.md").read_text()
        script, = re.findall(r"```sh\n(#!/bin/sh\n.*?)```", page, re.DOTALL)
        config, = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
        self.configure(config)
        (self.folder / "run-tests").write_text(
            f"#!/bin/sh\nexec python3 {self.folder}/tests.py\n")
        (self.folder / "run-tests").chmod(0o755)
        env = self.lint_env | {"PATH": f"{pathlib.Path(PROGRAM).parent}:{os.environ['PATH']}",
                               "PYTHONPATH": str(ROOT / "tests/lib")}
        for path, code in (("/Employees()?$filter=Email%20eq%20'x'", 1),
                           ("/Employees(PartitionKey='p1',RowKey='r001')", 0)):
            (self.folder / "tests.py").write_text(
                "from table_client import Client\n"
                f"reply = Client({self.watched.table_port}).request('GET', {path!r})\n"
                "assert reply.status == 200, reply\n")
            done = subprocess.run(["sh", "-c", script], cwd=self.folder, env=env,
                                  capture_output=True, timeout=TIMEOUT_S, text=True)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertEqual("::error file=" in done.stdout, code == 1, done.stdout)
