"""Every operation on queues with every kind of credential, against the rules."""

import collections
import itertools

import queue_rules
from matrix import (ACCOUNT, ACCOUNTS, BETA_KEY, KEY1, KEY2, OTHER_ACCOUNT, TOMORROW, VERSIONS,
                    WRONG_KEY, YESTERDAY, at, subsets)
from queue_rules import OPERATIONS, account_credential, queue_credential
from queue_talk import StorageKey, held_by, queue_request, send
from rules import Credential
from sas import account_sas, blob_sas, queue_sas, table_sas
from storage_doors import STRANGE_HEADERS, bad_keys, good_keys
from talk import Header, Sas, Talk

__all__ = ["ACCOUNTS", "run"]

QUEUE, OTHER_QUEUE, POLICIED = "jobs", "others", "policied"
NEWER = (*VERSIONS, "2025-11-05")

Case = collections.namedtuple("Case", "category what credential door operation queue")


def queue_token(sp="raup", queue=QUEUE, se=TOMORROW, key=KEY1, changed=None, **more):
    return Sas(queue_sas(key, ACCOUNT, queue, changed, sp=sp, se=se, **more))


def account_token(sp="rwdlacup", ss="q", srt="sco", se=TOMORROW, key=KEY1, changed=None, **more):
    return Sas(account_sas(key, ACCOUNT, changed, ss=ss, srt=srt, sp=sp, se=se, **more))


def credential_of_queue(fault=None, sp="raup", queue=QUEUE):
    return queue_credential(fault, sp, queue)


def every(category, what, credential, door, queue=QUEUE):
    for operation in OPERATIONS:
        yield Case(category, what, credential, door, operation, queue)


# --- the categories, each a generator of cases

def keys():
    for what, door in good_keys():
        yield from every("keys", what, Credential("key"), door)
    for what, door in bad_keys():
        yield from every("keys", what, Credential("key", "not authentic"), door)


def strangers():
    yield from every("strangers", "no credentials", Credential("key", "nobody"), Header(None))
    for what, fault, value in STRANGE_HEADERS:
        yield from every("strangers", what, Credential("key", fault), Header(value))


def queue_permissions():
    for version, sp in itertools.product(NEWER, subsets("raup")):
        # The first version would be good for a container of the same name as well.
        fault = None if sp and version >= "2013-08-15" else "not authentic"
        key = KEY2 if len(sp) % 2 else KEY1
        yield from every("queue SAS permissions", f"{version} sp={sp}",
                         credential_of_queue(fault, sp), queue_token(sp, key=key, sv=version))


def account_permissions():
    letters = ["r", "w", "d", "l", "a", "c", "u", "p", "ap", "raup", "rwdlacup"]
    for i, (srt, sp) in enumerate(itertools.product(subsets("sco"), letters)):
        more = ({"sv": "2015-04-05"}, {"sv": "2019-02-02"}, {"sv": "2020-12-06"},
                {"sv": "2022-11-02", "ses": "scope"})[i % 4]
        yield from every("account SAS permissions", f"{more['sv']} srt={srt} sp={sp}",
                         account_credential(None, sp, srt), account_token(sp, srt=srt, **more))


def services():
    for ss in ("q", "bq", "bqtf", "b", "t", "f", "btf", "Q"):
        fault = None if "q" in ss else "service"
        yield from every("services", f"ss={ss}", account_credential(fault), account_token(ss=ss))
    # Tokens of other services are signed over other things, whatever they are called.
    bad = credential_of_queue("not authentic")
    for what, token in (
            ("a table SAS", table_sas(KEY1, ACCOUNT, tn=QUEUE, sp="raud", se=TOMORROW)),
            ("a container SAS", blob_sas(KEY1, ACCOUNT, QUEUE, sp="racwdl", se=TOMORROW)),
            ("a blob SAS", blob_sas(KEY1, ACCOUNT, QUEUE, "messages", sp="r", se=TOMORROW)),
            ("an old table SAS", table_sas(KEY1, ACCOUNT, tn=QUEUE, sp="raud", se=TOMORROW,
                                           sv="2013-08-15")),
            ("a container SAS for a queue", blob_sas(KEY1, ACCOUNT, QUEUE, sp="r", se=TOMORROW,
                                                     sv="2015-04-05", changed={"sr": None}))):
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
        yield from every("times", what, credential_of_queue(fault), queue_token(**fields))
        yield from every("times", what, account_credential(fault), account_token(**fields))


def queues():
    for queue in (OTHER_QUEUE, QUEUE + "x", QUEUE[:-1], QUEUE.upper(), "", "*", f"{QUEUE}/messages"):
        yield from every("queues", f"a token of {queue!r}", credential_of_queue(queue=queue),
                         queue_token(queue=queue))
    yield from every("queues", "a token of the other queue there",
                     credential_of_queue(queue=OTHER_QUEUE), queue_token(queue=OTHER_QUEUE),
                     OTHER_QUEUE)
    yield from every("queues", "another account's token", credential_of_queue("not authentic"),
                     Sas(queue_sas(BETA_KEY, OTHER_ACCOUNT, QUEUE, sp="raup", se=TOMORROW)))


def addresses():
    for sip, fault in (("127.0.0.1", None), ("127.0.0.0-127.0.0.255", None),
                       ("127.0.0.2", "address"), ("10.0.0.0-10.255.255.255", "address"),
                       ("::1", "address"), ("localhost", "address")):
        yield from every("addresses", f"sip={sip}", credential_of_queue(fault),
                         queue_token(sip=sip))
        yield from every("addresses", f"sip={sip}", account_credential(fault),
                         account_token(sip=sip))


def protocols(is_tls):
    category = "protocols, TLS" if is_tls else "protocols"
    for spr, fault in (("https", None if is_tls else "protocol"), ("https,http", None),
                       ("http", "not authentic"), ("ftp", "not authentic")):
        yield from every(category, f"spr={spr}", credential_of_queue(fault), queue_token(spr=spr))
        yield from every(category, f"spr={spr}", account_credential(fault),
                         account_token(spr=spr))


STORED = {
    "full": {"Start": YESTERDAY, "Expiry": TOMORROW, "Permission": "ra"},
    "open": {},
    "processing": {"Permission": "p"},
    "over": {"Expiry": YESTERDAY, "Permission": "raup"},
}


def policies():
    def each(what, fault, permits, si, **fields):
        token = queue_token(sp=fields.pop("sp", None), queue=POLICIED, se=fields.pop("se", None),
                            si=si, **fields)
        yield from every("policies", what, credential_of_queue(fault, permits, POLICIED), token,
                         POLICIED)

    yield from each("all from the policy", None, "ra", "full")
    yield from each("permission from both", "policy conflict", "", "full", sp="r")
    yield from each("expiry from both", "policy conflict", "", "full", se=TOMORROW)
    yield from each("the policy says nothing", None, "up", "open", sp="up", se=TOMORROW)
    yield from each("nobody says what", "not authentic", "", "open", se=TOMORROW)
    yield from each("nobody says until when", "not authentic", "", "open", sp="r")
    yield from each("the policy says what", None, "p", "processing", se=TOMORROW)
    yield from each("the policy is over", "not authentic", "", "over")
    yield from each("an unknown policy", "not authentic", "", "none", sp="r", se=TOMORROW)
    yield from each("a policy in another case", "not authentic", "", "FULL")
    yield from each("a token that is over", "not authentic", "", "processing", se=YESTERDAY)


def removed_policies():
    token = queue_token(sp=None, queue=POLICIED, se=None, si="full")
    yield from every("policies", "removed", credential_of_queue("not authentic", queue=POLICIED),
                     token, POLICIED)


def tampered():
    full = dict(sp="r", st=YESTERDAY, sip="127.0.0.1", spr="https,http")
    for changed in ({"sp": "raup"}, {"st": None}, {"se": at(90000)}, {"se": None},
                    {"sv": "2020-12-06"}, {"sv": "2015-02-21"}, {"sv": "2012-02-12"}, {"sv": None},
                    {"sip": None}, {"sip": "0.0.0.0-255.255.255.255"}, {"spr": None},
                    {"si": "full"}, {"ss": "q", "srt": "sco"}, {"tn": QUEUE}, {"sr": "c"},
                    {"sig": ""}, {"sig": "A" * 43 + "="}, {"sig": KEY1}):
        # What belongs to other services is not signed here, and does not count.
        fault = None if set(changed) <= {"tn", "sr"} else "not authentic"
        yield from every("tampered", f"queue SAS {changed}", credential_of_queue(fault, "r"),
                         queue_token(changed=changed, **full))
    for changed in ({"sp": "rwdlacup"}, {"ss": "bqtf"}, {"srt": "sco"}, {"se": at(90000)},
                    {"sv": "2020-12-06"}, {"sip": None}, {"spr": None},
                    {"srt": None, "ss": None}, {"sig": "x"}):
        yield from every("tampered", f"account SAS {changed}", account_credential("not authentic"),
                         account_token("r", srt="o", sip="127.0.0.1", spr="https,http",
                                       changed=changed))
    for key, what in ((WRONG_KEY, "a wrong key"), (BETA_KEY, "another account's key")):
        yield from every("tampered", what, credential_of_queue("not authentic"),
                         queue_token(key=key))
        yield from every("tampered", what, account_credential("not authentic"),
                         account_token(key=key))


CATEGORIES = (keys, strangers, queue_permissions, account_permissions, services, times, queues,
              addresses, policies, tampered)


# --- running them

class Matrix:
    def __init__(self, talk):
        self.talk = talk
        self.master = StorageKey(ACCOUNT, KEY1)
        self.marks = itertools.count(1)
        self.passed = collections.Counter()
        self.failed = collections.Counter()
        self.allowed = collections.Counter()

    def own(self, request, *statuses):
        """A request with the key, to prepare or to look."""
        reply = send(self.talk, self.master, request)
        if statuses and reply.status not in statuses:
            raise AssertionError(f"{request}: {reply}")
        return reply

    def ask(self, name, queue, mark=0, held=("none", "none")):
        return self.own(queue_request(ACCOUNT, name, queue, mark, held))

    def make_queue(self, name):
        self.own(("PUT", f"/{ACCOUNT}/{name}", None), 201, 204)

    def set_policies(self, stored):
        inside = "".join(
            f"<SignedIdentifier><Id>{name}</Id><AccessPolicy>" +
            "".join(f"<{field}>{value}</{field}>" for field, value in fields.items()) +
            "</AccessPolicy></SignedIdentifier>" for name, fields in stored.items())
        self.own(("PUT", f"/{ACCOUNT}/{POLICIED}?comp=acl",
                  f"<SignedIdentifiers>{inside}</SignedIdentifiers>".encode()), 204)

    def run(self, case):
        """One message is in the queue, put with the key; who is refused must leave it as it is."""
        mark = next(self.marks)
        want = queue_rules.expected(case.credential, case.operation, case.queue)
        is_allowed = want[1] is None
        touches = case.operation.endswith(("message", "messages"))
        held = held_by(self.ask("put message", case.queue)) if touches else ("none", "none")
        if case.operation == "delete queue":
            self.make_queue(f"made{mark}")

        reply = send(self.talk, case.door,
                     queue_request(ACCOUNT, case.operation, case.queue, mark, held))
        trouble = None
        if (reply.status, reply.code) != want:
            trouble = f"got {reply.status} {reply.code}, want {want}: {reply}"
        elif not is_allowed:
            trouble = self.find_change(case, mark, held if touches else None)
        elif touches:
            self.ask("clear messages", case.queue)
        self.allowed[case.category] += is_allowed and trouble is None
        self.count(case.category, f"{case.what}: {case.operation}", trouble)

    def find_change(self, case, mark, held):
        if case.operation in ("create queue", "delete queue"):
            status = self.own(("DELETE", f"/{ACCOUNT}/made{mark}", None)).status
            if status != (404 if case.operation == "create queue" else 204):
                return "refused, but done"
        if held is None:
            return None
        if self.ask("delete message", case.queue, held=held).status != 204:
            self.ask("clear messages", case.queue)
            return "refused, but the message is not as it was"
        count = self.ask("head metadata", case.queue).headers["x-ms-approximate-messages-count"]
        return None if count == "0" else f"refused, but there are {count} messages"

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
    for queue in (QUEUE, OTHER_QUEUE, POLICIED):
        matrix.make_queue(queue)
    matrix.set_policies(STORED)
    for category in CATEGORIES:
        matrix.run_all(category())
    matrix.run_all(protocols(False))
    matrix.set_policies({"other": {}})
    matrix.run_all(removed_policies())
    matrix.talk.close()

    secure = Matrix(Talk(tls_port, tls=True))
    secure.make_queue(QUEUE)
    secure.run_all(protocols(True))
    secure.talk.close()
    return (matrix.passed + secure.passed, matrix.failed + secure.failed,
            matrix.allowed + secure.allowed)
