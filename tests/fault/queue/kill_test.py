"""kill -9 and SIGTERM while messages are put, got and deleted.

The kill rounds use the release build ($TAVOLAD_RELEASE) where there is one, as
table/kill_test.py does.  $TAVOLA_SEED repeats a run.
"""

import os
import random
import signal
import unittest

from fault.queue.load import QUEUES, Load
from queue_client import QueueClient
from server import Server

ROUNDS = 6
REQUESTS = (50, 1000)  # acknowledged before a kill


class KillUnderLoad(unittest.TestCase):
    def test_nothing_acknowledged_is_lost_or_done_twice(self):
        seed = int(os.environ.get("TAVOLA_SEED", random.randrange(10**6)))
        choice = random.Random(seed)
        server = Server("--test-points", program=os.environ.get("TAVOLAD_RELEASE"),
                        engine="rocksdb")
        print(f"  queue/kill: seed {seed}, {server.program}", flush=True)
        with server:
            make_queues(server)
            load = Load(server, seed)
            for number in range(ROUNDS):
                load.start()
                load.until_acknowledged(choice.randrange(*REQUESTS))
                self.assertIsNone(server.process.poll(), "the server died by itself")
                server.kill()
                load.join()
                server.start()
                with self.subTest(round=number):
                    load.check(self)
        print(f"  queue/kill: {load.acknowledged} requests were acknowledged", flush=True)


class StopUnderLoad(unittest.TestCase):
    def test_every_answer_is_kept_and_no_answer_is_lost(self):
        # A grace that nothing comes near: no answer is lost because the machine is slow.
        with Server("--test-points", "--test-values", "grace-ms=600000") as server:
            make_queues(server)
            load = Load(server, random.randrange(10**6))
            for _ in range(2):
                load.start()
                load.until_acknowledged(300)
                server.process.send_signal(signal.SIGTERM)
                load.join()
                self.assertEqual(server.process.wait(60), 0, server.log()[-2000:])
                server.start()
                load.check(self, lost_answers_are_faults=True)


def make_queues(server):
    client = QueueClient(server.queue_port)
    for queue in QUEUES:
        assert client.create(queue).status == 201
    client.close()
