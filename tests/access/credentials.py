"""Who sends a request, in the terms of the rules; the accounts and the engine of all matrices."""

import base64
import hashlib
import os
import time

ACCOUNT, OTHER_ACCOUNT = "alpha", "beta"
ENGINE = os.environ.get("TAVOLA_TEST_ENGINE", "memory")


def made_key(name):
    return base64.b64encode(hashlib.sha512(name.encode()).digest()).decode()


KEY1, KEY2, BETA_KEY, WRONG_KEY = map(made_key, ("one", "two", "beta", "wrong"))
ACCOUNTS = f"{ACCOUNT}:{KEY1}:{KEY2};{OTHER_ACCOUNT}:{BETA_KEY}"


def at(seconds, form="%Y-%m-%dT%H:%M:%SZ"):
    """A time this many seconds from now."""
    return time.strftime(form, time.gmtime(time.time() + seconds))


TOMORROW, YESTERDAY = at(86400), at(-86400)

# Why a request is refused, and how it is answered then.
REFUSALS = {
    "nobody": (401, "NoAuthenticationInformation"),
    "malformed": (400, "InvalidAuthenticationInfo"),
    "bearer": (401, "InvalidAuthenticationInfo"),
    "not authentic": (403, "AuthenticationFailed"),
    "policy conflict": (400, "InvalidQueryParameterValue"),
    "protocol": (403, "AuthorizationProtocolMismatch"),
    "address": (403, "AuthorizationSourceIPMismatch"),
    "service": (403, "AuthorizationServiceMismatch"),
    "type": (403, "AuthorizationResourceTypeMismatch"),
    "permission": (403, "AuthorizationPermissionMismatch"),
    "operation": (403, "AuthorizationFailure"),
    "table": (403, "AuthorizationFailure"),
    "range": (403, "AuthorizationFailure"),
}


class Credential:
    """Who sends a request, in the terms of the rules.

    kind     "key", "account" (account SAS), "nobody", or what a service SAS is of:
             "table", "queue", "container", "blob" or "snapshot"
    fault    why it is not a valid credential, one of REFUSALS, or None
    of       the name of the table or queue that a service SAS is of
    """

    def __init__(self, kind, fault=None, permissions="", types="", of=None, limits=None):
        self.kind = kind
        self.fault = fault
        self.permissions = set(permissions)
        self.types = set(types)
        self.of = of
        self.limits = limits


def account_credential(fault=None, sp="rwdlacup", srt="sco"):
    return Credential("account", fault, sp, srt)
