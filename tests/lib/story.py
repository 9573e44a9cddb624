"""What happened in a test, for whoever has to find out why it failed.

    story.begin()       a test begins
    story.tell()        what was sent and answered since, and what the servers logged meanwhile

Every client in Python ends in http.client, the SDKs' too, so it is listened to there.  Servers
name their logs (follow), and hand over what they logged before they remove one (keep).
"""

import collections
import http.client
import os

EXCHANGES = 6
SHOWN_BYTES = 1500
LOG_LINES = 60


class Exchange:
    def __init__(self, port):
        self.port, self.sent, self.answer, self.body = port, b"", None, b""

    def __str__(self):
        lines = [f"--- to port {self.port}", shown(self.sent), "--- answer"]
        if self.answer is None:
            return "\n".join([*lines, "(none)"])
        head = "\n".join(f"{name}: {value}" for name, value in self.answer.getheaders())
        return "\n".join([*lines, f"{self.answer.status} {self.answer.reason}", head, "",
                          shown(self.body)])


def shown(data):
    """The first bytes, as text."""
    text = data[:SHOWN_BYTES].decode(errors="backslashreplace").replace("\r\n", "\n").rstrip()
    return text + (f"\n... ({len(data)} bytes)" if len(data) > SHOWN_BYTES else "")


exchanges = collections.deque(maxlen=EXCHANGES)
logs = {}   # path: where it ended when the test began
kept = []   # what servers logged that are gone


def begin():
    exchanges.clear()
    kept.clear()
    for path in list(logs):
        if os.path.exists(path):
            logs[path] = os.path.getsize(path)
        else:
            del logs[path]


def follow(path):
    """A server writes its log there."""
    logs.setdefault(path, 0)


def logged(path):
    try:
        with open(path, "rb") as log:
            log.seek(logs.get(path, 0))
            return log.read().decode(errors="replace").splitlines()[-LOG_LINES:]
    except OSError:
        return []


def keep(path):
    """The log is about to be removed."""
    kept.append((path, logged(path)))
    logs.pop(path, None)


def tell():
    parts = [str(one) for one in exchanges]
    for path, lines in [*kept, *((path, logged(path)) for path in logs)]:
        if lines:
            parts += [f"--- {os.path.basename(path)}", *lines]
    return "\n".join(parts)


# --- listening to http.client

plain_send = http.client.HTTPConnection.send
plain_getresponse = http.client.HTTPConnection.getresponse
plain_read = http.client.HTTPResponse.read


def send(self, data):
    exchange = getattr(self, "story", None)
    if exchange is None or exchange.answer is not None:
        exchange = self.story = Exchange(self.port)
        exchanges.append(exchange)
    if isinstance(data, bytes) and len(exchange.sent) <= SHOWN_BYTES:
        exchange.sent += data[:SHOWN_BYTES + 1]
    return plain_send(self, data)


def getresponse(self, *arguments, **options):
    reply = plain_getresponse(self, *arguments, **options)
    exchange = getattr(self, "story", None)
    if exchange is not None:
        exchange.answer = reply
        reply.story = exchange
    return reply


def read(self, *arguments):
    data = plain_read(self, *arguments)
    exchange = getattr(self, "story", None)
    if exchange is not None and len(exchange.body) <= SHOWN_BYTES:
        exchange.body += (data or b"")[:SHOWN_BYTES + 1]
    return data


http.client.HTTPConnection.send = send
http.client.HTTPConnection.getresponse = getresponse
http.client.HTTPResponse.read = read
