"""Queues and what happens to the server: restarts, time; and --https-only."""

import http.client
import ssl
import tempfile
import unittest

import certificate
from queue_client import QueueClient
from server import Server
from until import until

HELD_S = 600            # longer than any of this takes; a test lets it pass
PASSED_S = HELD_S + 10  # after a restart instants are up to a second ahead of the clock


class Restart(unittest.TestCase):
    """Each with SIGTERM and with kill -9."""

    def setUp(self):
        self.server = Server("--test-points")
        self.server.start()
        self.client = QueueClient(self.server.queue_port)

    def tearDown(self):
        self.client.close()
        code = self.server.stop()
        log = self.server.log()
        self.server.clean()
        self.assertEqual(code, 0, log[-2000:])

    def both(self):
        for end in (self.server.stop, self.server.kill):
            with self.subTest(end.__name__):
                def restart(end=end):
                    self.client.close()
                    end()
                    self.server.start()
                yield f"q-{end.__name__}", restart

    def test_times_counts_and_receipts_are_kept(self):
        for queue, restart in self.both():
            self.client.create(queue)
            for text in ("got", "held"):
                self.client.put(queue, text)
            got = self.client.get(queue, visibilitytimeout=HELD_S).messages[0]
            held = self.client.get(queue, visibilitytimeout=3 * HELD_S).messages[0]
            later = self.client.put(queue, "later", visibilitytimeout=HELD_S).messages[0]
            self.client.put(queue, "seen", messagettl=-1)
            peeked = self.client.peek(queue).messages
            self.assertEqual([m.MessageText for m in peeked], ["seen"])
            updated = self.client.update(queue, later.MessageId, later.PopReceipt, 3 * HELD_S)
            restart()

            self.assertEqual(self.client.count(queue), 4)
            self.assertEqual(self.client.peek(queue).messages, peeked)
            self.server.pass_time(PASSED_S)
            again = {m.MessageText: m for m in self.client.peek(queue).messages}
            self.assertEqual(set(again), {"got", "seen"})
            self.assertEqual(again["got"].DequeueCount, "1")
            for field in ("MessageId", "InsertionTime", "ExpirationTime"):
                self.assertEqual(getattr(again["got"], field), getattr(got, field))

            # The newest receipts are still good, the older ones are not.
            self.assertEqual(self.client.delete(queue, later.MessageId, later.PopReceipt).code,
                             "MessageNotFound")
            for one, receipt in ((later, updated.headers["x-ms-popreceipt"]),
                                 (held, held.PopReceipt), (got, got.PopReceipt)):
                self.assertEqual(self.client.delete(queue, one.MessageId, receipt).status, 204)
            restart()
            self.assertEqual(self.client.count(queue), 1)
            self.assertEqual(self.client.get(queue).messages[0].MessageText, "seen")

    def test_messages_of_a_deleted_queue_never_come_back(self):
        for queue, restart in self.both():
            self.client.create(queue)
            held = [self.client.put(queue, f"old {i}", visibilitytimeout=i % 2 * HELD_S).messages[0]
                    for i in range(60)]
            self.assertEqual(self.client.drop(queue).status, 204)
            self.assertEqual(self.client.create(queue).status, 201)
            self.client.put(queue, "new")
            restart()
            self.server.pass_time(PASSED_S)  # those that were invisible would be seen by now
            self.assertEqual([m.MessageText for m in self.client.peek(queue).messages], ["new"])
            self.assertEqual(self.client.count(queue), 1)
            for one in held[:5]:
                self.assertEqual(
                    self.client.delete(queue, one.MessageId, one.PopReceipt).code,
                    "MessageNotFound")
            self.assertEqual(self.client.drop(queue).status, 204)
            restart()
            self.assertEqual(self.client.peek(queue).code, "QueueNotFound")

    def test_cleared_messages_never_come_back(self):
        for queue, restart in self.both():
            self.client.create(queue)
            for i in range(60):
                self.client.put(queue, f"old {i}", visibilitytimeout=i % 2 * HELD_S)
            self.assertEqual(self.client.clear(queue).status, 204)
            self.client.put(queue, "new")
            restart()
            self.server.pass_time(PASSED_S)
            self.assertEqual([m.MessageText for m in self.client.peek(queue).messages], ["new"])
            self.assertEqual(self.client.count(queue), 1)


class Expiry(unittest.TestCase):
    def wait_for_count(self, client, queue, wanted):
        until(lambda: client.count(queue) == wanted,
              lambda: f"{queue} has {wanted} messages; it counts {client.count(queue)}")

    def test_expired_messages_are_collected(self):
        """Nobody touches the queue, and yet its count falls; what has not expired stays."""
        flags = ["--test-points", "--test-values", "queue-gc-ms=20"]
        with Server(*flags) as server:
            client = QueueClient(server.queue_port)
            client.create("short")
            for i in range(600):    # more than one step of the gc
                client.put("short", "x", messagettl=200, visibilitytimeout=0)
            client.put("short", "stays")
            self.assertEqual(client.count("short"), 601)
            server.pass_time(210)
            self.assertEqual([m.MessageText for m in client.peek("short").messages], ["stays"])
            self.wait_for_count(client, "short", 1)

            # Also what expired while no server was running.
            for _ in range(10):
                client.put("short", "x", messagettl=200)
            client.close()
            server.kill()
            # Ten minutes later than it was, and near enough to the dates of signatures.
            server.flags = [*flags[:2], f"{flags[2]},clock-ms=600000"]
            server.start()
            self.wait_for_count(client, "short", 1)
            self.assertEqual([m.MessageText for m in client.get("short").messages], ["stays"])
            client.close()


class HttpsOnly(unittest.TestCase):
    def test_plain_requests_are_refused_and_secure_ones_served(self):
        with tempfile.TemporaryDirectory(prefix="tavola-queue-") as folder:
            cert, key = certificate.make(folder)
            with Server("--cert", cert, "--key", key, "--https-only", engine="memory") as server:
                plain, secure = (QueueClient(server.queue_port) for _ in range(2))
                secure.connection = http.client.HTTPSConnection(
                    "127.0.0.1", server.queue_port, timeout=60,
                    context=ssl._create_unverified_context())
                self.assertEqual(secure.create("safe").status, 201)
                for reply in (plain.put("safe", "x"), plain.get("safe"), plain.clear("safe"),
                              plain.request("GET", "/?comp=list"), plain.create("other"),
                              plain.request("OPTIONS", "/safe", Origin="http://a.example",
                                            Access_Control_Request_Method="GET")):
                    self.assertEqual((reply.status, reply.code), (400, "AccountRequiresHttps"))
                self.assertEqual(secure.put("safe", "x").status, 201)
                self.assertEqual(secure.count("safe"), 1)
                self.assertIn(b'ServiceEndpoint="https://127.0.0.1:',
                              secure.request("GET", "/?comp=list").body)
                plain.close()
                secure.close()
