"""Send bytes to the server and read its replies, as plainly as possible.

No HTTP library: the tests must be able to send what a library would refuse, and to see the reply
as it was sent.
"""

import re
import socket

TIMEOUT_S = 60


class BadReply(Exception):
    """The server closed the connection, fell silent or sent what is not HTTP."""


class Reply:
    def __init__(self, status_line, headers, body):
        self.status_line = status_line
        self.status = int(status_line.split(" ")[1])
        self.headers = headers                          # pairs, in the order received
        self.body = body

    def header(self, name):
        """The value, or None; several headers of one name are joined by a comma."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        return ", ".join(values) if values else None

    def text(self):
        return self.body.decode("utf-8", "surrogateescape")


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def send(self, data):
        """The server may refuse and close before it has read all, so a failure to send is not
        an error: the reply tells."""
        try:
            self.socket.sendall(data)
        except OSError:
            pass

    def receive(self):
        """Take one more piece into the buffer; False at the end of the stream."""
        try:
            piece = self.socket.recv(1 << 16)
        except TimeoutError:
            raise BadReply(f"no answer in {TIMEOUT_S} seconds") from None
        except ConnectionResetError:
            piece = b""
        self.buffer += piece
        return bool(piece)

    def take_until(self, mark):
        while mark not in self.buffer:
            if not self.receive():
                raise BadReply(f"the connection was closed after {self.buffer[:200]!r}")
        taken, _, self.buffer = self.buffer.partition(mark)
        return taken

    def take(self, count):
        while len(self.buffer) < count:
            if not self.receive():
                raise BadReply(f"the connection was closed {count - len(self.buffer)} bytes early")
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def read_reply(self, has_body=True):
        """A reply to HEAD has no body, whatever its length says."""
        lines = self.take_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        if not re.fullmatch(r"HTTP/1\.1 \d{3} [^\r\n]*", lines[0]):
            raise BadReply(f"not a status line: {lines[0]!r}")
        headers = []
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon:
                raise BadReply(f"not a header: {line!r}")
            headers.append((name, value.strip()))
        reply = Reply(lines[0], headers, b"")
        if has_body:
            reply.body = self.read_body(reply)
        return reply

    def read_body(self, reply):
        if reply.status < 200 or reply.status in (204, 304):
            return b""
        if (reply.header("Transfer-Encoding") or "").lower() == "chunked":
            body = b""
            while size := int(self.take_until(b"\r\n"), 16):
                body += self.take(size)
                self.take(2)
            while self.take_until(b"\r\n"):
                pass
            return body
        length = reply.header("Content-Length")
        if length is not None:
            return self.take(int(length))
        while self.receive():
            pass
        body, self.buffer = self.buffer, b""
        return body

    def is_closed(self):
        """Whether the server closes the connection and sends nothing more."""
        try:
            more = bool(self.buffer) or self.receive()
        except BadReply:
            return False
        if more:
            raise BadReply(f"the server sent more than was wanted: {self.buffer[:200]!r}")
        return True

    def close(self):
        self.socket.close()
