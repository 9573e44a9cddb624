"""Requests to the table service with any credential, and what came back."""

import email.utils
import http.client
import json
import re
import ssl
import time
import urllib.parse

import sign

CODE = re.compile(rb'"code":"(\w+)"|<(?:m:)?[cC]ode>(\w+)<')
PROPERTIES = (b'<?xml version="1.0" encoding="utf-8"?><StorageServiceProperties><Cors/>'
              b'</StorageServiceProperties>')
POLICIES = b'<?xml version="1.0" encoding="utf-8"?><SignedIdentifiers/>'
JSON = "application/json;odata=nometadata"


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        found = CODE.search(body)
        self.code = (found[1] or found[2]).decode() if found else None
        inner = re.search(rb"HTTP/1\.1 (\d+)", body)
        self.inner = int(inner[1]) if inner else None

    @property
    def outcome(self):
        return self.status, self.code, self.inner

    def __repr__(self):
        return f"<{self.status} {self.headers} {self.body[:600]!r}>"


class Talk:
    """One keep-alive connection; `path` and all after it are sent as they are."""

    def __init__(self, port, tls=False):
        if tls:
            context = ssl._create_unverified_context()
            self.connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=60,
                                                          context=context)
        else:
            self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"

    def ask(self, method, path, body=None, headers=None):
        headers = dict(headers or {})
        if body is not None:
            headers["Content-Length"] = str(len(body))
        try:
            self.connection.request(method, path, body, headers)
            reply = self.connection.getresponse()
            return Reply(reply.status, reply.headers, reply.read())
        except BaseException:
            self.connection.close()
            raise

    def close(self):
        self.connection.close()


class Key:
    """Signs with an account key."""

    def __init__(self, account, key, lite=True, signer=None, age_s=0, **signed):
        self.account, self.key, self.lite, self.age_s = account, key, lite, age_s
        self.signer = signer or account
        self.signed = signed  # what to sign instead of the truth: verb, path

    def apply(self, method, path, headers):
        date = email.utils.formatdate(time.time() - self.age_s, usegmt=True)
        target = self.signed.get("path", path)
        if self.lite:
            value = sign.shared_key_lite(self.signer, self.key, date, target)
        else:
            value = sign.shared_key(self.signer, self.key, date, target,
                                    self.signed.get("verb", method),
                                    headers.get("Content-Type", ""))
        return path, {**headers, "x-ms-date": date, "Authorization": value}


class Sas:
    """Adds a token to the URL."""

    def __init__(self, token):
        self.token = token

    def apply(self, method, path, headers):
        return path + ("&" if "?" in path else "?") + self.token, headers


class Header:
    """An Authorization header as it is, or none."""

    def __init__(self, value=None):
        self.value = value

    def apply(self, method, path, headers):
        date = {"x-ms-date": email.utils.formatdate(usegmt=True)}
        return path, {**headers, **date, **({"Authorization": self.value} if self.value else {})}


def quoted(key):
    return urllib.parse.quote(key.replace("'", "''"), safe="'")


def entity_path(account, table, keys):
    return f"/{account}/{table}(PartitionKey='{quoted(keys[0])}',RowKey='{quoted(keys[1])}')"


def entity(keys, mark):
    return json.dumps({"PartitionKey": keys[0], "RowKey": keys[1], "Mark": mark}).encode()


def entity_request(account, name, table, keys, mark):
    """(method, path, headers, body) of an operation on entities."""
    path = entity_path(account, table, keys)
    change = {"Accept": JSON, "Content-Type": "application/json"}
    return {
        "query entities": ("GET", f"/{account}/{table}()", {"Accept": JSON}, None),
        "point read": ("GET", path, {"Accept": JSON}, None),
        "insert": ("POST", f"/{account}/{table}", change, entity(keys, mark)),
        "update": ("PUT", path, {**change, "If-Match": "*"}, entity(keys, mark)),
        "merge": ("MERGE", path, {**change, "If-Match": "*"}, entity(keys, mark)),
        "insert or replace": ("PUT", path, change, entity(keys, mark)),
        "insert or merge": ("MERGE", path, change, entity(keys, mark)),
        "delete entity": ("DELETE", path, {"Accept": JSON, "If-Match": "*"}, None),
    }[name]


def service_request(account, name, table, mark):
    json_type = {"Accept": JSON, "Content-Type": "application/json"}
    xml = {"Content-Type": "application/xml"}
    properties = f"/{account}/?restype=service&comp=properties"
    return {
        "query tables": ("GET", f"/{account}/Tables", {"Accept": JSON}, None),
        "get table": ("GET", f"/{account}/Tables('{table}')", {"Accept": JSON}, None),
        "create table": ("POST", f"/{account}/Tables", json_type,
                         json.dumps({"TableName": f"made{mark}"}).encode()),
        "delete table": ("DELETE", f"/{account}/Tables('made{mark}')", {"Accept": JSON}, None),
        "get properties": ("GET", properties, {}, None),
        "set properties": ("PUT", properties, xml, PROPERTIES),
        "get stats": ("GET", f"/{account}-secondary/?restype=service&comp=stats", {}, None),
        "get acl": ("GET", f"/{account}/{table}?comp=acl", {}, None),
        "set acl": ("PUT", f"/{account}/{table}?comp=acl", xml, POLICIES),
    }[name]


def part_text(url, request, content_id=1):
    """A request as a part of a batch, without the boundary."""
    method, path, headers, body = request
    lines = ["Content-Type: application/http", "Content-Transfer-Encoding: binary", "",
             f"{method} {url}{path} HTTP/1.1", f"Content-ID: {content_id}",
             *(f"{name}: {value}" for name, value in headers.items())]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", (body or b"").decode()])


def batch_request(account, url, requests, is_query=False):
    """(method, path, headers, body) of a batch of requests."""
    parts = [part_text(url, request, i + 1) for i, request in enumerate(requests)]
    if is_query:
        text = f"--b\r\n{parts[0]}\r\n--b--\r\n"
    else:
        inside = "".join(f"--c\r\n{part}\r\n" for part in parts)
        text = f"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{inside}--c--\r\n--b--\r\n"
    return ("POST", f"/{account}/$batch",
            {"Content-Type": "multipart/mixed; boundary=b", "Accept": JSON}, text.encode())


def request_of(account, url, operation, table, keys, mark):
    """(method, path, headers, body) of any operation of the matrix."""
    part = operation.removeprefix("batch: ")
    if part != operation:
        inner = entity_request(account, part, table, keys, mark)
        return batch_request(account, url, [inner], part == "point read")
    if "table" in part or "properties" in part or "stats" in part or "acl" in part:
        return service_request(account, part, table, mark)
    return entity_request(account, part, table, keys, mark)


def send(talk, credential, request):
    method, path, headers, body = request
    headers = {"x-ms-version": "2019-02-02", "DataServiceVersion": "3.0", **headers}
    path, headers = credential.apply(method, path, headers)
    return talk.ask(method, path, body, headers)
