"""A client that sees every byte, and remembers of each request what a log should say of it."""

import base64
import email.utils
import json
import re
import socket
import time
import urllib.parse
import uuid

import sign
from server import ACCOUNT, KEY

VERSION = "2019-02-02"


class Seen:
    """One request and its answer, as the client saw them."""

    def __init__(self, service, operation, auth, target, headers, sent, body, local):
        self.service, self.operation, self.auth, self.target = service, operation, auth, target
        self.headers = headers
        self.request_head, self.request_body = len(sent), len(body)
        self.local = local
        self.begin = self.end = 0.0
        self.status, self.reply, self.response_head, self.body = 0, {}, 0, b""

    @property
    def id(self):
        return self.reply["x-ms-request-id"]

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        found = re.search(rb'"code":"(\w+)"|<(?:m:)?[cC]ode>(\w+)<', self.body)
        return (self.reply.get("x-ms-error-code")
                or ((found[1] or found[2]).decode() if found else None))

    def __repr__(self):
        return f"<{self.operation} {self.target} {self.status} {self.body[:300]!r}>"


class Wire:
    """A keep-alive connection to one service; every request is kept in `seen`."""

    ahead_s = 0  # of the true time: what the server's clock has been set to

    def __init__(self, service, port, seen=None, account=ACCOUNT, key=KEY):
        self.service, self.port, self.account, self.key = service, port, account, key
        self.seen = [] if seen is None else seen
        self.socket, self.input = None, b""

    def sign(self, method, target, headers, key):
        if self.service == "table":
            return sign.shared_key_lite(self.account, key, headers["x-ms-date"], target)
        return sign.storage_shared_key(self.account, key, method, target, headers)

    def head(self, method, target, body, headers, auth, version):
        all_headers = {"Host": f"127.0.0.1:{self.port}", "User-Agent": 'wire "1.0" <&>; test',
                       "x-ms-client-request-id": str(uuid.uuid4()),
                       "x-ms-date": email.utils.formatdate(time.time() + self.ahead_s, usegmt=True)}
        if version:
            all_headers["x-ms-version"] = version
        if self.service == "table":
            all_headers["Accept"] = "application/json;odata=nometadata"
        if body or method in ("PUT", "POST", "PATCH", "MERGE"):
            all_headers["Content-Length"] = str(len(body))
        all_headers.update(headers)
        if auth == "key":
            all_headers["Authorization"] = self.sign(method, target, all_headers, self.key)
        elif auth == "wrong":
            wrong = base64.b64encode(b"w" * 64).decode()
            all_headers["Authorization"] = self.sign(method, target, all_headers, wrong)
        return all_headers

    def ask(self, operation, method, path, body=b"", auth="key", version=VERSION, sas=None,
            account=None, **headers):
        """`path` is what comes after the account; underscores in names of headers are dashes."""
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content_Type", "application/json")
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        target = f"/{account or self.account}{path}"
        if sas:
            auth = "sas"
            target += ("&" if "?" in target else "?") + sas
        headers = self.head(method, target, body, headers, auth, version)
        lines = [f"{method} {target} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items())]
        sent = "\r\n".join(lines).encode() + b"\r\n\r\n"
        if self.socket is None:
            self.socket, self.input = socket.create_connection(("127.0.0.1", self.port), 60), b""
        local = "%s:%d" % self.socket.getsockname()
        seen = Seen(self.service, operation, auth, target, headers, sent, body, local)
        seen.begin = time.time()
        self.socket.sendall(sent + body)
        self.receive(seen, method)
        seen.end = time.time()
        self.seen.append(seen)
        return seen

    def more(self):
        piece = self.socket.recv(65536)
        if not piece:
            raise ConnectionError(f"closed after {self.input!r}")
        self.input += piece

    def receive(self, seen, method):
        while b"\r\n\r\n" not in self.input:
            self.more()
        head, _, self.input = self.input.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        seen.response_head = len(head) + 4
        seen.status = int(first.split()[1])
        seen.reply = {name.lower(): value
                      for name, _, value in (line.partition(": ") for line in lines)}
        length = int(seen.reply.get("content-length", 0))
        if method == "HEAD" or seen.status in (204, 304):
            length = 0
        while len(self.input) < length:
            self.more()
        seen.body, self.input = self.input[:length], self.input[length:]
        if seen.reply.get("connection") == "close":
            self.close()

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None


def properties(log="", version="1.0", hour=False, minute=False, apis=True, log_days=0,
               metrics_days=0):
    """The body of Set Service Properties; `log` has some of the letters r, w, d."""
    def retention(days):
        return ("<RetentionPolicy>" + (f"<Enabled>true</Enabled><Days>{days}</Days>" if days else
                                       "<Enabled>false</Enabled>") + "</RetentionPolicy>")

    def flag(value):
        return "true" if value else "false"

    def metrics(name, on):
        return (f"<{name}><Version>1.0</Version><Enabled>{flag(on)}</Enabled>"
                + (f"<IncludeAPIs>{flag(apis)}</IncludeAPIs>" if on else "")
                + f"{retention(metrics_days)}</{name}>")
    return ("<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceProperties>"
            f"<Logging><Version>{version}</Version><Delete>{flag('d' in log)}</Delete>"
            f"<Read>{flag('r' in log)}</Read><Write>{flag('w' in log)}</Write>"
            f"{retention(log_days)}</Logging>{metrics('HourMetrics', hour)}"
            f"{metrics('MinuteMetrics', minute)}<Cors /></StorageServiceProperties>").encode()


def quote(text):
    return urllib.parse.quote(text, safe="")
