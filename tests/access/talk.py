"""A connection to any service, the ways to show a credential, and what came back."""

import email.utils
import http.client
import re
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
