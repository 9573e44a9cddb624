"""The rows of tables: every operation with every kind of credential."""

import itertools

from access import common
from access.common import VERSIONS, bad_keys, good_keys, subsets
from access.credentials import (ACCOUNT, BETA_KEY, KEY1, KEY2, TOMORROW, YESTERDAY, Credential,
                                account_credential, at)
from access.matrix import Case
from access.table import rules
from access.table.rules import OPERATIONS
from access.talk import Header, Key, Sas
from sas import account_sas, table_sas

TABLE, OTHER_TABLE, RANGED, POLICIED = "People", "Others", "Ranged", "Policied"
KEYS = ("m", "m")
ON_ENTITY = [name for name in OPERATIONS
             if rules.NEEDS[name.removeprefix("batch: ")].table_sas and name != "query entities"]


def every(category, what, credential, door, table=TABLE, path=None, keys=KEYS,
          operations=OPERATIONS):
    """`path` is the table as the URL spells it."""
    for operation in operations:
        yield Case(category, what, credential, door, operation, table, (path or table, keys))


def each_kind(category, what, fault, fields):
    """The same with a token of the table and of the account."""
    yield from every(category, f"table SAS {what}", table_credential(fault), table_token(**fields))
    yield from every(category, f"account SAS {what}", account_credential(fault),
                     account_token(**fields))


def table_token(sp="raud", tn=TABLE, se=TOMORROW, key=KEY1, changed=None, **more):
    return Sas(table_sas(key, ACCOUNT, changed, tn=tn, sp=sp, se=se, **more))


def account_token(sp="rwdlacu", ss="t", srt="sco", se=TOMORROW, key=KEY1, changed=None, **more):
    return Sas(account_sas(key, ACCOUNT, changed, ss=ss, srt=srt, sp=sp, se=se, **more))


def table_credential(fault=None, sp="raud", tn=TABLE, limits=None):
    return rules.table_credential(fault, sp, tn, limits)


# --- the categories, each a generator of cases

def keys():
    good = Credential("key")
    for what, door in good_keys(Key):
        yield from every("keys", what, good, door)
    for lite in (True, False):
        yield from every("keys", "14 minutes old", good, Key(ACCOUNT, KEY1, lite, age_s=840))
    for what, door in bad_keys(Key, signs_verb=False):
        yield from every("keys", what, Credential("key", "not authentic"), door)


def strangers():
    for what, fault, value in (("no credentials", "nobody", None), *common.STRANGE_HEADERS):
        yield from every("strangers", what, Credential("key", fault), Header(value))


def table_permissions():
    for version, sp in itertools.product(VERSIONS, subsets("raud")):
        fault = None if sp else "not authentic"
        key = KEY2 if len(sp) % 2 else KEY1
        yield from every("table SAS permissions", f"{version} sp={sp}", table_credential(fault, sp),
                         table_token(sp, key=key, sv=version))


def account_permissions():
    letters = ["r", "w", "d", "l", "a", "c", "u", "p", "au", "raud", "rwdlacu"]
    yield from common.account_permissions(every, account_token, letters, subsets("sco"),
                                          newest={"ses": "scope"})


def account_services():
    for ss, version in itertools.product(("t", "bt", "bqtf", "ft", "b", "q", "f", "bqf", "T"),
                                         ("2019-02-02", "2021-12-02")):
        fault = None if "t" in ss else "service"
        yield from every("account SAS services", f"ss={ss}", account_credential(fault),
                         account_token(ss=ss, sv=version))


def times():
    yield from common.times(each_kind, (
        ("expired today at midnight", "not authentic", {"se": at(0, "%Y-%m-%d")}),
        ("valid to the minute", None, {"se": at(3600, "%Y-%m-%dT%H:%MZ")}),
        ("started a day ago", None, {"st": YESTERDAY}),
        ("started at midnight", None, {"st": at(0, "%Y-%m-%d")}),
        ("starts and ends tomorrow", "not authentic", {"st": TOMORROW}),
        ("a start that is no time", "not authentic", {"st": "now"})))


def tables():
    for tn, path, table in ((TABLE, TABLE, TABLE), (TABLE.upper(), TABLE, TABLE),
                            (TABLE.lower(), TABLE.upper(), TABLE), (TABLE, TABLE.lower(), TABLE),
                            (OTHER_TABLE, TABLE, TABLE), (TABLE, OTHER_TABLE, OTHER_TABLE),
                            (TABLE + "x", TABLE, TABLE), (TABLE[:-1], TABLE, TABLE),
                            ("*", TABLE, TABLE)):
        yield from every("tables", f"tn={tn} for /{path}", table_credential(tn=tn),
                         table_token(tn=tn), table, path)
    yield from every("tables", "no table", table_credential("not authentic"), table_token(tn=""))


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
        yield from every("ranges", f"{limits} {where}", table_credential(limits=limits),
                         table_token(sv=version, **limit_fields(limits)), keys=where,
                         operations=ON_ENTITY)
    for bad in ({"srk": "a"}, {"erk": "a"}, {"spk": "a", "erk": "b"}):
        yield from every("ranges", f"a row without its partition {bad}",
                         table_credential("not authentic"), table_token(**bad))


def addresses():
    yield from common.addresses(each_kind, (
        ("0.0.0.0-255.255.255.255", None), ("127.0.0.1-127.0.0.1", None),
        ("::ffff:127.0.0.1", None), ("127.0.0.2-127.0.0.1", "address"),
        ("127.0.0.1/8", "address")))


def protocols(is_tls):
    yield from common.protocols(each_kind, is_tls)


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
        yield from every("policies", what, table_credential(fault, permits, POLICIED), token,
                         POLICIED)

    yield from each("all from the policy", None, "ra", "full")
    yield from each("permission from both", "policy conflict", "", "full", sp="r")
    yield from each("expiry from both", "policy conflict", "", "full", se=TOMORROW)
    yield from each("start from both", "policy conflict", "", "full", st=YESTERDAY)
    yield from each("the policy says nothing", None, "ud", "open", sp="ud", se=TOMORROW)
    yield from each("neither says what", "not authentic", "", "open", se=TOMORROW)
    yield from each("neither says until when", "not authentic", "", "open", sp="r")
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
    yield from every("policies", "removed", table_credential("not authentic", tn=POLICIED), token,
                     POLICIED)


def tampered():
    limits = ("a", "a", "z", "z")
    full = dict(sp="r", st=YESTERDAY, sip="127.0.0.1", spr="https,http", **limit_fields(limits))
    changes = [{"sp": "raud"}, {"st": at(-90000)}, {"st": None}, {"se": at(90000)}, {"se": None},
               {"tn": OTHER_TABLE}, {"sv": "2020-12-06"}, {"sv": "2015-02-21"}, {"sv": None},
               {"spk": ""}, {"spk": None, "srk": None}, {"srk": None}, {"epk": "zz"},
               {"epk": None, "erk": None}, {"erk": "zz"}, {"sip": None}, {"sip": "127.0.0.2"},
               {"spr": None}, {"spr": "https"}, {"si": "full"}, {"ss": "t", "srt": "sco"},
               {"sig": ""}, {"sig": "A" * 43 + "="}, {"sig": KEY1}]
    for changed in changes:
        yield from every("tampered", f"table SAS {changed}", table_credential("not authentic"),
                         table_token(changed=changed, **full))
    yield from common.tampered_accounts(every, account_token, {"tn": TABLE})
    yield from common.wrong_keys(each_kind)


CATEGORIES = (keys, strangers, table_permissions, account_permissions, account_services, times,
              tables, ranges, addresses, policies, tampered)


# --- queries within a range: (name, $filter, which keys it is true for)

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
