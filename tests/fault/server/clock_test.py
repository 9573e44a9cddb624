"""The wall clock is set back by ten minutes, under a running server and while it is down."""

import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import time
import unittest

from blob_client import Client as BlobClient
from queue_client import QueueClient
from server import Server
from table_client import Client as TableClient

HERE = pathlib.Path(__file__).resolve().parent
BACK_S = -600           # less than the 15 minutes that a signature's date may be off
WAIT_S = 10             # for what should take a second; the machine may be busy
LEASE_S = 15            # the shortest there is


class Clock:
    """The wall clock of servers that have `env`."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="tavola-clock-")
        self.path = os.path.join(self.folder, "offset")
        shim = os.path.join(self.folder, "clock_shim.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, str(HERE / "clock_shim.c"), "-ldl"],
                       check=True)
        self.set(0)
        # The sanitizer's runtime wants to come first, but can do without.
        asan = os.environ.get("ASAN_OPTIONS", "")
        self.env = {"LD_PRELOAD": shim, "TAVOLA_TEST_CLOCK": self.path,
                    "ASAN_OPTIONS": f"{asan}:verify_asan_link_order=0".lstrip(":")}

    def set(self, seconds):
        # In place and in one write: the server has the file mapped.
        file = os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600)
        os.pwrite(file, struct.pack("=q", seconds), 0)
        os.close(file)

    def clean(self):
        shutil.rmtree(self.folder)


class SetBack(unittest.TestCase):
    def setUp(self):
        self.clock = Clock()
        self.addCleanup(self.clock.clean)
        self.server = Server(env=self.clock.env)
        self.addCleanup(self.server.clean)
        self.server.start()
        self.queues = QueueClient(self.server.queue_port)
        self.blobs = BlobClient(self.server.blob_port)
        self.tables = TableClient(self.server.table_port)
        self.queues.create("work")
        self.blobs.create_container("films")
        self.blobs.put("films/a", b"a")
        self.tables.create_table("people")

    def tearDown(self):
        for client in (self.queues, self.blobs, self.tables):
            client.close()
        self.assertEqual(self.server.stop(), 0, self.server.log()[-2000:])

    def restart(self):
        for client in (self.queues, self.blobs, self.tables):
            client.close()
        self.server.kill()
        self.server.start()

    def seen_after(self, what):
        began = time.monotonic()
        while not what() and time.monotonic() < began + WAIT_S:
            time.sleep(0.05)
        self.assertTrue(what(), "time stands still")
        return time.monotonic() - began

    def check_a_second(self):
        """Messages come and go after the time that was requested."""
        self.assertEqual(self.queues.put("work", "later", visibilitytimeout=1).status, 201)
        self.assertEqual(self.queues.peek("work").messages, [])
        self.assertGreater(self.seen_after(lambda: self.queues.peek("work").messages), 0.5)
        self.assertEqual(self.queues.get("work", visibilitytimeout=1).messages[0].MessageText,
                         "later")
        held = []
        self.seen_after(lambda: held or held.extend(self.queues.get("work").messages))
        self.queues.delete("work", held[0].MessageId, held[0].PopReceipt)

        self.assertEqual(self.queues.put("work", "short", messagettl=2).status, 201)
        self.assertEqual(len(self.queues.peek("work").messages), 1)
        self.seen_after(lambda: not self.queues.peek("work").messages)

    def acquire(self):
        self.blobs.put("films/a", b"a")
        reply = self.blobs.request("PUT", "films/a?comp=lease", x_ms_lease_action="acquire",
                                   x_ms_lease_duration=str(LEASE_S))
        self.assertEqual(reply.status, 201, reply)
        self.lease_ends = time.monotonic() + LEASE_S

    def lease_state(self):
        return self.blobs.request("HEAD", "films/a").headers["x-ms-lease-state"]

    def check_leased(self):
        self.assertEqual(self.lease_state(), "leased")
        self.assertEqual(self.blobs.put("films/a", b"b").status, 412)

    def check_lease_ends(self):
        time.sleep(max(0, self.lease_ends - time.monotonic()))
        self.seen_after(lambda: self.lease_state() == "expired")
        self.assertEqual(self.blobs.put("films/a", b"b").status, 201)

    def etag(self):
        """Its time as texts that sort: without zeros at its end, as it is written, it does not."""
        reply = self.tables.replace("people", {"PartitionKey": "p", "RowKey": "r"})
        self.assertEqual(reply.status, 204, reply)
        second, fraction = re.fullmatch(r"W/\"datetime'(.*?)(?:\.(\d+))?Z'\"",
                                        reply.headers["ETag"]).groups()
        return second, (fraction or "").ljust(7, "0")

    def test_under_a_running_server(self):
        self.acquire()
        before = self.etag()
        self.clock.set(BACK_S)
        self.assertGreater(self.etag(), before)
        self.check_leased()
        self.check_a_second()
        self.check_lease_ends()
        self.assertIn("clock_behind", self.server.log())
        self.clock.set(0)
        self.check_a_second()
        self.assertIn("clock_caught_up", self.server.log())

    def test_while_the_server_is_down(self):
        self.acquire()
        before = self.etag()
        self.clock.set(BACK_S)
        self.restart()
        self.check_leased()
        self.assertGreater(self.etag(), before)
        self.check_a_second()
        self.check_lease_ends()
        before = self.etag()
        self.restart()
        self.assertGreater(self.etag(), before)
        self.check_a_second()
