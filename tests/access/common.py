"""Rows that are the same for every service.

Where a function takes `every(category, what, credential, door)` it is the service's own, which
gives a case for each operation; `each_kind(category, what, fault, fields)` does so for each kind
of SAS that the service has.
"""

import itertools

from access.credentials import (ACCOUNT, BETA_KEY, KEY1, KEY2, OTHER_ACCOUNT, WRONG_KEY, YESTERDAY,
                                account_credential, at)

VERSIONS = ("2012-02-12", "2013-08-15", "2015-02-21", "2015-04-05", "2019-02-02", "2020-12-06",
            "2024-11-04")

# (what, the credential's fault, the Authorization header)
STRANGE_HEADERS = (
    ("a bearer token", "bearer", "Bearer eyJ0eXAiOiJKV1QifQ.e30."),
    ("a scheme alone", "malformed", "SharedKey"),
    ("another scheme", "malformed", f"Basic {ACCOUNT}:{KEY1}"),
    ("no signature", "not authentic", f"SharedKey {ACCOUNT}:"),
    ("the key for a signature", "not authentic", f"SharedKey {ACCOUNT}:{KEY1}"),
)

# (what, fault, fields of the token)
TIMES = (
    ("expired a day ago", "not authentic", {"se": YESTERDAY}),
    ("expired a second ago", "not authentic", {"se": at(-1)}),
    ("valid to a day", None, {"se": at(2 * 86400, "%Y-%m-%d")}),
    ("started a second ago", None, {"st": at(-1)}),
    ("starts in an hour", "not authentic", {"st": at(3600)}),
    ("without an end", "not authentic", {"se": ""}),
    ("an end that is no time", "not authentic", {"se": "tomorrow"}),
)

# (sip, fault)
ADDRESSES = (
    ("127.0.0.1", None),
    ("127.0.0.0-127.0.0.255", None),
    ("127.0.0.2", "address"),
    ("10.0.0.0-10.255.255.255", "address"),
    ("::1", "address"),
    ("localhost", "address"),
)


def subsets(letters):
    for size in range(len(letters) + 1):
        for chosen in itertools.combinations(letters, size):
            yield "".join(chosen)


def good_keys(door):
    """(what, door) for each way in which an account's keys open everything."""
    for key, lite in itertools.product((KEY1, KEY2), (True, False)):
        yield (f"{'SharedKeyLite' if lite else 'SharedKey'} by key {1 + (key == KEY2)}",
               door(ACCOUNT, key, lite))


def bad_keys(door, signs_verb=True):
    """(what, door) for signatures that are not authentic."""
    for lite in (True, False):
        yield from (
            ("a wrong key", door(ACCOUNT, WRONG_KEY, lite)),
            ("the key of another account", door(ACCOUNT, BETA_KEY, lite)),
            ("another account", door(ACCOUNT, BETA_KEY, lite, signer=OTHER_ACCOUNT)),
            ("an unknown account", door(ACCOUNT, KEY1, lite, signer="nobody")),
            ("16 minutes old", door(ACCOUNT, KEY1, lite, age_s=960)),
            ("from 16 minutes ahead", door(ACCOUNT, KEY1, lite, age_s=-960)),
            ("another path", door(ACCOUNT, KEY1, lite, path=f"/{ACCOUNT}/elsewhere")))
        if signs_verb:
            yield "another verb", door(ACCOUNT, KEY1, lite, verb="PATCH")


def times(each_kind, more=()):
    for what, fault, fields in (*TIMES, *more):
        yield from each_kind("times", what, fault, fields)


def addresses(each_kind, more=()):
    for sip, fault in (*ADDRESSES, *more):
        yield from each_kind("addresses", f"sip={sip}", fault, {"sip": sip})


def protocols(each_kind, is_tls):
    category = "protocols, TLS" if is_tls else "protocols"
    for spr, fault in (("https", None if is_tls else "protocol"), ("https,http", None),
                       ("http", "not authentic"), ("ftp", "not authentic")):
        yield from each_kind(category, f"spr={spr}", fault, {"spr": spr})


def account_permissions(every, account_token, letters, types, newest=None):
    """`newest` are more fields of the newest version."""
    for i, (srt, sp) in enumerate(itertools.product(types, letters)):
        more = ({"sv": "2015-04-05"}, {"sv": "2019-02-02"}, {"sv": "2020-12-06"},
                {"sv": "2022-11-02", **(newest or {})})[i % 4]
        yield from every("account SAS permissions", f"{more['sv']} srt={srt} sp={sp}",
                         account_credential(None, sp, srt), account_token(sp, srt=srt, **more))


def tampered_accounts(every, account_token, service_fields=None):
    """`service_fields` make a token look like the service's own SAS."""
    for changed in ({"sp": "rwdlacup"}, {"ss": "bqtf"}, {"srt": "sco"}, {"se": at(90000)},
                    {"sv": "2020-12-06"}, {"sip": None}, {"spr": None},
                    {"srt": None, "ss": None, **(service_fields or {})}, {"sig": "x"}):
        yield from every("tampered", f"account SAS {changed}", account_credential("not authentic"),
                         account_token("r", srt="o", sip="127.0.0.1", spr="https,http",
                                       changed=changed))


def wrong_keys(each_kind):
    for key, what in ((WRONG_KEY, "of a wrong key"), (BETA_KEY, "of another account's key")):
        yield from each_kind("tampered", what, "not authentic", {"key": key})
