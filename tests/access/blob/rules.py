"""The rules of blobs: what each operation needs, and what is answered when it is refused.

Written from the service's documentation (the tables of account SAS, the
permissions of service SAS, public access of containers), not from the server's
source.  The matrix asks `expected` and nothing else.
"""

import collections

from access import operations
from access.credentials import REFUSALS, Credential

# The resource type and the letters (any one of them) that an account SAS needs;
# which service SAS with such a letter may do it, too ("c" the container's, "b"
# the blob's); how open a container must be for everybody to do it.
Need = collections.namedtuple("Need", "type letters sas public", defaults=("", None))

ANY = "racwdxyltmeopiuf"
NEVER = Need("", "")
BLOB, CONTAINER = ("blob", "container"), ("container",)

NEEDS = {
    "list containers": Need("s", "l"),
    "get properties": Need("s", "r"),
    "set properties": Need("s", "w"),
    "get stats": Need("s", "r"),
    "account info": Need("s", ANY),

    "create container": Need("c", "cw"),
    "delete container": Need("c", "d"),
    "get container": Need("c", "r", "", CONTAINER),
    "head container": Need("c", "r", "", CONTAINER),
    "get container metadata": Need("c", "r", "", CONTAINER),
    "set container metadata": Need("c", "w"),
    "get acl": NEVER,
    "set acl": NEVER,
    "lease container": Need("c", "w"),
    "renew container lease": Need("c", "w"),
    "change container lease": Need("c", "w"),
    "release container lease": Need("c", "w"),
    "break container lease": Need("c", "wd"),
    "list blobs": Need("c", "l", "c", CONTAINER),
    "account info of container": Need("c", ANY, "c"),

    "put new blob": Need("o", "cw", "cb"),
    "put new append blob": Need("o", "cw", "cb"),
    "put blob": Need("o", "w", "cb"),
    "put block": Need("o", "w", "cb"),
    "put new block list": Need("o", "w", "cb"),
    "put block list": Need("o", "w", "cb"),
    "append block": Need("o", "aw", "cb"),
    "copy to new": Need("o", "cw", "cb"),
    "copy": Need("o", "w", "cb"),
    "copy now to new": Need("o", "cw", "cb"),
    "copy now": Need("o", "w", "cb"),
    "abort copy": Need("o", "w", "cb"),
    "snapshot": Need("o", "cw", "cb"),
    "set blob properties": Need("o", "w", "cb"),
    "set blob metadata": Need("o", "w", "cb"),
    "lease blob": Need("o", "w", "cb"),
    "renew blob lease": Need("o", "w", "cb"),
    "change blob lease": Need("o", "w", "cb"),
    "release blob lease": Need("o", "w", "cb"),
    "break blob lease": Need("o", "wd", "cb"),
    "delete blob": Need("o", "d", "cb"),
    "get blob": Need("o", "r", "cb", BLOB),
    "head blob": Need("o", "r", "cb", BLOB),
    "get blob metadata": Need("o", "r", "cb", BLOB),
    # Committed blocks are as public as the blob; uncommitted ones are the owner's.
    "get committed blocks": Need("o", "r", "cb", BLOB),
    "get block list": Need("o", "r", "cb"),
    "get snapshot": Need("o", "r", "cb", BLOB),
    "delete snapshot": Need("o", "d", "cb"),
    "account info of blob": Need("o", ANY, "cb"),
}

ALLOWED = {
    **dict.fromkeys(NEEDS, 200),
    "set properties": 202,
    **dict.fromkeys(("create container", "lease container", "put new blob", "put new append blob",
                     "put blob", "put block", "put new block list", "put block list",
                     "append block", "snapshot", "lease blob"), 201),
    **dict.fromkeys(("delete container", "break container lease", "break blob lease", "copy",
                     "copy to new", "copy now", "copy now to new", "delete blob",
                     "delete snapshot"), 202),
    # No copy lasts long enough to be aborted: a client that may abort is told so.
    "abort copy": 409,
}

# What Storage Analytics calls them.
LOGGED = {
    "list containers": "ListContainers",
    "get properties": "GetBlobServiceProperties",
    "set properties": "SetBlobServiceProperties",
    "get stats": "GetBlobServiceStats",
    "account info": "GetAccountInformation",

    "create container": "CreateContainer",
    "delete container": "DeleteContainer",
    "get container": "GetContainerProperties",
    "head container": "GetContainerProperties",
    "get container metadata": "GetContainerMetadata",
    "set container metadata": "SetContainerMetadata",
    "get acl": "GetContainerACL",
    "set acl": "SetContainerACL",
    "lease container": "AcquireContainerLease",
    "renew container lease": "RenewContainerLease",
    "change container lease": "ChangeContainerLease",
    "release container lease": "ReleaseContainerLease",
    "break container lease": "BreakContainerLease",
    "list blobs": "ListBlobs",
    "account info of container": "GetAccountInformation",

    "put new blob": "PutBlob",
    "put new append blob": "PutBlob",
    "put blob": "PutBlob",
    "put block": "PutBlock",
    "put new block list": "PutBlockList",
    "put block list": "PutBlockList",
    "append block": "AppendBlock",
    "copy to new": "CopyBlob",
    "copy": "CopyBlob",
    "copy now to new": "CopyBlobFromURL",
    "copy now": "CopyBlobFromURL",
    "abort copy": "AbortCopyBlob",
    "snapshot": "SnapshotBlob",
    "set blob properties": "SetBlobProperties",
    "set blob metadata": "SetBlobMetadata",
    "lease blob": "AcquireBlobLease",
    "renew blob lease": "RenewBlobLease",
    "change blob lease": "ChangeBlobLease",
    "release blob lease": "ReleaseBlobLease",
    "break blob lease": "BreakBlobLease",
    "delete blob": "DeleteBlob",
    "get blob": "GetBlob",
    "head blob": "GetBlobProperties",
    "get blob metadata": "GetBlobMetadata",
    "get committed blocks": "GetBlockList",
    "get block list": "GetBlockList",
    "get snapshot": "GetBlob",
    "delete snapshot": "DeleteBlob",
    "account info of blob": "GetAccountInformation",
}

OPERATIONS = tuple(NEEDS)
ON_SERVICE = OPERATIONS[:OPERATIONS.index("create container")]
ON_CONTAINER = OPERATIONS[len(ON_SERVICE):OPERATIONS.index("put new blob")]
ON_BLOB = OPERATIONS[len(ON_SERVICE) + len(ON_CONTAINER):]
ON_SNAPSHOT = ("get snapshot", "delete snapshot")

# A service SAS is signed over the container, or the blob, that the path names, so it is not valid
# at all where the path names none or another.
ELSEWHERE = {
    "container": ON_SERVICE,
    "blob": (*ON_SERVICE, *ON_CONTAINER),
    "snapshot": tuple(name for name in OPERATIONS if name not in ON_SNAPSHOT),
}


# Where the server's row differs from the rule: {operation: (fields, why)}.
CREATE_ONLY = ("words",), "a SAS to create is for blobs that are new, as the change itself checks"
EXCEPTIONS = {
    "put blob": CREATE_ONLY,
    "copy": CREATE_ONLY,
    "copy now": CREATE_ONLY,
    "get block list": (("public",), "a parameter requests blocks that have not been committed"),
    "account info": (("kinds",), "a service SAS is signed over what the path names: nothing"),
    "account info of container": (("kinds", "type"), "the type is that of what the path names"),
    "account info of blob": (("type",), "the type is that of what the path names"),
}


def needs_of(operation):
    """For the comparison with the server's own table of operations."""
    need = NEEDS[operation]
    kinds = ["account"] * bool(need.letters) + [{"c": "container", "b": "blob"}[letter]
                                                for letter in need.sas]
    public = {None: None, BLOB: "object", CONTAINER: "listing"}[need.public]
    return operations.needs(kinds, need.type, [""] if need.letters == ANY else need.letters, public)


def why_refused(credential, operation, public):
    """`public` is what the container lets everybody see: None, "blob" or "container"."""
    need = NEEDS[operation]
    if credential.kind == "nobody":
        return None if public in (need.public or ()) else "nobody"
    if operation in ELSEWHERE.get(credential.kind, ()):
        return "not authentic"
    if credential.fault:
        return credential.fault
    if credential.kind == "key":
        return None
    if credential.kind == "account":
        if not need.letters:
            return "operation"
        if need.type not in credential.types:
            return "type"
    elif ("c" if credential.kind == "container" else "b") not in need.sas:
        return "operation"
    return None if set(need.letters) & credential.permissions else "permission"


def expected(credential, operation, public=None):
    """(status, code); the code is None when it is allowed."""
    why = why_refused(credential, operation, public)
    if why:
        return REFUSALS[why]
    return ALLOWED[operation], "NoPendingCopyOperation" if operation == "abort copy" else None


def is_allowed(credential, operation, public=None):
    return why_refused(credential, operation, public) is None


def service_credential(kind, fault=None, sp="racwdl"):
    """Of a "container", a "blob" or a "snapshot"."""
    return Credential(kind, fault, sp)


# --- the source of a copy: it needs a right of its own

def source_expected(destination, source):
    """The SAS in the URL of the source must be valid for it.  Without one, a copy that is
    signed with a key of its account may read all of that account; else the source must be
    public.  `source` is (whose, how): whose is "own" or "other" account; how is "private",
    "public", "missing" or a Credential that its URL shows."""
    whose, how = source
    if how == "public":
        return 202, None
    if isinstance(how, str):
        if destination.kind == "key" and whose == "own":
            return (404, "CannotVerifyCopySource") if how == "missing" else (202, None)
        return 401, "CannotVerifyCopySource"
    if how.fault or "r" not in how.permissions:
        return 403, "CannotVerifyCopySource"
    return 202, None
