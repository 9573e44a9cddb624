"""kill -9 at a random moment of a heavy load, ten times on the same data.

After each restart nothing that was acknowledged is missing, no transaction is
torn, and no counter went back (the numbered promises are in load.py).

The release build is used ($TAVOLAD_RELEASE) where there is one: it has more
writes under way when it dies.  $TAVOLA_SEED repeats a run.
"""

import os
import random
import unittest

from fault.table import load
from table_client import Client
from server import Server

ROUNDS = 10
REQUESTS = (100, 1500)  # acknowledged before a kill


class Kill(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        seed = int(os.environ.get("TAVOLA_SEED", random.randrange(10**6)))
        cls.random = random.Random(seed)
        cls.server = Server(program=os.environ.get("TAVOLAD_RELEASE"), engine="rocksdb")
        print(f"  table/kill: seed {seed}, {cls.server.program}", flush=True)
        cls.server.start()
        client = Client(cls.server.table_port)
        assert client.create_table(load.TABLE).status == 204
        client.close()
        cls.load = load.Load(cls.server.table_port, seed)

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        cls.server.clean()
        if code != 0:
            raise AssertionError(f"after the last round the server ended with exit code {code}")
        print(f"  table/kill: {cls.load.acknowledged} writes were acknowledged", flush=True)

    def one_round(self):
        self.load.start()
        self.load.until_acknowledged(self.random.randrange(*REQUESTS), self.server)
        self.assertIsNone(self.server.process.poll(), "the server died by itself")
        self.server.kill()
        self.load.join()
        self.server.start()
        self.load.check(self)


def round_number(number):
    def test(self):
        self.one_round()
    test.__name__ = f"test_round_{number:02}"
    return test


for _number in range(1, ROUNDS + 1):
    setattr(Kill, f"test_round_{_number:02}", round_number(_number))
