"""Three nodes under load and under attack: is there one order of events that explains it all?

14 clients read, insert, update by ETag, delete, scan and write transactions in 8 partitions and
two queues, each through one node and, when that fails it, through another.  Meanwhile nodes are
killed and stopped until they are taken for dead, an OSD is killed and returns, the mon is
restarted, ranges split and merge all the time, and the clock of one node is 3 s ahead.  Then

  (1) every partition's history is linearizable (linear.py), no ETag stands for two values, and
      ETags of a row only grow, and those of a partition are less than a second behind;
  (2) no message was given out twice, and none is lost (queues.py);
  (3) a table that nobody changes was met whole by every scan, over all ranges.

The pauses between acknowledged writes are printed beside what was done.  $TAVOLA_SEED repeats
the choices of a run; $CLUSTER_ROUNDS (1) makes it longer.
"""

import os
import random
import subprocess
import threading
import time
import traceback
import unittest

from cluster import queues, stand, tables
from cluster.nemesis import Nemesis
from cluster.record import Record
from queue_client import QueueClient
from server import binary

TABLE_CLIENTS, QUEUES = 8, ("jobs-a", "jobs-b")  # and three clients for each queue
AHEAD_S = 3
DEAD_S = 15    # of silence; Ceph may pause for some seconds
TIMEOUT_S = 8  # of clients: a stopped node does not answer, so they go to another
WINDOW_S = 12  # after a harm: how long its pauses are looked for
QUIET = 4000   # answers to the clients of a test without harm


def has_flag(program, flag):
    return flag in subprocess.run([program or binary(), "--help"], stdout=subprocess.PIPE,
                                  text=True, check=True).stdout


class Consistency(unittest.TestCase):
    def setUp(self):
        self.seed = int(os.environ.get("TAVOLA_SEED", random.randrange(10**6)))
        self.rounds = int(os.environ.get("CLUSTER_ROUNDS", 1))
        program = os.environ.get("TAVOLAD_RELEASE")
        values = {number: f"dead-ms={DEAD_S * 1000}" for number in range(3)}
        values[1] += f",clock-ms={AHEAD_S * 1000}"
        self.nodes = stand.Nodes(1 if stand.IS_ALONE else 3, "--test-points", program=program,
                                 envs={number: {"TAVOLA_TEST_VALUES": text}
                                       for number, text in values.items()})
        self.addCleanup(self.nodes.clean)
        self.nodes[0].start(wait_s=stand.START_S)
        self.record = Record()
        self.ledgers = {queue: queues.Ledger() for queue in QUEUES}
        tables.prepare(self.nodes[0].table_port)
        client = QueueClient(self.nodes[0].queue_port)
        for queue in QUEUES:
            self.assertEqual(client.create(queue).status, 201)
        client.close()
        for server in self.nodes.servers[1:]:
            server.start(wait_s=stand.START_S)

    def clients(self, timeout_s):
        ports = [node.table_port for node in self.nodes]
        yield from (tables.Worker(number, ports, self.record, self.seed, timeout_s)
                    for number in range(TABLE_CLIENTS))
        ports = [node.queue_port for node in self.nodes]
        for number, queue in enumerate(QUEUES * 3):
            yield queues.Worker(number, queue, ports, self.ledgers[queue], self.record, self.seed,
                                timeout_s)

    def under_load(self, harm, timeout_s=stand.WAIT_S):
        """Run the clients until `harm` has returned."""
        ended = threading.Event()

        def run(client):
            try:
                client.run(ended)
            except BaseException:
                self.record.complain(f"a client ended: {traceback.format_exc()}")
        threads = [threading.Thread(target=run, args=(client,)) for client in self.clients(timeout_s)]
        for thread in threads:
            thread.start()
        try:
            harm()
        finally:
            self.load_ended = self.record.now()
            ended.set()
            for thread in threads:
                thread.join(300)
        self.assertFalse([thread for thread in threads if thread.is_alive()], "a client hangs")

    def check(self):
        tables.read_all([node.table_port for node in self.nodes], self.record)
        began = time.monotonic()
        problems = self.record.problems()
        took = time.monotonic() - began
        # What was put through the node that is ahead can be had through all others too by then.
        self.nodes[2].pass_time(AHEAD_S + 60)
        for queue, ledger in self.ledgers.items():
            left, count = queues.drain(queue, self.nodes[2].queue_port, ledger)
            problems += [f"{queue}: {problem}" for problem in ledger.problems(left, count)]
        puts = sum(len(ledger.put) for ledger in self.ledgers.values())
        print(f"  consistency: seed {self.seed}, {self.record.count()} operations on rows "
              f"(checked in {took:.1f} s), {puts} messages, without an answer: "
              f"{dict(self.record.unknown)}", flush=True)
        if problems:
            self.fail(f"seed {self.seed}: {len(problems)} problems\n" +
                      "\n".join(problems[:10]) + "\n" + self.nodes.logs())

    def print_pauses(self, nemesis):
        quiet = self.record.gaps(1, 5)
        print(f"  consistency: longest pauses of acknowledged writes, quiet "
              f"{max(quiet.values()):.2f} s;", flush=True)
        for name, began, ended in nemesis.events:
            gaps = self.record.gaps(began, min(max(ended, began + WINDOW_S), self.load_ended))
            worst = max(gaps, key=gaps.get)
            print(f"    {began:6.1f} s  {name}: {gaps[worst]:.2f} s ({worst}), median of "
                  f"{len(gaps)}: {sorted(gaps.values())[len(gaps) // 2]:.2f} s", flush=True)
        print(f"    splits and merges asked for: {dict(nemesis.forced)}", flush=True)

    def attack(self, nemesis):
        """One round; what is between two harms is so many answers to clients."""
        nemesis.work(2000)
        nemesis.kill_node(0)
        nemesis.recover()
        nemesis.work(1000)
        if stand.IS_ALONE:
            return
        # While one is stopped the others must go on, whatever else happens.
        goes_on = threading.Event()
        stopped = threading.Thread(target=nemesis.silence_node, args=(2, goes_on))
        stopped.start()
        nemesis.work(1000)
        nemesis.kill_osd(nemesis.random.randrange(3), 1000)
        nemesis.restart_mon(200)
        nemesis.work(1000)
        nemesis.kill_node(1)
        goes_on.set()
        stopped.join()
        nemesis.recover()
        nemesis.work(1000)
        nemesis.pause_node(0, 500)
        nemesis.recover()
        nemesis.work(1000)

    def test_an_order_explains_it_all(self):
        nemesis = Nemesis(self.nodes, self.record, self.seed)
        others = [] if stand.IS_ALONE else [threading.Thread(target=nemesis.watch),
                                            threading.Thread(target=nemesis.force_ranges)]
        for thread in others:
            thread.start()
        try:
            self.under_load(lambda: [self.attack(nemesis) for _ in range(self.rounds)], TIMEOUT_S)
        finally:
            nemesis.ended.set()
            for thread in others:
                thread.join()
            if not stand.IS_ALONE:
                stand.ceph().until_clean()
        self.print_pauses(nemesis)
        self.assertEqual(nemesis.problems, [])
        self.check()
        self.assertEqual(self.nodes.stop(), [])

    def test_without_harm(self):
        self.under_load(lambda: stand.until(lambda: self.record.done >= QUIET, 600))
        self.assertEqual(dict(self.record.unknown), {})
        self.assertGreaterEqual(self.record.done, QUIET)
        self.check()
        self.assertEqual(self.nodes.stop(), [])
