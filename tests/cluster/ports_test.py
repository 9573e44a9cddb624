"""./run cluster at other ports than those of emulators: TAVOLA_CLUSTER_PORT."""

import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
import urllib.request

from cluster import stand
from server import ROOT

WAIT_S = 300
NODES = 3


def is_free(port):
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def ports_from(first):
    """Of the balancer, then of each node."""
    return [first + 100 * number + service for number in range(NODES + 1) for service in range(4)]


def free_first():
    """A port from which on all that it takes are free; below those that the kernel gives away."""
    while True:
        first = random.randrange(11000, 32000)
        if all(map(is_free, ports_from(first))):
            return first


@unittest.skipIf(stand.IS_ALONE, "about Ceph")
class Ports(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tavola-ports-", dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_at(self, first, said):
        process = subprocess.Popen(
            ["/usr/bin/python3", str(ROOT / "tools" / "run-cluster.py"), str(self.folder / "data"),
             os.environ["TAVOLAD"]], env={**os.environ, "TAVOLA_CLUSTER_PORT": str(first)},
            stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        self.addCleanup(lambda: process.poll() is None and process.send_signal(signal.SIGINT))
        return process

    def test_a_port_that_is_taken_is_named(self):
        first = free_first()
        with socket.socket() as taken, open(self.folder / "said", "w+", encoding="utf-8") as said:
            taken.bind(("127.0.0.1", first + 202))
            taken.listen()
            self.assertEqual(self.run_at(first, said).wait(WAIT_S), 1)
            said.seek(0)
            self.assertIn(f"port {first + 202} is in use", said.read())

    def test_all_of_it_moves(self):
        first = free_first()
        with open(self.folder / "said", "w+", encoding="utf-8") as said:
            process = self.run_at(first, said)

            def text():
                return (self.folder / "said").read_text(encoding="utf-8")

            stand.until(lambda: "Ctrl-C ends it" in text() or process.poll() is not None, WAIT_S, 0.2)
            self.assertIn(f"TableEndpoint=http://127.0.0.1:{first + 2}/devstoreaccount1", text())
            self.assertNotIn("UseDevelopmentStorage", text())
            self.assertIn("AZURE_STORAGE_CONNECTION_STRING", text())
            for number in range(NODES + 1):
                with urllib.request.urlopen(f"http://127.0.0.1:{first + 100 * number + 3}/ready",
                                            timeout=WAIT_S) as reply:
                    self.assertEqual(reply.status, 200)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(WAIT_S), 0, text())
