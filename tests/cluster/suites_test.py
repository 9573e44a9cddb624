"""The suites of single servers, with a node on Ceph as the server.

Wire, access and SDK tests run as they are, each on a pool of its own; the engine contract runs
with 1, 5 and 20 ranges.  Nothing here is about what no engine touches: who may do what is decided
before one is asked, so the matrices of access and the SDKs' tests of credentials are left to
`./check`.  A failed suite shows its whole output.
"""

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

LIMIT_S = 1800
# What is about one process and its folder, or about bytes and ports before any engine.
WIRE = ["table", "queue", "blob"]
# The sanitizer keeps what was freed for a while, and of librados' buffers that is much: 175 MiB is
# the peak of the tests with a large blob when it keeps nothing, 500 with 64 MiB, 860 with its
# default of 256.  They are about the server's own memory.
QUARANTINE = "quarantine_size_mb=4:thread_local_quarantine_size_kb=64"
ACCESS = ["table", "queue", "blob"]
# Through a balancer, each request to another node: all but what sets policies or properties and
# uses them at once, which other nodes may follow two seconds later (nodes_test.py).
BALANCED = {"entities", "queries", "paging", "transactions", "types", "patterns", "tables",
            "blob_append", "blob_blocks", "blob_leases", "blob_listing", "queue_messages"}
# About credentials, targets and a server's first minute, whatever it keeps its data in.
NO_ENGINE = {"access", "accounts", "sas", "blob_access", "queue_access", "throttling", "snippets",
             "first_minute"}
SDKS = ROOT / "tests" / "sdk"


def sdk_parts(language, without):
    """The SDK tests of a language but these, by the names of Python's files."""
    ending = {"js": ".test.mjs", "python": "_test.py"}[language]
    names = [path.name.removesuffix(ending) for path in sorted((SDKS / language).glob(f"*{ending}"))]
    return [f"{language}/{name}" for name in names if name.replace("-", "_") not in without]


def sdk_accounts():
    """The accounts that the SDK tests expect, as its runner prints them."""
    command = [sys.executable, "-c", "import run; print(run.AZURITE_ACCOUNTS)"]
    return subprocess.run(command, cwd=SDKS, stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()


def requests_of(node):
    """How many requests of clients a node has answered."""
    with urllib.request.urlopen(node.admin_url + "/metrics", timeout=stand.WAIT_S) as reply:
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

    def test_access(self):
        for service in ACCESS:
            self.on_ceph(f"access, attacks of {service}s", sys.executable,
                         str(ROOT / "tests/access/run.py"), f"{service}/attacks")

    def sdk_on_ceph(self, name, parts):
        options = f"{os.environ.get('ASAN_OPTIONS', '')}:{QUARANTINE}"
        self.on_ceph(name, sys.executable, str(SDKS / "run.py"), *parts, ASAN_OPTIONS=options)

    def test_sdk_python(self):
        """What does not go through a balancer below."""
        self.sdk_on_ceph("sdk, Python", sdk_parts("python", NO_ENGINE | BALANCED))

    def test_sdk_javascript_tables(self):
        parts = sdk_parts("js", NO_ENGINE)
        self.sdk_on_ceph("sdk, JavaScript", [part for part in parts
                                             if not part.startswith(("js/blob", "js/queue"))])

    def test_sdk_javascript_blobs_and_queues(self):
        """But large blobs, whose memory Python's tests look at."""
        parts = sdk_parts("js", NO_ENGINE | {"blob_large"})
        self.sdk_on_ceph("sdk, JavaScript", [part for part in parts
                                             if part.startswith(("js/blob", "js/queue"))])

    def test_sdk_through_a_balancer(self):
        """Three nodes in turn: what a request does the next one knows, on whichever node."""
        accounts = {"AZURITE_ACCOUNTS": sdk_accounts()}
        with stand.Nodes(3, "--test-points",
                         envs={number: accounts for number in range(3)}) as nodes:
            ports = nodes.balance()
            urls = ",".join(f"http://127.0.0.1:{ports[name]}" for name in ("table", "queue", "blob"))
            clocks = json.dumps([(node.admin_url, node.admin_token()) for node in nodes])
            self.run_suite("sdk, balanced", sys.executable, str(SDKS / "run.py"), "--endpoints", urls,
                           *(f"python/{part}" for part in sorted(BALANCED)),
                           env={"SDK_TEST_CLOCKS": clocks})
            for node in nodes:
                self.assertGreater(requests_of(node), 100, "the balancer left a node out")

    def run_engine_tests(self, name, **env):
        """A C test of the engine, which wipes the pool for each of its cases."""
        program = pathlib.Path(os.environ["TAVOLAD"]).parent / "tests" / f"engine_{name}_test"
        if not program.exists():
            self.skipTest(f"{program} is not built")
        pool = stand.ceph().new_pool()
        try:
            self.run_suite(name, str(program), env={"TAVOLA_TEST_CEPH_CONF": stand.ceph().conf,
                                                    "TAVOLA_TEST_CEPH_POOL": pool, **env})
        finally:
            stand.ceph().drop_pool(pool)

    def test_engine_contract_with_1_range(self):
        self.run_engine_tests("contract", TAVOLA_TEST_SUBJECT="rados of 1 range")

    def test_engine_contract_with_5_ranges(self):
        self.run_engine_tests("contract", TAVOLA_TEST_SUBJECT="rados of 5 ranges")

    def test_engine_contract_with_20_ranges(self):
        self.run_engine_tests("contract", TAVOLA_TEST_SUBJECT="rados of 20 ranges")

    def test_pool(self):
        self.run_engine_tests("pool")
