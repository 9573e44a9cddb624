"""SIGHUP: keys and certificates change under a running server, and no client that is let in
notices.

In addition, the other ways to call the server: --https-only, and the read-only secondary.
"""

import base64
import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import tempfile
import threading
import unittest

import certificate
import sign
from fault.half import send_head
from sas import table_sas
from server import Server
from table_client import BROKEN, Client
from until import until


def made_key(name):
    return base64.b64encode(hashlib.sha512(name.encode()).digest()).decode()


OLD, NEW, OTHER = map(made_key, ("old", "new", "other"))


class Reload(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tavola-reload-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.accounts = self.folder / "accounts"

    def start(self, *flags, text=f"alpha:{OLD}\n"):
        self.accounts.write_text(text)
        self.server = Server("--accounts", str(self.accounts), *flags, engine="memory")
        self.server.start()
        self.addCleanup(self.stop)
        self.reloads = 0  # lines about them
        return self.server

    def stop(self):
        code, log = self.server.stop(), self.server.log()
        self.server.clean()
        self.assertEqual(code, 0, log[-4000:])
        self.assertEqual(log.count("event=reload"), self.reloads, log[-4000:])
        for key in (OLD, NEW, OTHER):
            self.assertNotIn(key, log)

    def client(self, key, account="alpha"):
        client = Client(self.server.table_port, account, key)
        self.addCleanup(client.close)
        return client

    def status(self, key, account="alpha"):
        return self.client(key, account).request("GET", "/Tables").status

    def hang_up(self, lines):
        """Send SIGHUP and wait for the lines that it makes; returns them."""
        def found():
            log, _, _ = self.server.log().rpartition("\n")  # the last line may be on its way
            return [line for line in log.splitlines() if "event=reload" in line]

        before, self.reloads = self.reloads, self.reloads + lines
        self.server.process.send_signal(signal.SIGHUP)
        until(lambda: len(found()) >= self.reloads,
              lambda: f"{lines} lines about SIGHUP: {self.server.log()[-2000:]}")
        return found()[before:self.reloads]

    # --- accounts

    def test_keys_are_rotated_without_a_restart(self):
        self.start()
        kept = self.client(OLD)
        self.assertEqual(kept.create_table("people").status, 204)
        self.assertEqual(self.status(NEW), 403)

        self.accounts.write_text(f"alpha:{OLD}:{NEW}\n")
        self.hang_up(1)
        self.assertEqual((self.status(OLD), self.status(NEW)), (200, 200))

        self.accounts.write_text(f"alpha:{NEW}\n")
        self.hang_up(1)
        self.assertEqual((self.status(OLD), self.status(NEW)), (403, 200))
        # A connection that is open already has no rights of its own.
        self.assertEqual(kept.request("GET", "/Tables").status, 403)
        self.assertEqual(self.client(NEW).request("GET", "/Tables('people')").status, 200)

    def test_tokens_end_with_the_key_that_signed_them(self):
        self.start()
        self.client(OLD).create_table("people")
        tokens = {key: table_sas(key, "alpha", tn="people", sp="r", se="2099-01-01")
                  for key in (OLD, NEW)}

        def status(key):
            client = self.client(OLD)
            client.connection.request("GET", f"/alpha/people()?{tokens[key]}")
            reply = client.connection.getresponse()
            reply.read()
            return reply.status

        self.assertEqual((status(OLD), status(NEW)), (200, 403))
        self.accounts.write_text(f"alpha:{NEW}\n")
        self.hang_up(1)
        self.assertEqual((status(OLD), status(NEW)), (403, 200))

    def test_accounts_come_and_go(self):
        self.start()
        self.client(OLD).create_table("people")
        self.accounts.write_text(f"beta:{OTHER}\n")
        self.hang_up(1)
        self.assertEqual((self.status(OLD), self.status(OTHER, "beta")), (403, 200))
        self.accounts.write_text(f"alpha:{OLD}\n")
        self.hang_up(1)
        self.assertEqual((self.status(OLD), self.status(OTHER, "beta")), (200, 403))
        self.assertEqual(self.client(OLD).request("GET", "/Tables('people')").status, 200)

    def test_a_broken_file_keeps_the_old_accounts(self):
        self.start()
        for what, text in (("no key", "alpha\n"), ("no base 64", "alpha:!!\n"), ("empty", ""),
                           ("comments only", "# nobody\n"),
                           ("a bad second line", f"alpha:{NEW}\nbeta\n"),
                           ("the same twice", f"alpha:{NEW}\nalpha:{NEW}\n"),
                           ("not there", None)):
            with self.subTest(what):
                if text is None:
                    self.accounts.unlink()
                else:
                    self.accounts.write_text(text)
                line, = self.hang_up(1)
                self.assertIn("level=error", line)
                self.assertEqual((self.status(OLD), self.status(NEW)), (200, 403))
        self.accounts.write_text(f"alpha:{NEW}\n")
        line, = self.hang_up(1)
        self.assertNotIn("level=error", line)
        self.assertEqual((self.status(OLD), self.status(NEW)), (403, 200))

    def test_requests_under_way_are_unharmed(self):
        """Load from all sides while the file changes between two sets that both have the key."""
        self.start(text=f"alpha:{OLD}:{NEW}\n")
        self.assertEqual(self.client(OLD).create_table("people").status, 204)
        trouble, counts, end = [], [0] * 4, threading.Event()

        def load(index):
            client = Client(self.server.table_port, "alpha", (OLD, NEW)[index % 2])
            while not end.is_set():
                try:
                    reply = client.replace("people", {"PartitionKey": f"p{index}",
                                                      "RowKey": str(counts[index])})
                except BROKEN as error:
                    trouble.append(repr(error))
                    return
                if reply.status != 204:
                    trouble.append(repr(reply))
                    return
                counts[index] += 1
            client.close()

        threads = [threading.Thread(target=load, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for round_ in range(40):
            keys = (OLD, NEW) if round_ % 2 else (NEW, OLD)
            text = f"alpha:{keys[0]}:{keys[1]}\n" + f"extra{round_}:{OTHER}\n" * (round_ % 3 > 0)
            beside = self.folder / "next"
            beside.write_text(text)
            os.replace(beside, self.accounts)
            self.hang_up(1)
        end.set()
        for thread in threads:
            thread.join()
        self.assertEqual(trouble, [])
        self.assertGreater(min(counts), 10)
        found = sum(1 for _ in self.client(OLD).scan("people"))
        self.assertEqual(found, sum(counts))

    def test_a_request_that_began_before_is_finished(self):
        """Its head was signed with a key that is gone when its body comes."""
        self.start("--test-points", "--test-values", "silence-ms=600000")
        client = self.client(OLD)
        client.create_table("people")
        body = json.dumps({"PartitionKey": "p", "RowKey": "r"}).encode()
        headers = {**client.headers("/people"), "Content-Type": "application/json"}
        lines = "".join(f"{n}: {v}\r\n" for n, v in headers.items())
        with socket.create_connection(("127.0.0.1", self.server.table_port), timeout=60) as s:
            send_head(s, f"POST /alpha/people HTTP/1.1\r\nHost: 127.0.0.1\r\n{lines}"
                         f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode())
            s.sendall(body[:5])
            self.accounts.write_text(f"alpha:{NEW}\n")
            self.hang_up(1)
            s.sendall(body[5:])
            self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 201"))
        self.assertEqual(self.client(NEW).get("people", "p", "r").status, 200)

    # --- certificates

    def shown(self):
        """The certificate that a new connection is shown, PEM."""
        return ssl.get_server_certificate(("127.0.0.1", self.server.table_port))

    def start_tls(self, *flags):
        first = certificate.make(self.folder, "first")
        self.cert, self.key = str(self.folder / "cert.pem"), str(self.folder / "key.pem")
        self.install(first)
        self.start("--cert", self.cert, "--key", self.key, *flags)
        return first

    def install(self, pair):
        shutil.copy(pair[0], self.cert)
        shutil.copy(pair[1], self.key)

    def tls_status(self):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        client = self.client(OLD)
        raw = socket.create_connection(("127.0.0.1", self.server.table_port), timeout=60)
        client.connection.sock = context.wrap_socket(raw)
        return client.request("GET", "/Tables").status, client

    def test_the_certificate_is_reread(self):
        first = self.start_tls()
        self.assertEqual(self.shown(), pathlib.Path(first[0]).read_text())
        status, kept = self.tls_status()
        self.assertEqual(status, 200)

        second = certificate.make(self.folder, "second")
        self.install(second)
        self.hang_up(2)
        self.assertEqual(self.shown(), pathlib.Path(second[0]).read_text())
        self.assertEqual(kept.request("GET", "/Tables").status, 200)
        self.assertEqual(self.tls_status()[0], 200)

    def test_a_broken_certificate_keeps_the_old_one(self):
        first = self.start_tls()
        other = certificate.make(self.folder, "other")
        for what, cert, key in (("no PEM", b"nonsense", None), ("empty", b"", None),
                                ("the key of another", None, pathlib.Path(other[1]).read_bytes()),
                                ("not there", "unlink", None)):
            with self.subTest(what):
                self.install(first)
                if cert == "unlink":
                    os.unlink(self.cert)
                elif cert is not None:
                    pathlib.Path(self.cert).write_bytes(cert)
                if key is not None:
                    pathlib.Path(self.key).write_bytes(key)
                lines = self.hang_up(2)
                self.assertEqual(sum("level=error" in line for line in lines), 1, lines)
                self.assertEqual(self.shown(), pathlib.Path(first[0]).read_text())
                self.assertEqual(self.tls_status()[0], 200)

    # --- --https-only

    def test_https_only(self):
        self.start_tls("--https-only")
        self.assertEqual(self.tls_status()[0], 200)
        for method, path, body in (("GET", "/Tables", None),
                                   ("POST", "/Tables", {"TableName": "people"}),
                                   ("GET", "/people()", None)):
            for key in (OLD, NEW):
                client = self.client(key)
                for _ in range(2):  # on a connection that is new, and on one that is not
                    reply = client.request(method, path, body)
                    self.assertEqual((reply.status, reply.code), (400, "AccountRequiresHttps"))

    def test_https_only_holds_for_preflights(self):
        """They are not signed, and a page must not learn that it may go on in the clear."""
        self.start_tls("--https-only")
        client = self.client(OLD)
        client.connection.request("OPTIONS", "/alpha/people()", headers={
            "Origin": "http://shop.example", "Access-Control-Request-Method": "GET"})
        response = client.connection.getresponse()
        self.assertEqual(response.status, 400)
        self.assertIn(b"AccountRequiresHttps", response.read())

    def test_https_only_needs_a_certificate(self):
        self.accounts.write_text(f"alpha:{OLD}\n")
        server = Server("--accounts", str(self.accounts), "--https-only", engine="memory")
        with self.assertRaisesRegex(RuntimeError, "--cert"):
            server.start()
        server.clean()

    def test_plain_requests_to_a_server_with_a_certificate(self):
        """They are served, and a token for https alone is not valid for them."""
        self.start_tls()
        client = self.client(OLD)
        self.assertEqual(client.create_table("people").status, 204)
        for spr, status in (("https", 403), ("https,http", 200), ("https", 403)):
            token = table_sas(OLD, "alpha", tn="people", sp="r", se="2099-01-01", spr=spr)
            client.connection.request("GET", f"/alpha/people()?{token}",
                                      headers={"Accept": "application/json"})
            reply = client.connection.getresponse()
            text = reply.read()
            self.assertEqual(reply.status, status, text)
            if status == 403:
                self.assertIn(b"AuthorizationProtocolMismatch", text)
            elif status == 200:
                self.assertIn(b'"odata.metadata":"http://', text)

    # --- the secondary

    def secondary(self, method, path, body=None, **headers):
        client = self.client(OLD)
        signed = client.headers("").copy()
        target = f"/alpha-secondary{path}"
        signed["Authorization"] = sign.shared_key_lite("alpha", OLD, signed["x-ms-date"], target)
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        if data is not None:
            signed["Content-Type"] = "application/json"
        signed.update({name.replace("_", "-"): value for name, value in headers.items()})
        client.connection.request(method, target, data, signed)
        reply = client.connection.getresponse()
        return reply.status, reply.read()

    def test_the_secondary_is_read_only(self):
        self.start()
        client = self.client(OLD)
        client.create_table("people")
        entity = {"PartitionKey": "p", "RowKey": "r"}
        client.insert("people", entity)
        path = "/people(PartitionKey='p',RowKey='r')"
        for reading in ("/Tables", "/Tables('people')", "/people()", path, "/people?comp=acl",
                        "/?restype=service&comp=properties", "/?restype=service&comp=stats"):
            with self.subTest(reading):
                self.assertEqual(self.secondary("GET", reading)[0], 200)
        batch, boundary = client.batch_body("people", [{"PartitionKey": "p", "RowKey": "s"}])
        for method, target, body, headers in (
                ("POST", "/Tables", {"TableName": "more"}, {}),
                ("DELETE", "/Tables('people')", None, {}),
                ("POST", "/people", {"PartitionKey": "p", "RowKey": "s"}, {}),
                ("PUT", path, entity, {}), ("PUT", path, entity, {"If_Match": "*"}),
                ("MERGE", path, entity, {}), ("DELETE", path, None, {"If_Match": "*"}),
                ("POST", path, entity, {"X_HTTP_Method": "MERGE"}),
                ("PUT", "/people?comp=acl", b"<SignedIdentifiers/>",
                 {"Content_Type": "application/xml"}),
                ("PUT", "/?restype=service&comp=properties", b"<StorageServiceProperties/>",
                 {"Content_Type": "application/xml"}),
                ("POST", "/$batch", batch,
                 {"Content_Type": f"multipart/mixed; boundary={boundary}"})):
            with self.subTest(f"{method} {target}"):
                status, text = self.secondary(method, target, body, **headers)
                self.assertEqual(status, 403, text)
                self.assertIn(b"InsufficientAccountPermissions", text)
        self.assertEqual([e["RowKey"] for e in client.scan("people")], ["r"])
        self.assertEqual(client.request("GET", "/Tables('people')").status, 200)
