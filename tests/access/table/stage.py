"""How a case of tables is sent, and what it may have left behind."""

import itertools
import json
import urllib.parse

from access.credentials import ACCOUNT, KEY1
from access.matrix import Matrix
from access.table import cases, requests, rules
from access.table.requests import entity_request
from access.talk import Key

TABLES = (cases.TABLE, cases.OTHER_TABLE, cases.POLICIED)


class Stage(Matrix):
    """Writes carry the mark of their case; at the end no mark of a refused one may be found."""

    port = "table_port"
    requests = requests
    master = Key(ACCOUNT, KEY1)
    protocols = staticmethod(cases.protocols)

    def __init__(self, talk):
        super().__init__(talk)
        self.refused_marks = set()

    def outcome(self, reply):
        return reply.outcome

    def make_table(self, name):
        self.own(("POST", f"/{ACCOUNT}/Tables", {"Content-Type": "application/json"},
                  json.dumps({"TableName": name}).encode()), 201, 409)

    def store(self, table, where):
        self.own(entity_request(ACCOUNT, "insert or replace", table, where, 0), 204)

    def policy_request(self, xml):
        return ("PUT", f"/{ACCOUNT}/{cases.POLICIED}?comp=acl",
                {"Content-Type": "application/xml"}, xml)

    def furnish(self, is_tls):
        for table in TABLES:
            self.make_table(table)

    def run_cases(self):
        self.set_policies(cases.STORED)
        for category in cases.CATEGORIES:
            self.run_all(category())
        self.run_all(cases.protocols(False))
        self.set_policies({"other": {}})
        self.run_all(cases.removed_policies())
        self.run_queries()
        self.check_nothing_slipped_in()

    def expected(self, case):
        want = rules.expected(case.credential, case.operation, case.place, case.more[1])
        return want, want[1] is None

    def request(self, case, mark, before):
        path, keys = case.more
        return requests.request_of(ACCOUNT, self.talk.url, case.operation, path, keys, mark)

    def before(self, case, mark, is_allowed):
        """Make what an allowed operation needs to succeed, and a refused delete could delete."""
        part = case.operation.removeprefix("batch: ")
        keys = case.more[1]
        if not is_allowed and "delete" not in part:
            return
        if part == "delete table":
            self.make_table(f"made{mark}")
        elif part == "insert":
            self.own(entity_request(ACCOUNT, "delete entity", case.place, keys, 0), 204, 404)
        elif case.operation in cases.ON_ENTITY:
            self.store(case.place, keys)

    def find_change(self, case, mark, before, reply):
        self.refused_marks.add(mark)
        part = case.operation.removeprefix("batch: ")
        if part == "delete entity":
            look = entity_request(ACCOUNT, "point read", case.place, case.more[1], 0)
            if self.own(look).status != 200:
                return "refused, but the entity is gone"
        elif part == "delete table":
            if self.own(("DELETE", f"/{ACCOUNT}/Tables('made{mark}')", {}, None)).status != 204:
                return "refused, but the table is gone"
        return None

    # --- queries within a range

    def scan(self, door, table, options=""):
        """All keys that a query returns, page by page."""
        found, token = [], ""
        for _ in range(1000):
            query = "&".join(text for text in (options, token) if text)
            reply = self.send(door, ("GET", f"/{ACCOUNT}/{table}()" +
                                           (f"?{query}" if query else ""),
                                           {"Accept": "application/json;odata=nometadata"}, None))
            if reply.status != 200:
                raise AssertionError(f"{options}: {reply}")
            found += [(e["PartitionKey"], e["RowKey"]) for e in json.loads(reply.body)["value"]]
            partition = reply.headers.get("x-ms-continuation-NextPartitionKey")
            if partition is None:
                return found
            row = reply.headers.get("x-ms-continuation-NextRowKey")
            token = urllib.parse.urlencode({"NextPartitionKey": partition} |
                                           ({"NextRowKey": row} if row is not None else {}))
        raise AssertionError(f"{options}: endless pages")

    def run_queries(self):
        self.make_table(cases.RANGED)
        for where in cases.RANGE_KEYS:
            self.store(cases.RANGED, where)
        ordered = sorted(cases.RANGE_KEYS, key=lambda k: (rules.units(k[0]), rules.units(k[1])))
        for limits, (name, text, test), top in itertools.product(cases.LIMITS, cases.FILTERS,
                                                                 (None, 1, 3)):
            options = "&".join(([f"$filter={urllib.parse.quote(text)}"] if text else []) +
                               ([f"$top={top}"] if top else []))
            door = cases.table_token("r", cases.RANGED, **cases.limit_fields(limits))
            want = [k for k in ordered if rules.is_inside(limits, *k) and test(*k)]
            try:
                got = self.scan(door, cases.RANGED, options)
                trouble = None if got == want else f"got {got}, want {want}"
            except AssertionError as error:
                trouble = str(error)
            self.count("queries in a range", f"{limits} {name} top={top}", trouble)

    def check_nothing_slipped_in(self):
        """No refused operation may have left its mark."""
        found = set()
        for table in TABLES:
            token = ""
            while token is not None:
                reply = self.own(("GET", f"/{ACCOUNT}/{table}(){token}",
                                  {"Accept": "application/json;odata=nometadata"}, None), 200)
                found |= {e.get("Mark") for e in json.loads(reply.body)["value"]}
                partition = reply.headers.get("x-ms-continuation-NextPartitionKey")
                row = reply.headers.get("x-ms-continuation-NextRowKey")
                token = partition and f"?NextPartitionKey={partition}&NextRowKey={row}"
        names = self.own(("GET", f"/{ACCOUNT}/Tables", {"Accept": "application/json"}, None), 200)
        found |= {int(t["TableName"][4:]) for t in json.loads(names.body)["value"]
                  if t["TableName"].startswith("made")}
        slipped = found & self.refused_marks
        self.count("nothing slipped in", "marks of refused writes",
                   f"marks {sorted(slipped)}" if slipped else None)
