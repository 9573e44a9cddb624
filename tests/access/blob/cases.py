"""The rows of blobs: every operation with every kind of credential."""

import itertools

from access import common
from access.blob import rules
from access.blob.requests import WHOLE, PathSas
from access.blob.rules import ON_BLOB, ON_SNAPSHOT, OPERATIONS, service_credential
from access.common import bad_keys, good_keys
from access.credentials import (ACCOUNT, BETA_KEY, KEY1, KEY2, OTHER_ACCOUNT, TOMORROW, WRONG_KEY,
                                YESTERDAY, Credential, account_credential, at)
from access.matrix import Case
from access.talk import Header, Sas, StorageKey
from sas import account_sas, blob_sas, queue_sas, table_sas

FILMS, OTHER, POLICIED, SHOWN, OPEN = "films", "others", "policied", "shown", "open"
CONTAINERS = (FILMS, OTHER, POLICIED, SHOWN, OPEN)
PUBLIC = {SHOWN: "blob", OPEN: "container"}
VERSIONS = ("2012-02-12", "2013-08-15", "2015-04-05", "2018-11-09", "2020-12-06", "2025-11-05")
ALL = "racwdl"


def container_token(sp=ALL, se=TOMORROW, key=KEY1, account=ACCOUNT, **more):
    return PathSas(key, account, "c", sp=sp, se=se, **more)


def blob_token(sp="racwd", se=TOMORROW, key=KEY1, account=ACCOUNT, **more):
    return PathSas(key, account, "b", sp=sp, se=se, **more)


def account_token(sp="rwdlacup", ss="b", srt="sco", se=TOMORROW, key=KEY1, changed=None, **more):
    return Sas(account_sas(key, ACCOUNT, changed, ss=ss, srt=srt, sp=sp, se=se, **more))


def every(category, what, credential, door, container=FILMS, operations=OPERATIONS):
    for operation in operations:
        yield Case(category, what, credential, door, operation, container)


def each_kind(category, what, fault, fields, container=FILMS):
    """The same with a token of the container, of the blob and of the account."""
    yield from every(category, f"container SAS {what}", service_credential("container", fault),
                     container_token(**fields), container)
    yield from every(category, f"blob SAS {what}", service_credential("blob", fault),
                     blob_token(**fields), container, ON_BLOB)
    yield from every(category, f"account SAS {what}", account_credential(fault),
                     account_token(**fields), container)


# --- the categories, each a generator of cases

def keys():
    for what, door in good_keys(StorageKey):
        yield from every("keys", what, Credential("key"), door)
    bad = Credential("key", "not authentic")
    for what, door in bad_keys(StorageKey):
        yield from every("keys", what, bad, door)
        # What is public is so for requests without credentials, not for those with wrong ones.
        yield from every("keys", f"{what}, public", bad, door, OPEN, ("get blob", "list blobs"))


def strangers():
    for container in (FILMS, SHOWN, OPEN):
        yield from every("strangers", f"nobody in {container}", Credential("nobody"), Header(None),
                         container)
    for what, fault, value in common.STRANGE_HEADERS:
        for container in (FILMS, OPEN):
            yield from every("strangers", f"{what} in {container}", Credential("key", fault),
                             Header(value), container)


def service_permissions():
    letters = ["", *ALL, "x", "y", "t", "u", "p", "rl", "cd", "ac", "racwdl", "racwdxyltmeopi"]
    some = ["r", "w", "racwdl"]
    for i, (version, sp) in enumerate((version, sp) for version in VERSIONS for sp in (
            letters if version in ("2015-04-05", "2020-12-06") else some)):
        fault = None if sp else "not authentic"
        key = KEY2 if i % 2 else KEY1
        # The first of them would be valid for a queue of the same name as well.
        yield from every("container SAS permissions", f"{version} sp={sp}",
                         service_credential("container", "not authentic" if version < "2013-08-15"
                                            else fault, sp),
                         container_token(sp, key=key, sv=version))
        yield from every("blob SAS permissions", f"{version} sp={sp}",
                         service_credential("blob", fault, sp),
                         blob_token(sp, key=key, sv=version),
                         operations=OPERATIONS if sp == "racwdl" else ON_BLOB)


def account_permissions():
    letters = ["r", "w", "d", "l", "a", "c", "u", "p", "x", "rl", "rwdlacup"]
    yield from common.account_permissions(every, account_token, letters,
                                          ("", "s", "c", "o", "so", "sco"))


def services():
    for ss in ("b", "bq", "bqtf", "q", "t", "f", "qtf", "B"):
        fault = None if "b" in ss else "service"
        yield from every("services", f"ss={ss}", account_credential(fault), account_token(ss=ss))
    # Tokens of other services are signed over other things, whatever they are called.
    bad = account_credential("not authentic")
    for what, token in (
            ("a table SAS", table_sas(KEY1, ACCOUNT, tn=FILMS, sp="raud", se=TOMORROW)),
            ("a queue SAS", queue_sas(KEY1, ACCOUNT, FILMS, sp="raup", se=TOMORROW)),
            ("a queue SAS for a container", queue_sas(KEY1, ACCOUNT, FILMS, sp="r", se=TOMORROW,
                                                      changed={"sr": "c"})),
            ("an old table SAS", table_sas(KEY1, ACCOUNT, tn=FILMS, sp="raud", se=TOMORROW,
                                           sv="2013-08-15", changed={"sr": "c"}))):
        yield from every("services", what, bad, Sas(token))


def times():
    yield from common.times(each_kind)


def resources():
    """Tokens of something other than what the path names."""
    bad = "not authentic"
    for what, door, kind in (
            ("another container", container_token(elsewhere=lambda c, b: (OTHER, b)), "container"),
            ("a container less", container_token(elsewhere=lambda c, b: (c[:-1], b)), "container"),
            ("a container in capitals", container_token(elsewhere=lambda c, b: (c.upper(), b)),
             "container"),
            ("another account's container", container_token(account=OTHER_ACCOUNT, key=BETA_KEY),
             "container"),
            ("a container with the blob's path", container_token(
                elsewhere=lambda c, b: (f"{c}/{b}", b)), "container"),
            ("another blob", blob_token(elsewhere=lambda c, b: (c, b + "x")), "blob"),
            ("a blob in capitals", blob_token(elsewhere=lambda c, b: (c, b.upper())), "blob"),
            ("a folder", blob_token(elsewhere=lambda c, b: (c, b + "/")), "blob"),
            ("the same blob elsewhere", blob_token(elsewhere=lambda c, b: (OTHER, b)), "blob"),
            ("another account's blob", blob_token(account=OTHER_ACCOUNT, key=BETA_KEY), "blob"),
            ("a container as a blob", container_token(changed={"sr": "b"}), "container"),
            ("a blob as a container", blob_token(changed={"sr": "c"}), "blob"),
            ("an unknown kind", container_token(changed={"sr": "x"}), "container"),
            ("a directory", PathSas(KEY1, ACCOUNT, "d", sp="r", se=TOMORROW, sdd="0"), "blob"),
            ("a version", PathSas(KEY1, ACCOUNT, "bv", sp="r", se=TOMORROW), "blob"),
            ("no kind", PathSas(KEY1, ACCOUNT, "b", sp="r", se=TOMORROW, changed={"sr": None}),
             "blob")):
        for container in (FILMS, OPEN):
            yield from every("resources", f"{what} in {container}", service_credential(kind, bad),
                             door, container)
    yield from every("resources", "a token of the other container there",
                     service_credential("container"), container_token(), OTHER)


def addresses():
    yield from common.addresses(each_kind)


def protocols(is_tls):
    yield from common.protocols(each_kind, is_tls)


STORED = {
    "full": {"Start": YESTERDAY, "Expiry": TOMORROW, "Permission": "rl"},
    "silent": {},
    "writing": {"Permission": "w"},
    "over": {"Expiry": YESTERDAY, "Permission": "racwdl"},
}


# Other containers have no policies, and setting them again would end the test.
IN_POLICIED = tuple(name for name in OPERATIONS
                    if name not in ("create container", "delete container", "set acl"))


def policies():
    def each(what, fault, permits, si, sp=None, se=None, **fields):
        for kind, token in (("container", container_token), ("blob", blob_token)):
            yield from every("policies", f"{kind} SAS, {what}",
                             service_credential(kind, fault, permits),
                             token(sp, se, si=si, **fields), POLICIED, IN_POLICIED)

    yield from each("all from the policy", None, "rl", "full")
    yield from each("permission from both", "policy conflict", "", "full", sp="r")
    yield from each("expiry from both", "policy conflict", "", "full", se=TOMORROW)
    yield from each("the policy says nothing", None, "cd", "silent", sp="cd", se=TOMORROW)
    yield from each("neither says what", "not authentic", "", "silent", se=TOMORROW)
    yield from each("neither says until when", "not authentic", "", "silent", sp="r")
    yield from each("the policy says what", None, "w", "writing", se=TOMORROW)
    yield from each("the policy is over", "not authentic", "", "over")
    yield from each("an unknown policy", "not authentic", "", "none", sp="r", se=TOMORROW)
    yield from each("a policy in another case", "not authentic", "", "FULL")
    yield from each("a token that is over", "not authentic", "", "writing", se=YESTERDAY)


def removed_policies():
    for kind, token in (("container", container_token), ("blob", blob_token)):
        yield from every("policies", "removed", service_credential(kind, "not authentic"),
                         token(None, None, si="full"), POLICIED, IN_POLICIED)


def tampered():
    full = dict(sp="r", st=YESTERDAY, sip="127.0.0.1", spr="https,http", rscd="inline")
    for changed in ({"sp": "racwdl"}, {"st": None}, {"se": at(90000)}, {"se": None},
                    {"sv": "2020-12-06"}, {"sv": "2015-02-21"}, {"sv": "2012-02-12"}, {"sv": None},
                    {"sip": None}, {"sip": "0.0.0.0-255.255.255.255"}, {"spr": None},
                    {"si": "full"}, {"ss": "b", "srt": "sco"}, {"rscd": None},
                    {"rsct": "text/html"}, {"rscc": "x"}, {"sr": "bs"}, {"skoid": "x"},
                    {"sig": ""}, {"sig": "A" * 43 + "="}, {"sig": KEY1}):
        yield from every("tampered", f"container SAS {changed}",
                         service_credential("container", "not authentic"),
                         container_token(changed=changed, **full))
        yield from every("tampered", f"blob SAS {changed}",
                         service_credential("blob", "not authentic"),
                         blob_token(changed=changed, **full), operations=ON_BLOB)
    yield from common.tampered_accounts(every, account_token)
    yield from common.wrong_keys(each_kind)


def scopes():
    """There are no encryption scopes, so what names one opens nothing."""
    for version in ("2020-12-06", "2025-11-05"):
        scope = {"sv": version, "ses": "scope"}
        yield from every("scopes", f"container SAS {version}",
                         service_credential("container", "not authentic"),
                         container_token(**scope))
        yield from every("scopes", f"blob SAS {version}",
                         service_credential("blob", "not authentic"), blob_token(**scope),
                         operations=ON_BLOB)
        yield from every("scopes", f"account SAS {version}", account_credential("not authentic"),
                         account_token(**scope))


CATEGORIES = (keys, strangers, service_permissions, account_permissions, services, times, scopes,
              resources, addresses, policies, tampered)


def snapshots(snapshot):
    """Tokens of one snapshot, `snapshot()`; what they name must be what the URL names."""
    for version, sp in itertools.product(("2018-11-09", "2020-12-06", "2025-11-05"),
                                         ("r", "d", "w", "c", "rd", "racwd")):
        def token(signed, version=version, sp=sp):
            return PathSas(KEY1, ACCOUNT, "bs", changed={"snapshot": None}, sp=sp, se=TOMORROW,
                           sv=version, snapshot=signed)
        what = f"{version} sp={sp}"
        yield from every("snapshots", what, service_credential("snapshot", None, sp),
                         token(snapshot))
        yield from every("snapshots", f"another time, {what}",
                         service_credential("snapshot", "not authentic", sp),
                         token(lambda: snapshot()[:-9] + "0000000Z"), operations=ON_SNAPSHOT)
    yield from every("snapshots", "before there were any",
                     service_credential("snapshot", "not authentic"),
                     PathSas(KEY1, ACCOUNT, "bs", changed={"snapshot": None}, sp="rd",
                             se=TOMORROW, sv="2018-03-28", snapshot=snapshot))


# --- copies: what the source needs

def sources(url):
    """What a copy may come from, as (what, source for the rules, URL)."""
    def show(account, key, container, sr, sp="r", **more):
        fields = {"sp": sp, "se": TOMORROW, **more}
        blob = None if sr == "c" else WHOLE
        return blob_sas(key, account, container, blob, fields.pop("changed", None), **fields)

    own, other = f"{url}/{ACCOUNT}/{OTHER}/{WHOLE}", f"{url}/{OTHER_ACCOUNT}/{FILMS}/{WHOLE}"
    good, bad = Credential("blob", None, "r"), Credential("blob", "not authentic", "r")
    yield "private", ("own", "private"), own
    yield "missing", ("own", "missing"), own + "none"
    yield "missing container", ("own", "missing"), f"{url}/{ACCOUNT}/none/{WHOLE}"
    yield "public", ("own", "public"), f"{url}/{ACCOUNT}/{OPEN}/{WHOLE}"
    yield "shown", ("own", "public"), f"{url}/{ACCOUNT}/{SHOWN}/{WHOLE}"
    yield "other account's", ("other", "private"), other
    yield "other account's missing", ("other", "private"), other + "none"
    yield "other account's public", ("other", "public"), f"{url}/{OTHER_ACCOUNT}/{OPEN}/{WHOLE}"
    for whose, path, account, key, container in (
            ("own", own, ACCOUNT, KEY1, OTHER), ("other", other, OTHER_ACCOUNT, BETA_KEY, FILMS)):
        def pair(what, how, token, whose=whose, path=path):
            return f"{whose} with {what}", (whose, how), f"{path}?{token}"
        yield pair("a blob SAS", good, show(account, key, container, "b"))
        yield pair("a container SAS", good, show(account, key, container, "c"))
        yield pair("an account SAS", good, account_sas(key, account, ss="b", srt="o", sp="r",
                                                       se=TOMORROW))
        yield pair("a SAS to write", Credential("blob", None, "cwd"),
                   show(account, key, container, "b", "cwd"))
        yield pair("a SAS to list", Credential("blob", None, "l"),
                   show(account, key, container, "c", "l"))
        yield pair("a SAS that is over", bad, show(account, key, container, "b", se=YESTERDAY))
        yield pair("a tampered SAS", bad, show(account, key, container, "b", "w",
                                               changed={"sp": "r"}))
        yield pair("a SAS of another blob", bad, blob_sas(key, account, container, "none", sp="r",
                                                          se=TOMORROW))
        yield pair("a SAS of another container", bad, blob_sas(key, account, "none", sp="r",
                                                               se=TOMORROW))
        yield pair("a SAS of a wrong key", bad, show(account, WRONG_KEY, container, "b"))
        yield pair("a SAS for https", bad, show(account, key, container, "b", spr="https"))
        yield pair("a SAS for another machine", bad, show(account, key, container, "b",
                                                          sip="127.0.0.2"))
        yield pair("an account SAS of containers", bad, account_sas(
            key, account, ss="b", srt="sc", sp="r", se=TOMORROW))
        yield pair("an account SAS of queues", bad, account_sas(
            key, account, ss="q", srt="o", sp="r", se=TOMORROW))


def copies(url):
    """The right to write the copy is no right to read what is copied, whatever else it may read."""
    key = Credential("key")
    doors = (("key", key, StorageKey(ACCOUNT, KEY1)),
             ("account SAS", account_credential(), account_token()),
             ("container SAS", service_credential("container"), container_token()),
             ("blob SAS", service_credential("blob"), blob_token()))
    for what, source, address in sources(url):
        for who, credential, door in doors:
            # A key signs the parameters of its own URL, not of the source.
            for operation in ("copy to new", "copy now to new", "copy"):
                want = rules.source_expected(credential, source)
                yield Case("copies", f"{what} by {who}", credential, door, operation, FILMS,
                           (address, want))
