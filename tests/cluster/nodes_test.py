"""What clients see of three nodes on one pool: what one has done, the others know."""

import collections
import hashlib
import random
import threading
import unittest
import urllib.error
import urllib.request

import sas
from blob_client import Client as BlobClient
from cluster import queues, record, stand
from queue_client import QueueClient
from server import ACCOUNT, KEY
from table_client import Client as TableClient

POLICY = ("<SignedIdentifiers><SignedIdentifier><Id>{id}</Id><AccessPolicy><Expiry>2099-01-01"
          "</Expiry><Permission>{permission}</Permission></AccessPolicy></SignedIdentifier>"
          "</SignedIdentifiers>")
GIVEN = 150  # messages, until the clients of a queue have done enough


class Many(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.nodes = stand.Nodes(3)
        cls.addClassCleanup(cls.nodes.clean)
        cls.nodes.start()
        cls.tables = [TableClient(node.table_port) for node in cls.nodes]
        cls.queues = [QueueClient(node.queue_port) for node in cls.nodes]
        cls.blobs = [BlobClient(node.blob_port) for node in cls.nodes]

    @classmethod
    def tearDownClass(cls):
        for client in cls.tables + cls.queues + cls.blobs:
            client.close()
        problems = cls.nodes.stop()
        assert not problems, "\n".join(problems)

    def assertStatus(self, reply, *expected):
        self.assertIn(reply.status, expected, f"{reply}\n{self.nodes.logs()}")

    # --- tables

    def test_a_new_table_is_known_at_once_everywhere(self):
        for number in range(12):
            a, b, c = (self.tables[(number + i) % 3] for i in range(3))
            table = f"fresh{number}"
            self.assertStatus(b.insert(table, {"PartitionKey": "p", "RowKey": "0"}), 404)
            self.assertStatus(a.create_table(table), 204)
            self.assertStatus(b.insert(table, {"PartitionKey": "p", "RowKey": "1"}), 204)
            self.assertStatus(c.get(table, "p", "1"), 200)
            self.assertStatus(c.create_table(table), 409)

    def test_nothing_is_written_to_a_dropped_table_anywhere(self):
        """Clients of B and C write without pause while A drops the table and makes it again."""
        names = ("w1", "w2")
        for number in range(6):
            table = f"gone{number}"
            self.assertStatus(self.tables[0].create_table(table), 204)
            ended, late, dropped_at = threading.Event(), [], []
            before, after = collections.Counter(), collections.Counter()  # answers to each writer

            def write(port, name, table=table, ended=ended, late=late, dropped_at=dropped_at,
                      before=before, after=after):
                client, row = TableClient(port), 0
                while not ended.is_set():
                    row += 1
                    is_after = bool(dropped_at)
                    reply = client.insert(table, {"PartitionKey": name, "RowKey": f"{row:06}"})
                    if reply.status == 204 and is_after:
                        late.append(row)
                    elif reply.status not in (204, 404):
                        late.append(reply)
                    (after if is_after else before)[name] += 1
                client.close()
            threads = [threading.Thread(target=write, args=(self.nodes[n].table_port, name))
                       for n, name in enumerate(names, 1)]
            for thread in threads:
                thread.start()
            some = random.randint(1, 30)
            stand.until(lambda before=before: min(before[name] for name in names) >= some)
            reply = self.tables[0].request("DELETE", f"/Tables('{table}')")
            dropped_at.append(True)
            tried = stand.until(lambda after=after: min(after[name] for name in names) >= 10)
            ended.set()
            for thread in threads:
                thread.join()
            self.assertStatus(reply, 204)
            self.assertTrue(tried, f"{before}, {after}\n{self.nodes.logs()}")
            self.assertEqual(late, [], f"written to a dropped table\n{self.nodes.logs()}")
            # A new table of the name has nothing of the old one, whichever node is asked.
            self.assertTrue(stand.until(
                lambda table=table: self.tables[0].create_table(table).status == 204))
            for client in self.tables:
                self.assertEqual(list(client.scan(table)), [])

    def test_a_write_is_read_on_every_node_at_once(self):
        self.tables[0].create_table("shared")
        for number in range(60):
            writer, reader = random.sample(self.tables, 2)
            self.assertStatus(writer.replace("shared", {"PartitionKey": "p", "RowKey": "r",
                                                        "Value": number}), 204)
            self.assertEqual(reader.get("shared", "p", "r").json["Value"], number)

    def test_etags_grow_whoever_writes(self):
        self.tables[0].create_table("etags")
        last = 0
        for number in range(60):
            reply = self.tables[number % 3].replace("etags", {"PartitionKey": "p", "RowKey": "r"})
            stamp = record.ticks(reply.headers["ETag"])
            self.assertGreater(stamp, last)
            last = stamp

    def test_policies_are_soon_known_everywhere(self):
        self.tables[0].create_table("guarded")
        self.tables[0].insert("guarded", {"PartitionKey": "p", "RowKey": "r"})
        for number, permission in enumerate(("r", "a", "r")):
            name = f"policy{number}"
            body = POLICY.format(id=name, permission=permission).encode()
            self.assertStatus(self.tables[0].request("PUT", "/guarded?comp=acl", body,
                                                     Content_Type="application/xml"), 204)
            token = sas.table_sas(KEY, ACCOUNT, tn="guarded", si=name)
            expected = 200 if permission == "r" else 403
            for node in self.nodes:
                url = f"{node.table_url}/guarded(PartitionKey='p',RowKey='r')?{token}"
                found = stand.until(lambda url=url: status_of(url) == expected)
                self.assertTrue(found, f"{name}\n{self.nodes.logs()}")

    # --- queues

    def test_one_queue_on_three_nodes_gives_no_message_twice(self):
        self.assertStatus(self.queues[0].create("work"), 201)
        ledger, seen = queues.Ledger(), record.Record()
        ports = [node.queue_port for node in self.nodes]
        ended = threading.Event()
        workers = [queues.Worker(number, "work", ports, ledger, seen, 1) for number in range(9)]
        threads = [threading.Thread(target=worker.run, args=(ended,)) for worker in workers]
        for thread in threads:
            thread.start()
        given = stand.until(lambda: len(ledger.given) >= GIVEN)
        ended.set()
        for thread in threads:
            thread.join()
        left, count = queues.drain("work", ports[0], ledger)
        self.assertEqual(ledger.problems(left, count), [])
        self.assertEqual(dict(seen.unknown), {})
        self.assertTrue(given, f"{len(ledger.given)} messages\n{self.nodes.logs()}")

    def test_a_receipt_of_one_node_is_good_on_another(self):
        self.queues[0].create("receipts")
        self.queues[0].put("receipts", "hello")
        message = self.queues[1].get("receipts", visibilitytimeout=3600).messages[0]
        self.assertEqual(self.queues[0].get("receipts").messages, [])
        self.assertStatus(self.queues[2].delete("receipts", message.MessageId, message.PopReceipt),
                          204)
        self.assertEqual(self.queues[0].count("receipts"), 0)

    # --- blobs

    def test_a_blob_of_one_node_is_read_on_another(self):
        self.assertStatus(self.blobs[0].create_container("films"), 201)
        for number, size in enumerate((0, 10, 70_000, 5_000_000, 9_000_000)):
            content = random.Random(size).randbytes(size)
            writer, reader = random.sample(self.blobs, 2)
            self.assertStatus(writer.put(f"films/{number}", content), 201)
            reply = reader.get(f"films/{number}")
            self.assertStatus(reply, 200)
            self.assertEqual(hashlib.sha256(reply.body).hexdigest(),
                             hashlib.sha256(content).hexdigest())
            self.assertStatus(writer.delete(f"films/{number}"), 202)
            self.assertStatus(reader.get(f"films/{number}"), 404)

    def test_blocks_of_all_nodes_make_one_blob(self):
        self.blobs[0].create_container("parts")
        blocks = [random.Random(number).randbytes(400_000) for number in range(9)]
        for number, block in enumerate(blocks):
            self.assertStatus(self.blobs[number % 3].put_block("parts/whole", number, block), 201)
        self.assertStatus(self.blobs[1].put_blocks("parts/whole", range(9)), 201)
        for client in self.blobs:
            self.assertEqual(client.get("parts/whole").body, b"".join(blocks))

    def test_a_lease_of_one_node_binds_the_others(self):
        self.blobs[0].create_container("leased")
        self.blobs[0].put("leased/a", b"one")
        reply = self.blobs[1].request("PUT", "leased/a?comp=lease", b"", x_ms_lease_action="acquire",
                                      x_ms_lease_duration="-1")
        self.assertStatus(reply, 201)
        self.assertStatus(self.blobs[2].put("leased/a", b"two"), 412)
        self.assertStatus(self.blobs[2].put("leased/a", b"two",
                                            x_ms_lease_id=reply.headers["x-ms-lease-id"]), 201)


class Balanced(unittest.TestCase):
    """A load balancer that knows /ready and nothing else."""

    def test_clients_of_the_balancer_do_not_notice_a_node_that_stops(self):
        with stand.Nodes(3) as nodes:
            ports = nodes.balance()
            client = TableClient(ports["table"])
            self.assertTrue(stand.until(lambda: client.create_table("front").status in (204, 409)))
            for row in range(30):
                self.assertEqual(client.insert("front", {"PartitionKey": "p",
                                                         "RowKey": f"{row}"}).status, 204)
            if not stand.IS_ALONE:
                self.assertEqual(nodes[0].stop(), 0)
                # The balancer needs a check or two to see it; a client repeats what failed.
                for row in range(30, 60):
                    entity = {"PartitionKey": "p", "RowKey": f"{row}"}
                    self.assertTrue(stand.until(
                        lambda entity=entity: client.insert("front", entity).status in (204, 409)))
                self.assertEqual(len(list(client.scan("front"))), 60)
            client.close()


def status_of(url):
    try:
        with urllib.request.urlopen(url, timeout=stand.WAIT_S) as reply:
            return reply.status
    except urllib.error.HTTPError as error:
        return error.code
