"""The suites of single servers, with a node on Ceph as the server.

Wire and SDK tests run as they are, each on a pool of its own; the engine contract runs with 1, 5
and 20 ranges.  A failed suite shows its whole output.
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

from cluster import stand
from server import ROOT

LIMIT_S = 600
# What is about one process and its folder, or about bytes and ports before any engine.
WIRE = ["table", "queue", "blob"]
SDK = ["python"]


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

    def on_ceph(self, name, *command):
        pool = stand.ceph().new_pool()
        try:
            self.run_suite(name, *command, env={
                "TAVOLA_TEST_ENGINE": "rados", "TAVOLA_CEPH_CONF": stand.ceph().conf,
                "TAVOLA_CEPH_USER": "tavola", "TAVOLA_POOL": pool})
        finally:
            stand.ceph().drop_pool(pool)

    def test_wire(self):
        self.on_ceph("wire", sys.executable, str(ROOT / "tests/wire/run.py"), *WIRE)

    def test_sdk_python(self):
        self.on_ceph("sdk", sys.executable, str(ROOT / "tests/sdk/run.py"), *SDK)

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
