"""An answer of the admin port that is too long for the memory there is: 503, and the server goes on."""

import json
import urllib.parse

from explorer import Page, new_link
from fault.server.backup import Admin
from fault.server.malloc import Malloc
from until import until

LARGE_BYTES = 64 * 1024  # malloc_shim.c
JUDGED = 100  # tables with traffic
ANSWERS = ("/metrics/history", "/log?lines=2048", "/bundle", "/requests?count=2048",
           "/shapes", "/facts?account=greedy&table=Keys&parts=keys", "/advice",
           "/traffic?account=greedy&table=Keys&measure=writes&from={from}",
           "/api/tree?account=greedy")


class OfTheAdminPort(Malloc):
    flags = "--watch=all", "--watch-clock=manual", "--access-log"

    def setUp(self):
        super().setUp()
        self.admin, self.page = Admin(self.server), Page(self.server, new_link(self.server))
        self.table = self.clients("greedy")[0]
        self.from_s = None

    def ask(self, path):
        """Status and text."""
        path = path.replace("{from}", str(self.from_s))
        if not path.startswith("/api/"):
            return self.admin.ask("GET", path)
        status, _, body = self.page.ask("GET", path)
        return status, body.decode()

    def insert(self, table, row_key, **properties):
        entity = {"PartitionKey": "p", "RowKey": row_key, **properties}
        self.assertEqual(self.table.insert(table, entity).status, 204)

    def fill(self):
        """What makes each answer long, and what is judged: more tables than its memory has without asking."""
        self.assertEqual(self.table.create_table("Keys").status, 204)
        for minute in range(10):  # in each, more is told apart
            for part in range(3):
                rows = [{"PartitionKey": "p", "RowKey": f"{i:02}{part}{minute}{'k' * 200}"}
                        for i in range(100)]
                self.assertEqual(self.table.batch("Keys", rows).status, 202)
            now_ms = self.server.pass_time(60)
        self.from_s = now_ms // 1000 - 5 * 3600
        for i in range(90):
            wanted = urllib.parse.quote(f"{'Property' * 20}{i} eq 1")
            self.assertEqual(self.table.request("GET", f"/Keys()?$filter={wanted}").status, 200)
        for i in range(560):
            table = f"T{i:03}{'a' * 59}"
            self.assertEqual(self.table.create_table(table).status, 204)
            if i < 34:
                self.insert(table, "r" * 300, Text="x" * 31000, **{f"P{n}": n for n in range(200)})
            elif i < JUDGED:
                self.insert(table, "r")
            if i % 50 == 0:
                self.admin.ask("GET", "/requests")  # they are kept while somebody looks
        self.assertEqual(self.table.get("Keys", "p", "none").status, 404)
        self.server.pass_time(60)
        self.assertEqual(self.admin.ask("POST", "/facts/recount?account=greedy&table=Keys")[0], 202)

    def test_each_answer(self):
        self.fill()
        for path in ANSWERS:
            until(lambda: len(self.ask(path)[1]) > LARGE_BYTES,
                  lambda: f"{path} is long; it is {self.ask(path)[1][:2000]}")
            self.shim.fail(255)
            until(lambda: self.ask(path)[0] == 503, f"there is no memory for {path}")
            self.shim.fail(0)
            self.assertEqual(self.ask(path)[0], 200, path)

    def test_what_is_judged(self):
        mark = json.loads(self.admin.ask("POST", "/advice/marks")[1])["mark"]
        self.fill()
        self.shim.fail(255)
        self.server.pass_time(60)  # it is judged six times, as far as there is memory
        for path in (f"/advice?since={mark}", f"/shapes?since={mark}"):
            until(lambda: self.ask(path)[0] == 503, f"there is no memory for {path}")
        self.shim.fail(0)
        self.server.pass_time(60)
        until(lambda: self.ask(f"/advice?since={mark}")[0] == 200, "there is memory again")
