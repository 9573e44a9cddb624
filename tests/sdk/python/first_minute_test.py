"""The picture in the README, docs/first-minute.svg, shows what a user of the SDK sees.

tests/tool/first_minute_test.py looks at the commands in it.
"""

import html
import json
import pathlib
import re

from helpers import Case

PICTURE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "first-minute.svg"


class FirstMinute(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        text = PICTURE.read_text(encoding="utf-8")
        cls.lines = [html.unescape(line).replace("\u00a0", " ")
                     for line in re.findall(r"<text[^>]*>(.*?)</text>", text)]
        for partition in range(10):
            cls.table.submit_transaction([
                ("create", {"PartitionKey": f"d{partition}", "RowKey": f"{row:03}",
                            "Name": "Ada" if row == 121 else "Bob",
                            "Age": 36 if row == 121 else 40})
                for row in range(partition, 1000, 10)])

    def shown_queries(self):
        """The filters that the picture asks with, each with the plan and the answer below it."""
        for i, line in enumerate(self.lines):
            asked = re.search(r'query_entities\("(.*)", raw_response_hook=plan', line)
            if asked:
                yield asked[1], self.lines[i + 1], self.lines[i + 2]

    def test_plans_and_answers(self):
        shown = list(self.shown_queries())
        self.assertEqual(len(shown), 1)
        for query, plan, answer in shown:
            seen = []
            found = list(self.table.query_entities(
                query, raw_response_hook=lambda r: seen.append(
                    r.http_response.headers["x-tavola-plan"])))
            self.assertEqual(seen, [plan])
            self.assertEqual(str(found), answer)

    def test_explanation(self):
        query = next(self.shown_queries())[0]
        seen = []
        pages = self.table.query_entities(query, headers={"x-tavola-explain": "true"},
                                          raw_response_hook=lambda r: seen.append(
                                              r.http_response.text()))
        self.assertEqual(list(pages), [])  # the query was not run
        plan = json.loads(seen[0])
        shown = " ".join(self.lines)
        self.assertTrue(shown.endswith(f" {plan['description']} {plan['advice']}"), shown)
