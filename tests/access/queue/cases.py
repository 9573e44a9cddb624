"""The rows of queues: every operation with every kind of credential."""

import itertools

from access import common
from access.common import VERSIONS, bad_keys, good_keys, subsets
from access.credentials import (ACCOUNT, BETA_KEY, KEY1, KEY2, OTHER_ACCOUNT, TOMORROW, YESTERDAY,
                                Credential, account_credential, at)
from access.matrix import Case
from access.queue.rules import OPERATIONS, queue_credential
from access.talk import Header, Sas, StorageKey
from sas import account_sas, blob_sas, queue_sas, table_sas

QUEUE, OTHER_QUEUE, POLICIED = "jobs", "others", "policied"
NEWER = (*VERSIONS, "2025-11-05")


def queue_token(sp="raup", queue=QUEUE, se=TOMORROW, key=KEY1, changed=None, **more):
    return Sas(queue_sas(key, ACCOUNT, queue, changed, sp=sp, se=se, **more))


def account_token(sp="rwdlacup", ss="q", srt="sco", se=TOMORROW, key=KEY1, changed=None, **more):
    return Sas(account_sas(key, ACCOUNT, changed, ss=ss, srt=srt, sp=sp, se=se, **more))


def credential_of_queue(fault=None, sp="raup", queue=QUEUE):
    return queue_credential(fault, sp, queue)


def every(category, what, credential, door, queue=QUEUE):
    for operation in OPERATIONS:
        yield Case(category, what, credential, door, operation, queue)


def each_kind(category, what, fault, fields):
    """The same with a token of the queue and of the account."""
    yield from every(category, f"queue SAS {what}", credential_of_queue(fault),
                     queue_token(**fields))
    yield from every(category, f"account SAS {what}", account_credential(fault),
                     account_token(**fields))


# --- the categories, each a generator of cases

def keys():
    for what, door in good_keys(StorageKey):
        yield from every("keys", what, Credential("key"), door)
    for what, door in bad_keys(StorageKey):
        yield from every("keys", what, Credential("key", "not authentic"), door)


def strangers():
    for what, fault, value in (("no credentials", "nobody", None), *common.STRANGE_HEADERS):
        yield from every("strangers", what, Credential("key", fault), Header(value))


def queue_permissions():
    for version, sp in itertools.product(NEWER, subsets("raup")):
        # The first version would be valid for a container of the same name as well.
        fault = None if sp and version >= "2013-08-15" else "not authentic"
        key = KEY2 if len(sp) % 2 else KEY1
        yield from every("queue SAS permissions", f"{version} sp={sp}",
                         credential_of_queue(fault, sp), queue_token(sp, key=key, sv=version))


def account_permissions():
    letters = ["r", "w", "d", "l", "a", "c", "u", "p", "ap", "raup", "rwdlacup"]
    yield from common.account_permissions(every, account_token, letters, subsets("sco"),
                                          newest={"ses": "scope"})


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
    yield from common.times(each_kind)


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
    yield from common.addresses(each_kind)


def protocols(is_tls):
    yield from common.protocols(each_kind, is_tls)


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
    yield from each("neither says what", "not authentic", "", "open", se=TOMORROW)
    yield from each("neither says until when", "not authentic", "", "open", sp="r")
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
    yield from common.tampered_accounts(every, account_token)
    yield from common.wrong_keys(each_kind)


CATEGORIES = (keys, strangers, queue_permissions, account_permissions, services, times, queues,
              addresses, policies, tampered)
