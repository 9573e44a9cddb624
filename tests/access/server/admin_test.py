"""Who may ask the admin port for a change: only who can read the data folder, and no web page."""

import http.client
import json
import os
import pathlib
import socket
import stat
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

from admin_proof import proof_of
from server import Server

NOWHERE = "/nothing-to-change"  # 404 for those who are let in


def token_of(server):
    return server.admin_token()


def own_address():
    """An address of this machine that is not loopback, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return None
        address = probe.getsockname()[0]
    return None if address.startswith("127.") else address


class Admin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--admin-host", "0.0.0.0", "--admin-name", "tavola.example",
                            engine="rocksdb")
        cls.server.start()
        cls.token = token_of(cls.server)

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0, cls.server.log()
        cls.server.clean()

    def post(self, *headers, host=None, method="POST", path=NOWHERE, address="127.0.0.1"):
        """Send these headers, in this order and as often as they are given; the status."""
        connection = http.client.HTTPConnection(address, self.server.admin_port, timeout=60)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", f"127.0.0.1:{self.server.admin_port}" if host is None else host)
        for name, value in headers:
            connection.putheader(name, value)
        connection.putheader("Content-Length", "0")
        connection.endheaders()
        reply = connection.getresponse()
        reply.read()
        connection.close()
        return reply.status

    def bearer(self, text=None):
        return ("Authorization", f"Bearer {text or self.token}")

    def test_what_changes_a_cluster_is_guarded_and_not_here(self):
        bearer = ("Authorization", f"Bearer {self.token}")
        for path in ("/cluster/force", "/cluster/point"):
            self.assertEqual(self.post(path=path), 401)
            self.assertEqual(self.post(bearer, path=path), 404)  # there is no cluster, no test
        self.assertEqual(self.post(method="GET", path="/cluster"), 404)

    def test_the_token_is_the_owners_alone(self):
        path = pathlib.Path(self.server.data) / "admin.token"
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        self.assertRegex(path.read_text(), r"\A[0-9a-f]{64}\n\Z")
        self.assertNotIn(self.token, self.server.log())
        self.assertFalse(path.with_suffix(".token.new").exists())

    def test_it_proves_that_it_knows_the_token_at_the_address_where_it_was_asked(self):
        nonce, port = "0123456789abcdef" * 4, self.server.admin_port
        for host in filter(None, ("127.0.0.1", "127.0.0.2", own_address())):
            with self.subTest(host):
                url = f"http://{host}:{port}/proof?nonce={nonce}"
                with urllib.request.urlopen(url, timeout=60) as reply:
                    answer = reply.read()
                self.assertEqual(json.loads(answer),
                                 {"proof": proof_of(self.token, nonce, f"{host}:{port}")})
                self.assertNotIn(self.token.encode(), answer)
        for query in ("", "?nonce=", f"?nonce={nonce[1:]}", f"?nonce={nonce}0",
                      f"?nonce={nonce[1:]}g", f"?nonce={nonce[3:]}%00", "?other=1"):
            with self.subTest(query):
                self.assertEqual(self.post(method="GET", path="/proof" + query), 400)
        self.assertEqual(self.post(self.bearer(), path=f"/proof?nonce={nonce}"), 404)

    @unittest.skipUnless(os.path.exists("/proc/net/if_inet6"), "this machine has no IPv6")
    def test_an_address_of_ipv4_is_one_on_a_socket_for_both_families(self):
        nonce = "0" * 64
        with Server("--admin-host", "::") as server:
            with urllib.request.urlopen(f"{server.admin_url}/proof?nonce={nonce}") as reply:
                self.assertEqual(json.load(reply)["proof"],
                                 proof_of(token_of(server), nonce, f"127.0.0.1:{server.admin_port}"))

    def test_without_a_token_there_is_nothing_to_prove(self):
        with Server(engine="memory") as server:
            with self.assertRaises(urllib.error.HTTPError) as raised:
                urllib.request.urlopen(f"{server.admin_url}/proof?nonce={'0' * 64}")
            self.assertEqual(raised.exception.code, 404)

    def test_only_the_token_opens_the_door(self):
        wrong = ("0" if self.token[0] != "0" else "1") + self.token[1:]
        self.assertEqual(self.post(self.bearer()), 404)
        self.assertEqual(self.post(("Authorization", f"bearer {self.token}")), 404)
        for headers in ((), (("Authorization", ""),), (("Authorization", "Bearer"),),
                        (("Authorization", "Bearer "),), (("Authorization", self.token),),
                        (("Authorization", f"Basic {self.token}"),), (self.bearer(wrong),),
                        (self.bearer(self.token[:-1]),), (self.bearer(self.token + "0"),),
                        (self.bearer(self.token.upper() + "."),), (self.bearer("0" * 64),),
                        (self.bearer(), self.bearer(wrong)), (self.bearer(), self.bearer())):
            with self.subTest(headers=headers):
                self.assertEqual(self.post(*headers), 401)
        self.assertEqual(self.post(path=f"{NOWHERE}?token={self.token}"), 401)

    def test_pages_of_other_origins_are_refused_even_with_the_token(self):
        own = f"http://127.0.0.1:{self.server.admin_port}"
        for headers in ((("Origin", own),), (("Sec-Fetch-Site", "none"),),
                        (("Origin", own), ("Sec-Fetch-Site", "same-origin"))):
            with self.subTest(headers=headers):
                self.assertEqual(self.post(self.bearer(), *headers), 404)
        for headers in ((("Origin", "http://evil.example"),), (("Origin", "null"),),
                        (("Origin", ""),), (("Origin", "http://127.0.0.1"),),
                        (("Origin", own.replace("http", "https")),), (("Origin", own + "0"),),
                        (("Origin", f"http://localhost:{self.server.admin_port}"),),
                        (("Origin", own), ("Origin", "http://evil.example")),
                        (("Sec-Fetch-Site", "cross-site"),), (("Sec-Fetch-Site", "same-site"),),
                        (("Origin", own), ("Sec-Fetch-Site", "cross-site")),
                        (("Sec-Fetch-Site", "something new"),)):
            with self.subTest(headers=headers):
                self.assertEqual(self.post(self.bearer(), *headers), 403)

    def test_names_that_anybody_can_make_point_here_are_refused(self):
        port = self.server.admin_port
        for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}",
                     f"tavola.example:{port}"):
            with self.subTest(host=host):
                self.assertEqual(self.post(self.bearer(), host=host), 404)
        for host in (f"evil.example:{port}", "tavola.example.evil.example", "intranet", ""):
            with self.subTest(host=host):
                self.assertIn(self.post(self.bearer(), host=host), (400, 403))

    def test_other_methods_change_nothing(self):
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "MERGE"):
            with self.subTest(method=method):
                self.assertIn(self.post(self.bearer(), method=method), (405, 501))
        for path in ("/healthz", "/ready", "/metrics", "/"):
            self.assertEqual(self.post(path=path), 401)
            self.assertEqual(self.post(self.bearer(), path=path), 404)
            self.assertEqual(self.post(method="GET", path=path), 200)

    def test_other_machines_are_refused(self):
        address = own_address()
        if address is None:
            self.skipTest("this machine has no address but loopback")
        host = f"{address}:{self.server.admin_port}"
        self.assertEqual(self.post(method="GET", path="/healthz", host=host, address=address), 200)
        self.assertEqual(self.post(self.bearer(), host=host, address=address), 403)


class Life(unittest.TestCase):
    def test_each_start_has_a_token_of_its_own_and_a_stop_removes_it(self):
        with Server(engine="rocksdb") as server:
            path = pathlib.Path(server.data) / "admin.token"
            first = token_of(server)
            self.assertEqual(server.stop(), 0)
            self.assertFalse(path.exists())
            server.start()
            second = token_of(server)
            server.kill()
            self.assertEqual(token_of(server), second)  # what a crash leaves opens nothing
            path.chmod(0o644)
            server.start()
            third = token_of(server)
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
            self.assertEqual(len({first, second, third}), 3)

    def test_a_second_server_leaves_the_token_alone(self):
        with Server(engine="rocksdb") as server:
            token = token_of(server)
            other = Server(data=server.data, engine="rocksdb")
            done = subprocess.run(other.command(), capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(token_of(server), token)

    def test_a_link_in_its_place_is_replaced_and_not_followed(self):
        with tempfile.TemporaryDirectory(prefix="tavola-token-") as folder:
            victim = pathlib.Path(folder) / "victim"
            victim.write_text("mine")
            with Server(engine="rocksdb") as server:
                server.stop()
                for name in ("admin.token", "admin.token.new"):
                    os.symlink(victim, pathlib.Path(server.data) / name)
                server.start()
                self.assertFalse((pathlib.Path(server.data) / "admin.token").is_symlink())
                self.assertEqual(victim.read_text(), "mine")

    def test_a_server_that_keeps_nothing_has_no_token(self):
        with Server(engine="memory") as server:
            self.assertEqual(os.listdir(server.data), [])
            connection = http.client.HTTPConnection("127.0.0.1", server.admin_port, timeout=60)
            for value in ("Bearer ", "Bearer " + "0" * 64, "Bearer " + "\0" * 64):
                connection.request("POST", NOWHERE, headers={"Authorization": value})
                reply = connection.getresponse()
                reply.read()
                self.assertIn(reply.status, (400, 401))
                if reply.status == 400:
                    connection.close()
            connection.close()

