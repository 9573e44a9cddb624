"""SIGTERM and SIGINT: what is under way is finished, what is new is refused, exit code 0."""

import json
import random
import signal
import socket
import unittest

from fault.half import send_head, until_it_stops
from fault.table import load
from table_client import Client
from server import Server


LONG_MS = 600_000  # longer than any of this takes: nothing here may be waited for or cut off


def raw_head(client, path, body, content_type="application/json"):
    """The bytes of a signed POST up to its body."""
    headers = dict(client.headers(path), Host="127.0.0.1", **{
        "Content-Type": content_type, "Content-Length": str(len(body)),
        "Prefer": "return-no-content"})
    head = f"POST /{client.account}{path} HTTP/1.1\r\n" + "".join(
        f"{name}: {value}\r\n" for name, value in headers.items())
    return head.encode() + b"\r\n"


def read_all(connection):
    """Everything until the server closes."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


class Stop:
    """The tests; two classes below run them with their signal."""

    signal = None

    def setUp(self):
        self.server = Server("--test-points", "--test-values",
                             f"grace-ms={LONG_MS},silence-ms={LONG_MS}")
        self.server.start()
        self.client = Client(self.server.table_port)
        self.assertEqual(self.client.create_table(load.TABLE).status, 204)

    def tearDown(self):
        self.client.close()
        code = self.server.stop()
        log = self.server.log()
        self.server.clean()
        self.assertEqual(code, 0, log[-2000:])

    def restart(self):
        self.client.close()
        self.assertEqual(self.server.process.wait(60), 0, self.server.log()[-2000:])
        self.server.start()

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.server.table_port), timeout=60)

    def test_under_load_every_answer_is_kept_and_no_answer_is_lost(self):
        work = load.Load(self.server.table_port, seed=random.randrange(10**6))
        work.start()
        work.until_acknowledged(200, self.server)
        self.server.process.send_signal(self.signal)
        work.join()
        self.restart()
        work.check(self, lost_answers_are_faults=True)

    def test_request_under_way_is_finished_while_new_connections_are_refused(self):
        entity = json.dumps({"PartitionKey": "p", "RowKey": "half", "n": 1}).encode()
        with self.connect() as connection:
            send_head(connection, raw_head(self.client, f"/{load.TABLE}", entity))
            connection.sendall(entity[:-10])
            self.server.process.send_signal(self.signal)
            until_it_stops(self.server, self.server.table_port)
            self.assertIsNone(self.server.process.poll(), "it left a request unfinished")

            connection.sendall(entity[-10:])
            reply = read_all(connection)
        self.assertTrue(reply.startswith(b"HTTP/1.1 204 "), reply)
        self.assertIn(b"\r\n\r\n", reply)
        self.restart()
        self.assertEqual(self.client.get(load.TABLE, "p", "half").status, 200)

    def test_transaction_under_way_is_finished(self):
        entities = [{"PartitionKey": "p", "RowKey": str(i), "s": "x" * 5000} for i in range(100)]
        body, boundary = self.client.batch_body(load.TABLE, entities)
        with self.connect() as connection:
            send_head(connection, raw_head(self.client, "/$batch", body,
                                           f"multipart/mixed; boundary={boundary}"))
            connection.sendall(body[:-100])
            self.server.process.send_signal(self.signal)
            until_it_stops(self.server, self.server.table_port)
            connection.sendall(body[-100:])
            reply = read_all(connection)
        self.assertTrue(reply.startswith(b"HTTP/1.1 202 "), reply[:500])
        self.assertEqual(reply.count(b"HTTP/1.1 204 No Content"), 100)
        self.restart()
        self.assertEqual(len(list(self.client.scan(load.TABLE))), 100)

    def test_idle_connections_do_not_keep_it_alive(self):
        with self.connect(), self.connect():
            # A request on a connection of its own: those before it have been accepted by then, if
            # they are of its thread, and it is idle itself when it has its answer.
            self.assertEqual(Client(self.server.table_port).request("GET", "/Tables").status, 200)
            self.server.process.send_signal(self.signal)
            self.assertEqual(self.server.process.wait(60), 0)

    def test_second_signal_is_harmless(self):
        self.server.process.send_signal(self.signal)
        self.server.process.send_signal(self.signal)
        self.assertEqual(self.server.process.wait(60), 0)


class Sigterm(Stop, unittest.TestCase):
    signal = signal.SIGTERM


class Sigint(Stop, unittest.TestCase):
    signal = signal.SIGINT
