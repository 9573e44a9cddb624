"""The rules of tables: what each operation needs, and what is answered when it is refused.

Written from the service's documentation and recordings, not from the server's
source.  The matrix asks `expected` for every pair of a credential and an
operation; nothing else in these tests knows an expected status.
"""

import collections

from access import operations
from access.credentials import REFUSALS, Credential

# What an operation needs of a SAS: the resource type of an account SAS, the
# permissions (any one of the words, and all letters of that word), and whether
# a service SAS of a table may do it at all.
Need = collections.namedtuple("Need", "type letters table_sas")

NEVER = Need("", (), False)

NEEDS = {
    "query tables": Need("c", ("l",), False),
    "get table": Need("c", ("l", "r"), False),
    "create table": Need("c", ("c", "w"), False),
    "delete table": Need("c", ("d",), False),
    "query entities": Need("o", ("r",), True),
    "point read": Need("o", ("r",), True),
    "insert": Need("o", ("a",), True),
    "update": Need("o", ("u",), True),
    "merge": Need("o", ("u",), True),
    "insert or replace": Need("o", ("au",), True),
    "insert or merge": Need("o", ("au",), True),
    "delete entity": Need("o", ("d",), True),
    "get properties": Need("s", ("r",), False),
    "set properties": Need("s", ("w",), False),
    "get stats": Need("s", ("r",), False),
    "get acl": NEVER,
    "set acl": NEVER,
}

ALLOWED = {
    "query tables": 200,
    "get table": 200,
    "create table": 201,
    "delete table": 204,
    "query entities": 200,
    "point read": 200,
    "insert": 201,
    "update": 204,
    "merge": 204,
    "insert or replace": 204,
    "insert or merge": 204,
    "delete entity": 204,
    "get properties": 200,
    "set properties": 202,
    "get stats": 200,
    "get acl": 200,
    "set acl": 204,
}

# What Storage Analytics calls them.
LOGGED = {
    "query tables": "QueryTables",
    "get table": "QueryTable",
    "create table": "CreateTable",
    "delete table": "DeleteTable",
    "query entities": "QueryEntities",
    "point read": "QueryEntity",
    "insert": "InsertEntity",
    "update": "UpdateEntity",
    "merge": "MergeEntity",
    "insert or replace": "InsertOrReplaceEntity",
    "insert or merge": "InsertOrMergeEntity",
    "delete entity": "DeleteEntity",
    "get properties": "GetTableServiceProperties",
    "set properties": "SetTableServiceProperties",
    "get stats": "GetTableServiceStats",
    "get acl": "GetTableACL",
    "set acl": "SetTableACL",
}

# In a batch, each of these by itself.
IN_BATCH = ("point read", "insert", "update", "merge", "insert or replace", "insert or merge",
            "delete entity")

OPERATIONS = (*NEEDS, *(f"batch: {name}" for name in IN_BATCH))
LOGGED |= {f"batch: {name}": "EntityGroupTransaction" for name in IN_BATCH}

# Where the server's row differs from the rule: {operation: (fields, why)}.
EXCEPTIONS = {}


def needs_of(operation):
    """For the comparison with the server's own table of operations."""
    if operation not in NEEDS:
        return operations.BY_PARTS
    need = NEEDS[operation]
    kinds = ["account"] * bool(need.letters) + ["container"] * need.table_sas
    return operations.needs(kinds, need.type, need.letters)


def units(text):
    """Keys sort by UTF-16 code units."""
    return text.encode("utf-16-be")


def is_inside(limits, partition_key, row_key):
    """(spk, srk, epk, erk), None where there is no limit; both ends belong to the range."""
    spk, srk, epk, erk = limits
    key = (units(partition_key), units(row_key))
    if spk is not None and key < (units(spk), units(srk or "")):
        return False
    if epk is not None and erk is not None:
        return key <= (units(epk), units(erk))
    return epk is None or key[0] <= units(epk)


def why_refused(credential, operation, table, keys):
    if credential.fault:
        return credential.fault
    if credential.kind == "key":
        return None
    need = NEEDS[operation]
    if not need.letters or (credential.kind == "table" and not need.table_sas):
        return "operation"
    if credential.kind == "table" and credential.of.lower() != table.lower():
        return "table"
    if credential.kind == "account" and need.type not in credential.types:
        return "type"
    if not any(set(word) <= credential.permissions for word in need.letters):
        return "permission"
    if credential.limits and keys and not is_inside(credential.limits, *keys):
        return "range"
    return None


def expected(credential, operation, table, keys):
    """(status, code, status in the batch): the last two are None where there are none."""
    part = operation.removeprefix("batch: ")
    why = why_refused(credential, part, table, keys)
    is_batch = part != operation
    if why is None:
        return (202, None, ALLOWED[part]) if is_batch else (ALLOWED[part], None, None)
    status, code = REFUSALS[why]
    # A request that is not authentic gets no batch; the rest is decided for each part.
    if is_batch and not credential.fault:
        return 202, code, status
    return status, code, None


def table_credential(fault=None, sp="raud", table=None, limits=None):
    return Credential("table", fault, sp, of=table, limits=limits)
