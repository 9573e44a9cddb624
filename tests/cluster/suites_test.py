"""The suites of single servers, with a node on Ceph as the server.

Wire, access and SDK tests run as they are, each on a pool of its own; the engine contract runs
with 1, 5 and 20 ranges.  A failed suite shows its whole output.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest
import urllib.request

from cluster import stand
from server import ROOT

LIMIT_S = 1200
# What is about one process and its folder, or about bytes and ports before any engine.
WIRE = ["table", "queue", "blob"]
# The sanitizer keeps what was freed for a while, and of librados' buffers that is much: 175 MiB is
# the peak of the tests with a large blob when it keeps nothing, 500 with 64 MiB, 860 with its
# default of 256.  They are about the server's own memory.
QUARANTINE = "quarantine_size_mb=4:thread_local_quarantine_size_kb=64"
ACCESS = ["table", "queue", "blob"]
# Through a balancer, each request to another node: all but what sets policies or properties and
# uses them at once, which other nodes may follow two seconds later (nodes_test.py).
BALANCED = ["python", "entities", "queries", "paging", "transactions", "types", "patterns", "tables",
            "blob_append", "blob_blocks", "blob_leases", "blob_listing", "queue_messages"]


def sdk_accounts():
    """The accounts that the SDK tests expect, as its runner prints them."""
    command = [sys.executable, "-c", "import run; print(run.AZURITE_ACCOUNTS)"]
    return subprocess.run(command, cwd=ROOT / "tests/sdk", stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()


def requests_of(node):
    """How many requests of clients a node has answered."""
    with urllib.request.urlopen(node.admin_url + "/metrics", timeout=30) as reply:
        found = re.findall(r"^tavola_requests_total\S* (\d+)$", reply.read().decode(), re.MULTILINE)
    return sum(int(count) for count in found)


@unittest.skipIf(stand.IS_ALONE, "they run by themselves")
class Suites(unittest.TestCase):
    def run_suite(self, name, *command, env=None):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S,
                              env={**os.environ, **(env or {})})
        closing = re.findall(r"^\w+: (\d+) passed, (\d+) failed", done.stdout, re.MULTILINE)
        self.assertEqual(done.returncode, 0, done.stdout[-20000:])
        if closing:
            print(f"  {name}: {closing[-1][0]} passed", flush=True)

    def on_ceph(self, name, *command, **env):
        pools = [stand.ceph().new_pool() for _ in range(2)]
        try:
            self.run_suite(name, *command, env={
                "TAVOLA_TEST_ENGINE": "rados", "TAVOLA_CEPH_CONF": stand.ceph().conf,
                "TAVOLA_CEPH_USER": "tavola", "TAVOLA_POOL": pools[0],
                "TAVOLA_OTHER_POOL": pools[1], **env})
        finally:
            for pool in pools:
                stand.ceph().drop_pool(pool)

    def test_wire(self):
        self.on_ceph("wire", sys.executable, str(ROOT / "tests/wire/run.py"), *WIRE)

    def access(self, service):
        for part in ("matrix", "attacks"):
            self.on_ceph(f"access, {part} of {service}s", sys.executable,
                         str(ROOT / "tests/access/run.py"), f"{service}/{part}")

    def test_access(self):
        """One request after the other: what takes time is waiting, so services share it."""
        with concurrent.futures.ThreadPoolExecutor(len(ACCESS)) as executor:
            for done in [executor.submit(self.access, service) for service in ACCESS]:
                done.result()

    def sdk_on_ceph(self, name, language):
        options = f"{os.environ.get('ASAN_OPTIONS', '')}:{QUARANTINE}"
        self.on_ceph(name, sys.executable, str(ROOT / "tests/sdk/run.py"), language,
                     ASAN_OPTIONS=options)

    def test_sdk_python(self):
        self.sdk_on_ceph("sdk, Python", "python")

    def test_sdk_javascript(self):
        self.sdk_on_ceph("sdk, JavaScript", "js")

    def test_sdk_through_a_balancer(self):
        """Three nodes in turn: what a request does the next one knows, on whichever node."""
        accounts = {"AZURITE_ACCOUNTS": sdk_accounts()}
        with stand.Nodes(3, "--test-points",
                         envs={number: accounts for number in range(3)}) as nodes:
            ports = nodes.balance()
            urls = ",".join(f"http://127.0.0.1:{ports[name]}" for name in ("table", "queue", "blob"))
            self.run_suite("sdk, balanced", sys.executable, str(ROOT / "tests/sdk/run.py"),
                           "--endpoints", urls, *BALANCED,
                           env={"SDK_TEST_CLOCKS": json.dumps([(node.admin_url, node.admin_token())
                                                               for node in nodes])})
            for node in nodes:
                self.assertGreater(requests_of(node), 100, "the balancer left a node out")

    def run_engine_tests(self, name):
        """A C test of the engine, which wipes the pool for each of its cases."""
        program = pathlib.Path(os.environ["TAVOLAD"]).parent / "tests" / f"engine_{name}_test"
        if not program.exists():
            self.skipTest(f"{program} is not built")
        pool = stand.ceph().new_pool()
        try:
            self.run_suite(name, str(program), env={"TAVOLA_TEST_CEPH_CONF": stand.ceph().conf,
                                                    "TAVOLA_TEST_CEPH_POOL": pool})
        finally:
            stand.ceph().drop_pool(pool)

    def test_engine_contract(self):
        """With 1, 5 and 20 ranges."""
        self.run_engine_tests("contract")

    def test_pool(self):
        self.run_engine_tests("pool")
