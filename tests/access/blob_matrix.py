"""Every operation on blobs with every kind of credential, against the rules."""

import collections
import itertools

import blob_rules
from blob_rules import (ON_BLOB, ON_SNAPSHOT, OPERATIONS, account_credential, service_credential)
from blob_talk import (BLOCKY, CONTENT, DOOMED, FRESH, HELD, LEASE, LENT, LOG, SHOT, WHOLE,
                       PathSas, request_of, send, target)
from matrix import (ACCOUNT, ACCOUNTS, BETA_KEY, KEY1, KEY2, OTHER_ACCOUNT, TOMORROW, WRONG_KEY,
                    YESTERDAY, at)
from queue_talk import StorageKey
from rules import Credential
from sas import account_sas, blob_sas, queue_sas, table_sas
from storage_doors import STRANGE_HEADERS, bad_keys, good_keys
from talk import Header, Sas, Talk

__all__ = ["ACCOUNTS", "run"]

FILMS, OTHER, POLICIED, SHOWN, OPEN = "films", "others", "policied", "shown", "open"
PUBLIC = {SHOWN: "blob", OPEN: "container"}
VERSIONS = ("2012-02-12", "2013-08-15", "2015-04-05", "2018-11-09", "2020-12-06", "2025-11-05")
ALL = "racwdl"

Case = collections.namedtuple("Case", "category what credential door operation container source",
                              defaults=(None,))


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
    for what, door in good_keys():
        yield from every("keys", what, Credential("key"), door)
    bad = Credential("key", "not authentic")
    for what, door in bad_keys():
        yield from every("keys", what, bad, door)
        # What is public is so for who shows nothing, not for who shows what is wrong.
        yield from every("keys", f"{what}, public", bad, door, OPEN, ("get blob", "list blobs"))


def strangers():
    for container in (FILMS, SHOWN, OPEN):
        yield from every("strangers", f"nobody in {container}", Credential("nobody"), Header(None),
                         container)
    for what, fault, value in STRANGE_HEADERS:
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
        more = {"ses": "scope"} if version >= "2020-12-06" else {}
        # The first of them would be good for a queue of the same name as well.
        yield from every("container SAS permissions", f"{version} sp={sp}",
                         service_credential("container", "not authentic" if version < "2013-08-15"
                                            else fault, sp),
                         container_token(sp, key=key, sv=version, **more))
        yield from every("blob SAS permissions", f"{version} sp={sp}",
                         service_credential("blob", fault, sp),
                         blob_token(sp, key=key, sv=version, **more),
                         operations=OPERATIONS if sp == "racwdl" else ON_BLOB)


def account_permissions():
    letters = ["r", "w", "d", "l", "a", "c", "u", "p", "x", "rl", "rwdlacup"]
    for i, (srt, sp) in enumerate(itertools.product(("", "s", "c", "o", "so", "sco"), letters)):
        more = ({"sv": "2015-04-05"}, {"sv": "2019-02-02"}, {"sv": "2020-12-06"},
                {"sv": "2022-11-02", "ses": "scope"})[i % 4]
        yield from every("account SAS permissions", f"{more['sv']} srt={srt} sp={sp}",
                         account_credential(None, sp, srt), account_token(sp, srt=srt, **more))


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
    for what, fault, fields in (
            ("expired a day ago", "not authentic", {"se": YESTERDAY}),
            ("expired a second ago", "not authentic", {"se": at(-1)}),
            ("valid to a day", None, {"se": at(2 * 86400, "%Y-%m-%d")}),
            ("started a second ago", None, {"st": at(-1)}),
            ("starts in an hour", "not authentic", {"st": at(3600)}),
            ("without an end", "not authentic", {"se": ""}),
            ("an end that is no time", "not authentic", {"se": "tomorrow"})):
        yield from each_kind("times", what, fault, fields)


def resources():
    """Tokens of something else than what the path names."""
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
    for sip, fault in (("127.0.0.1", None), ("127.0.0.0-127.0.0.255", None),
                       ("127.0.0.2", "address"), ("10.0.0.0-10.255.255.255", "address"),
                       ("::1", "address"), ("localhost", "address")):
        yield from each_kind("addresses", f"sip={sip}", fault, {"sip": sip})


def protocols(is_tls):
    category = "protocols, TLS" if is_tls else "protocols"
    for spr, fault in (("https", None if is_tls else "protocol"), ("https,http", None),
                       ("http", "not authentic"), ("ftp", "not authentic")):
        yield from each_kind(category, f"spr={spr}", fault, {"spr": spr})


STORED = {
    "full": {"Start": YESTERDAY, "Expiry": TOMORROW, "Permission": "rl"},
    "silent": {},
    "writing": {"Permission": "w"},
    "over": {"Expiry": YESTERDAY, "Permission": "racwdl"},
}


# Other containers have no policies, and setting them anew would end the test.
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
    yield from each("nobody says what", "not authentic", "", "silent", se=TOMORROW)
    yield from each("nobody says until when", "not authentic", "", "silent", sp="r")
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
    for changed in ({"sp": "rwdlacup"}, {"ss": "bqtf"}, {"srt": "sco"}, {"se": at(90000)},
                    {"sv": "2020-12-06"}, {"sip": None}, {"spr": None},
                    {"srt": None, "ss": None}, {"sig": "x"}):
        yield from every("tampered", f"account SAS {changed}", account_credential("not authentic"),
                         account_token("r", srt="o", sip="127.0.0.1", spr="https,http",
                                       changed=changed))
    for key, what in ((WRONG_KEY, "of a wrong key"), (BETA_KEY, "of another account's key")):
        yield from each_kind("tampered", what, "not authentic", {"key": key})


CATEGORIES = (keys, strangers, service_permissions, account_permissions, services, times,
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
    """The right to write the copy is none to read what is copied, whatever else it may read."""
    key = Credential("key")
    doors = (("key", key, StorageKey(ACCOUNT, KEY1)),
             ("account SAS", account_credential(), account_token()),
             ("container SAS", service_credential("container"), container_token()),
             ("blob SAS", service_credential("blob"), blob_token()))
    for what, source, address in sources(url):
        for who, credential, door in doors:
            # A key signs the parameters of its own URL, not of the source.
            for operation in ("copy to new", "copy now to new", "copy"):
                want = blob_rules.source_expected(credential, source)
                yield Case("copies", f"{what} by {who}", (credential, want), door, operation,
                           FILMS, address)


# --- running them

class Matrix:
    def __init__(self, talk):
        self.talk = talk
        self.master = StorageKey(ACCOUNT, KEY1)
        self.marks = itertools.count(1)
        self.snapshot_of = {}
        self.passed = collections.Counter()
        self.failed = collections.Counter()
        self.allowed = collections.Counter()

    def own(self, request, *statuses):
        """A request with the key, to prepare or to look."""
        reply = send(self.talk, self.master, request)
        if statuses and reply.status not in statuses:
            raise AssertionError(f"{request}: {reply}")
        return reply

    def ask(self, name, container, *statuses):
        return self.own(request_of(ACCOUNT, name, container, 0, self.snapshot_of.get(container),
                                   self.public_source()), *statuses)

    def public_source(self):
        return f"{self.talk.url}/{ACCOUNT}/{OPEN}/{WHOLE}"

    def put(self, container, blob, kind="BlockBlob", account=ACCOUNT, door=None):
        reply = send(self.talk, door or self.master,
                     ("PUT", f"/{account}/{container}/{blob}",
                      CONTENT if kind == "BlockBlob" else b"", {"x-ms-blob-type": kind}))
        assert reply.status == 201, reply

    def make_container(self, name, account=ACCOUNT, door=None):
        public = {"x-ms-blob-public-access": PUBLIC[name]} if name in PUBLIC else {}
        reply = send(self.talk, door or self.master,
                     ("PUT", f"/{account}/{name}?restype=container", b"", public))
        assert reply.status == 201, reply

    def furnish(self, container):
        """Everything that operations need, each in a blob of its own."""
        self.make_container(container)
        for blob in (WHOLE, BLOCKY, LENT, HELD, SHOT, DOOMED):
            self.put(container, blob)
        self.put(container, LOG, "AppendBlob")
        self.hold(container)
        self.shoot(container)

    def hold(self, container):
        method, path, body, headers = request_of(ACCOUNT, "lease blob", container)
        self.own((method, path.replace(LENT, HELD), body, headers), 201)

    def shoot(self, container):
        reply = self.ask("snapshot", container, 201)
        self.snapshot_of[container] = reply.headers["x-ms-snapshot"]

    def furnish_stranger(self):
        """Another account, with a private and a public container."""
        door = StorageKey(OTHER_ACCOUNT, BETA_KEY)
        for container in (FILMS, OPEN):
            self.make_container(container, OTHER_ACCOUNT, door)
            self.put(container, WHOLE, account=OTHER_ACCOUNT, door=door)

    def set_policies(self, stored):
        inside = "".join(
            f"<SignedIdentifier><Id>{name}</Id><AccessPolicy>" +
            "".join(f"<{field}>{value}</{field}>" for field, value in fields.items()) +
            "</AccessPolicy></SignedIdentifier>" for name, fields in stored.items())
        self.own(("PUT", f"/{ACCOUNT}/{POLICIED}?restype=container&comp=acl",
                  f"<SignedIdentifiers>{inside}</SignedIdentifiers>".encode()), 200)

    def run(self, case):
        mark = next(self.marks)
        if case.source:
            credential, want = case.credential
            is_allowed = want[1] is None
        else:
            credential, public = case.credential, PUBLIC.get(case.container)
            want = blob_rules.expected(credential, case.operation, public)
            is_allowed = blob_rules.is_allowed(credential, case.operation, public)
        self.prepare(case, mark, is_allowed)
        before = None if is_allowed else self.look(case, mark)
        reply = send(self.talk, case.door,
                     request_of(ACCOUNT, case.operation, case.container, mark,
                                self.snapshot_of[case.container],
                                case.source or self.public_source()))
        trouble = None
        if (reply.status, reply.code) != want:
            trouble = f"got {reply.status} {reply.code}, want {want}: {reply}"
        elif before is not None and self.look(case, mark) != before:
            trouble = f"refused, but done: it was {before} and is {self.look(case, mark)}"
        elif CONTENT in reply.body and not is_allowed:
            trouble = "refused, but the content is in the answer"
        self.repair(case, mark, is_allowed or trouble)
        self.allowed[case.category] += is_allowed and trouble is None
        self.count(case.category, f"{case.what}: {case.operation}", trouble)

    def prepare(self, case, mark, is_allowed):
        if case.operation == "delete container":
            self.make_container(f"made{mark}")
        elif case.operation == "break container lease" and is_allowed:
            self.ask("lease container", case.container, 201)

    def look(self, case, mark):
        """What a refused change could have changed; None for a read."""
        if case.operation.startswith(("get", "head", "list", "account", "abort")):
            return None
        if case.operation == "set properties":
            return self.ask("get properties", case.container).body
        if case.operation in ("create container", "delete container"):
            return self.own(("HEAD", f"/{ACCOUNT}/made{mark}?restype=container")).status
        if "container" in case.operation or "acl" in case.operation:
            headers = self.ask("head container", case.container).headers
            return headers["ETag"], headers["x-ms-lease-state"]
        path = f"/{ACCOUNT}/{case.container}"
        blob = target(case.operation)
        if case.operation in ("put block", "snapshot"):
            return self.own(("GET", f"{path}?restype=container&comp=list&prefix={blob}&include="
                             "snapshots,uncommittedblobs"), 200).body.count(b"<Blob>"), \
                self.own(("GET", f"{path}/{blob}?comp=blocklist&blocklisttype=all"), 200).body
        more = ""
        if case.operation in ON_SNAPSHOT:
            more = f"?snapshot={self.snapshot_of[case.container]}"
        reply = self.own(("HEAD", f"{path}/{blob}{more}"))
        return reply.status, reply.headers["ETag"], reply.headers["x-ms-lease-state"]

    def repair(self, case, mark, was_done):
        """Make things again as the next one wants to find them."""
        container, blob = case.container, target(case.operation)
        path = f"/{ACCOUNT}/{container}/{blob}"
        if case.operation in ("create container", "delete container"):
            self.own(("DELETE", f"/{ACCOUNT}/made{mark}?restype=container"), 202, 404)
        elif not was_done:
            return
        elif case.operation == "set acl":
            self.own(("PUT", f"/{ACCOUNT}/{container}?restype=container&comp=acl", b"",
                      {"x-ms-blob-public-access": PUBLIC[container]}
                      if container in PUBLIC else {}), 200)
        elif case.operation == "lease container":
            self.ask("break container lease", container)
        elif blob == FRESH:
            self.own(("DELETE", path), 202, 404)
        elif blob in (DOOMED, BLOCKY) or case.operation.startswith(("put block", "copy")):
            self.put(container, blob)
        elif case.operation == "lease blob":
            self.own(("PUT", f"{path}?comp=lease", b"", {"x-ms-lease-action": "release",
                                                        "x-ms-lease-id": LEASE}))
        elif case.operation == "break blob lease":
            self.hold(container)
        elif case.operation in ("snapshot", "delete snapshot"):
            self.own(("DELETE", path, None, {"x-ms-delete-snapshots": "only"}), 202, 404)
            self.shoot(container)

    def count(self, category, what, trouble):
        if trouble is None:
            self.passed[category] += 1
            return
        self.failed[category] += 1
        if self.failed[category] <= 5:
            print(f"    FAILED {category}: {what}\n      {trouble}", flush=True)

    def run_all(self, cases):
        for one in cases:
            self.run(one)


def run(port, tls_port):
    """Run everything; returns the counters of (passed, failed, allowed)."""
    matrix = Matrix(Talk(port))
    for container in (FILMS, OTHER, POLICIED, SHOWN, OPEN):
        matrix.furnish(container)
    matrix.furnish_stranger()
    matrix.run_all(copies(matrix.talk.url))
    matrix.set_policies(STORED)
    for category in CATEGORIES:
        matrix.run_all(category())
    matrix.run_all(protocols(False))
    matrix.set_policies({"other": {}})
    matrix.run_all(removed_policies())
    matrix.run_all(snapshots(lambda: matrix.snapshot_of[FILMS]))
    matrix.talk.close()

    secure = Matrix(Talk(tls_port, tls=True))
    for container in (FILMS, OPEN):
        secure.furnish(container)
    secure.run_all(protocols(True))
    secure.talk.close()
    return (matrix.passed + secure.passed, matrix.failed + secure.failed,
            matrix.allowed + secure.allowed)
