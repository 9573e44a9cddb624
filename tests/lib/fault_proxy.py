"""A proxy between an HTTP client and a server that does to their talk what networks do.

    with FaultProxy("127.0.0.1", server.table_port) as proxy:
        proxy.plan("cut_answer 0 on 3")     # fault_plan.py has the list
        ...                                 # a client talks to proxy.port
        proxy.log()[2]["forwarded"]         # what the server got, whatever the client believes

Stand-alone it prints its ports as one line of JSON and serves until its stdin is closed:

    python3 tests/lib/fault_proxy.py --upstream HOST:PORT [--port P] [--control P]

Programs in other languages connect to the control port and send lines; the answer to each is
any number of lines and then one that begins with OK, or with ERR and the reason:

    PLAN fault...       plan a fault for requests to come
    CLEAR               forget plans, STOP_AFTER, REFUSE and the log; requests count from 1 again.
                        What hangs or is delayed is cut.  Open connections stay.
    LOG                 a line for each request since CLEAR, in the order of their heads (Record)
    STATS               open, total, peak: the client's connections now, since CLEAR, most at once;
                        requests, forwarded, refused: since CLEAR
    STOP_AFTER n [quiet]
                        n requests since CLEAR reach the server, all others are cut; with `quiet`
                        nobody hears the answer to the last: a client killed at this boundary
    REFUSE listen|accept [MS]
                        new connections are refused, or accepted and cut, until ACCEPT (or for MS)
    ACCEPT
    DROP [rst|fin]      cut all connections that are open, also the idle ones; those with a request
                        at the server are cut when it has answered
    HELD [N]            wait until N requests (1) are held by hold_request, a minute at most, else ERR
    RELEASE             let go on what is held, now and until CLEAR
    SETTLE [MS]         wait until no request is under way (60000), else ERR
    UPSTREAM HOST:PORT  where the server is now

A request is read whole before it is forwarded, and an answer before it is delivered: a cut
answer is one that the server has written to its end.  A server that cannot be reached, or ends
before it has answered, cuts the client's connection.
"""

import argparse
import contextlib
import json
import select
import socket
import socketserver
import sys
import threading
import time

import fault_plan
from fault_exchange import Cut, Exchange, Round, end_by
from http_wire import Broken, Wire

UPSTREAM_TIMEOUT_S = 120
SETTLE_S = 60
DROP_S = 60
STOP_S = 1
POLL_S = 0.02


class Client:
    """A connection of the client and the one to the server that belongs to it."""

    def __init__(self, proxy, connection, number):
        self.proxy, self.number = proxy, number
        self.wire = Wire(connection)
        self.ending = None  # set by DROP: how it ends
        self.ended = threading.Event()
        self.server = None

    def upstream(self):
        """The connection to the server, a new one when the server has ended the last."""
        if self.server and select.select([self.server.socket], [], [], 0)[0]:
            self.leave_upstream()
        if not self.server:
            self.server = self.proxy.connect()
        return self.server

    def leave_upstream(self):
        if self.server:
            self.server.socket.close()
        self.server = None

    def drop(self, how):
        """From another thread: end it as soon as its own thread sees it."""
        self.ending = how
        with contextlib.suppress(OSError):
            self.wire.socket.shutdown(socket.SHUT_RD)

    def serve(self):
        """Serve requests to the end of the connection; returns how to end it."""
        try:
            while (head := self.wire.read_head()) is not None and not self.ending:
                if not Exchange(self.proxy, self, head).run():
                    break
            return self.ending or "fin"
        except Cut as cut:
            return cut.how
        except (Broken, OSError):
            return self.ending or "rst"

    def run(self):
        how = self.serve()
        self.proxy.forget(self)
        self.leave_upstream()
        end_by(self.wire.socket, how, self.ended.set)


class FaultProxy:
    """The proxy; its commands may be called from any thread."""

    def __init__(self, upstream_host, upstream_port, port=0, control_port=0):
        self.upstream = (upstream_host, upstream_port)
        self.port, self.control_port = port, control_port
        self.lock = threading.Lock()
        self.clients = set()
        self.connection_count = 0
        self.round = Round(0)
        self.listener = self.control = self.own_port = None
        self.refuse_mode = None
        self.refuse_turn = 0  # so that the end of an old REFUSE does not end a new one

    # -- life

    def start(self):
        # Bound, never listening: the port stays ours while connections are refused.
        self.own_port = socket.socket()
        self.own_port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.own_port.bind(("127.0.0.1", self.port))
        self.port = self.own_port.getsockname()[1]
        self.listen()
        self.control = ControlServer(("127.0.0.1", self.control_port), ControlTalk)
        self.control.proxy = self
        self.control_port = self.control.server_address[1]
        threading.Thread(target=self.control.serve_forever, args=(POLL_S,), daemon=True).start()
        return self

    def stop(self):
        self.control.shutdown()
        self.control.server_close()
        self.unlisten()
        self.own_port.close()
        self.round.over.set()
        self.drop("rst", STOP_S)

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, value, trace):
        if kind is not None:
            print("--- log of the fault proxy ---", *self.log_lines(), sep="\n")
        self.stop()

    def listen(self):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(1024)
        self.listener = listener
        threading.Thread(target=self.accept_all, args=(listener,), daemon=True).start()

    def unlisten(self):
        if self.listener:
            # Wakes the thread that accepts; close() alone would not.
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
        self.listener = None

    def accept_all(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self.lock:
                is_refused = self.refuse_mode is not None
                if is_refused:
                    self.round.refused += 1
                else:
                    client = self.remember(connection)
            if is_refused:
                end_by(connection, "rst")
            else:
                threading.Thread(target=client.run, daemon=True).start()

    def remember(self, connection):
        self.connection_count += 1
        client = Client(self, connection, self.connection_count)
        self.clients.add(client)
        self.round.total += 1
        self.round.peak = max(self.round.peak, len(self.clients))
        return client

    def forget(self, client):
        with self.lock:
            self.clients.discard(client)

    def connect(self):
        return Wire(socket.create_connection(self.upstream, UPSTREAM_TIMEOUT_S))

    # -- commands

    def plan(self, line):
        plan = fault_plan.Plan(line)
        with self.round.changed:
            self.round.plans.append(plan)

    def clear(self):
        """Begin a new round; returns when the requests of the last have ended, if they do soon."""
        with self.lock:
            last, self.round = self.round, Round(len(self.clients))
        self.accept()
        last.over.set()
        return last.settle(SETTLE_S)

    def log_lines(self):
        return [record.line() for record in list(self.round.records)]

    def log(self):
        """The records as dicts."""
        return [dict(vars(record)) for record in list(self.round.records)]

    def stats(self):
        with self.lock:
            now = self.round
            return {"open": len(self.clients), "total": now.total, "peak": now.peak,
                    "requests": len(now.records),
                    "forwarded": sum(record.forwarded for record in now.records),
                    "refused": now.refused}

    def stop_after(self, count, is_quiet=False):
        with self.round.changed:
            self.round.stop_after, self.round.is_quiet = count, is_quiet

    def refuse(self, mode, milliseconds=None):
        if mode not in ("listen", "accept"):
            raise ValueError(f"REFUSE listen or accept, not {mode}")
        with self.lock:
            self.refuse_mode = mode
            self.refuse_turn += 1
            if mode == "listen":
                self.unlisten()
            elif not self.listener:
                self.listen()
            if milliseconds is not None:
                end = threading.Timer(milliseconds / 1000, self.accept, (self.refuse_turn,))
                end.daemon = True
                end.start()

    def accept(self, turn=None):
        """Accept again; when a turn is given, only if it is the last REFUSE."""
        with self.lock:
            if self.refuse_mode is None or turn not in (None, self.refuse_turn):
                return
            self.refuse_mode = None
            if not self.listener:
                self.listen()

    def drop(self, how="rst", wait_s=DROP_S):
        if how not in ("rst", "fin"):
            raise ValueError(f"DROP rst or fin, not {how}")
        with self.lock:
            clients = list(self.clients)
        for client in clients:
            client.drop(how)
        deadline = time.monotonic() + wait_s
        for client in clients:
            client.ended.wait(max(0, deadline - time.monotonic()))

    def held(self, count=1):
        """Wait until so many requests are held; False when they do not come."""
        return self.round.wait_held(count, SETTLE_S)

    def release(self):
        self.round.released.set()

    def settle(self, milliseconds=SETTLE_S * 1000):
        """Wait until no request is under way; False when some still are."""
        return self.round.settle(milliseconds / 1000)


def stop_after(proxy, count, quiet=None):
    if quiet not in (None, "quiet"):
        raise ValueError(f"STOP_AFTER n [quiet], not {quiet}")
    proxy.stop_after(fault_plan.count(count), quiet is not None)


def stats_lines(proxy):
    return [" ".join(f"{key}={value}" for key, value in proxy.stats().items())]


def set_upstream(proxy, text):
    proxy.upstream = address(text)


# A command gets the words of its line and returns lines, or False when requests do not end.
COMMANDS = {
    "CLEAR": lambda proxy: proxy.clear(),
    "LOG": lambda proxy: proxy.log_lines(),
    "STATS": stats_lines,
    "STOP_AFTER": stop_after,
    "REFUSE": lambda proxy, mode, *wait: proxy.refuse(mode, *map(float, wait)),
    "ACCEPT": lambda proxy: proxy.accept(),
    "DROP": lambda proxy, *how: proxy.drop(*how),
    "HELD": lambda proxy, *count: proxy.held(*map(int, count)),
    "RELEASE": lambda proxy: proxy.release(),
    "SETTLE": lambda proxy, *wait: proxy.settle(*map(float, wait)),
    "UPSTREAM": set_upstream,
}


def do_command(proxy, line):
    """Do one line of the control port and return the lines of the answer."""
    name, _, rest = line.strip().partition(" ")
    try:
        if name == "PLAN":
            result = proxy.plan(rest)
        elif name in COMMANDS:
            result = COMMANDS[name](proxy, *rest.split())
        else:
            raise ValueError(f"no command: {name}")
    except (ValueError, TypeError, OSError) as error:
        return [f"ERR {error}"]
    if result is False:
        return ["ERR requests are still under way"]
    lines = result if isinstance(result, list) else []
    return [*lines, f"OK {len(lines)}"]


class ControlServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


class ControlTalk(socketserver.StreamRequestHandler):
    def handle(self):
        with contextlib.suppress(OSError):
            for line in self.rfile:
                lines = do_command(self.server.proxy, line.decode("utf-8", "replace"))
                self.wfile.write("".join(f"{one}\n" for one in lines).encode())


def address(text):
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError(f"no HOST:PORT: {text}")
    return host, int(port)


def main():
    parser = argparse.ArgumentParser(description="A faulty network for HTTP.")
    parser.add_argument("--upstream", required=True, type=address, metavar="HOST:PORT")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--control", type=int, default=0)
    options = parser.parse_args()
    with FaultProxy(*options.upstream, options.port, options.control) as proxy:
        print(json.dumps({"port": proxy.port, "control": proxy.control_port}), flush=True)
        sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
