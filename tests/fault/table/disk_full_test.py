"""A full disk turns writes into 503 while reads go on; space heals it; nothing is lost.

The data folder is a tmpfs of its own, so the test needs root.
"""

import json
import os
import urllib.error
import urllib.request

from fault.small_disk import RESERVE_MB, SmallDisk
from table_client import Client
from until import until

TABLE = "disk"


class DiskFull(SmallDisk):
    def setUp(self):
        super().setUp()
        self.client = Client(self.server.table_port)
        self.addCleanup(self.client.close)
        self.assertEqual(self.client.create_table(TABLE).status, 204)
        self.written, self.refused = set(), set()
        self.serial = 0

    def write(self):
        """Insert one entity, record it, return the reply."""
        self.serial += 1
        row = f"{self.serial:06}"
        reply = self.client.insert(TABLE, {"PartitionKey": "p", "RowKey": row, "s": "x" * 500})
        (self.written if reply.status == 204 else self.refused).add(row)
        if reply.status != 204:
            self.assertEqual((reply.status, reply.code), (503, "ServerBusy"), reply)
        return reply

    def until_writes_are(self, status):
        """The server may look at the disk only now and then."""
        until(lambda: self.write().status == status,
              lambda: f"writes become {status}:\n{self.server.log()[-2000:]}")

    def reads_go_on(self):
        self.assertEqual(self.client.get(TABLE, "p", min(self.written)).status, 200)
        self.assertEqual({e["RowKey"] for e in self.client.scan(TABLE)}, self.written)

    def ask(self, path, **headers):
        """(status, text) of the admin port."""
        request = urllib.request.Request(self.server.admin_url + path, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def health_says_so(self):
        """To people; load balancers are told that it serves clients."""
        status, text = self.ask("/healthz")
        self.assertEqual(status, 503)
        self.assertRegex(text, "^unhealthy: .*nearly full.*\n$")
        status, text = self.ask("/healthz", Accept="application/json")
        found = json.loads(text)
        self.assertEqual((status, found["status"]), (503, "unhealthy"))
        self.assertEqual([reason["part"] for reason in found["reasons"]], ["engine"])
        self.assertIn("nearly full", found["reasons"][0]["text"])
        self.assertEqual(self.ask("/ready"), (200, "ok\n"))
        self.assertEqual(json.loads(self.ask("/ready", Accept="application/json")[1]),
                         {"reasons": [], "status": "ok"})

    def test_full_disk(self):
        for _ in range(200):
            self.assertEqual(self.write().status, 204)

        self.fill(leave_mb=RESERVE_MB // 2)
        self.until_writes_are(503)
        entities = [{"PartitionKey": "p", "RowKey": f"batch{i}"} for i in range(10)]
        reply = self.client.batch(TABLE, entities)
        self.assertEqual((reply.status, reply.code), (503, "ServerBusy"), reply)
        self.reads_go_on()
        self.health_says_so()

        # Not a byte is left, as when the neighbour did not stop at the reserve.
        self.fill(leave_mb=0)
        for _ in range(20):
            self.assertEqual(self.write().status, 503)
        self.reads_go_on()
        self.assertIsNone(self.server.process.poll(), "the server died")

        os.unlink(os.path.join(self.disk, "filler"))
        self.until_writes_are(204)
        for _ in range(50):
            self.assertEqual(self.write().status, 204)

        self.server.kill()
        self.client.close()
        self.server.start()
        self.reads_go_on()
        self.assertEqual(self.write().status, 204)

    def test_a_start_without_a_byte_left_says_so(self):
        self.assertEqual(self.write().status, 204)
        self.client.close()
        for end in (self.server.stop, self.server.kill):
            end()
            self.fill(leave_mb=0)
            log = len(self.server.log())
            with self.assertRaises(RuntimeError):
                self.server.start()
            self.assertEqual(self.server.process.wait(), 2, self.server.log()[log:])
            lines = self.server.log()[log:].splitlines()
            self.assertEqual(len(lines), 1, lines)
            self.assertIn("is full", lines[0])
            os.unlink(os.path.join(self.disk, "filler"))
            self.server.start()
            self.reads_go_on()
            self.client.close()
