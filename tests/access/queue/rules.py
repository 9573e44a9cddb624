"""The rules of queues: what each operation needs, and what is answered when it is refused.

Written from the service's documentation (the tables of account SAS and service
SAS), not from the server's source.  The matrix asks `expected` and nothing else.
"""

import collections

from access import operations
from access.credentials import REFUSALS, Credential

# The resource type and the letters (any one of them) that an account SAS needs,
# and whether a service SAS of the queue with such a letter may do it, too.
Need = collections.namedtuple("Need", "type letters queue_sas")

NEVER = Need("", "", False)

NEEDS = {
    "list queues": Need("s", "l", False),
    "get properties": Need("s", "r", False),
    "set properties": Need("s", "w", False),
    "get stats": Need("s", "r", False),
    "create queue": Need("c", "cw", False),
    "delete queue": Need("c", "d", False),
    "get metadata": Need("c", "r", True),
    "head metadata": Need("c", "r", True),
    "set metadata": Need("c", "w", False),
    "get acl": NEVER,
    "set acl": NEVER,
    "put message": Need("o", "a", True),
    "get messages": Need("o", "p", True),
    "peek messages": Need("o", "r", True),
    "update message": Need("o", "u", True),
    "delete message": Need("o", "p", True),
    "clear messages": Need("o", "d", False),
}

ALLOWED = {
    "list queues": 200,
    "get properties": 200,
    "set properties": 202,
    "get stats": 200,
    "create queue": 201,
    "delete queue": 204,
    "get metadata": 200,
    "head metadata": 200,
    "set metadata": 204,
    "get acl": 200,
    "set acl": 204,
    "put message": 201,
    "get messages": 200,
    "peek messages": 200,
    "update message": 204,
    "delete message": 204,
    "clear messages": 204,
}

# What Storage Analytics calls them.
LOGGED = {
    "list queues": "ListQueues",
    "get properties": "GetQueueServiceProperties",
    "set properties": "SetQueueServiceProperties",
    "get stats": "GetQueueServiceStats",
    "create queue": "CreateQueue",
    "delete queue": "DeleteQueue",
    "get metadata": "GetQueueMetadata",
    "head metadata": "GetQueueMetadata",
    "set metadata": "SetQueueMetadata",
    "get acl": "GetQueueAcl",
    "set acl": "SetQueueAcl",
    "put message": "PutMessage",
    "get messages": "GetMessages",
    "peek messages": "PeekMessages",
    "update message": "UpdateMessage",
    "delete message": "DeleteMessage",
    "clear messages": "ClearMessages",
}

OPERATIONS = tuple(NEEDS)

# Where the server's row differs from the rule: {operation: (fields, why)}.
EXCEPTIONS = {}


def needs_of(operation):
    """For the comparison with the server's own table of operations."""
    need = NEEDS[operation]
    kinds = ["account"] * bool(need.letters) + ["container"] * need.queue_sas
    return operations.needs(kinds, need.type, need.letters)


# These have no queue in their path, or another one, so a service SAS does not apply to them at all:
# its signature is over the queue that the path names.
ELSEWHERE = ("list queues", "get properties", "set properties", "get stats", "create queue",
             "delete queue")


def why_refused(credential, operation, queue):
    if credential.kind == "queue" and (operation in ELSEWHERE or credential.of != queue):
        return "not authentic"
    if credential.fault:
        return credential.fault
    if credential.kind == "key":
        return None
    need = NEEDS[operation]
    if credential.kind == "queue":
        if not need.queue_sas:
            return "operation"
    elif not need.letters:
        return "operation"
    elif need.type not in credential.types:
        return "type"
    if not set(need.letters) & credential.permissions:
        return "permission"
    return None


def expected(credential, operation, queue):
    """(status, code); the code is None when it is allowed."""
    why = why_refused(credential, operation, queue)
    return (ALLOWED[operation], None) if why is None else REFUSALS[why]


def queue_credential(fault=None, sp="raup", queue=None):
    return Credential("queue", fault, sp, of=queue)
