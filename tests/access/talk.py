"""A connection to any service, the ways to show a credential, and what came back."""

import email.utils
import http.client
import re
import socket
import ssl
import time

import sign

CODE = re.compile(rb'"code":"(\w+)"|<(?:m:)?[cC]ode>(\w+)<')
PROPERTIES = (b'<?xml version="1.0" encoding="utf-8"?><StorageServiceProperties><Cors/>'
              b'</StorageServiceProperties>')
POLICIES = b'<?xml version="1.0" encoding="utf-8"?><SignedIdentifiers/>'


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


class Headers(dict):
    """Of a reply, by their names in lower case; one that is not there is None."""

    def __getitem__(self, name):
        return self.get(name)

    def get(self, name, otherwise=None):
        return super().get(name.lower(), otherwise)


class Closed(http.client.HTTPException):
    """The server has closed the connection, or does not speak HTTP."""


class Talk:
    """One keep-alive connection; `path` and all after it are sent as they are.

    No HTTP library, which would take most of the time of a matrix.
    """

    def __init__(self, port, tls=False):
        self.port, self.tls = port, tls
        self.socket, self.buffer = None, b""
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"

    def connect(self):
        self.buffer = b""
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls:
            self.socket = ssl._create_unverified_context().wrap_socket(self.socket)

    def ask(self, method, path, body=None, headers=None):
        (reply,) = self.ask_all([(method, path, body, headers)])
        return reply

    def ask_all(self, requests):
        """The replies to requests that are sent together; the server takes one after the other."""
        if self.socket is None:
            self.connect()
        try:
            self.socket.sendall(b"".join([self.bytes_of(*request) for request in requests]))
            return [self.read_reply(request[0]) for request in requests]
        except BaseException:
            self.close()
            raise

    def bytes_of(self, method, path, body=None, headers=None):
        headers = dict(headers or {})
        if body is not None:
            headers["Content-Length"] = str(len(body))
        elif method in ("POST", "PUT", "PATCH"):
            headers.setdefault("Content-Length", "0")
        head = [f"{method} {path} HTTP/1.1"]
        if "Host" not in headers:
            head.append(f"Host: 127.0.0.1:{self.port}")
        head += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*head, "", ""]).encode("latin-1") + (body or b"")

    def read_reply(self, method):
        if self.socket is None:
            raise Closed("the reply before this one was the last of the connection")
        while (end := self.buffer.find(b"\r\n\r\n")) < 0:
            self.receive()
        status, *lines = self.buffer[:end].decode("latin-1").split("\r\n")
        self.buffer = self.buffer[end + 4:]
        if not status.startswith("HTTP/1.1 "):
            raise Closed(f"not a status line: {status}")
        status, headers = int(status[9:12]), Headers()
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        if method == "HEAD" or status < 200 or status in (204, 304):
            body = b""
        elif "chunked" in (headers["Transfer-Encoding"] or ""):
            body = self.take_chunks()
        else:
            body = self.take(int(headers["Content-Length"]))
        if headers["Connection"] == "close":
            self.close()
        return Reply(status, headers, body)

    def receive(self):
        piece = self.socket.recv(1 << 18)
        if not piece:
            raise Closed(f"the connection was closed after {self.buffer[:200]!r}")
        self.buffer += piece

    def take(self, count):
        if len(self.buffer) < count:
            pieces, missing = [self.buffer], count - len(self.buffer)
            while missing > 0:
                self.buffer = b""
                self.receive()
                pieces.append(self.buffer)
                missing -= len(self.buffer)
            self.buffer = b"".join(pieces)
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def take_line(self):
        while b"\r\n" not in self.buffer:
            self.receive()
        line, _, self.buffer = self.buffer.partition(b"\r\n")
        return line

    def take_chunks(self):
        pieces = []
        while size := int(self.take_line(), 16):
            pieces.append(self.take(size))
            self.take_line()
        while self.take_line():
            pass
        return b"".join(pieces)

    def close(self):
        if self.socket:
            self.socket.close()
            self.socket = None


class Key:
    """Signs with an account key, as tables expect it."""

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


class StorageKey(Key):
    """Signs with an account key, as queues and blobs expect it."""

    def __init__(self, account, key, lite=False, **more):
        super().__init__(account, key, lite, **more)

    def apply(self, method, path, headers):
        date = email.utils.formatdate(time.time() - self.age_s, usegmt=True)
        headers = {**headers, "x-ms-date": date}
        value = sign.storage_shared_key(self.signer, self.key, self.signed.get("verb", method),
                                        self.signed.get("path", path), headers, self.lite)
        return path, {**headers, "Authorization": value}


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
