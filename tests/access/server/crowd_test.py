"""Clients without any credential that try to take a whole port for themselves."""

import http.client
import socket
import unittest

from server import ACCOUNT, Server

CONNECTIONS = 40
WAIT_S = 60


class Case(unittest.TestCase):
    # Nobody is closed for being silent while a test runs: only for somebody else.
    SILENCE_MS = 3600 * 1000

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--max-connections", str(CONNECTIONS), "--admin-name",
                            "Tables.Example.Org", "--test-points", "--test-values",
                            f"silence-ms={cls.SILENCE_MS}", engine="memory")
        cls.server.start()
        cls.ports = {"table": cls.server.table_port, "queue": cls.server.queue_port,
                     "blob": cls.server.blob_port, "admin": cls.server.admin_port}

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        log = cls.server.log()
        cls.server.clean()
        if code != 0:
            raise AssertionError(f"tavolad ended with {code}: {log[-4000:]}")

    def connect(self, port, text):
        connection = socket.socket()
        self.addCleanup(connection.close)
        connection.settimeout(WAIT_S)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", port))
        connection.sendall(text)
        return connection

    def status(self, port, path, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
        try:
            connection.request("GET", path, headers=headers)
            return connection.getresponse().status
        finally:
            connection.close()


class Crowd(Case):
    def test_silent_connections_do_not_shut_a_port(self):
        # All ports at once: each takes a second to drop a silent client.
        for text in (b"", b"GET /healthz HTTP/1.1\r\nHost: 127"):
            for port in self.ports.values():
                for _ in range(2 * CONNECTIONS):
                    self.connect(port, text)
            for name, port in self.ports.items():
                with self.subTest(port=name, text=text):
                    if name == "admin":
                        self.assertEqual(self.status(port, "/healthz"), 200)
                    else:
                        self.assertIn(self.status(port, f"/{ACCOUNT}/x"), (401, 403, 404))

    def test_metrics_that_nobody_reads_do_not_hide_the_health(self):
        for _ in range(2 * CONNECTIONS):
            self.connect(self.server.admin_port, b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" * 50)
        self.assertEqual(self.status(self.server.admin_port, "/healthz"), 200)

    def test_admin_port_answers_to_no_name_of_a_web_page(self):
        port = self.server.admin_port
        for host, status in (("127.0.0.1", 200), (f"127.0.0.1:{port}", 200), ("[::1]:80", 200),
                             ("localhost", 200), ("a.localhost:1", 200), ("tavola", 200),
                             (f"tavola:{port}", 200), ("tables.example.org:7", 200),
                             ("rebound.example.net", 403), (f"127.0.0.1.nip.io:{port}", 403),
                             ("tables.example.org.evil.net", 403), ("localhost.evil.net", 403)):
            for path in ("/metrics", "/healthz", "/"):
                with self.subTest(host=host, path=path):
                    self.assertEqual(self.status(port, path, Host=host), status)
        connection = self.connect(port, b"GET /healthz HTTP/1.0\r\n\r\n")
        self.assertIn(b" 200 ", connection.recv(64))


class Refused(Case):
    SILENCE_MS = 300

    def test_body_after_a_401_cannot_hold_its_connection(self):
        connection = self.connect(
            self.server.table_port,
            f"POST /{ACCOUNT}/Tables HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            "Content-Length: 60000\r\n\r\n".encode())
        reply = connection.recv(65536)
        self.assertTrue(reply.startswith(b"HTTP/1.1 4"), reply)
        connection.settimeout(0.01)
        for _ in range(int(WAIT_S / 0.01)):
            try:
                connection.sendall(b"x")
                if connection.recv(65536) == b"":
                    return
            except TimeoutError:
                pass
            except ConnectionError:
                return
        self.fail("the connection is still open")
