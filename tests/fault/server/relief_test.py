"""A full disk is relieved through the services: deletes go on where writes are refused.

The data folder is a tmpfs of its own, so the test needs root.
"""

import os
import re
import urllib.error
import urllib.request

import blob_client
import table_client
from fault.small_disk import RESERVE_MB, SmallDisk
from queue_client import QueueClient
from until import until

MIB = 2**20
BLOBS = 12


class Relief(SmallDisk):
    def setUp(self):
        super().setUp()
        self.tables = table_client.Client(self.server.table_port)
        self.blobs = blob_client.Client(self.server.blob_port)
        self.queues = QueueClient(self.server.queue_port)
        for client in (self.tables, self.blobs, self.queues):
            self.addCleanup(client.close)

    def is_busy(self, reply):
        self.assertEqual(reply.status, 503, reply)

    def write(self):
        return self.tables.replace("kept", {"PartitionKey": "p", "RowKey": "probe"})

    def until_writes_are(self, status):
        until(lambda: self.write().status == status,
              lambda: f"writes become {status}:\n{self.server.log()[-2000:]}")

    def health(self):
        try:
            with urllib.request.urlopen(self.server.admin_url + "/healthz", timeout=60) as reply:
                return reply.status
        except urllib.error.HTTPError as error:
            return error.code

    def delete_batch(self, table, *lines):
        """An entity group transaction of these operations; returns the statuses of its parts."""
        url = f"http://127.0.0.1:{self.server.table_port}/{self.tables.account}/{table}"
        parts = ["--b", "Content-Type: multipart/mixed; boundary=c", ""]
        for method, row, body in lines:
            target = url if method == "POST" else f"{url}(PartitionKey='p',RowKey='{row}')"
            parts += ["--c", "Content-Type: application/http", "Content-Transfer-Encoding: binary",
                      "", f"{method} {target} HTTP/1.1", "Accept: application/json",
                      "Content-Type: application/json", "If-Match: *", "", body]
        body = "\r\n".join([*parts, "--c--", "--b--", ""]).encode()
        reply = self.tables.request("POST", "/$batch", body,
                                    Content_Type="multipart/mixed; boundary=b")
        parts = [int(status) for status in re.findall(rb"HTTP/1.1 (\d+)", reply.body)]
        return parts or [reply.status]

    def fill_the_services(self):
        for table in ("kept", "dropped"):
            self.assertEqual(self.tables.create_table(table).status, 204)
            for row in range(20):
                self.assertEqual(self.tables.insert(table, {
                    "PartitionKey": "p", "RowKey": str(row)}).status, 204)
        for queue in ("kept", "dropped", "cleared"):
            self.assertEqual(self.queues.create(queue).status, 201)
            for number in range(4):
                self.assertEqual(self.queues.put(queue, f"message {number}").status, 201)
        for container in ("kept", "dropped"):
            self.assertEqual(self.blobs.create_container(container).status, 201)
            for number in range(BLOBS):
                path = f"{container}/{number}"
                self.assertEqual(self.blobs.put(path, os.urandom(MIB)).status, 201)
        self.shot = self.blobs.snapshot("kept/0").headers["x-ms-snapshot"]

    def writes_are_refused(self):
        self.is_busy(self.write())
        self.is_busy(self.tables.create_table("more"))
        self.is_busy(self.queues.put("kept", "more"))
        self.is_busy(self.queues.create("more"))
        self.is_busy(self.blobs.put("kept/more", b"x"))
        self.is_busy(self.blobs.snapshot("kept/1"))
        self.assertEqual(self.delete_batch("kept", ("DELETE", "10", ""), (
            "POST", "", '{"PartitionKey":"p","RowKey":"more"}')), [503])
        self.assertEqual(self.tables.get("kept", "p", "10").status, 200)

    def small_deletes_go_on(self):
        self.server.pass_time(2)  # so that the store notes the time with the next write
        self.assertEqual(self.tables.delete("kept", "p", "1").status, 204)
        self.assertEqual(self.tables.get("kept", "p", "1").status, 404)
        self.assertEqual(self.delete_batch("kept", ("DELETE", "2", ""), ("DELETE", "3", "")),
                         [204, 204])
        [message] = self.queues.get("kept").messages
        path = self.queues.held_path("kept", message.MessageId, message.PopReceipt)
        self.assertEqual(self.queues.request("DELETE", path).status, 204)
        self.assertEqual(self.queues.request("DELETE", "/cleared/messages").status, 204)
        self.assertEqual(self.queues.count("cleared"), 0)
        self.assertEqual(self.blobs.request("DELETE", f"kept/0?snapshot={self.shot}").status, 202)
        self.assertEqual(self.tables.request("DELETE", "/Tables('dropped')").status, 204)
        self.assertEqual(self.queues.drop("dropped").status, 204)

    def test_deletes_relieve_a_full_disk(self):
        self.fill_the_services()
        self.fill(leave_mb=RESERVE_MB // 2)
        self.until_writes_are(503)
        self.writes_are_refused()
        self.assertEqual(self.health(), 503)
        self.small_deletes_go_on()
        self.writes_are_refused()

        # Not a byte is left: then nothing can be written, not even that something is to go.
        self.fill(leave_mb=0)
        self.is_busy(self.tables.delete("kept", "p", "4"))
        self.is_busy(self.blobs.delete("kept/1"))
        self.assertIsNone(self.server.process.poll(), "the server died")
        os.truncate(os.path.join(self.disk, "filler"),
                    os.path.getsize(os.path.join(self.disk, "filler")) - RESERVE_MB // 2 * MIB)

        # Large data gives its space back at once, and writes go on by themselves.
        for number in range(BLOBS):
            self.assertEqual(self.blobs.delete(f"kept/{number}").status, 202)
        self.assertEqual(self.blobs.delete_container("dropped").status, 202)
        self.until_writes_are(204)
        self.assertEqual(self.health(), 200)
        self.server.until_logged("event=disk_has_space store=rows")
        log = self.server.log()
        self.assertEqual(log.count("event=disk_full store=rows"), 1, log)
        self.assertEqual(log.count("event=disk_has_space store=rows"), 1, log)
        self.assertNotIn("event=commit_failed", log)
