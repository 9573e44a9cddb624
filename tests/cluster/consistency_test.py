"""Three nodes under load and under attack: is there one order of events that explains it all?

14 clients read, insert, update by ETag, delete, scan and write transactions in 8 partitions and
two queues, each through one node and, when that fails it, through another.  Meanwhile nodes are
killed and stopped for 40 s, an OSD is killed and returns, the mon is restarted, ranges split
and merge all the time, and the clock of one node is 3 s ahead.  Then

  (1) every partition's history is linearizable (linear.py), no ETag stands for two values, and
      ETags of a row only grow;
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
from fault.server.clock_test import Clock
from queue_client import QueueClient
from server import binary

TABLE_CLIENTS, QUEUES = 8, ("jobs-a", "jobs-b")  # and three clients for each queue
AHEAD_S = 3
WINDOW_S = 12  # after a harm: how long its pauses are looked for


def has_flag(program, flag):
    return flag in subprocess.run([program or binary(), "--help"], stdout=subprocess.PIPE,
                                  text=True, check=True).stdout


class Consistency(unittest.TestCase):
    def setUp(self):
        self.seed = int(os.environ.get("TAVOLA_SEED", random.randrange(10**6)))
        self.rounds = int(os.environ.get("CLUSTER_ROUNDS", 1))
        self.clock = Clock()
        self.addCleanup(self.clock.clean)
        self.clock.set(AHEAD_S)
        program = os.environ.get("TAVOLAD_RELEASE")
        flags = ["--test-points"] if has_flag(program, "--test-points") else []
        self.nodes = stand.Nodes(1 if stand.IS_ALONE else 3, *flags, program=program,
                                 envs={1: self.clock.env})
        self.addCleanup(self.nodes.clean)
        self.nodes[0].start()
        self.record = Record()
        self.ledgers = {queue: queues.Ledger() for queue in QUEUES}
        tables.prepare(self.nodes[0].table_port)
        client = QueueClient(self.nodes[0].queue_port)
        for queue in QUEUES:
            self.assertEqual(client.create(queue).status, 201)
        client.close()
        for server in self.nodes.servers[1:]:
            server.start(wait_s=stand.START_S)

    def clients(self):
        ports = [node.table_port for node in self.nodes]
        yield from (tables.Worker(number, ports, self.record, self.seed)
                    for number in range(TABLE_CLIENTS))
        ports = [node.queue_port for node in self.nodes]
        for number, queue in enumerate(QUEUES * 3):
            yield queues.Worker(number, queue, ports, self.ledgers[queue], self.record, self.seed)

    def under_load(self, harm):
        """Run the clients until `harm` has returned."""
        ended = threading.Event()

        def run(client):
            try:
                client.run(ended)
            except BaseException:
                self.record.complain(f"a client ended: {traceback.format_exc()}")
        threads = [threading.Thread(target=run, args=(client,)) for client in self.clients()]
        for thread in threads:
            thread.start()
        try:
            harm()
        finally:
            self.load_ended = self.record.now()
            ended.set()
            for thread in threads:
                thread.join(60)
        self.assertFalse([thread for thread in threads if thread.is_alive()], "a client hangs")

    def check(self):
        tables.read_all([node.table_port for node in self.nodes], self.record)
        began = time.monotonic()
        problems = self.record.problems()
        took = time.monotonic() - began
        for queue, ledger in self.ledgers.items():
            left, count = queues.drain(queue, self.nodes[2].queue_port, AHEAD_S + 2)
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
        """One round, a bit over a minute."""
        nemesis.rest(6)
        if stand.IS_ALONE:
            nemesis.kill_node(0)
            nemesis.rest(3)
            return
        nemesis.kill_node(0)
        nemesis.rest(3)
        # While one is stopped the others must go on, whatever else happens.
        stopped = threading.Thread(target=nemesis.stop_node, args=(2, 40))
        stopped.start()
        nemesis.rest(6)
        nemesis.kill_osd(nemesis.random.randrange(3), 8)
        nemesis.restart_mon()
        nemesis.rest(4)
        nemesis.kill_node(1)
        stopped.join()
        nemesis.rest(5)
        nemesis.stop_node(0, 5)
        nemesis.rest(4)

    def test_an_order_explains_it_all(self):
        nemesis = Nemesis(self.nodes, self.record, self.seed)
        others = [] if stand.IS_ALONE else [threading.Thread(target=nemesis.watch),
                                            threading.Thread(target=nemesis.force_ranges)]
        for thread in others:
            thread.start()
        try:
            self.under_load(lambda: [self.attack(nemesis) for _ in range(self.rounds)])
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
        self.under_load(lambda: time.sleep(8))
        self.assertEqual(dict(self.record.unknown), {})
        self.check()
        self.assertEqual(self.nodes.stop(), [])
