"""A client that behaves: it reads, queries and writes at a steady pace and notes how long each takes.

Each kind of request has a process and a connection of its own, so that a slow
write does not hide the latency of a read.  The processes come before
others on a busy machine where that is allowed (root): what they measure is the
server and not the wait for a core that the attacker's processes hold.
"""

import multiprocessing
import os
import socket
import time

PACE_S = 0.002


def prefer(nice):
    try:
        os.nice(nice)
    except PermissionError:
        pass


class Connection:
    """One keep-alive connection that sends bytes as they are and reads one response."""

    def __init__(self, port, timeout_s=10):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def ask(self, request):
        """The status of the response; its body is read and forgotten."""
        self.socket.sendall(request)
        return self.response()

    def response(self):
        data = self.rest
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += self.receive()
        head = data[:end].lower()
        length = 0
        for line in head.split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = int(line[15:])
        if b"transfer-encoding: chunked" in head:
            while b"\r\n0\r\n\r\n" not in data[end:]:
                data += self.receive()
            self.rest = b""
        else:
            missing = end + 4 + length - len(data)
            while missing > 0:
                piece = self.receive()
                missing -= len(piece)
                data = data[:end + 4] + piece  # only the end of it may matter
            self.rest = data[len(data) + missing:] if missing else b""
        return int(head[9:12])

    def receive(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise ConnectionError("closed by the server")
        return data

    def close(self):
        self.socket.close()


def request(port, method, target, body=b"", **headers):
    """The bytes of a request; underscores in the names of headers become dashes."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: 127.0.0.1:{port}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if body or method in ("PUT", "POST", "MERGE"):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def measure(port, data, seconds, pipe):
    prefer(-10)
    connection = None
    times, refused = [], []
    end = time.monotonic() + seconds
    while (began := time.monotonic()) < end:
        try:
            connection = connection or Connection(port)
            status = connection.ask(data)
            if status >= 300:
                refused.append(status)
        except OSError as error:  # a time-out too
            refused.append(repr(error))
            connection = None
        times.append(time.monotonic() - began)
        time.sleep(PACE_S)
    pipe.send((times, refused))


class Latencies:
    """What one kind of request met."""

    def __init__(self, times, refused):
        self.times = sorted(times)
        self.refused = refused

    @property
    def p99_ms(self):
        return self.times[int(len(self.times) * 0.99)] * 1000


def observe(port, requests, seconds):
    """Send each of {name: bytes} again and again; {name: Latencies}."""
    running = {}
    for name, data in requests.items():
        ours, theirs = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.Process(target=measure, args=(port, data, seconds, theirs),
                                          daemon=True)
        process.start()
        theirs.close()
        running[name] = (process, ours)
    found = {}
    for name, (process, pipe) in running.items():
        found[name] = Latencies(*pipe.recv())
        process.join()
    return found
