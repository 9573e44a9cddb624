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
from until import until

HERE = pathlib.Path(__file__).resolve().parent
BACK_S = -600           # less than the 15 minutes that a signature's date may be off
LEASE_S = 60            # the longest that ends; a test lets it pass
AGAIN_S = 300           # later than all that has passed meanwhile


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
        self.server = Server("--test-points", env=self.clock.env)
        self.addCleanup(self.server.clean)
        self.server.start()
        self.queues = QueueClient(self.server.queue_port)
        self.blobs = BlobClient(self.server.blob_port)
        self.tables = TableClient(self.server.table_port)
        for queue in ("work", "held"):
            self.queues.create(queue)
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

    def texts(self):
        return {message.MessageText for message in self.queues.peek("work").messages}

    def check_a_second(self):
        """Messages come and go after the time that was requested: none sooner, all by themselves."""
        began = time.monotonic()
        for text, times in (("later", {"visibilitytimeout": 1}), ("short", {"messagettl": 1}),
                            ("hidden", {"visibilitytimeout": 600}), ("kept", {"messagettl": 600})):
            self.assertEqual(self.queues.put("work", text, **times).status, 201)
        self.assertEqual(self.queues.put("held", "held").status, 201)
        self.assertEqual(len(self.queues.get("held", visibilitytimeout=1).messages), 1)
        until(lambda: "later" in self.texts(), "time stands still")
        self.assertGreater(time.monotonic() - began, 0.9)
        until(lambda: self.queues.peek("held").messages, "time stands still")
        until(lambda: "short" not in self.texts(), "time stands still")
        self.assertEqual(self.texts(), {"later", "kept"})
        for queue in ("work", "held"):
            self.assertEqual(self.queues.clear(queue).status, 204)

    def acquire(self):
        self.blobs.put("films/a", b"a")
        reply = self.blobs.request("PUT", "films/a?comp=lease", x_ms_lease_action="acquire",
                                   x_ms_lease_duration=str(LEASE_S))
        self.assertEqual(reply.status, 201, reply)

    def lease_state(self):
        return self.blobs.request("HEAD", "films/a").headers["x-ms-lease-state"]

    def check_leased(self):
        self.assertEqual(self.lease_state(), "leased")
        self.assertEqual(self.blobs.put("films/a", b"b").status, 412)

    def check_lease_ends(self):
        self.server.pass_time(LEASE_S + 2)  # instants may be a second ahead of the clock
        self.assertEqual(self.lease_state(), "expired")
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
        until(lambda: "clock_behind" in self.server.log(), self.server.log)
        self.check_lease_ends()
        self.clock.set(AGAIN_S)
        self.check_a_second()
        until(lambda: "clock_caught_up" in self.server.log(), self.server.log)

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
