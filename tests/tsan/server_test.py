"""The whole server under the thread sanitizer, with clients of every service at once.

The load is to bring every pair of threads together, not to check answers: each
client does what its service can do, over and over, among others that do the
same to the same things, while accounts are reread, and until the server stops
under it.  Meanwhile it logs and measures what they do, and is asked what it has
recorded of tables and what it advises; once with a recorder whose hours pass in
seconds, so that minutes are closed and folded under load.
"""

import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import tempfile
import threading
import time
import unittest
import urllib.request

import blob_client
import queue_client
import table_client
from server import Server

SECONDS = float(os.environ.get("TSAN_SECONDS", "20"))
SUPPRESSIONS = pathlib.Path(__file__).resolve().parents[1] / "tsan.supp"
OPTIONS = ("ignore_noninstrumented_modules=1:history_size=7:exitcode=99:second_deadlock_stack=1:"
           f"suppressions={SUPPRESSIONS}")
REPORT = re.compile(r"WARNING: ThreadSanitizer:.*?SUMMARY: [^\n]*", re.S)
CLIENTS = 3  # of each kind
ENOUGH = 30  # requests of each client, however long they take
BROKEN = table_client.BROKEN
PROPERTIES = (
    "<StorageServiceProperties><Logging><Version>1.0</Version><Delete>true</Delete><Read>true</Read>"
    "<Write>true</Write><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging>"
    + "".join(f"<{name}><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>"
              f"<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></{name}>"
              for name in ("HourMetrics", "MinuteMetrics"))
    + "<Cors /></StorageServiceProperties>").encode()
MESSAGE = re.compile(rb"<MessageId>(.*?)</MessageId>.*?<PopReceipt>(.*?)</PopReceipt>", re.S)


class Load:
    def __init__(self, server, number, ended):
        self.server, self.ended = server, ended
        self.random = random.Random(number)
        self.asked = 0
        self.answers = {}

    def note(self, reply):
        self.asked += 1
        self.answers[reply.status] = self.answers.get(reply.status, 0) + 1
        return reply

    def run(self):
        client = self.connect()
        while not self.ended.is_set():
            try:
                self.step(client)
            except BROKEN:
                if self.server.process.poll() is not None:
                    break
        client.close()


class Tables(Load):
    def connect(self):
        return table_client.Client(self.server.table_port)

    def step(self, client):
        table = f"table{self.random.randrange(3)}"
        key, row = f"p{self.random.randrange(4)}", f"{self.random.randrange(200):05}"
        path = table_client.key_path(table, key, row)
        entity = {"PartitionKey": key, "RowKey": row, "n": self.random.randrange(1000),
                  "text": "x" * self.random.randrange(300)}
        wanted = self.random.choice(("", "n%20gt%20500", f"PartitionKey%20eq%20'{key}'",
                                     "text%20eq%20'x'%20or%20n%20lt%203"))
        reply = self.note(self.random.choice((
            lambda: client.insert(table, entity),
            lambda: client.request("PUT", path, entity),
            lambda: client.request("MERGE", path, entity),
            lambda: client.request("GET", path),
            lambda: client.request("GET", path),
            lambda: client.request("DELETE", path, if_match="*"),
            lambda: client.request("GET", f"/{table}()?$top=50&$filter={wanted}"),
            lambda: client.request("GET", "/Tables"),
            lambda: client.batch(table, [{**entity, "RowKey": f"b{n}"} for n in range(10)]),
            lambda: client.request("GET", f"/{table}?comp=acl"),
            lambda: client.request("GET", "/?restype=service&comp=properties"),
            lambda: client.request("DELETE", f"/Tables('{table}')")
            if self.random.random() < 0.1 else client.create_table(table),
        ))())
        if reply.status == 404:
            client.create_table(table)


class Queues(Load):
    def connect(self):
        return queue_client.QueueClient(self.server.queue_port)

    def step(self, client):
        queue = f"queue{self.random.randrange(2)}"
        reply = self.note(self.random.choice((
            lambda: client.put(queue, "text" * self.random.randrange(200)),
            lambda: client.put(queue, "soon", messagettl=1),
            lambda: client.get(queue, numofmessages=8, visibilitytimeout=1),
            lambda: client.get(queue, numofmessages=8, visibilitytimeout=1),
            lambda: client.peek(queue),
            lambda: client.request("GET", "/?comp=list&include=metadata"),
            lambda: client.request("GET", f"/{queue}?comp=metadata"),
            lambda: client.clear(queue) if self.random.random() < 0.2 else client.create(queue),
        ))())
        for message, receipt in MESSAGE.findall(reply.body):
            if self.random.random() < 0.3:
                self.note(client.update(queue, message.decode(), receipt.decode(), 0))
            else:
                self.note(client.delete(queue, message.decode(), receipt.decode()))
        if reply.status == 404:
            client.create(queue)
        elif self.random.random() < 0.01:
            client.drop(queue)


class Blobs(Load):
    def connect(self):
        return blob_client.Client(self.server.blob_port)

    def step(self, client):
        container = f"films{self.random.randrange(2)}"
        name = f"{container}/b{self.random.randrange(5)}"
        other = f"{container}/b{self.random.randrange(5)}"
        content = os.urandom(self.random.choice((10, 3000, 70_000, 700_000)))
        number = self.random.randrange(3)
        reply = self.note(self.random.choice((
            lambda: client.put(name, content),
            lambda: client.put(name, content),
            lambda: client.get(name),
            lambda: client.get(name),
            lambda: client.request("GET", name, x_ms_range="bytes=100-2000"),
            lambda: client.put_block(name, number, content),
            lambda: client.put_blocks(name, [number]),
            lambda: client.request("GET", f"{name}?comp=blocklist&blocklisttype=all"),
            lambda: client.snapshot(name),
            lambda: client.copy(other, name),
            lambda: client.put_append(f"{name}-log"),
            lambda: client.append(f"{name}-log", content),
            lambda: client.delete(name),
            lambda: client.request("GET", f"{container}?restype=container&comp=list"
                                          "&include=snapshots,metadata,uncommittedblobs"),
            lambda: client.request("GET", "?comp=list"),
            lambda: client.request("HEAD", name),
        ))())
        if reply.status == 404:
            client.create_container(container)
        elif self.random.random() < 0.01:
            client.delete_container(container)


class Vanishing(Load):
    """Asks, and closes without reading."""

    def connect(self):
        return blob_client.Client(self.server.blob_port)

    def step(self, client):
        if self.random.random() < 0.5:
            tables = table_client.Client(self.server.table_port)
            path = f"/table{self.random.randrange(3)}()?$filter=n%20lt%200"
            tables.connection.request("GET", f"/{tables.account}{path}",
                                      headers=tables.headers(path.split("?")[0]))
            tables.close()
        else:
            name = f"films{self.random.randrange(2)}/b{self.random.randrange(5)}"
            client.connection.request("GET", f"/{client.account}/{name}",
                                      headers=client.signed("GET", name, {}))
            client.close()
        self.asked += 1
        time.sleep(0.01)


class Adviser(Load):
    """Everything that the admin port tells of tables, and the time of the recorder if it may."""

    def connect(self):
        self.token = self.server.admin_token()
        return http.client.HTTPConnection("127.0.0.1", self.server.admin_port, timeout=60)

    def ask(self, client, method, path, body=None):
        try:
            client.request(method, path, body and json.dumps(body),
                           {"Authorization": f"Bearer {self.token}"})
            reply = client.getresponse()
            reply.read()
            self.note(reply)
        except BaseException:
            client.close()
            raise

    def step(self, client):
        table = f"table{self.random.randrange(3)}"
        measure = self.random.choice(("reads", "writes", "scanned"))
        for path in ("/shapes", "/advice", f"/facts?table={table}", f"/traffic/cell?table={table}",
                     f"/traffic?table={table}&measure={measure}&grain=10m", "/metrics"):
            self.ask(client, "GET", path)
        self.ask(client, "POST", "/advice/marks")
        self.ask(client, "POST", f"/facts/recount?table={table}")
        if "--watch-clock=manual" in self.server.flags:
            self.ask(client, "POST", "/clock", {"ms": 60_000})
        time.sleep(0.02)


class Admin(Load):
    def connect(self):
        self.folder = tempfile.mkdtemp(prefix="tavola-tsan-")
        return self

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def back_up(self):
        """Where there is something to back up; 409 while the last one is under way."""
        token = pathlib.Path(self.server.data) / "admin.token"
        if not token.exists():
            return
        connection = http.client.HTTPConnection("127.0.0.1", self.server.admin_port, timeout=60)
        connection.request("POST", "/backup", json.dumps({"dir": f"{self.folder}/{self.asked}"}),
                           {"Authorization": "Bearer " + token.read_text().strip()})
        self.note(connection.getresponse())
        connection.close()

    def step(self, client):
        for path in ("/metrics", "/healthz", "/backup"):
            with urllib.request.urlopen(self.server.admin_url + path, timeout=60) as reply:
                self.note(reply)
                reply.read()
        self.back_up()
        time.sleep(0.05)


class WholeServer(unittest.TestCase):
    def switch_analytics_on(self, server):
        path = "?restype=service&comp=properties"
        tables = table_client.Client(server.table_port)
        tables.headers = lambda _, headers=tables.headers: headers("/?comp=properties")
        for client, target in ((tables, f"/{path}"),
                               (queue_client.QueueClient(server.queue_port), f"/{path}"),
                               (blob_client.Client(server.blob_port), path)):
            reply = client.request("PUT", target, PROPERTIES)
            self.assertEqual(reply.status, 202, reply.body)
            client.close()

    def check_engine(self, engine, *flags):
        server = Server("--threads", "3", "--emulate-targets", *flags, engine=engine,
                        env={"TSAN_OPTIONS": OPTIONS})
        self.addCleanup(server.clean)
        server.start(wait_s=120)
        self.addCleanup(lambda: server.process.poll() is None and server.kill())
        self.switch_analytics_on(server)
        ended = threading.Event()
        loads = [kind(server, number, ended) for number in range(CLIENTS)
                 for kind in (Tables, Queues, Blobs, Vanishing)] + [Admin(server, 0, ended)]
        if engine != "memory":  # there it has no token
            loads += [Adviser(server, number, ended) for number in range(2)]
        threads = [threading.Thread(target=load.run) for load in loads]
        for thread in threads:
            thread.start()
        for _ in range(4):
            time.sleep(SECONDS / 4)
            server.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 60
        while min(load.asked for load in loads) < ENOUGH and time.monotonic() < deadline:
            time.sleep(0.1)
        code = server.stop(wait_s=120)
        ended.set()
        for thread in threads:
            thread.join()
        log = server.log()
        reports = REPORT.findall(log)
        self.assertEqual(len(reports), 0, "\n\n".join(reports[:10]))
        self.assertEqual(code, 0, log[-4000:])
        for load in loads:
            self.assertGreaterEqual(load.asked, ENOUGH, type(load).__name__)
            self.assertFalse({500, 501} & set(load.answers), (type(load).__name__, load.answers))
            fine = sum(count for status, count in load.answers.items() if status < 300)
            self.assertGreaterEqual(3 * fine, sum(load.answers.values()), load.answers)

    def test_rocksdb(self):
        self.check_engine("rocksdb")

    def test_rocksdb_while_hours_pass(self):
        self.check_engine("rocksdb", "--watch=all", "--watch-clock=manual", "--test-points")

    def test_memory(self):
        self.check_engine("memory")


if __name__ == "__main__":
    unittest.main()
