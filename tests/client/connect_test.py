"""Every way to a server: HTTPS, a proxy of either kind, host style, a signature instead of a key."""

import os
import pathlib
import socket
import socketserver
import subprocess
import tempfile
import threading
import unittest

import certificate
import server
from server import ACCOUNT, KEY

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TAVOLA_CLIENT_BUILD", ROOT / "build-check"))
EXPECTED = (ROOT / "examples/expected/point_query.txt").read_text()
NO_PROXY = {name: "" for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                  "ALL_PROXY", "no_proxy", "NO_PROXY")}


def run(connection, **environment):
    """An example that creates a table, inserts, reads and queries."""
    return subprocess.run([BUILD / "examples/point_query", connection], capture_output=True,
                          text=True, timeout=60, env=os.environ | NO_PROXY | environment)


def pump(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for side in (source, target):
        try:
            side.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class ProxyTalk(socketserver.StreamRequestHandler):
    """Sends every connection on to the one server, whatever host it asks for."""

    def handle(self):
        line = self.rfile.readline()
        self.server.asked.append(line.decode().strip())
        head = b""
        upstream = socket.create_connection(("127.0.0.1", self.server.upstream))
        if line.startswith(b"CONNECT "):
            while (header := self.rfile.readline()) not in (b"\r\n", b""):
                head += header
            self.server.heads.append(head.decode())
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            method, url, version = line.split(b" ")
            path = b"/" + url.split(b"/", 3)[3]
            # Requests after the first come with whole URLs, too: tavolad takes them.
            upstream.sendall(b" ".join((method, path, version)))
        threading.Thread(target=pump, args=(upstream, self.connection), daemon=True).start()
        rest = self.rfile.peek() if not line.startswith(b"CONNECT ") else b""
        if rest:
            upstream.sendall(self.rfile.read(len(rest)))
        pump(self.connection, upstream)


class SocksTalk(socketserver.StreamRequestHandler):
    """SOCKS 5 without a login, to the one server, whatever host it asks for."""

    def handle(self):
        self.rfile.read(self.rfile.read(2)[1])
        self.wfile.write(b"\5\0")
        name = self.rfile.read(self.rfile.read(5)[4])
        port = int.from_bytes(self.rfile.read(2), "big")
        self.server.asked.append(f"{name.decode()}:{port}")
        upstream = socket.create_connection(("127.0.0.1", self.server.upstream))
        self.wfile.write(b"\5\0\0\1\0\0\0\0\0\0")
        threading.Thread(target=pump, args=(upstream, self.connection), daemon=True).start()
        pump(self.connection, upstream)


class Proxy(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, upstream, talk=ProxyTalk):
        super().__init__(("127.0.0.1", 0), talk)
        self.upstream, self.asked, self.heads = upstream, [], []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Connect(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.certificate, key = certificate.make(cls.folder.name)
        # The well-known key is for local names alone unless it is allowed everywhere.
        cls.server = server.Server("--cert", cls.certificate, "--key", key, "--allow-dev-account")
        cls.server.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)
        cls.folder.cleanup()

    def works(self, connection, **environment):
        done = run(connection, **environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, EXPECTED)

    def keyed(self, endpoint):
        return f"AccountName={ACCOUNT};AccountKey={KEY};TableEndpoint={endpoint}"

    def test_https_with_a_root_that_is_trusted(self):
        for host in ("127.0.0.1", "localhost"):
            with self.subTest(host):
                self.works(self.keyed(f"https://{host}:{self.server.table_port}/{ACCOUNT}"),
                           SSL_CERT_FILE=self.certificate)

    def test_https_with_a_root_that_is_not(self):
        done = run(self.keyed(f"https://127.0.0.1:{self.server.table_port}/{ACCOUNT}"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("NETWORK", done.stderr)

    def test_a_plain_proxy(self):
        with Proxy(self.server.table_port) as proxy:
            self.works(self.keyed(f"http://tavola.test/{ACCOUNT}"), http_proxy=proxy.url)
            self.assertTrue(proxy.asked)
            self.assertIn(f" http://tavola.test/{ACCOUNT}/", proxy.asked[0])

    def test_socks(self):
        for scheme, port in (("http", 80), ("https", 443)):
            with self.subTest(scheme), Proxy(self.server.table_port, SocksTalk) as proxy:
                self.works(self.keyed(f"{scheme}://tavola.test/{ACCOUNT}"),
                           all_proxy=proxy.url.replace("http://", "socks5://"),
                           SSL_CERT_FILE=self.certificate)
                self.assertEqual(set(proxy.asked), {f"tavola.test:{port}"})

    def test_no_proxy_for_some(self):
        with Proxy(self.server.table_port) as proxy:
            done = run(self.keyed(f"http://tavola.test/{ACCOUNT}"), http_proxy=proxy.url,
                       no_proxy="example.org,tavola.test")
            self.assertEqual((done.returncode, proxy.asked), (1, []))

    def test_this_machine_is_never_behind_a_proxy(self):
        (nobody,) = server.free_ports(1)
        for proxy in (f"http://127.0.0.1:{nobody}", f"socks5h://127.0.0.1:{nobody}", "socks4://x"):
            for host in ("127.0.0.1", "localhost"):
                with self.subTest(proxy=proxy, host=host):
                    self.works(self.keyed(f"http://{host}:{self.server.table_port}/{ACCOUNT}"),
                               http_proxy=proxy, all_proxy=proxy)

    def test_a_tunnel(self):
        with Proxy(self.server.table_port) as proxy:
            with_name = proxy.url.replace("http://", "http://ada:secret@")
            self.works(self.keyed(f"https://tavola.test/{ACCOUNT}"), https_proxy=with_name,
                       SSL_CERT_FILE=self.certificate)
            self.assertIn("CONNECT tavola.test:443 HTTP/1.1", proxy.asked)
            self.assertIn("Proxy-Authorization: Basic YWRhOnNlY3JldA==", proxy.heads[0])

    def test_host_style(self):
        """Through a proxy, which finds a server for a name that nobody else knows."""
        with Proxy(self.server.table_port) as proxy:
            self.works(f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};"
                       "EndpointSuffix=tavola.test", http_proxy=proxy.url)
            self.assertIn(f" http://{ACCOUNT}.table.tavola.test/", proxy.asked[0])

    def test_nobody_there(self):
        (port,) = server.free_ports(1)
        done = run(self.keyed(f"http://127.0.0.1:{port}/{ACCOUNT}"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("NETWORK", done.stderr)
