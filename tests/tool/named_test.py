"""What a table's traffic is called: by the heat map, by the tool and by Advice, on a server whose
minutes the test makes pass."""

import http.client
import json
import unittest

from server import Server
from table_client import Client
from tavola import TavolaTest, needs_tavolad

STEPS, EACH = 6, 20  # ten seconds, and so many requests


@needs_tavolad("it has no admin port")
class Named(TavolaTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.watched = cls.enterClassContext(Server("--watch=all", "--watch-clock=manual", "--test-points", "--threads", "1"))
        cls.client = Client(cls.watched.table_port)
        cls.addClassCleanup(cls.client.close)

    def admin(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.watched.admin_port)
        try:
            connection.request(method, path, body and json.dumps(body), {"Authorization": f"Bearer {self.watched.admin_token()}"})
            reply = connection.getresponse()
            text = reply.read()
            self.assertEqual(reply.status, 200, text)
            return json.loads(text)
        finally:
            connection.close()

    def pass_minutes(self, table, minutes, key_of):
        """Two inserts a second, one after the other, under the keys that come of their number."""
        for step in range(minutes * STEPS):
            for i in range(EACH):
                partition_key, row_key = key_of(step * EACH + i)
                reply = self.client.insert(table, {"PartitionKey": partition_key, "RowKey": row_key})
                self.assertEqual(reply.status, 204)
            self.admin("POST", "/clock", {"ms": 60_000 // STEPS})

    def said(self, table):
        """Kind, verdict and rule of each pattern; rules of the findings about keys; the tool's lines."""
        for measure in ("reads", "writes"):
            findings = self.admin("GET", f"/traffic?table={table}&measure={measure}")["findings"]
            named = [(each["kind"], each["verdict"], each.get("rule")) for each in findings]
            advice = self.admin("GET", f"/advice?table={table}&state=active")["findings"]
            rules = {each["rule"] for each in advice if each["code"] in ("P01", "P02", "P04", "P05")}
            told = self.ok("heat", table, measure, "--admin", self.watched.admin_url, "--data", self.watched.data).splitlines()
            self.assertEqual(told[-len(findings):], [f"{each['verdict']}: {each['text']}" + (f" (advice: {each['rule']})" if "rule" in each else "")
                                                     for each in findings])
        return named, rules

    def test_map_tool_and_advice_name_the_same_within_three_minutes(self):
        for table, key_of, named in (
            ("Appended", lambda i: ("log", f"{i:09}"), [("rising", "watch", "append-prepend")]),
            ("Sensors", lambda i: ("s07" if i * 37 % 100 < 92 else f"s{i % 50:02}", f"{i * 7919 % 100003:06}"), [("hot-line", "watch", "hot-partition")]),
            ("Spread", lambda i: (f"s{i * 31 % 50:02}", f"{i * 7919 % 100003:06}"), [("even", "fine", None)]),
        ):
            with self.subTest(table):
                self.assertEqual(self.client.create_table(table).status, 204)
                self.pass_minutes(table, 3, key_of)
                self.assertEqual(self.said(table), (named, {rule for _, _, rule in named if rule}))


if __name__ == "__main__":
    unittest.main()
