"""Clients that mean harm to the other users of the blob service, not to its secrets.

What one client stores or holds back must not keep others from their work.
"""

import email.utils
import socket
import time
import unittest
import xml.dom.minidom

import sign
from sas import blob_sas
from server import ACCOUNT, KEY, Server
from talk import Talk

VERSION = "2021-08-06"
TOMORROW = "2037-01-01T00:00:00Z"
MIB = 1024 * 1024


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(engine="memory")
        cls.server.start()
        cls.talk = Talk(cls.server.blob_port)
        cls.own("PUT", "/open?restype=container", headers={"x-ms-blob-public-access": "container"})

    @classmethod
    def tearDownClass(cls):
        cls.talk.close()
        code = cls.server.stop()
        log = cls.server.log()
        cls.server.clean()
        if code != 0:
            raise AssertionError(f"tavolad ended with {code}: {log[-4000:]}")

    @classmethod
    def ask(cls, method, path, body=None, headers=None, signed_path=None):
        headers = {"x-ms-version": VERSION, "x-ms-date": email.utils.formatdate(usegmt=True),
                   **(headers or {})}
        if method == "PUT":
            body = body or b""
            headers["Content-Length"] = str(len(body))
        headers["Authorization"] = sign.storage_shared_key(
            ACCOUNT, KEY, method, f"/{ACCOUNT}{signed_path or path}", headers)
        return cls.talk.ask(method, f"/{ACCOUNT}{path}", body, headers)

    @classmethod
    def own(cls, *request, **more):
        reply = cls.ask(*request, **more)
        assert reply.status < 300, reply
        return reply

    def put(self, name, body, **headers):
        return self.own("PUT", f"/open/{name}", body, {"x-ms-blob-type": "BlockBlob", **headers})

    def connect(self, head):
        connection = socket.socket()
        self.addCleanup(connection.close)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(20)
        connection.connect(("127.0.0.1", self.server.blob_port))
        connection.sendall("\r\n".join([*head, f"Host: 127.0.0.1:{self.server.blob_port}",
                                        "", ""]).encode("latin-1"))
        return connection

    def test_content_headers_that_break_lists(self):
        token = blob_sas(KEY, ACCOUNT, "open", sp="w", se=TOMORROW, sr="c")
        for value in ("a\xff\xfe/b", "\xef\xbf\xbf", "x" * 5000):
            for name in ("Content-Type", "x-ms-blob-content-type", "x-ms-blob-content-disposition",
                         "x-ms-blob-cache-control"):
                with self.subTest(name=name, value=value[:8]):
                    connection = self.connect([
                        f"PUT /{ACCOUNT}/open/bad?{token} HTTP/1.1", "x-ms-blob-type: BlockBlob",
                        f"x-ms-version: {VERSION}", f"{name}: {value}", "Content-Length: 0"])
                    self.assertIn(b" 400 ", connection.recv(64))
        self.put("good", b"", **{"x-ms-blob-content-type": "text/<&>\"'"})
        reply = self.own("GET", "/open?restype=container&comp=list")
        xml.dom.minidom.parseString(reply.body)

    def test_uncommitted_blocks_of_a_public_blob(self):
        self.put("draft", b"text")
        self.own("PUT", "/open/draft?comp=block&blockid=c2VjcmV0", b"not yet")
        for kind, status in (("committed", 200), ("uncommitted", 401), ("all", 401)):
            reply = self.talk.ask("GET", f"/{ACCOUNT}/open/draft?comp=blocklist"
                                         f"&blocklisttype={kind}")
            self.assertEqual(reply.status, status, reply)
            self.assertNotIn(b"c2VjcmV0", reply.body)

    def test_clients_that_hardly_read_and_hardly_send(self):
        self.put("large", b"x" * (20 * MIB))
        for _ in range(520):
            self.connect([f"GET /{ACCOUNT}/open/large HTTP/1.1"])
        token = blob_sas(KEY, ACCOUNT, "open", sp="w", se=TOMORROW, sr="c")
        for number in range(260):
            self.connect([f"PUT /{ACCOUNT}/open/slow{number}?{token} HTTP/1.1",
                          "x-ms-blob-type: BlockBlob", f"x-ms-version: {VERSION}",
                          f"Content-Length: {MIB}"]).sendall(b"x")
        time.sleep(1)
        began = time.monotonic()
        self.assertEqual(len(self.own("GET", "/open/large").body), 20 * MIB)
        self.put("other", b"y" * (2 * MIB))
        self.assertLess(time.monotonic() - began, 20)
