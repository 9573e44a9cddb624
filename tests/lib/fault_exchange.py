"""One request and its answer on their way through fault_proxy.py, and the record of it.

A request is read whole before it is forwarded, and an answer before it is delivered: a cut
answer is one that the server has written to its end.
"""

import contextlib
import fcntl
import http.client
import json
import select
import socket
import struct
import termios
import threading
import time

import fault_plan
from http_wire import Answer, Broken, Head, read_answer

POLL_S = 0.02
LINGER_S = 60
NO_PLAN = fault_plan.NoPlan()


class Cut(Exception):
    """The client's connection ends here, by "rst" or "fin"."""

    def __init__(self, how="rst"):
        super().__init__(how)
        self.how = how


class Record:
    """What happened to one request; it is complete before the client can see the outcome."""

    def __init__(self, number, connection, head, did):
        self.number, self.connection = number, connection
        self.method, self.target = head.method, head.target
        self.id = head.get("x-ms-client-request-id") or "-"
        self.did = did  # the faults planned for it, or "stopped"
        self.forwarded = 0  # how many times the server got it whole
        self.partial = 0  # bytes of it that reached the server, when it was not whole
        self.server = "-"  # statuses of the server, "unreachable" or "lost", with commas
        self.answered = "-"  # the status that was delivered whole to the client
        self.sent = "-"  # bytes delivered of bytes of the answer: 0/312
        self.state = "open"  # then "done"

    def add_server(self, word):
        self.server = str(word) if self.server == "-" else f"{self.server},{word}"

    def line(self):
        values = dict(vars(self))
        first = " ".join(str(values.pop(name)) for name in ("number", "method", "target"))
        return first + "".join(f" {name}={value}" for name, value in values.items())


class Round:
    """What is planned and seen between two CLEARs."""

    def __init__(self, open_count):
        self.changed = threading.Condition()
        self.plans, self.records = [], []
        self.total, self.peak, self.refused = 0, open_count, 0
        self.active = self.claimed = 0
        self.stop_after, self.is_quiet = None, False
        self.over = threading.Event()
        self.held, self.released = 0, threading.Event()

    def begin(self, connection, head):
        """Give a request its number: (record, plan)."""
        with self.changed:
            number = len(self.records) + 1
            plan = next((plan for plan in self.plans if plan.take(number, head)), NO_PLAN)
            record = Record(number, connection, head, str(plan))
            self.records.append(record)
            self.active += 1
            return record, plan

    def end(self):
        with self.changed:
            self.active -= 1
            self.changed.notify_all()

    def claim(self):
        """Whether one more request may reach the server, and whether its answer is heard."""
        with self.changed:
            if self.stop_after is not None and self.claimed >= self.stop_after:
                return False, False
            self.claimed += 1
            return True, not (self.is_quiet and self.claimed == self.stop_after)

    def wait_held(self, count, seconds):
        with self.changed:
            return self.changed.wait_for(lambda: self.held >= count, seconds)

    def settle(self, seconds):
        with self.changed:
            return self.changed.wait_for(lambda: not self.active, seconds)


def wait_sent(connection, seconds=2):
    """Wait until the peer's kernel has all that was sent: an RST discards what it has not."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        waiting = fcntl.ioctl(connection, termios.TIOCOUTQ, b"\0\0\0\0")
        if not struct.unpack("i", waiting)[0]:
            return
        time.sleep(0.001)


def end_by(connection, how, when_seen=lambda: None):
    """Close a socket so that the peer sees an RST, or a FIN and never an RST right after it."""
    with contextlib.suppress(OSError), connection:
        if how == "rst":
            wait_sent(connection)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            connection.shutdown(socket.SHUT_WR)
            when_seen()
            # Closing with bytes unread would send an RST.
            connection.settimeout(LINGER_S)
            deadline = time.monotonic() + LINGER_S
            while time.monotonic() < deadline and connection.recv(65536):
                pass
    when_seen()


def made_answer(fault):
    """The proxy's own answer for a `status`."""
    text = http.client.responses.get(fault.code, "Unknown")
    answer = Answer(f"HTTP/1.1 {fault.code} {text}\r\n\r\n".encode(), b"", fault.code)
    body = f"{text}, says the fault proxy."
    if fault.error:
        answer.set_header("x-ms-error-code", fault.error)
        body = json.dumps({"odata.error": {"code": fault.error,
                                           "message": {"lang": "en-US", "value": body}}})
    answer.set_header("Content-Type", "application/json" if fault.error else "text/plain")
    if fault.retry_after is not None:
        answer.set_header("Retry-After", fault.retry_after)
    answer.set_body(body.encode())
    return answer


class Exchange:
    """One request and its answer: read, forward, edit, deliver."""

    def __init__(self, proxy, client, head):
        self.proxy, self.client, self.head = proxy, client, head
        self.round = proxy.round
        self.record, self.plan = self.round.begin(client.number, head)

    def run(self):
        """Deliver an answer and say whether the connection goes on; or raise Cut or Broken."""
        try:
            request = self.read_request()
            self.delay(self.plan.get("delay_request"))
            if self.plan.get("hold_request"):
                self.hold()
            answer = self.answer(request)
            self.delay(self.plan.get("delay_answer"))
            self.edit(answer)
            self.deliver(answer)
            return not (answer.is_last or self.head.is_last)
        finally:
            self.record.state = "done"
            self.round.end()

    def cut(self, how="rst"):
        self.record.state = "done"
        raise Cut(how)

    def delay(self, fault):
        """Wait as long as the fault says."""
        if fault and self.round.over.wait(fault.seconds):
            self.cut()

    def hold(self):
        """Until RELEASE, or CLEAR."""
        with self.round.changed:
            self.round.held += 1
            self.round.changed.notify_all()
        while not self.round.released.wait(POLL_S):
            if self.round.over.is_set():
                self.cut()

    def hang(self):
        """Until the client leaves, or CLEAR."""
        while not self.round.over.wait(POLL_S):
            if select.select([self.client.wire.socket], [], [], 0)[0]:
                if not self.client.wire.socket.recv(1, socket.MSG_PEEK):
                    break
        self.cut()

    def read_request(self):
        """The bytes of the request; a cut_request ends here."""
        cut = self.plan.get("cut_request")
        if (self.head.get("Expect") or "").lower() == "100-continue":
            self.client.wire.socket.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        raw, size = [self.head.raw], len(self.head.raw)
        is_whole = False
        pieces = self.client.wire.body_pieces(self.head.request_length())
        while not (cut and size > cut.bytes):
            piece = next(pieces, None)
            is_whole = piece is None
            if is_whole:
                break
            raw.append(piece)
            size += len(piece)
        raw = b"".join(raw)
        if not cut:
            return raw
        if cut.forward and is_whole:
            self.forward(raw)
        elif cut.forward:
            self.forward_part(raw[:cut.bytes], cut.how)
        return self.cut(cut.how)

    def forward_part(self, raw, how):
        try:
            upstream = self.proxy.connect()
            upstream.socket.sendall(raw)
        except OSError:
            self.record.add_server("unreachable")
            self.cut()
        self.record.partial = len(raw)
        end_by(upstream.socket, how)

    def answer(self, request):
        """What the client would get, with the request forwarded as often as planned."""
        own = next(self.plan.all("status", "raw", "hang"), None)
        answer = None
        if not own or own.forward:
            answer = self.forward(request)
            twice = self.plan.get("duplicate")
            if twice:
                if twice.delay and self.round.over.wait(twice.delay):
                    self.cut()
                self.client.leave_upstream()
                answers = answer, self.forward(request, is_again=True)
                answer = answers[twice.which]
        if not own:
            return answer
        if own.name == "status":
            return made_answer(own)
        if own.name == "raw":
            return Answer(own.data, b"", "raw", is_last=not own.open)
        return self.hang()

    def forward(self, request, is_again=False):
        """The server's answer to the whole request."""
        may_go, is_heard = (True, True) if is_again else self.round.claim()
        if not may_go:
            self.record.did = "stopped"
            self.cut()
        try:
            upstream = self.client.upstream()
        except OSError:
            self.record.add_server("unreachable")
            self.cut()
        try:
            # A server may refuse a request before it has read all of it.
            with contextlib.suppress(OSError):
                upstream.socket.sendall(request)
            self.record.forwarded += 1
            answer = read_answer(upstream, self.head.method)
        except Broken:
            self.record.add_server("lost")
            self.client.leave_upstream()
            self.cut()
        self.record.add_server(answer.status)
        if answer.is_last:
            self.client.leave_upstream()
        if not is_heard:
            self.cut()
        return answer

    def edit(self, answer):
        for fault in self.plan.faults:
            if fault.name == "set_header":
                answer.set_header(fault.header, fault.value)
            elif fault.name == "drop_header":
                answer.set_header(fault.header, None)
            elif fault.name == "garbage_body":
                answer.set_body(fault.data)
            elif fault.name == "wrong_length":
                answer.flatten()
                length = Head(answer.head).get("Content-Length") or len(answer.body)
                answer.set_header("Content-Length", max(0, int(length) + fault.delta))
                answer.is_last |= fault.delta > 0 and not fault.open
            elif fault.name == "append":
                answer.body += fault.data
        # Last, because there is nothing to edit in garbage.
        garbage = self.plan.get("garbage_head")
        if garbage:
            answer.head, answer.status = garbage.data, "garbage"
            answer.is_last = not garbage.open

    def deliver(self, answer):
        data = answer.head + answer.body
        cut = next(self.plan.all("cut_answer", "cut_body"), None)
        count = len(data)
        if cut:
            count = min(count, cut.bytes + (len(answer.head) if cut.name == "cut_body" else 0))
        if self.client.ending:
            self.cut(self.client.ending)
        self.record.sent = f"{count}/{len(data)}"
        if count == len(data) and answer.is_whole:
            self.record.answered = str(answer.status)
        drip = self.plan.get("drip")
        if drip:
            self.drip(data[:count], drip.seconds)
        self.record.state = "done"
        if not drip:
            self.client.wire.socket.sendall(data[:count])
        if cut:
            self.cut(cut.how)

    def drip(self, data, seconds):
        for at in range(len(data)):
            self.client.wire.socket.sendall(data[at:at + 1])
            if self.round.over.wait(seconds) or self.client.ending:
                self.record.sent, self.record.answered = f"{at + 1}/{len(data)}", "-"
                self.cut(self.client.ending or "rst")
