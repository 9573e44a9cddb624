"""Clients that mean harm to the other users of queues and blobs, not to their secrets.

What one client stores or holds back must not keep others from their work.
"""

import email.utils
import socket
import time
import unittest
import xml.dom.minidom

import sign
from access.talk import Talk
from sas import blob_sas
from server import ACCOUNT, KEY, Server

VERSION = "2021-08-06"
TOMORROW = "2037-01-01T00:00:00Z"
MIB = 1024 * 1024


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Clients may be silent for an hour: whoever is answered meanwhile did not wait for them.
        cls.server = Server("--memory-mb", "512", "--test-points", "--test-values",
                            "silence-ms=3600000", engine="memory")
        cls.server.start()
        cls.talk = Talk(cls.server.blob_port)
        cls.queues = Talk(cls.server.queue_port)
        cls.own("PUT", "/open?restype=container", headers={"x-ms-blob-public-access": "container"})

    @classmethod
    def tearDownClass(cls):
        cls.talk.close()
        cls.queues.close()
        code = cls.server.stop()
        log = cls.server.log()
        cls.server.clean()
        if code != 0:
            raise AssertionError(f"tavolad ended with {code}: {log[-4000:]}")

    @staticmethod
    def signed(method, path, body=None, headers=None):
        headers = {"x-ms-version": VERSION, "x-ms-date": email.utils.formatdate(usegmt=True),
                   **(headers or {})}
        if body is not None:
            headers["Content-Length"] = str(len(body))
        headers["Authorization"] = sign.storage_shared_key(
            ACCOUNT, KEY, method, f"/{ACCOUNT}{path}", headers)
        return headers

    @classmethod
    def ask(cls, method, path, body=None, headers=None, talk=None):
        body = b"" if body is None and method == "PUT" else body
        return (talk or cls.talk).ask(method, f"/{ACCOUNT}{path}", body,
                                      cls.signed(method, path, body, headers))

    @classmethod
    def own(cls, *request, **more):
        reply = cls.ask(*request, **more)
        assert reply.status < 300, reply
        return reply

    def put(self, name, body, **headers):
        return self.own("PUT", f"/open/{name}", body, {"x-ms-blob-type": "BlockBlob", **headers})

    def connect(self, head, port=None):
        port = port or self.server.blob_port
        connection = socket.socket()
        self.addCleanup(connection.close)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(60)
        connection.connect(("127.0.0.1", port))
        connection.sendall("\r\n".join([*head, f"Host: 127.0.0.1:{port}", "", ""])
                           .encode("latin-1"))
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

    def test_query_of_a_hundred_thousand_parameters_is_a_bad_url_on_every_service(self):
        for port in (self.server.table_port, self.server.queue_port, self.server.blob_port):
            for query in ("&" * 120000, "a=1&" * 256 + "a", "&".join(["%41"] * 257)):
                with self.subTest(port=port, query=query[:8]):
                    connection = self.connect([f"GET /{ACCOUNT}/open?{query} HTTP/1.1"], port)
                    reply = connection.recv(4096)
                    self.assertIn(b" 400 ", reply)
                    self.assertIn(b"RequestUrlFailedToParse", reply + connection.recv(4096))

    def test_query_of_256_parameters_can_be_signed(self):
        query = "&".join(["restype=container", *(f"a={number}" for number in range(255))])
        self.assertEqual(self.own("GET", f"/open?{query}").status, 200)

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
        slow = [self.connect([f"GET /{ACCOUNT}/open/large HTTP/1.1"]) for _ in range(520)]
        token = blob_sas(KEY, ACCOUNT, "open", sp="w", se=TOMORROW, sr="c")
        for number in range(260):
            slow.append(self.connect([
                f"PUT /{ACCOUNT}/open/slow{number}?{token} HTTP/1.1", "x-ms-blob-type: BlockBlob",
                f"x-ms-version: {VERSION}", f"Content-Length: {MIB}", "Expect: 100-continue"]))
        for connection in slow:
            self.assertTrue(connection.recv(9), "the server is at work for all of them")
        for connection in slow[520:]:
            connection.sendall(b"x")
        self.assertEqual(len(self.own("GET", "/open/large").body), 20 * MIB)
        self.put("other", b"y" * (2 * MIB))

    def test_answers_that_nobody_reads(self):
        self.own("PUT", "/unread", talk=self.queues)
        message = (b"<QueueMessage><MessageText>" + b">" * 65000 +
                   b"</MessageText></QueueMessage>")
        for _ in range(32):
            self.own("POST", "/unread/messages", message, talk=self.queues)
        path = "/unread/messages?numofmessages=32&peekonly=true"
        head = [f"GET /{ACCOUNT}{path} HTTP/1.1",
                *(f"{name}: {value}" for name, value in self.signed("GET", path).items())]
        # Sooner or later what is left of the account's memory is for fewer messages, or for none.
        # How many unread answers that takes depends on what each took while others were written.
        unread = []
        while len(unread) < 120:
            unread.append(self.connect(head, self.server.queue_port))
            unread[-1].recv(1)
            if len(unread) < 40:
                continue
            reply = self.ask("GET", path, talk=self.queues)
            self.assertIn((reply.status, reply.code), ((200, None), (503, "ServerBusy")))
            if reply.body.count(b"<QueueMessage>") < 32:
                break
        self.assertLess(reply.body.count(b"<QueueMessage>"), 32)
        self.own("POST", "/unread/messages", message, talk=self.queues)
        for connection in unread:
            connection.close()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            reply = self.ask("GET", path, talk=self.queues)
            if reply.body.count(b"<QueueMessage>") == 32:
                break
            time.sleep(0.05)
        self.assertEqual(reply.body.count(b"<QueueMessage>"), 32)

    def test_page_of_queues_with_long_metadata(self):
        for number in range(300):
            self.own("PUT", f"/long{number}", headers={"x-ms-meta-long": "&" * 8000},
                     talk=self.queues)
        reply = self.own("GET", "/?comp=list&prefix=long&include=metadata", talk=self.queues)
        self.assertLess(len(reply.body), 5 * MIB)
        self.assertIn(b"<NextMarker>long", reply.body)
