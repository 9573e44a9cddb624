"""kill -9 at a random moment of many uploads, again and again on the same data.

After each restart all that was acknowledged is there, with every byte, and what
broke off is whole or absent (the promises are in load.py).  And no file of
large data outlives its blob: after every second round everything is deleted,
and then the folder is empty.

The release build is used ($TAVOLAD_RELEASE) where there is one: it has more
writes under way when it dies.  $TAVOLA_SEED repeats a run.
"""

import os
import random
import unittest

from fault.blob import load
from blob_client import Client, extent_files, until_no_extents
from server import Server

ROUNDS = 8
REQUESTS = (20, 300)  # acknowledged before a kill


class BlobKill(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.seed = int(os.environ.get("TAVOLA_SEED", random.randrange(10**6)))
        cls.random = random.Random(cls.seed)
        cls.server = Server(program=os.environ.get("TAVOLAD_RELEASE"), engine="rocksdb")
        print(f"  blob/kill: seed {cls.seed}, {cls.server.program}", flush=True)
        cls.server.start()
        cls.generation, cls.acknowledged, cls.by_kind = 0, 0, {}
        cls.begin()

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        log = cls.server.log()
        cls.server.clean()
        swept = sum(int(line.rpartition("extents_removed=")[2].split()[0])
                    for line in log.splitlines() if "extents_removed=" in line)
        print(f"  blob/kill: acknowledged {cls.acknowledged} ({cls.by_kind}); "
              f"swept {swept} files", flush=True)
        if code != 0:
            raise AssertionError(f"after the last round the server ended with exit code {code}")

    @classmethod
    def begin(cls):
        """A container with nothing in it."""
        cls.generation += 1
        container = f"load{cls.generation}"
        client = Client(cls.server.blob_port)
        reply = client.create_container(container)
        assert reply.status == 201, reply
        client.close()
        cls.load = load.Load(cls.server.blob_port, f"{cls.seed}/{cls.generation}", container)

    def one_round(self):
        self.load.start()
        self.load.until_acknowledged(self.random.randrange(*REQUESTS), self.server)
        self.assertIsNone(self.server.process.poll(), "the server died by itself")
        self.server.kill()
        self.load.join()
        self.server.start()
        self.load.check(self)

    def leave_nothing(self):
        """Blobs one by one, then the container with the blocks that were never committed."""
        self.assertTrue(extent_files(self.server.data), "nothing large was stored")
        client = Client(self.server.blob_port)
        for listed in client.list(self.load.container, ""):
            self.assertEqual(client.delete(f"{self.load.container}/{listed.name}").status, 202)
        self.assertEqual(client.list(self.load.container), [])
        self.assertEqual(client.delete_container(self.load.container).status, 202)
        client.close()
        until_no_extents(self, self.server)

        BlobKill.acknowledged += self.load.acknowledged
        for kind, count in self.load.by_kind.items():
            self.by_kind[kind] = self.by_kind.get(kind, 0) + count
        self.begin()


def round_number(number):
    def test(self):
        self.one_round()
        if number % 2 == 0:
            self.leave_nothing()
    test.__name__ = f"test_round_{number:02}"
    return test


for _number in range(1, ROUNDS + 1):
    setattr(BlobKill, f"test_round_{_number:02}", round_number(_number))
