"""A bare queue client for tests that must see every answer and every broken connection.

    client = QueueClient(server.queue_port)
    held = client.put("jobs", "text").messages[0]
    client.delete("jobs", held).status

One keep-alive connection, SharedKey, no retries, as in table_client.  Use one
client per thread.
"""

import collections
import email.utils
import http.client
import re
import urllib.parse
from xml.sax.saxutils import escape, unescape

import kept
import sign
from server import ACCOUNT, KEY
from table_client import BROKEN

__all__ = ["BROKEN", "Message", "QueueClient"]

Message = collections.namedtuple(
    "Message", "MessageId InsertionTime ExpirationTime PopReceipt TimeNextVisible DequeueCount "
    "MessageText", defaults=(None,) * 7)


def read_messages(body):
    text = body.decode("utf-8-sig")
    for one in re.findall(r"<QueueMessage>(.*?)</QueueMessage>", text, re.DOTALL):
        fields = dict(re.findall(r"<(\w+)>(.*?)</\1>", one, re.DOTALL))
        yield Message(**{name: unescape(value) for name, value in fields.items()})


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        self.code = headers.get("x-ms-error-code")

    @property
    def messages(self):
        return list(read_messages(self.body))

    def __repr__(self):
        return f"<{self.status} {self.body[:300]!r}>"


class QueueClient:
    def __init__(self, port, account=ACCOUNT, key=KEY, timeout_s=60):
        self.account, self.key = account, key
        self.connection = kept.Connection("127.0.0.1", port, timeout=timeout_s)

    def request(self, method, path, body=None, **headers):
        """Send one request; underscores in the names of headers become dashes."""
        headers = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2019-02-02",
                   "Content-Length": str(len(body or b"")),
                   **{name.replace("_", "-"): value for name, value in headers.items()}}
        target = f"/{self.account}{path}"
        headers["Authorization"] = sign.storage_shared_key(self.account, self.key, method, target,
                                                           headers)
        try:
            self.connection.request(method, target, body, headers)
            reply = self.connection.getresponse()
            return Reply(reply.status, reply.headers, reply.read())
        except BaseException:
            self.connection.close()
            raise

    def close(self):
        self.connection.close()

    def create(self, queue):
        return self.request("PUT", f"/{queue}")

    def drop(self, queue):
        return self.request("DELETE", f"/{queue}")

    def count(self, queue):
        reply = self.request("HEAD", f"/{queue}?comp=metadata")
        return int(reply.headers["x-ms-approximate-messages-count"])

    def put(self, queue, text, **options):
        body = f"<QueueMessage><MessageText>{escape(text)}</MessageText></QueueMessage>".encode()
        return self.request("POST", f"/{queue}/messages?{urllib.parse.urlencode(options)}", body)

    def get(self, queue, **options):
        return self.request("GET", f"/{queue}/messages?{urllib.parse.urlencode(options)}")

    def peek(self, queue, count=32):
        return self.get(queue, peekonly="true", numofmessages=count)

    def held_path(self, queue, message_id, receipt):
        return (f"/{queue}/messages/{message_id}?"
                + urllib.parse.urlencode({"popreceipt": receipt}))

    def update(self, queue, message_id, receipt, timeout_s):
        path = self.held_path(queue, message_id, receipt)
        return self.request("PUT", f"{path}&visibilitytimeout={timeout_s}")

    def delete(self, queue, message_id, receipt):
        return self.request("DELETE", self.held_path(queue, message_id, receipt))

    def clear(self, queue):
        return self.request("DELETE", f"/{queue}/messages")
