"""Read HTTP/1.1 messages from a socket and keep their bytes exactly as they came.

    wire = Wire(connected_socket)
    head = wire.read_head()                                 # None: the peer has ended it
    body = b"".join(wire.body_pieces(head.request_length()))

Nothing is decoded or judged more than it takes to find where a message ends:
a proxy must pass on what it does not understand.
"""

import re
import socket
import urllib.parse

CHUNKED = "chunked"
UNTIL_CLOSE = "until close"
PIECE = 64 * 1024
HEAD_MAX = 1024 * 1024


class Broken(Exception):
    """The peer went away, or stopped speaking HTTP, in the middle of a message."""


class Head:
    """The first line and the headers of a message, with the empty line that ends them."""

    def __init__(self, raw):
        self.raw = raw
        self.words = raw.partition(b"\r\n")[0].decode("latin-1").split(" ", 2)
        if len(self.words) < 2:
            raise Broken(f"no HTTP: {raw[:80]!r}")

    def get(self, name):
        """The value of a header, or None."""
        line = rb"\r\n" + re.escape(name.encode()) + rb":[ \t]*([^\r\n]*)"
        found = re.search(line, self.raw, re.I)
        return found[1].decode("latin-1").strip() if found else None

    @property
    def method(self):
        return self.words[0]

    @property
    def target(self):
        return self.words[1]

    def is_like(self, text):
        """Whether "METHOD TARGET" contains the text, as sent or without its percent signs."""
        shown = f"{self.method} {self.target}"
        return text in shown or text in urllib.parse.unquote(shown)

    @property
    def status(self):
        try:
            return int(self.words[1])
        except ValueError:
            raise Broken(f"no status: {self.raw[:80]!r}") from None

    @property
    def is_last(self):
        """Whether the sender wants to close the connection after this message."""
        tokens = (self.get("Connection") or "").lower()
        is_old = b"HTTP/1.0" in self.raw.partition(b"\r\n")[0]
        return "close" in tokens or (is_old and "keep-alive" not in tokens)

    def length(self, otherwise):
        if CHUNKED in (self.get("Transfer-Encoding") or "").lower():
            return CHUNKED
        value = self.get("Content-Length")
        if value is None:
            return otherwise
        if not value.isdecimal():
            raise Broken(f"Content-Length: {value}")
        return int(value)

    def request_length(self):
        return self.length(0)

    def answer_length(self, method):
        if method == "HEAD" or self.status in (204, 304) or self.status < 200:
            return 0
        return self.length(UNTIL_CLOSE)


class Wire:
    """A socket and what was read from it too far."""

    def __init__(self, connection):
        self.socket = connection
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.ahead = b""

    def fill(self):
        """Read more; False at the end."""
        try:
            more = self.socket.recv(PIECE)
        except OSError as error:
            raise Broken(str(error)) from None
        self.ahead += more
        return bool(more)

    def take(self, count):
        taken, self.ahead = self.ahead[:count], self.ahead[count:]
        return taken

    def read_until(self, mark):
        start = 0
        while (end := self.ahead.find(mark, start)) < 0:
            start = max(0, len(self.ahead) - len(mark))
            if start > HEAD_MAX or not self.fill():
                raise Broken("the peer ended within a head" if start < HEAD_MAX else "endless head")
        return self.take(end + len(mark))

    def read_head(self):
        """The next Head, or None when the peer has ended the connection before it."""
        while not self.ahead:
            if not self.fill():
                return None
        return Head(self.read_until(b"\r\n\r\n"))

    def pieces(self, count):
        while count:
            if not self.ahead and not self.fill():
                raise Broken("the peer ended within a body")
            piece = self.take(min(count, PIECE))
            count -= len(piece)
            yield piece

    def chunk_pieces(self):
        while True:
            line = self.read_until(b"\r\n")
            yield line
            try:
                size = int(line.partition(b";")[0], 16)
            except ValueError:
                raise Broken(f"no size of a chunk: {line[:40]!r}") from None
            if size == 0:
                break
            yield from self.pieces(size + 2)
        while line != b"\r\n":
            line = self.read_until(b"\r\n")
            yield line

    def body_pieces(self, length):
        """The bytes of a body, with the framing of chunks, as they arrive."""
        if length == CHUNKED:
            yield from self.chunk_pieces()
        elif length == UNTIL_CLOSE:
            while self.ahead or self.fill():
                yield self.take(PIECE)
        else:
            yield from self.pieces(length)


class Answer:
    """What a client is going to get; edited by faults."""

    def __init__(self, head, body, status, is_whole=True, is_last=False):
        self.head, self.body, self.status = head, body, status
        self.is_whole = is_whole
        self.is_last = is_last  # the connection ends after it

    def set_header(self, name, value):
        """Give a header this value, once; None removes it."""
        line = rb"\r\n" + re.escape(name.encode()) + rb":[^\r\n]*"
        self.head = re.sub(line, b"", self.head, flags=re.I)
        if value is not None:
            self.head = self.head[:-2] + f"{name}: {value}\r\n\r\n".encode()

    def set_body(self, body):
        self.body = body
        self.set_header("Transfer-Encoding", None)
        self.set_header("Content-Length", len(body))

    def flatten(self):
        """Make a chunked body a plain one."""
        if CHUNKED in (Head(self.head).get("Transfer-Encoding") or "").lower():
            self.set_body(unchunked(self.body))


def unchunked(raw):
    body = b""
    while raw:
        line, _, raw = raw.partition(b"\r\n")
        size = int(line.partition(b";")[0], 16)
        if size == 0:
            break
        body, raw = body + raw[:size], raw[size + 2:]
    return body


def read_answer(wire, method):
    """The answer to a request, without the 1xx before it; Broken when not even its head came."""
    while True:
        head = wire.read_head()
        if head is None:
            raise Broken("the server ended the connection")
        if head.status >= 200:
            break
    length = head.answer_length(method)
    body, is_whole = [], True
    try:
        for piece in wire.body_pieces(length):
            body.append(piece)
    except Broken:
        is_whole = False
    is_last = head.is_last or length == UNTIL_CLOSE or not is_whole
    return Answer(head.raw, b"".join(body), head.status, is_whole, is_last)
