"""tavola advise: against a server, and what it makes of an answer that was kept."""

import json
import pathlib
import tempfile

from server_test import OneAnswer, http
from tavola import TavolaTest, needs_tavolad

FINDING = {
    "id": "table-scan-property@a/Emp/7ea1374a206cc01a", "rule": "table-scan-property", "code": "Q01",
    "severity": "error", "confidence": "certain", "state": "active",
    "title": "A query reads the whole table to find entities by Email", "account": "a",
    "table": "Emp",
    "subject": {"kind": "shape", "fingerprint": "7ea1374a206cc01a", "text": "Email eq ?s"},
    "chapter": {"title": "Inter-partition secondary index pattern"},
    "seen": "In the 12 minutes to 14:05 UTC, 412 queries looked for \u00e9\u001b[31m.",
    "evidence": {"executions": 412},
    "cure": {"text": "Store a copy.", "functions": ["tavola_indexed_put"],
             "proposal": {"partitionKey": "email_{Email}", "rowKey": "email",
                          "filterAfter": "PartitionKey eq 'email_x' and RowKey eq 'email'",
                          "examinedBefore": 48211, "examinedAfter": 1}},
}
ANSWER = {"version": 1, "window": {"mode": "live", "requests": 7}, "summary": {},
          "findings": [FINDING]}


@needs_tavolad("it has no admin port")
class Advise(TavolaTest):
    def test_a_run_has_a_beginning_and_findings(self):
        admin = ("--admin", self.server.admin_url, "--data", self.server.data)
        mark = self.ok("advise", "mark", *admin).strip()
        self.assertRegex(mark, r"\Am\d+\Z")
        self.ok("table", "create", "Quiet")
        self.assertIn("0 findings in ", self.ok("advise", "Quiet", "--since", mark, *admin))
        self.fails(3, "advise", "NoSuchTable", "--since", mark, *admin,
                   says="there is no table 'NoSuchTable' in the account devstoreaccount1")
        self.assertEqual(list(self.lines("advise", "mark", "-o", "json", *admin)[0]), ["Mark"])
        answer = json.loads(self.ok("advise", "-o", "json", "--since", mark, *admin))
        self.assertEqual((answer["version"], answer["window"]["mode"]), (1, "run"))
        self.fails(1, "advise", "--since", "m999", *admin, says="no such mark")
        self.fails(2, "advise", "--limit", "x", *admin, says="limit|number|count")

    def text_of(self, answer, *words):
        with tempfile.TemporaryDirectory() as folder:
            token = pathlib.Path(folder) / "admin.token"
            token.touch(0o600)
            token.write_text("0" * 64 + "\n")
            with OneAnswer(http(200, json.dumps(answer)), token="0" * 64) as server:
                return self.ok("advise", *words, "--admin", server.url, "--data", folder)

    def test_what_was_found_before_a_start_is_not_of_its_requests(self):
        window = {"mode": "live", "requests": 0, "from": "2026-11-19T14:02:00Z"}
        findings = [FINDING | {"lastSeen": f"2026-11-19T{time}:00Z"} for time in ("14:01", "14:03")]
        self.assertTrue(self.text_of(ANSWER | {"window": window, "findings": findings}).endswith(
            "\n2 findings, 1 of them last seen before 2026-11-19T14:02:00Z; 0 requests since then "
            "(live)\n"))

    def test_code_in_the_language_of_the_clients(self):
        code = [{"language": "Python", "text": "def find(table, e):\n    return e"},
                {"language": "C", "text": "int x;"}]
        cure = FINDING["cure"] | {"code": code}
        cure["proposal"] = cure["proposal"] | {"notes": ["the copy is stored first"]}
        answer = ANSWER | {"findings": [FINDING | {"cure": cure, "languages": ["Python"]}]}
        lines = self.text_of(answer).splitlines()
        self.assertEqual(lines[-4:], [
            "         the copy is stored first", "  code   Python, C: --code shows the first", "",
            "1 finding in 7 requests (live)"])
        self.assertNotIn("tavola_indexed_put()", "\n".join(lines), "what C does is not for them")
        self.assertIn("  code   Python\ndef find(table, e):\n    return e\n\n1 finding",
                      self.text_of(answer, "--code"))

    def test_a_finding_as_a_record(self):
        self.assertEqual(json.loads(self.text_of(ANSWER, "-o", "json")), ANSWER)
        found = json.loads(self.text_of(ANSWER, "-o", "ndjson"))
        self.assertEqual([found[name] for name in ("Severity", "Code", "Table", "Shape", "State")],
                         ["error", "Q01", "Emp", "Email eq ?s", "active"])

    def test_a_finding_is_shown_for_people(self):
        self.assertEqual(self.text_of(ANSWER).splitlines(), [
            "error Q01 table-scan-property  Emp  [7ea1374a206cc01a]  active",
            "  Email eq ?s",
            "  A query reads the whole table to find entities by Email",
            "  seen   In the 12 minutes to 14:05 UTC, 412 queries looked for \u00e9\\x1b[31m.",
            "  guide  Inter-partition secondary index pattern",
            "  cure   Store a copy.",
            "         PartitionKey = email_{Email}, RowKey = email",
            "         then PartitionKey eq 'email_x' and RowKey eq 'email' examines 1 instead of "
            "48,211",
            "         tavola_indexed_put()",
            "",
            "1 finding in 7 requests (live)",
        ])
