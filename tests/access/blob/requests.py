"""Requests to the blob service with any credential."""

import base64
import urllib.parse

from access.talk import POLICIES, PROPERTIES, Sas
from sas import blob_sas

VERSION = "2021-12-02"  # of requests, whatever the version of a token
CONTENT = b"thirty-two bytes of a short film"
BLOCK = base64.b64encode(b"one").decode()
BLOCKS = b"<BlockList/>"
LEASE = "11111111-2222-3333-4444-555555555555"
OTHER_LEASE = "22222222-2222-3333-4444-555555555555"

# Headers of the lease operations; all that is leased is so with LEASE.
LEASES = {
    "lease": {"x-ms-lease-action": "acquire", "x-ms-lease-duration": "-1",
              "x-ms-proposed-lease-id": LEASE},
    "renew": {"x-ms-lease-action": "renew", "x-ms-lease-id": LEASE},
    "change": {"x-ms-lease-action": "change", "x-ms-lease-id": LEASE,
               "x-ms-proposed-lease-id": OTHER_LEASE},
    "release": {"x-ms-lease-action": "release", "x-ms-lease-id": LEASE},
    "break": {"x-ms-lease-action": "break", "x-ms-lease-break-period": "0"},
}

# Which blob an operation is about; each is as its operation needs it, in every container.
WHOLE, BLOCKY, LOG, LENT, HELD, SHOT, DOOMED, FRESH = (
    "whole", "blocky", "log", "lent", "held", "shot", "doomed", "fresh")
TARGETS = {
    "put new blob": FRESH, "put new append blob": FRESH, "put new block list": FRESH,
    "copy to new": FRESH, "copy now to new": FRESH, "put block": BLOCKY, "append block": LOG,
    "lease blob": LENT, "renew blob lease": HELD, "change blob lease": HELD,
    "release blob lease": HELD, "break blob lease": HELD, "delete blob": DOOMED, "snapshot": SHOT,
    "get snapshot": SHOT, "delete snapshot": SHOT,
}


def target(operation):
    return TARGETS.get(operation, WHOLE)


class PathSas(Sas):
    """A service SAS of what the path names: its container, or its blob.

    Where the path names none it is a SAS of some other one.  `elsewhere`
    changes what is signed: a function of (container, blob).  Fields may be
    functions.
    """

    def __init__(self, key, account, sr, elsewhere=None, changed=None, **fields):
        super().__init__(None)
        self.key, self.account, self.sr, self.elsewhere = key, account, sr, elsewhere
        self.changed, self.fields = changed, fields

    def apply(self, method, path, headers):
        parts = urllib.parse.unquote(path.partition("?")[0]).split("/", 3) + ["", ""]
        container, blob = parts[2] or "films", parts[3] or WHOLE
        if self.elsewhere:
            container, blob = self.elsewhere(container, blob)
        fields = {name: value() if callable(value) else value
                  for name, value in self.fields.items()}
        self.token = blob_sas(self.key, self.account, container, None if self.sr == "c" else blob,
                              self.changed, **{"sr": self.sr, **fields})
        return super().apply(method, path, headers)


def lease_requests(of, path):
    return {f"lease {of}" if action == "lease" else f"{action} {of} lease":
            ("PUT", path, b"", headers) for action, headers in LEASES.items()}


def service_request(account, name):
    properties = f"/{account}/?restype=service&comp=properties"
    return {
        "list containers": ("GET", f"/{account}/?comp=list"),
        "get properties": ("GET", properties),
        "set properties": ("PUT", properties, PROPERTIES),
        "get stats": ("GET", f"/{account}-secondary/?restype=service&comp=stats"),
        "account info": ("GET", f"/{account}/?restype=account&comp=properties"),
    }.get(name)


def container_request(account, name, container, mark):
    path = f"/{account}/{container}?restype=container"
    made = f"/{account}/made{mark}?restype=container"
    return {
        "create container": ("PUT", made, b""),
        "delete container": ("DELETE", made),
        "get container": ("GET", path),
        "head container": ("HEAD", path),
        "get container metadata": ("GET", f"{path}&comp=metadata"),
        "set container metadata": ("PUT", f"{path}&comp=metadata", b"",
                                   {"x-ms-meta-mark": str(mark)}),
        "get acl": ("GET", f"{path}&comp=acl"),
        "set acl": ("PUT", f"{path}&comp=acl", POLICIES),
        **lease_requests("container", f"{path}&comp=lease"),
        "list blobs": ("GET", f"{path}&comp=list"),
        "account info of container": ("GET", f"/{account}/{container}?restype=account"
                                             "&comp=properties"),
    }.get(name)


def blob_request(account, name, container, mark=0, snapshot=None, source=""):
    """`snapshot` is that of the blob for snapshots, `source` the URL of what is copied."""
    path = f"/{account}/{container}/{target(name)}"
    at = f"{path}?snapshot={urllib.parse.quote(snapshot or 'none', safe='')}"
    block = {"x-ms-blob-type": "BlockBlob", "x-ms-meta-mark": str(mark)}
    copy, now = {"x-ms-copy-source": source}, {"x-ms-requires-sync": "true"}
    return {
        "put new blob": ("PUT", path, CONTENT, block),
        "put new append blob": ("PUT", path, b"", {"x-ms-blob-type": "AppendBlob"}),
        "put blob": ("PUT", path, CONTENT, block),
        "put block": ("PUT", f"{path}?comp=block&blockid={BLOCK}", CONTENT),
        "put new block list": ("PUT", f"{path}?comp=blocklist", BLOCKS),
        "put block list": ("PUT", f"{path}?comp=blocklist", BLOCKS),
        "append block": ("PUT", f"{path}?comp=appendblock", b"x"),
        "copy to new": ("PUT", path, b"", copy),
        "copy": ("PUT", path, b"", copy),
        "copy now to new": ("PUT", path, b"", copy | now),
        "copy now": ("PUT", path, b"", copy | now),
        "abort copy": ("PUT", f"{path}?comp=copy&copyid=0f0f0f0f-0000-0000-0000-000000000000",
                       b"", {"x-ms-copy-action": "abort"}),
        "snapshot": ("PUT", f"{path}?comp=snapshot", b""),
        "set blob properties": ("PUT", f"{path}?comp=properties", b"",
                                {"x-ms-blob-content-type": "video/quicktime"}),
        "set blob metadata": ("PUT", f"{path}?comp=metadata", b"", {"x-ms-meta-mark": str(mark)}),
        **lease_requests("blob", f"{path}?comp=lease"),
        "delete blob": ("DELETE", path),
        "get blob": ("GET", path),
        "head blob": ("HEAD", path),
        "get blob metadata": ("GET", f"{path}?comp=metadata"),
        "get committed blocks": ("GET", f"{path}?comp=blocklist"),
        "get block list": ("GET", f"{path}?comp=blocklist&blocklisttype=all"),
        "get snapshot": ("GET", at),
        "delete snapshot": ("DELETE", at),
        "account info of blob": ("GET", f"{path}?restype=account&comp=properties"),
    }.get(name)


def request_of(account, name, container, mark=0, snapshot=None, source=""):
    """(method, path, body, headers) of any operation; the last two may be absent."""
    return (service_request(account, name) or container_request(account, name, container, mark) or
            blob_request(account, name, container, mark, snapshot, source))


def prepare(credential, request):
    """What Talk.ask takes."""
    method, path, body, headers = (*request, None, {})[:4] if len(request) < 4 else request
    headers = {"x-ms-version": VERSION, **(headers or {})}
    if body is not None:
        headers["Content-Length"] = str(len(body))
    path, headers = credential.apply(method, path, headers)
    return method, path, body, headers


def understand(reply):
    reply.code = reply.headers.get("x-ms-error-code")
    return reply


def send(talk, credential, request):
    return understand(talk.ask(*prepare(credential, request)))
