#!/usr/bin/python3
"""How long acknowledged writes pause when something happens to a cluster, one thing at a time.

    bench/stalls.py [--rounds N] [--rows N] [HARM...]       after ./run cluster --no-start

Three nodes on a Ceph cluster of its own ($CEPH_DIR: one that runs), four ranges of --rows rows
each.  Four clients for each node write a row of a partition of their own, again and again, and
never go to another node.  A pause is the longest time between two acknowledgements of one
client, from the harm until all is well again: of clients of the harmed node, and of all others.
Before each harm everything is at rest; the longest pause of that time is the one called quiet.
"""

import argparse
import os
import pathlib
import signal
import statistics
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
# In place of this folder, which has a cluster.py of its own.
sys.path[:1] = [str(ROOT / folder) for folder in ("tools", "tests/lib", "tests")]

from cluster import admin, stand  # noqa: E402
from table_client import BROKEN, Client  # noqa: E402

NODES, CLIENTS, RANGES = 3, 4, 4
TABLE = "stalls"
PARTITIONS, BATCH = 10, 100  # of a quarter of the rows; of a transaction
QUIET_S, AFTER_S, STOPPED_S = 5, 5, 10


class Writer(threading.Thread):
    """Writes one row through one node; `answers` has the times of its acknowledgements."""

    def __init__(self, node, port, partition, ended):
        super().__init__()
        self.node, self.port, self.partition, self.ended = node, port, partition, ended
        self.answers = []

    def run(self):
        client = Client(self.port, timeout_s=60)
        entity = {"PartitionKey": self.partition, "RowKey": "written", "Value": "x" * 200}
        while not self.ended.is_set():
            try:
                if client.replace(TABLE, entity).status == 204:
                    self.answers.append(time.monotonic())
                    continue
            except BROKEN:
                client.close()
            time.sleep(0.02)
        client.close()

    def longest(self, since, until):
        """(how long, from when on) of the longest pause between two times."""
        marks = [since, *(one for one in self.answers if since < one < until), until]
        return max((after - before, before) for before, after in zip(marks, marks[1:]))


class Stalls:
    def __init__(self, nodes):
        self.nodes = nodes
        self.ended = threading.Event()
        self.results = {}  # harm -> [(of the harmed, of the others, quiet)]
        self.rounds = 0

    def fill(self, rows):
        """Rows in as many ranges, of equal size."""
        client = Client(self.nodes[0].table_port)
        assert client.create_table(TABLE).status == 204
        for part in range(RANGES):
            for partition in range(PARTITIONS):
                for first in range(0, rows // PARTITIONS, BATCH):
                    reply = client.batch(TABLE, [
                        {"PartitionKey": f"{part}-{partition}", "RowKey": f"{row:06}",
                         "Value": "x" * 200} for row in range(first, first + BATCH)])
                    assert reply.status == 202, reply
        client.close()
        self.force("split", self.keys(1)[0])
        for key in self.keys(2):
            self.force("split", key)
        self.keys(RANGES)

    def keys(self, count):
        """Of all ranges, when there are so many: what a node shows is some seconds old."""
        def find():
            found = [one["key"] for one in admin.cluster(self.nodes[0])["ranges"]]
            return found if len(found) == count else None
        found = stand.until(find, 30, 0.2)
        assert found, admin.cluster(self.nodes[0])["ranges"]
        return found

    def force(self, op, key):
        error = admin.force(self.nodes[0], op, key, 120)
        assert not error, error

    def start(self):
        self.writers = [Writer(node, self.nodes[node].table_port, f"{number}-5w{node}", self.ended)
                        for node in range(NODES) for number in range(CLIENTS)]
        for writer in self.writers:
            writer.start()

    def stop(self):
        self.ended.set()
        for writer in self.writers:
            writer.join()

    def measure(self, name, harm, harmed=None):
        """Rest, then do it; what it costs whom."""
        time.sleep(2)
        rested = time.monotonic()
        time.sleep(QUIET_S)
        began = time.monotonic()
        harm()
        time.sleep(AFTER_S)
        ended = time.monotonic()
        gaps = [(*writer.longest(began, ended), writer.node) for writer in self.writers]
        of = max((gap for gap, _, node in gaps if node == harmed), default=None)
        others = [(gap, since) for gap, since, node in gaps if node != harmed]
        quiet = max(writer.longest(rested, began)[0] for writer in self.writers)
        longest, since = max(others)
        self.results.setdefault(name, []).append((of, longest, quiet))
        when = time.time() - time.monotonic() + since
        print(f"  {name}: " + (f"its clients {of:.2f} s, " if of else "") +
              f"others {longest:.2f} s from {time.strftime('%H:%M:%S', time.gmtime(when))}"
              f".{int(when % 1 * 1000):03} on (median {statistics.median(gap for gap, _ in others):.2f}), "
              f"quiet {quiet:.2f} s", flush=True)

    # --- harms

    def node_kill(self):
        def harm():
            self.nodes[2].kill()
            time.sleep(2)
            self.nodes[2].start()
        self.measure("node killed, started 2 s later", harm, 2)

    def node_stop(self):
        def harm():
            os.kill(self.nodes[2].process.pid, signal.SIGSTOP)
            time.sleep(STOPPED_S)
            os.kill(self.nodes[2].process.pid, signal.SIGCONT)
        self.measure(f"node stopped for {STOPPED_S} s", harm, 2)

    def osd(self):
        name = f"osd.{self.rounds % 3}"
        self.measure("OSD killed", lambda: (stand.ceph().kill(name), time.sleep(10)))
        self.measure("OSD returns", lambda: (stand.ceph().spawn(name), stand.ceph().until_clean()))

    def mon(self):
        self.measure("mon killed, started 2 s later", lambda: (
            stand.ceph().kill("mon.a"), time.sleep(2), stand.ceph().spawn("mon.a"), time.sleep(5)))

    def split(self):
        """Of the last range, and the merge of its halves."""
        key = self.keys(RANGES)[-1]
        self.measure("split", lambda: self.force("split", key))
        key = self.keys(RANGES + 1)[-1]
        self.measure("merge", lambda: self.force("merge", key))
        self.keys(RANGES)

    def table(self):
        lines = ["| what happens | its clients | others | quiet before |", "|---|---|---|---|"]
        for name, results in self.results.items():
            columns = [[one[i] for one in results if one[i] is not None] for i in range(3)]
            lines.append("| " + " | ".join([name] + [
                ", ".join(f"{one:.2f}" for one in sorted(column)) for column in columns]) + " |")
        return "\n".join(lines)


HARMS = {"node-kill": Stalls.node_kill, "node-stop": Stalls.node_stop, "osd": Stalls.osd,
         "mon": Stalls.mon, "split": Stalls.split}


def main():
    arguments = argparse.ArgumentParser(description="Measure pauses of writes on a cluster.")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--rows", type=int, default=10000, help="of each range")
    arguments.add_argument("harms", nargs="*", metavar="HARM", help=", ".join(HARMS))
    given = arguments.parse_args()
    unknown = set(given.harms) - set(HARMS)
    if unknown:
        arguments.error(f"there is no {', '.join(unknown)}; harms are {', '.join(HARMS)}")
    program = os.environ.get("TAVOLAD_RELEASE", str(ROOT / "build-cluster" / "tavolad"))
    with stand.Nodes(NODES, program=program) as nodes:
        stalls = Stalls(nodes)
        stalls.fill(given.rows)
        stalls.start()
        try:
            for stalls.rounds in range(given.rounds):
                for name in given.harms or HARMS:
                    HARMS[name](stalls)
        finally:
            stalls.stop()
    print(f"\nSeconds, all {given.rounds} rounds, {RANGES} ranges of {given.rows} rows, load "
          f"average {os.getloadavg()[0]:.0f}:\n\n{stalls.table()}")


if __name__ == "__main__":
    main()
