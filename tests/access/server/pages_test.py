"""Web pages with the well-known key: every operation of every service, for every kind of page.

What has an effect is refused to pages of other origins, and to them alone.  Whether it is let in is
all that is tested here: most of what is requested does not exist.
"""

import unittest

from access import talk
from access.blob import requests as blob_requests
from access.blob import rules as blob_rules
from access.queue import requests as queue_requests
from access.queue import rules as queue_rules
from access.table import requests as table_requests
from access.table import rules as table_rules
from sas import account_sas
from server import ACCOUNT, KEY, Server

# Those of the rules that change nothing; "get messages" hides them from others.
READS = {
    "list queues", "get properties", "get stats", "get metadata", "head metadata", "get acl",
    "peek messages", "query entities", "point read", "query tables", "get table",
    "list containers", "account info", "get container", "head container",
    "get container metadata", "list blobs", "account info of container", "get blob", "head blob",
    "get blob metadata", "get committed blocks", "get block list", "get snapshot",
    "account info of blob",
}
OTHERS = (
    {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"},
    {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://localhost:3000"},
    {"Origin": "http://127.0.0.1.evil.example"}, {"Origin": "file://"},
    {"Sec-Fetch-Site": "something new"},
)
SNAPSHOT = "2026-01-02T03:04:05.0000000Z"  # of nothing
OWN = ({}, {"Sec-Fetch-Site": "none"}, {"Sec-Fetch-Site": "same-origin"},
       {"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-origin"},  # a proxy's
       {"Sec-Fetch-Mode": "cors"}, {"Referer": "http://evil.example/"},
       {"User-Agent": "Mozilla/5.0"})  # with x-ms-version or Authorization, so no image


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(engine="memory")
        cls.server.start()

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0, cls.server.log()
        cls.server.clean()

    def doors(self, key, service):
        yield key
        yield talk.Sas(account_sas(KEY, ACCOUNT, ss=service, srt="sco", sp="rwdlacup",
                                   se="2099-01-01"))

    def check(self, name, headers, reply, door):
        """`reply` is the answer to an operation; only keys may see and set access policies."""
        is_refused = name.removeprefix("batch: ") not in READS and headers in OTHERS
        if name.startswith("batch: "):
            is_refused = headers in OTHERS  # whatever is in it
        if name.endswith("acl") and isinstance(door, talk.Sas):
            is_refused = True
        code = reply.code or reply.headers.get("x-ms-error-code")
        self.assertEqual((reply.status, code) == (403, "AuthorizationFailure"), is_refused,
                         (name, headers, reply))

    def test_queues(self):
        connection = talk.Talk(self.server.queue_port)
        self.addCleanup(connection.close)
        for door in self.doors(talk.StorageKey(ACCOUNT, KEY), "q"):
            for name in queue_rules.OPERATIONS:
                for headers in OTHERS + OWN:
                    request = queue_requests.queue_request(ACCOUNT, name, "jobs")
                    self.check(name, headers,
                               queue_requests.send(connection, door, request, **headers), door)

    def test_images(self):
        """As browsers send them to 0.0.0.0: nothing about the page, and no header of ours."""
        for port, names, request_of, service in (
                (self.server.queue_port, queue_rules.OPERATIONS,
                 lambda name: queue_requests.queue_request(ACCOUNT, name, "jobs"), "q"),
                (self.server.blob_port, blob_rules.OPERATIONS,
                 lambda name: blob_requests.request_of(ACCOUNT, name, "films",
                                                       snapshot=SNAPSHOT), "b")):
            connection = talk.Talk(port)
            self.addCleanup(connection.close)
            _, door = self.doors(None, service)
            refused = set()
            for name in names:
                method, path = request_of(name)[:2]
                if method == "GET" and not name.endswith("acl"):  # which only keys may see
                    reply = connection.ask(method, door.apply(method, path, {})[0], None,
                                           {"User-Agent": "Mozilla/5.0 (X11)"})
                    if reply.code == "AuthorizationFailure":
                        refused.add(name)
            self.assertEqual(refused, {"get messages"} if service == "q" else set())

    def test_tables(self):
        connection = talk.Talk(self.server.table_port)
        self.addCleanup(connection.close)
        for door in self.doors(talk.Key(ACCOUNT, KEY), "t"):
            for name in table_rules.OPERATIONS:
                for headers in OTHERS + OWN:
                    method, path, own, body = table_requests.request_of(
                        ACCOUNT, connection.url, name, "people", ("p", "r"), 0)
                    reply = table_requests.send(connection, door,
                                                (method, path, {**own, **headers}, body))
                    self.check(name, headers, reply, door)

    def test_blobs(self):
        connection = talk.Talk(self.server.blob_port)
        self.addCleanup(connection.close)
        for door in self.doors(talk.StorageKey(ACCOUNT, KEY), "b"):
            for name in blob_rules.OPERATIONS:
                for headers in OTHERS + OWN:
                    request = blob_requests.request_of(ACCOUNT, name, "films",
                                                       snapshot=SNAPSHOT)
                    method, path, body, own = (*request, None, None)[:4]
                    reply = blob_requests.send(connection, door,
                                               (method, path, body, {**(own or {}), **headers}))
                    self.check(name, headers, reply, door)
