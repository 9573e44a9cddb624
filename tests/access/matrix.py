"""Every operation with every kind of credential, against the table of rules."""

import base64
import collections
import hashlib
import itertools
import json
import time
import urllib.parse

import rules
from rules import OPERATIONS, Credential
from sas import account_sas, table_sas
from talk import Header, Key, Sas, Talk, entity_request, request_of, send

ACCOUNT, OTHER_ACCOUNT = "alpha", "beta"


def made_key(name):
    return base64.b64encode(hashlib.sha512(name.encode()).digest()).decode()


KEY1, KEY2, BETA_KEY, WRONG_KEY = map(made_key, ("one", "two", "beta", "wrong"))
ACCOUNTS = f"{ACCOUNT}:{KEY1}:{KEY2};{OTHER_ACCOUNT}:{BETA_KEY}"

TABLE, OTHER_TABLE, RANGED, POLICIED = "People", "Others", "Ranged", "Policied"
KEYS = ("m", "m")
ENTITY_OPERATIONS = [name for name in OPERATIONS
                     if rules.NEEDS[name.removeprefix("batch: ")].table_sas]
VERSIONS = ("2012-02-12", "2013-08-15", "2015-02-21", "2015-04-05", "2019-02-02", "2020-12-06",
            "2024-11-04")


def at(seconds, form="%Y-%m-%dT%H:%M:%SZ"):
    """A time so far from now."""
    return time.strftime(form, time.gmtime(time.time() + seconds))


TOMORROW, YESTERDAY = at(86400), at(-86400)

Case = collections.namedtuple("Case", "category what credential door operation table path keys")


def case(category, what, credential, door, operation, table=TABLE, path=None, keys=KEYS):
    """`door` knows how to show the credential; `path` is the table as the URL spells it."""
    return Case(category, what, credential, door, operation, table, path or table, keys)


def subsets(letters):
    for size in range(len(letters) + 1):
        for chosen in itertools.combinations(letters, size):
            yield "".join(chosen)


def table_token(sp="raud", tn=TABLE, se=TOMORROW, key=KEY1, changed=None, **more):
    return Sas(table_sas(key, ACCOUNT, changed, tn=tn, sp=sp, se=se, **more))


def account_token(sp="rwdlacu", ss="t", srt="sco", se=TOMORROW, key=KEY1, changed=None, **more):
    return Sas(account_sas(key, ACCOUNT, changed, ss=ss, srt=srt, sp=sp, se=se, **more))


def table_credential(fault=None, sp="raud", tn=TABLE, limits=None):
    return Credential("table", fault, sp, table=tn, limits=limits)


def account_credential(fault=None, sp="rwdlacu", srt="sco"):
    return Credential("account", fault, sp, srt)


# --- the categories, each a generator of cases

def keys():
    good, bad = Credential("key"), Credential("key", "not authentic")
    for key, lite in itertools.product((KEY1, KEY2), (True, False)):
        for name in OPERATIONS:
            what = f"{'SharedKeyLite' if lite else 'SharedKey'} by key {1 + (key == KEY2)}"
            yield case("keys", what, good, Key(ACCOUNT, key, lite), name)
    for lite, name in itertools.product((True, False), OPERATIONS):
        for what, door in (
                ("a wrong key", Key(ACCOUNT, WRONG_KEY, lite)),
                ("the key of another account", Key(ACCOUNT, BETA_KEY, lite)),
                ("another account", Key(ACCOUNT, BETA_KEY, lite, signer=OTHER_ACCOUNT)),
                ("an unknown account", Key(ACCOUNT, KEY1, lite, signer="nobody")),
                ("16 minutes old", Key(ACCOUNT, KEY1, lite, age_s=960)),
                ("from 16 minutes ahead", Key(ACCOUNT, KEY1, lite, age_s=-960)),
                ("another path", Key(ACCOUNT, KEY1, lite, path=f"/{ACCOUNT}/elsewhere"))):
            yield case("keys", what, bad, door, name)
        yield case("keys", "14 minutes old", good, Key(ACCOUNT, KEY1, lite, age_s=840), name)


def strangers():
    for name in OPERATIONS:
        for what, fault, value in (
                ("no credentials", "nobody", None),
                ("a bearer token", "bearer", "Bearer eyJ0eXAiOiJKV1QifQ.e30."),
                ("a scheme alone", "malformed", "SharedKey"),
                ("another scheme", "malformed", f"Basic {ACCOUNT}:{KEY1}"),
                ("no signature", "not authentic", f"SharedKey {ACCOUNT}:"),
                ("the key for a signature", "not authentic", f"SharedKey {ACCOUNT}:{KEY1}")):
            yield case("strangers", what, Credential("key", fault), Header(value), name)


def table_permissions():
    for version, sp in itertools.product(VERSIONS, subsets("raud")):
        fault = None if sp else "not authentic"
        key = KEY2 if len(sp) % 2 else KEY1
        for name in OPERATIONS:
            yield case("table SAS permissions", f"{version} sp={sp}", table_credential(fault, sp),
                       table_token(sp, key=key, sv=version), name)


def account_permissions():
    letters = ["r", "w", "d", "l", "a", "c", "u", "p", "au", "raud", "rwdlacu"]
    for i, (srt, sp) in enumerate(itertools.product(subsets("sco"), letters)):
        more = ({"sv": "2015-04-05"}, {"sv": "2019-02-02"}, {"sv": "2020-12-06"},
                {"sv": "2022-11-02", "ses": "scope"})[i % 4]
        for name in OPERATIONS:
            yield case("account SAS permissions", f"{more['sv']} srt={srt} sp={sp}",
                       account_credential(None, sp, srt), account_token(sp, srt=srt, **more), name)


def account_services():
    for ss, version in itertools.product(("t", "bt", "bqtf", "ft", "b", "q", "f", "bqf", "T"),
                                         ("2019-02-02", "2021-12-02")):
        fault = None if "t" in ss else "service"
        for name in OPERATIONS:
            yield case("account SAS services", f"ss={ss}", account_credential(fault),
                       account_token(ss=ss, sv=version), name)


def times():
    for what, fault, fields in (
            ("expired a day ago", "not authentic", {"se": YESTERDAY}),
            ("expired a second ago", "not authentic", {"se": at(-1)}),
            ("expired today at midnight", "not authentic", {"se": at(0, "%Y-%m-%d")}),
            ("valid to the minute", None, {"se": at(3600, "%Y-%m-%dT%H:%MZ")}),
            ("valid to a day", None, {"se": at(2 * 86400, "%Y-%m-%d")}),
            ("started a day ago", None, {"st": YESTERDAY}),
            ("started a second ago", None, {"st": at(-1)}),
            ("started at midnight", None, {"st": at(0, "%Y-%m-%d")}),
            ("starts in an hour", "not authentic", {"st": at(3600)}),
            ("starts and ends tomorrow", "not authentic", {"st": TOMORROW}),
            ("without an end", "not authentic", {"se": ""}),
            ("an end that is no time", "not authentic", {"se": "tomorrow"}),
            ("a start that is no time", "not authentic", {"st": "now"})):
        for name in OPERATIONS:
            yield case("times", what, table_credential(fault), table_token(**fields), name)
            yield case("times", what, account_credential(fault), account_token(**fields), name)


def tables():
    for tn, path, table in ((TABLE, TABLE, TABLE), (TABLE.upper(), TABLE, TABLE),
                            (TABLE.lower(), TABLE.upper(), TABLE), (TABLE, TABLE.lower(), TABLE),
                            (OTHER_TABLE, TABLE, TABLE), (TABLE, OTHER_TABLE, OTHER_TABLE),
                            (TABLE + "x", TABLE, TABLE), (TABLE[:-1], TABLE, TABLE),
                            ("*", TABLE, TABLE)):
        for name in OPERATIONS:
            yield case("tables", f"tn={tn} for /{path}", table_credential(tn=tn),
                       table_token(tn=tn), name, table, path)
    for name in OPERATIONS:
        yield case("tables", "no table", table_credential("not authentic"), table_token(tn=""),
                   name)


BEYOND, E000 = "\U00010000", "\ue000"  # in UTF-16 the first sorts before the second
LIMITS = (
    ("c", None, None, None), ("c", "3", None, None), (None, None, "d", None),
    (None, None, "d", "3"), ("c", None, "d", None), ("c", "3", "d", "3"), ("c", "3", "c", "3"),
    (BEYOND, None, None, None), (None, None, BEYOND, None), (E000, "3", E000, None),
    ("d", None, "c", None), ("c", "3", "c", "2"),
)
RANGE_KEYS = [(p, r) for p in ("b", "c", "c!", "d", BEYOND, E000) for r in ("2", "3", "3!")]


def limit_fields(limits):
    return dict(zip(("spk", "srk", "epk", "erk"), limits))


def ranges():
    for i, (limits, where) in enumerate(itertools.product(LIMITS, RANGE_KEYS)):
        version = VERSIONS[i % len(VERSIONS)]
        for name in ENTITY_OPERATIONS:
            if name == "query entities":
                continue
            yield case("ranges", f"{limits} {where}", table_credential(limits=limits),
                       table_token(sv=version, **limit_fields(limits)), name, keys=where)
    for bad in ({"srk": "a"}, {"erk": "a"}, {"spk": "a", "erk": "b"}):
        for name in OPERATIONS:
            yield case("ranges", f"a row without its partition {bad}",
                       table_credential("not authentic"), table_token(**bad), name)


def addresses():
    for sip, fault in (("127.0.0.1", None), ("127.0.0.0-127.0.0.255", None),
                       ("0.0.0.0-255.255.255.255", None), ("127.0.0.1-127.0.0.1", None),
                       ("::ffff:127.0.0.1", None), ("127.0.0.2", "address"),
                       ("10.0.0.0-10.255.255.255", "address"), ("::1", "address"),
                       ("127.0.0.2-127.0.0.1", "address"), ("localhost", "address"),
                       ("127.0.0.1/8", "address")):
        for name in OPERATIONS:
            yield case("addresses", f"sip={sip}", table_credential(fault), table_token(sip=sip),
                       name)
            yield case("addresses", f"sip={sip}", account_credential(fault),
                       account_token(sip=sip), name)


def protocols(is_tls):
    for spr, fault in (("https", None if is_tls else "protocol"), ("https,http", None),
                       ("http", "not authentic"), ("ftp", "not authentic")):
        for name in OPERATIONS:
            category = "protocols, TLS" if is_tls else "protocols"
            yield case(category, f"spr={spr}", table_credential(fault), table_token(spr=spr), name)
            yield case(category, f"spr={spr}", account_credential(fault), account_token(spr=spr),
                       name)


STORED = {
    "full": {"Start": YESTERDAY, "Expiry": TOMORROW, "Permission": "ra"},
    "open": {},
    "lasting": {"Expiry": TOMORROW},
    "reading": {"Permission": "r"},
    "over": {"Expiry": YESTERDAY, "Permission": "raud"},
}


def policies():
    def each(what, fault, permits, si, **fields):
        token = table_token(sp=fields.pop("sp", None), tn=POLICIED, se=fields.pop("se", None),
                            si=si, **fields)
        for name in OPERATIONS:
            yield case("policies", what, table_credential(fault, permits, POLICIED), token, name,
                       POLICIED)

    yield from each("all from the policy", None, "ra", "full")
    yield from each("permission from both", "policy conflict", "", "full", sp="r")
    yield from each("expiry from both", "policy conflict", "", "full", se=TOMORROW)
    yield from each("start from both", "policy conflict", "", "full", st=YESTERDAY)
    yield from each("the policy says nothing", None, "ud", "open", sp="ud", se=TOMORROW)
    yield from each("nobody says what", "not authentic", "", "open", se=TOMORROW)
    yield from each("nobody says until when", "not authentic", "", "open", sp="r")
    yield from each("the policy says until when", None, "rd", "lasting", sp="rd")
    yield from each("the policy says what", None, "r", "reading", se=TOMORROW)
    yield from each("both say what", "policy conflict", "", "reading", sp="r", se=TOMORROW)
    yield from each("the policy is over", "not authentic", "", "over")
    yield from each("an unknown policy", "not authentic", "", "none", sp="r", se=TOMORROW)
    yield from each("a policy in another case", "not authentic", "", "FULL")
    yield from each("a token that is over", "not authentic", "", "reading", se=YESTERDAY)
    yield from each("a token that is to come", "not authentic", "", "reading", st=at(3600),
                    se=TOMORROW)


def removed_policies():
    token = table_token(sp=None, tn=POLICIED, se=None, si="full")
    for name in OPERATIONS:
        yield case("policies", "removed", table_credential("not authentic", tn=POLICIED), token,
                   name, POLICIED)


def tampered():
    limits = ("a", "a", "z", "z")
    full = dict(sp="r", st=YESTERDAY, sip="127.0.0.1", spr="https,http", **limit_fields(limits))
    changes = [{"sp": "raud"}, {"st": at(-90000)}, {"st": None}, {"se": at(90000)}, {"se": None},
               {"tn": OTHER_TABLE}, {"sv": "2020-12-06"}, {"sv": "2015-02-21"}, {"sv": None},
               {"spk": ""}, {"spk": None, "srk": None}, {"srk": None}, {"epk": "zz"},
               {"epk": None, "erk": None}, {"erk": "zz"}, {"sip": None}, {"sip": "127.0.0.2"},
               {"spr": None}, {"spr": "https"}, {"si": "full"}, {"ss": "t", "srt": "sco"},
               {"sig": ""}, {"sig": "A" * 43 + "="}, {"sig": KEY1}]
    for changed, name in itertools.product(changes, OPERATIONS):
        yield case("tampered", f"table SAS {changed}", table_credential("not authentic"),
                   table_token(changed=changed, **full), name)
    changes = [{"sp": "rwdlacup"}, {"ss": "bqtf"}, {"srt": "sco"}, {"se": at(90000)},
               {"sv": "2020-12-06"}, {"sip": None}, {"spr": None}, {"tn": TABLE, "srt": None,
                                                                    "ss": None}, {"sig": "x"}]
    for changed, name in itertools.product(changes, OPERATIONS):
        yield case("tampered", f"account SAS {changed}", account_credential("not authentic"),
                   account_token("r", srt="o", sip="127.0.0.1", spr="https,http", changed=changed),
                   name)
    for key, what in ((WRONG_KEY, "a wrong key"), (BETA_KEY, "another account's key")):
        for name in OPERATIONS:
            yield case("tampered", what, table_credential("not authentic"), table_token(key=key),
                       name)
            yield case("tampered", what, account_credential("not authentic"),
                       account_token(key=key), name)


CATEGORIES = (keys, strangers, table_permissions, account_permissions, account_services, times,
              tables, ranges, addresses, policies, tampered)


# --- running them

class Matrix:
    def __init__(self, talk):
        self.talk = talk
        self.master = Key(ACCOUNT, KEY1)
        self.marks = itertools.count(1)
        self.passed = collections.Counter()
        self.failed = collections.Counter()
        self.refused_marks = set()
        self.allowed = collections.Counter()

    def own(self, request, *statuses):
        """A request with the key, to prepare or to look."""
        reply = send(self.talk, self.master, request)
        if statuses and reply.status not in statuses:
            raise AssertionError(f"{request}: {reply}")
        return reply

    def make_table(self, name):
        self.own(("POST", f"/{ACCOUNT}/Tables", {"Content-Type": "application/json"},
                  json.dumps({"TableName": name}).encode()), 201, 409)

    def store(self, table, where):
        self.own(entity_request(ACCOUNT, "insert or replace", table, where, 0), 204)

    def set_policies(self, stored):
        inside = "".join(
            f"<SignedIdentifier><Id>{name}</Id><AccessPolicy>" +
            "".join(f"<{field}>{value}</{field}>" for field, value in fields.items()) +
            "</AccessPolicy></SignedIdentifier>" for name, fields in stored.items())
        self.own(("PUT", f"/{ACCOUNT}/{POLICIED}?comp=acl", {"Content-Type": "application/xml"},
                  f"<SignedIdentifiers>{inside}</SignedIdentifiers>".encode()), 204)

    def prepare(self, case, mark):
        """Make what an allowed operation needs to succeed."""
        part = case.operation.removeprefix("batch: ")
        if part == "delete table":
            self.make_table(f"made{mark}")
        elif part == "insert":
            self.own(entity_request(ACCOUNT, "delete entity", case.table, case.keys, 0), 204, 404)
        elif case.operation in ENTITY_OPERATIONS and part != "query entities":
            self.store(case.table, case.keys)

    def run(self, case):
        mark = next(self.marks)
        want = rules.expected(case.credential, case.operation, case.table, case.keys)
        is_allowed = want[1] is None
        part = case.operation.removeprefix("batch: ")
        if is_allowed or "delete" in part:
            self.prepare(case, mark)
        reply = send(self.talk, case.door, request_of(ACCOUNT, self.talk.url, case.operation,
                                                      case.path, case.keys, mark))
        trouble = None
        if reply.outcome != want:
            trouble = f"got {reply.outcome}, want {want}: {reply}"
        elif not is_allowed:
            self.refused_marks.add(mark)
            if part == "delete entity":
                look = entity_request(ACCOUNT, "point read", case.table, case.keys, 0)
                if self.own(look).status != 200:
                    trouble = "refused, but the entity is gone"
            elif part == "delete table":
                if self.own(("DELETE", f"/{ACCOUNT}/Tables('made{mark}')", {}, None)).status != 204:
                    trouble = "refused, but the table is gone"
        self.allowed[case.category] += is_allowed and trouble is None
        self.count(case.category, f"{case.what}: {case.operation}", trouble)

    def count(self, category, what, trouble):
        if trouble is None:
            self.passed[category] += 1
            return
        self.failed[category] += 1
        if self.failed[category] <= 5:
            print(f"    FAILED {category}: {what}\n      {trouble}", flush=True)

    # --- queries within a range

    def scan(self, door, table, options=""):
        """All keys that a query gives, page by page."""
        found, token = [], ""
        for _ in range(1000):
            query = "&".join(text for text in (options, token) if text)
            reply = send(self.talk, door, ("GET", f"/{ACCOUNT}/{table}()" +
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

    FILTERS = (
        ("everything", None, lambda p, r: True),
        ("or", "PartitionKey eq 'b' or PartitionKey eq 'd'", lambda p, r: p in "bd"),
        ("not", "not (PartitionKey eq 'c')", lambda p, r: p != "c"),
        ("or with a truth", "PartitionKey eq 'c' or Mark eq 0", lambda p, r: True),
        ("not of nothing", "not (Mark eq 7)", lambda p, r: True),
        ("rows", "RowKey ge '3'", lambda p, r: r >= "3"),
        ("a point", "PartitionKey eq 'c' and RowKey eq '3'", lambda p, r: (p, r) == ("c", "3")),
        ("a point outside of most", "PartitionKey eq 'b' and RowKey eq '2'",
         lambda p, r: (p, r) == ("b", "2")),
        ("several points", "(PartitionKey eq 'b' and RowKey eq '2') or "
         "(PartitionKey eq 'd' and RowKey eq '3')", lambda p, r: (p, r) in (("b", "2"),
                                                                            ("d", "3"))),
        ("from a partition on", "PartitionKey gt 'c'", lambda p, r: rules.units(p) > b"\0c"),
        ("below a partition", "PartitionKey lt 'c'", lambda p, r: rules.units(p) < b"\0c"),
    )

    def run_queries(self):
        self.make_table(RANGED)
        for where in RANGE_KEYS:
            self.store(RANGED, where)
        ordered = sorted(RANGE_KEYS, key=lambda k: (rules.units(k[0]), rules.units(k[1])))
        for limits, (name, text, test), top in itertools.product(LIMITS, self.FILTERS,
                                                                 (None, 1, 3)):
            options = "&".join(([f"$filter={urllib.parse.quote(text)}"] if text else []) +
                               ([f"$top={top}"] if top else []))
            door = table_token("r", RANGED, **limit_fields(limits))
            want = [k for k in ordered if rules.is_inside(limits, *k) and test(*k)]
            try:
                got = self.scan(door, RANGED, options)
                trouble = None if got == want else f"got {got}, want {want}"
            except AssertionError as error:
                trouble = str(error)
            self.count("queries in a range", f"{limits} {name} top={top}", trouble)

    def check_nothing_slipped_in(self):
        """No refused operation may have left its mark."""
        found = set()
        for table in (TABLE, OTHER_TABLE, POLICIED):
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

    def run_all(self, cases):
        for one in cases:
            self.run(one)


def run(port, tls_port):
    """Run everything; returns the counters of (passed, failed, allowed)."""
    matrix = Matrix(Talk(port))
    for table in (TABLE, OTHER_TABLE, POLICIED):
        matrix.make_table(table)
    matrix.set_policies(STORED)
    for category in CATEGORIES:
        matrix.run_all(category())
    matrix.run_all(protocols(False))
    matrix.set_policies({"other": {}})
    matrix.run_all(removed_policies())
    matrix.run_queries()
    matrix.check_nothing_slipped_in()
    matrix.talk.close()

    secure = Matrix(Talk(tls_port, tls=True))
    secure.make_table(TABLE)
    secure.run_all(protocols(True))
    secure.talk.close()
    return (matrix.passed + secure.passed, matrix.failed + secure.failed,
            matrix.allowed + secure.allowed)
