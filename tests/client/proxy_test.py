"""The fault proxy does what was planned, once, to the request it was planned for, and says so.

Tests of the client believe its log, so it is compared here with what a server has counted.
"""

import contextlib
import http.client
import http.server
import json
import pathlib
import socket
import subprocess
import sys
import threading
import time
import unittest

import fault_proxy
from fault_proxy import FaultProxy
from server import Server
from table_client import BROKEN, Client

BODY = b"0123456789"
WAIT_S = 60  # for what must come


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers every request with the same body and remembers what it got."""

    protocol_version = "HTTP/1.1"

    def read_body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def reply(self):
        try:
            body = self.read_body()
        except ConnectionError:
            return
        # This library takes the end of the connection for the end of the head or the body.
        if len(body) < int(self.headers.get("Content-Length", self.command == "POST")):
            return
        self.server.seen.append((self.command, self.path, body))
        head = f"x-ms-client-request-id: {len(self.server.seen)}\r\n".encode()
        if self.path == "/empty":
            head, body = b"HTTP/1.1 204 No Content\r\n" + head, b""
        elif self.path == "/chunked":
            head = b"HTTP/1.1 200 OK\r\n" + head + b"Transfer-Encoding: chunked\r\n"
            body = b"4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n"
        else:
            head = b"HTTP/1.1 200 OK\r\n" + head + b"Content-Length: 10\r\n"
            body = b"" if self.command == "HEAD" else BODY
        self.wfile.write(head + b"\r\n" + body)

    do_GET = do_HEAD = do_POST = do_PUT = reply

    def log_message(self, *_):
        pass


class TinyServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen = []

    def handle_error(self, *_):
        """Broken connections are no news here."""


class Talk:
    """The outcome of one request: a status and a body, or what broke."""

    def __init__(self, connection, method="GET", path="/", body=None, headers=None):
        self.status = self.body = self.broken = None
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            self.status, self.headers = answer.status, answer.headers
            self.body = answer.read()
        except BROKEN as error:
            self.broken = error
            connection.close()


class ProxyTest(unittest.TestCase):
    def setUp(self):
        self.server = TinyServer()
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.proxy = FaultProxy("127.0.0.1", self.server.server_address[1]).start()
        self.connection = self.connect()

    def tearDown(self):
        self.connection.close()
        self.proxy.stop()
        self.server.shutdown()
        self.server.server_close()

    def connect(self, timeout_s=WAIT_S):
        return http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=timeout_s)

    def talk(self, *arguments, **named):
        return Talk(self.connection, *arguments, **named)

    def plan(self, line):
        """Begin again, with this plan."""
        self.assertTrue(self.proxy.clear())
        self.server.seen.clear()
        self.connection.close()
        self.proxy.plan(line)

    def wait(self, is_so):
        deadline = time.monotonic() + WAIT_S
        while not is_so():
            self.assertLess(time.monotonic(), deadline, "it does not happen")
            time.sleep(0.005)

    def test_without_plans_nothing_changes(self):
        for method, path, body, expected in (("GET", "/", None, BODY),
                                             ("GET", "/chunked", None, BODY),
                                             ("HEAD", "/", None, b""),
                                             ("GET", "/empty", None, b""),
                                             ("POST", "/a?b=c", b"x" * 300000, BODY),
                                             ("PUT", "/", iter([b"one", b"two"]), BODY)):
            with self.subTest(method=method, path=path):
                talk = self.talk(method, path, body)
                self.assertIsNone(talk.broken)
                self.assertEqual(talk.body, expected)
        self.assertEqual(self.server.seen[4], ("POST", "/a?b=c", b"x" * 300000))
        self.assertEqual(self.server.seen[5][2], b"onetwo")
        self.assertEqual([record["server"] for record in self.proxy.log()],
                         ["200", "200", "200", "204", "200", "200"])
        stats = self.proxy.stats()
        self.assertEqual((stats["open"], stats["total"], stats["requests"], stats["forwarded"]),
                         (1, 1, 6, 6))

    def test_faults_of_the_connection(self):
        for line, seen, error, record in (
                ("cut_request 0", 0, ConnectionResetError, "forwarded=0 partial=0 server=-"),
                ("cut_request 0 fin", 0, http.client.RemoteDisconnected, "forwarded=0"),
                ("cut_request 9999", 0, ConnectionResetError, "forwarded=0 partial=0 server=-"),
                ("cut_request 30 forward", 0, ConnectionResetError, "forwarded=0 partial=30"),
                ("cut_request 30 forward fin", 0, http.client.RemoteDisconnected, "partial=30"),
                ("cut_request 9999 forward", 1, ConnectionResetError, "forwarded=1 partial=0"),
                ("cut_answer 0", 1, ConnectionResetError, "server=200 answered=- sent=0/"),
                ("cut_answer 0 fin", 1, http.client.RemoteDisconnected, "answered=- sent=0/"),
                ("cut_answer 20", 1, ConnectionResetError, "forwarded=1"),
                ("cut_body 4", 1, ConnectionResetError, "forwarded=1"),
                ("cut_body 4 fin", 1, http.client.IncompleteRead, "server=200 answered=-")):
            with self.subTest(line):
                self.plan(line)
                talk = self.talk("POST", "/cut", b"body")
                self.assertIsInstance(talk.broken, error)
                self.assertTrue(self.proxy.settle())
                self.assertEqual(len(self.server.seen), seen)
                self.assertIn(record, self.proxy.log_lines()[0])
                self.assertEqual(self.talk().body, BODY, "the next request is whole")

    def read_raw(self, is_enough):
        """What comes on a connection after one GET, until it is enough."""
        got = b""
        with socket.create_connection(("127.0.0.1", self.proxy.port), WAIT_S) as raw:
            raw.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            with contextlib.suppress(ConnectionResetError):
                while not is_enough(got):
                    more = raw.recv(1)
                    self.assertTrue(more, f"the end after {got}")
                    got += more
        return got

    def test_what_was_sent_arrives_before_a_reset(self):
        self.plan("cut_body 4")
        got = self.read_raw(lambda got: False)
        self.assertTrue(got.endswith(b"\r\n\r\n0123"), got)

    def test_bytes_that_nobody_asked_for(self):
        self.plan("wrong_length -5")
        got = self.read_raw(lambda got: got.endswith(BODY))
        self.assertIn(b"Content-Length: 5\r\n", got)
        self.plan("append hex:0d0aff")
        got = self.read_raw(lambda got: got.endswith(b"\xff"))
        self.assertTrue(got.endswith(b"\r\n\r\n" + BODY + b"\r\n\xff"), got)
        self.assertIn(b"Content-Length: 10\r\n", got)

    def test_a_large_request_is_cut_while_it_is_sent(self):
        for line in ("cut_request 100000", "cut_request 100000 forward"):
            with self.subTest(line):
                self.plan(line)
                talk = self.talk("POST", "/", b"x" * 50000000)
                self.assertIsInstance(talk.broken, OSError)
                self.assertEqual(self.server.seen, [])

    def test_answers_of_the_proxy(self):
        for line, seen, status in (("status 503 retry_after 7", 0, 503),
                                   ("status 500 forward retry_after 7", 1, 500)):
            with self.subTest(line):
                self.plan(line + " error ServerBusy")
                talk = self.talk("POST", "/", b"body")
                self.assertEqual((talk.status, talk.headers["Retry-After"]), (status, "7"))
                self.assertEqual(json.loads(talk.body)["odata.error"]["code"], "ServerBusy")
                self.assertEqual(len(self.server.seen), seen)
                record = self.proxy.log()[0]
                self.assertEqual((record["forwarded"], record["answered"]), (seen, str(status)))
                self.assertEqual(self.talk().body, BODY)
                self.assertEqual(self.proxy.stats()["total"], 1, "the connection stays")

    def test_a_duplicate_reaches_the_server_twice(self):
        for which, answer in (("first", "1"), ("second", "2")):
            with self.subTest(which):
                self.plan(f"duplicate {which}")
                talk = self.talk("POST", "/", b"body")
                self.assertEqual(talk.headers["x-ms-client-request-id"], answer)
                self.assertEqual(self.server.seen, [("POST", "/", b"body")] * 2)
                self.assertEqual(self.proxy.log()[0]["server"], "200,200")

    def test_garbage(self):
        self.plan("garbage_body hex:00ff")
        self.assertEqual(self.talk("GET", "/chunked").body, b"\0\xff")
        self.plan('garbage_head "text:HTTP/1.1 2000 No\\r\\n\\r\\n"')
        self.assertIsInstance(self.talk().broken, http.client.BadStatusLine)
        self.plan("garbage_head random:50:7")
        self.assertIsNotNone(self.talk().broken)
        self.plan('raw "text:HTTP/1.1 200 OK\\r\\nContent-Length: 1\\r\\n\\r\\nx"')
        self.assertEqual((self.talk().body, self.server.seen), (b"x", []))
        self.plan("wrong_length 5")
        self.assertIsInstance(self.talk("GET", "/chunked").broken, http.client.IncompleteRead)
        self.plan("set_header x-ms-client-request-id other + set_header Date yesterday")
        headers = self.talk().headers
        self.assertEqual(headers.get_all("X-Ms-Client-Request-Id"), ["other"])
        self.assertEqual(headers["Date"], "yesterday")
        self.plan("drop_header x-ms-client-request-id")
        self.assertNotIn("x-ms-client-request-id", self.talk().headers)

    def test_delays(self):
        for line, least_s in (("delay_request 60", 0.06), ("delay_answer 60", 0.06),
                              ("drip 1", 0.06), ("delay_request 30 + delay_answer 30", 0.06)):
            with self.subTest(line):
                self.plan(line)
                began = time.monotonic()
                self.assertEqual(self.talk().body, BODY)
                self.assertGreaterEqual(time.monotonic() - began, least_s)

    def leave_early(self):
        """Send a request and leave before there is an answer."""
        self.connection = self.connect(timeout_s=0.05)
        self.assertIsInstance(self.talk().broken, TimeoutError)
        self.wait(self.proxy.log)

    def test_a_delayed_request_reaches_the_server_after_the_client_has_left(self):
        self.plan("hold_request")
        self.leave_early()
        self.assertTrue(self.proxy.held())
        self.assertEqual(self.server.seen, [])
        self.proxy.release()
        self.assertTrue(self.proxy.settle())
        self.assertEqual(len(self.server.seen), 1)
        self.plan("delay_request 200")
        self.connection = self.connect(timeout_s=0.05)
        self.assertIn(type(self.talk().broken), (TimeoutError, type(None)))
        self.wait(self.proxy.log)
        self.assertTrue(self.proxy.settle())
        self.assertEqual(len(self.server.seen), 1)

    def test_what_is_held_goes_on_or_is_cut(self):
        for end, seen in ((self.proxy.release, 1), (self.proxy.clear, 0)):
            with self.subTest(end.__name__):
                self.plan("hold_request")
                results = []
                waiting = threading.Thread(target=lambda: results.append(self.talk()))
                waiting.start()
                self.assertTrue(self.proxy.held())
                self.assertEqual(self.server.seen, [])
                end()
                waiting.join(WAIT_S)
                self.assertEqual(results[0].body, BODY if seen else None)
                self.assertEqual(len(self.server.seen), seen)

    def test_a_hang_lasts_until_the_client_leaves_or_clear(self):
        for line, seen in (("hang", 0), ("hang forward", 1)):
            with self.subTest(line):
                self.plan(line)
                self.leave_early()
                self.assertTrue(self.proxy.settle(), "it ends with the client")
                self.assertEqual(len(self.server.seen), seen)
                self.plan(line)
                self.connection = self.connect()
                waiting = threading.Thread(target=self.talk)
                waiting.start()
                self.wait(lambda: self.proxy.log())
                self.assertFalse(self.proxy.settle(0))
                self.assertEqual(self.proxy.log()[0]["state"], "open")
                self.assertTrue(self.proxy.clear())
                waiting.join(WAIT_S)
                self.assertFalse(waiting.is_alive())

    def test_which_requests_a_plan_is_for(self):
        for line, hit in (("status 500", "1"), ("status 500 on 3", "3"),
                          ("status 500 times 2", "12"),
                          ("status 500 on 2 times 3", "234"), ("status 500 always", "123456"),
                          ("status 500 on 5 always", "56"), ("status 500 skip 4", "5"),
                          ("status 500 match /b", "2"), ("status 500 match 'GET /b' always", "246"),
                          ("status 500 match /b skip 1", "4"), ("status 500 match /$b on 3", ""),
                          ("status 500 match /b on 4", "4"),
                          ("status 500 match nowhere always", "")):
            with self.subTest(line):
                self.plan(line)
                paths = ["/a", "/b"] * 3
                statuses = [self.talk("GET", path).status for path in paths]
                self.assertEqual("".join(str(at + 1) for at, status in enumerate(statuses)
                                         if status == 500), hit)
        self.plan("status 500 match /a/$batch")
        self.assertEqual(self.talk("POST", "/a/%24batch").status, 500)
        self.plan("status 500 times 2")
        self.proxy.plan("status 503")
        self.assertEqual([self.talk().status for _ in range(4)], [500, 500, 503, 200])

    def test_stop_after(self):
        for count in range(4):
            for quiet in (False, True):
                with self.subTest(count=count, quiet=quiet):
                    self.plan("status 500 on 99")
                    self.proxy.stop_after(count, quiet)
                    talks = [self.talk("POST", f"/{at}") for at in range(5)]
                    self.assertEqual([path for _, path, _ in self.server.seen],
                                     [f"/{at}" for at in range(count)])
                    heard = max(0, count - quiet)
                    self.assertEqual([talk.status for talk in talks],
                                     [200] * heard + [None] * (5 - heard))
                    self.assertEqual([record["did"] for record in self.proxy.log()],
                                     ["-"] * count + ["stopped"] * (5 - count))
                    self.proxy.clear()
                    self.assertEqual(self.talk().status, 200)

    def test_refused_connections(self):
        self.assertEqual(self.talk().status, 200)
        for mode, error in (("listen", ConnectionRefusedError), ("accept", ConnectionResetError)):
            with self.subTest(mode):
                self.proxy.refuse(mode)
                self.assertEqual(self.talk().status, 200, "open connections stay")
                self.assertIsInstance(Talk(self.connect()).broken, error)
                self.proxy.accept()
                self.assertEqual(Talk(self.connect()).status, 200)
                began = time.monotonic()
                self.proxy.refuse(mode, 50)
                talk = Talk(self.connect())
                if talk.status is None or time.monotonic() - began < 0.05:
                    self.assertIsInstance(talk.broken, error)
                self.wait(lambda: Talk(self.connect()).status == 200)
        self.proxy.refuse("listen")
        self.proxy.refuse("accept")
        self.proxy.clear()
        self.assertEqual(Talk(self.connect()).status, 200)

    def test_drop_cuts_idle_connections(self):
        for how, error in (("rst", ConnectionResetError), ("fin", BROKEN)):
            with self.subTest(how):
                self.assertEqual(self.talk().status, 200)
                self.assertEqual(self.proxy.stats()["open"], 1)
                self.proxy.drop(how)
                self.assertEqual(self.proxy.stats()["open"], 0)
                self.assertIsInstance(self.talk().broken, error)

    def test_a_server_that_is_away_cuts_the_client(self):
        self.proxy.upstream = ("127.0.0.1", 1)
        self.assertIsNotNone(self.talk().broken)
        self.assertEqual((self.proxy.log()[0]["server"], self.proxy.log()[0]["forwarded"]),
                         ("unreachable", 0))

    def test_many_clients_at_once(self):
        self.plan("cut_answer 0 match /cut always")
        results = []

        def work(worker):
            with contextlib.closing(self.connect()) as connection:
                for at in range(50):
                    path = f"/cut/{worker}/{at}" if at % 5 == 0 else f"/{worker}/{at}"
                    results.append((path, Talk(connection, "POST", path, b"x" * at).status))

        workers = [threading.Thread(target=work, args=(at,)) for at in range(16)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertTrue(self.proxy.settle())
        log = self.proxy.log()
        self.assertEqual({path: status for path, status in results},
                         {record["target"]: 200 if record["answered"] == "200" else None
                          for record in log})
        self.assertEqual(sorted(path for _, path, _ in self.server.seen),
                         sorted(record["target"] for record in log))
        self.assertEqual([record["number"] for record in log], list(range(1, 801)))
        self.assertEqual(sum(status is None for _, status in results), 160)
        self.assertLessEqual(self.proxy.stats()["peak"], 16)


class ControlTest(unittest.TestCase):
    """The program, its control port, and a real server behind it."""

    def setUp(self):
        self.server = self.enterContext(Server())
        self.program = subprocess.Popen(
            [sys.executable, str(pathlib.Path(fault_proxy.__file__)), "--upstream",
             f"127.0.0.1:{self.server.table_port}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.enterContext(self.program)
        ports = json.loads(self.program.stdout.readline())
        self.control = self.enterContext(socket.create_connection(("127.0.0.1", ports["control"])))
        self.lines = self.enterContext(self.control.makefile("r", encoding="utf-8"))
        self.client = Client(ports["port"])

    def command(self, line):
        """(lines, closing line) of the answer."""
        self.control.sendall(line.encode() + b"\n")
        lines = []
        while not (one := self.lines.readline().rstrip("\n")).startswith(("OK", "ERR")):
            self.assertTrue(one, "the control port is gone")
            lines.append(one)
        return lines, one

    def test_an_insert_that_worked_and_was_not_heard(self):
        self.assertEqual(self.client.create_table("people").status, 204)
        self.assertEqual(self.command("CLEAR"), ([], "OK 0"))
        self.assertEqual(self.command('PLAN cut_answer 0 match "POST /devstoreaccount1/people"'),
                         ([], "OK 0"))
        entity = {"PartitionKey": "p", "RowKey": "r"}
        with self.assertRaises(BROKEN):
            self.client.insert("people", entity)
        self.assertEqual(self.client.insert("people", entity).status, 409)
        lines, closing = self.command("LOG")
        self.assertEqual(closing, "OK 2")
        self.assertRegex(lines[0], r"^1 POST /devstoreaccount1/people connection=\d+ id=\S+ "
                         r"did=cut_answer forwarded=1 partial=0 server=204 answered=- sent=0/\d+ "
                         r"state=done$")
        self.assertRegex(lines[1], r"^2 POST .* did=- forwarded=1 .* server=409 answered=409 ")
        lines, _ = self.command("STATS")
        self.assertRegex(lines[0], r"^open=1 total=1 peak=\d+ requests=2 forwarded=2 refused=0$")

    def test_commands_that_are_wrong_are_answered(self):
        for line in ("", "NONSENSE", "PLAN", "PLAN explode", "PLAN cut_answer", "PLAN cut_answer x",
                     "PLAN cut_answer -1", "PLAN status 500 on", "PLAN status 500 forwards",
                     "PLAN hang rst", "PLAN duplicate third", "PLAN raw abc", "PLAN raw hex:0",
                     "PLAN raw 'text:", "PLAN hang +", "STOP_AFTER", "STOP_AFTER x",
                     "STOP_AFTER 1 loudly", "REFUSE", "REFUSE all", "DROP it", "UPSTREAM here"):
            with self.subTest(line):
                lines, closing = self.command(line)
                self.assertEqual(lines, [])
                self.assertRegex(closing, "^ERR .")
        for line in ("STOP_AFTER 3 quiet", "REFUSE listen 5", "ACCEPT", "DROP", "SETTLE", "CLEAR"):
            self.assertRegex(self.command(line)[1], "^OK 0", line)

    def test_it_ends_with_its_stdin(self):
        self.program.stdin.close()
        self.assertEqual(self.program.wait(WAIT_S), 0)
