"""--emulate-targets: what a client sees that is faster than Azure's scalability targets allow.

The accounts here have small targets of their own.  Nothing rests on how fast a test is: it
repeats a request until it is refused, or until it is let in again.
"""

import base64
import hashlib
import json
import pathlib
import re
import signal
import tempfile
import time
import unittest
import urllib.request

from blob_client import Client as BlobClient
from queue_client import QueueClient
from server import Server
from table_client import Client
from until import until

KEY = base64.b64encode(hashlib.sha512(b"targets").digest()).decode()
TRIES = 20000


def write_accounts(path, targets):
    path.write_text("".join(f"{name}:{KEY} {words}\n" for name, words in targets.items()))


class Targets(unittest.TestCase):
    ENGINE = "memory"

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tavola-targets-")
        self.addCleanup(folder.cleanup)
        self.accounts = pathlib.Path(folder.name) / "accounts"

    def start(self, *flags, **targets):
        write_accounts(self.accounts, targets)
        self.server = Server("--accounts", str(self.accounts), *flags, engine=self.ENGINE)
        self.server.start()
        self.addCleanup(self.stop)

    def stop(self):
        code, log = self.server.stop(), self.server.log()
        self.server.clean()
        self.assertEqual(code, 0, log[-4000:])

    def client(self, kind, account="alpha"):
        port = {Client: "table_port", QueueClient: "queue_port", BlobClient: "blob_port"}[kind]
        client = kind(getattr(self.server, port), account, KEY)
        self.addCleanup(client.close)
        return client

    def metric(self, scope):
        with urllib.request.urlopen(self.server.admin_url + "/metrics") as reply:
            found = re.search(rf'tavola_throttled_total{{scope="{scope}"}} (\d+)',
                              reply.read().decode())
        return int(found[1]) if found else None

    def let_in(self, send):
        """Send it until it is not refused."""
        def ask():
            nonlocal reply
            reply = send()
            return reply.status != 503

        reply = None
        until(ask, lambda: reply)
        return reply

    def refused(self, send):
        """Send it until it is refused."""
        for _ in range(TRIES):
            reply = send()
            if reply.status == 503:
                return reply
            self.assertLess(reply.status, 500, reply)
        return self.fail(f"{TRIES} requests, and none was refused")

    def check_headers(self, reply, scope, target):
        self.assertIn(reply.headers["Retry-After"], ("1", "2"))
        form = rf"{scope}; rate=(\d+); target={target}"
        found = re.fullmatch(form, reply.headers["x-tavola-throttled"])
        self.assertTrue(found, reply.headers["x-tavola-throttled"])
        return int(found[1])

    def check_table_error(self, reply, text):
        error = reply.json["odata.error"]
        self.assertEqual(error["code"], "ServerBusy")
        self.assertEqual(error["message"]["lang"], "en-US")
        form = re.escape(text) + r"\nRequestId:[0-9a-f-]{36}\nTime:[0-9-]{10}T[0-9:.]{16}Z"
        self.assertRegex(error["message"]["value"], f"^{form}$")
        self.assertTrue(reply.headers["Content-Type"].startswith("application/json"))


def entity(partition, row, bytes_=0):
    return {"PartitionKey": partition, "RowKey": str(row), **({"V": "x" * (bytes_ // 2)}
                                                              if bytes_ else {})}


class Tables(Targets):
    def test_one_partition(self):
        self.start(alpha="targets=partition:2")
        client = self.client(Client)
        client.create_table("people")
        rows = iter(range(TRIES))
        sent = []

        def insert():
            sent.append(next(rows))
            return client.insert("people", entity("hot", sent[-1]))

        reply = self.refused(insert)
        connection = client.connection.sock
        self.check_table_error(reply, "The server is busy.")
        self.assertGreaterEqual(self.check_headers(reply, "partition", 2), 1)
        self.assertGreaterEqual(self.metric("partition"), 1)
        self.assertEqual(self.metric("account"), 0)
        # Others are let in, on the same connection, and what was refused was not done.
        self.assertEqual(client.insert("people", entity("cold", 1)).status, 204)
        self.assertIs(client.connection.sock, connection)
        gone = self.let_in(lambda: client.get("people", "hot", str(sent[-1])))
        self.assertEqual(gone.status, 404)
        self.assertEqual(self.let_in(insert).status, 204)
        self.assertEqual(self.let_in(lambda: client.get("people", "hot", str(sent[-1]))).status,
                         200)

    def test_a_large_entity_takes_as_much_as_many_small_ones(self):
        self.start(alpha="targets=partition:20")
        client = self.client(Client)
        client.create_table("people")
        rows = iter(range(TRIES))

        # 60 KiB are 60 units, three seconds' worth: however fast they come, at most one is let in
        # each second, and of small ones twenty are.
        began = time.monotonic()
        reply = self.refused(lambda: client.insert("people", entity("p", next(rows), 60 * 1024)))
        let_in = next(rows) - 1
        self.check_headers(reply, "partition", 20)
        self.assertLess(let_in, time.monotonic() - began + 5)

    def test_what_fails_is_charged_as_one(self):
        self.start(alpha="targets=partition:200")
        client = self.client(Client)
        client.create_table("people")
        self.let_in(lambda: client.insert("people", entity("p", 1)))
        # Forty entities of 60 KiB would be 2,400 units: they fail, so they are 40.
        for _ in range(40):
            self.assertEqual(client.insert("people", entity("p", 1, 60 * 1024)).status, 409)
        self.assertEqual(self.metric("partition"), 0)

    def test_a_transaction_is_refused_whole(self):
        self.start(alpha="targets=partition:50")
        client = self.client(Client)
        client.create_table("people")
        rounds = iter(range(TRIES))

        def batch():
            number = next(rounds)
            return client.batch("people", [entity("p", f"{number}-{i}")
                                           for i in range(100)])

        reply = self.refused(batch)
        self.check_table_error(reply, "The server is busy.")
        self.check_headers(reply, "partition", 50)

    def test_pages_are_charged_to_the_partitions_they_return(self):
        self.start(alpha="targets=partition:20")
        client = self.client(Client)
        client.create_table("people")
        for partition in ("a", "b"):
            self.let_in(lambda: client.batch("people", [entity(partition, i)
                                                        for i in range(90)]))
        # A page of the whole table is let in, since it asks for no partition, and uses up both.
        page = self.let_in(lambda: client.request("GET", "/people()"))
        self.assertEqual(len(page.json["value"]), 180)

        def read(partition):
            client.request("GET", "/people()")
            return client.request("GET", f"/people()?$filter=PartitionKey%20eq%20'{partition}'"
                                         "%20and%20RowKey%20eq%20'1'")

        for partition in ("a", "b"):
            self.check_headers(self.refused(lambda: read(partition)), "partition", 20)

    def test_all_tables_of_an_account(self):
        self.start(alpha="targets=account:30", beta="targets=account:30")
        client, other = self.client(Client), self.client(Client, "beta")
        self.let_in(lambda: client.create_table("people"))
        self.let_in(lambda: other.create_table("people"))
        rows = iter(range(TRIES))
        reply = self.refused(lambda: client.insert("people",
                                                   entity(str(next(rows)), 1, 60 * 1024)))
        self.check_table_error(reply, "Operations per second is over the account limit.")
        self.check_headers(reply, "(?:account|requests)", 30)
        self.assertEqual(other.insert("people", entity("p", 1)).status, 204)

    def test_examined_rows_count_when_asked_for(self):
        self.start("--emulate-examined", "2", alpha="targets=partition:100")
        client = self.client(Client)
        client.create_table("people")
        for start in (0, 90):
            self.let_in(lambda: client.batch("people", [entity("p", start + i)
                                                        for i in range(90)]))

        def look():
            return client.request("GET", "/people()?$filter=PartitionKey%20eq%20'p'%20and%20"
                                         "Age%20eq%205")

        self.assertEqual(self.let_in(look).json["value"], [])
        self.check_headers(self.refused(look), "partition", 100)

    def test_without_retry_after(self):
        self.start("--emulate-targets", "--emulate-retry-after=off",
                   alpha="targets=partition:2", beta="")
        client = self.client(Client)
        client.create_table("people")
        rows = iter(range(TRIES))
        reply = self.refused(lambda: client.insert("people", entity("p", next(rows))))
        self.assertIsNone(reply.headers["Retry-After"])
        self.assertTrue(reply.headers["x-tavola-throttled"])


class Others(Targets):
    def check_xml(self, reply, text):
        self.assertEqual(reply.headers["x-ms-error-code"], "ServerBusy")
        self.assertIn(f"<Code>ServerBusy</Code><Message>{text}\nRequestId:".encode(), reply.body)

    def test_messages_of_a_queue(self):
        self.start(alpha="targets=queue:5")
        client = self.client(QueueClient)
        for name in ("work", "other"):
            self.assertEqual(client.create(name).status, 201)
        reply = self.refused(lambda: client.put("work", "hello"))
        self.check_xml(reply, "The server is busy.")
        self.check_headers(reply, "queue", 5)
        self.assertEqual(client.put("other", "hello").status, 201)
        # Five messages that come with one answer are five.
        for _ in range(6):
            self.let_in(lambda: client.put("work", "hello"))
        self.check_headers(self.refused(lambda: client.peek("work", 5)), "queue", 5)

    def test_one_blob(self):
        self.start(alpha="targets=blob:2")
        client = self.client(BlobClient)
        self.assertEqual(client.create_container("photos").status, 201)

        # What is refused is read to its end and thrown away: the connection goes on.
        def put():
            return client.put("photos/ada", b"x" * (3 << 20))

        self.assertEqual(self.let_in(put).status, 201)
        connection = client.connection.sock
        reply = self.refused(put)
        self.check_xml(reply, "The server is busy.")
        self.check_headers(reply, "blob", 2)
        self.assertEqual(client.put("photos/bob", b"y").status, 201)
        self.assertIs(client.connection.sock, connection)
        self.assertGreaterEqual(self.metric("blob"), 1)

    def test_the_targets_are_off_unless_they_are_asked_for(self):
        self.start(alpha="")
        client = self.client(Client)
        client.create_table("people")
        for i in range(3):
            self.assertEqual(client.insert("people", entity("p", i, 60 * 1024)).status, 204)
        self.assertIsNone(self.metric("partition"))

    def test_accounts_that_are_read_again(self):
        self.start("--emulate-targets", alpha="targets=partition:2", beta="targets=off")
        client = self.client(Client)
        client.create_table("people")
        rows = iter(range(TRIES))

        def insert():
            return client.insert("people", entity("p", next(rows)))

        self.refused(insert)
        write_accounts(self.accounts, {"alpha": "targets=off"})
        self.server.process.send_signal(signal.SIGHUP)
        self.let_in(lambda: insert())
        self.server.until_logged("event=reload accounts=1")
        before = self.metric("partition")
        for _ in range(50):
            self.assertEqual(insert().status, 204)
        self.assertEqual(self.metric("partition"), before)

        # A line that cannot be read changes nothing.
        write_accounts(self.accounts, {"alpha": "targets=partition:no"})
        self.server.process.send_signal(signal.SIGHUP)
        self.server.until_logged("targets=partition:N")
        self.assertNotIn(KEY, self.server.log())
        self.assertEqual(insert().status, 204)


class Advice(Targets):
    ENGINE = "rocksdb"  # which has an admin token

    def ask(self, method, path):
        token = self.server.admin_token()
        request = urllib.request.Request(self.server.admin_url + path, method=method,
                                         headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)

    def test_a_partition_that_was_refused_is_found_hot(self):
        self.start("--emulate-targets", "--watch=all", alpha="targets=partition:2")
        client = self.client(Client)
        client.create_table("people")
        mark = self.ask("POST", "/advice/marks")["mark"]
        rows = iter(range(TRIES))
        self.refused(lambda: client.insert("people", entity("hot", next(rows))))
        self.assertEqual(client.insert("people", entity("cold", 1)).status, 204)
        found = [finding for finding in self.ask("GET", f"/advice?since={mark}")["findings"]
                 if finding["code"] == "P01"]
        self.assertEqual([finding["severity"] for finding in found], ["error"])
        self.assertGreaterEqual(found[0]["evidence"]["throttled"], 1)


if __name__ == "__main__":
    unittest.main()
