#!/usr/bin/python3
"""How many write operations are refused because another node was faster, and run again.

    bench/overtakes.py [--rounds N] [--seconds N] [--level N] [KIND...]   after ./run cluster --no-start

Three nodes on a Ceph cluster of its own ($CEPH_DIR: one that runs) and eight clients for each, which
all write to one range; the clients of each node are a process.  In each round every kind has its
turn.  The share is by the nodes' own counters, between one moment under load and another.
`--level N` lets the nodes pretend to be of that level: at 1 no write may be late, at 2 only those
of entities, at 3 those of messages too.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
# In place of this folder, which has a cluster.py of its own.
sys.path[:1] = [str(ROOT / folder) for folder in ("tools", "tests/lib", "tests")]

from cluster import admin, stand  # noqa: E402
from blob_client import Client as BlobClient  # noqa: E402
from queue_client import QueueClient  # noqa: E402
from table_client import Client  # noqa: E402

NODES, CLIENTS = 3, 8
TABLE = "overtakes"
SETTLE_S = 5  # under load, before anything is counted
COUNTERS = ("rados_write_ops_total", "rados_clock_refusals_total", "rados_conflicts_total")


def expect(reply, status):
    assert reply.status == status, reply


def entity(name, number):
    return {"PartitionKey": name, "RowKey": f"{number:09}", "Value": "x" * 200}


def insert(client, name, number):
    expect(client.insert(TABLE, entity(name, number)), 204)


def update(client, name, number):
    expect(client.replace(TABLE, entity(name, number % 10)), 204)


def churn(client, name, number):
    """An entity is deleted as soon as it was inserted."""
    insert(client, name, number)
    expect(client.delete(TABLE, name, f"{number:09}"), 204)


def replace_old(client, name, number):
    """A table of which each client keeps 200 entities: one comes, the oldest goes."""
    insert(client, name, number)
    if number >= 200:
        expect(client.delete(TABLE, name, f"{number - 200:09}"), 204)


def message(client, name, number):
    expect(client.put(f"q{name}", f"{number}"), 201)


def work(client, name, number):
    """Each message is put, got and deleted."""
    message(client, name, number)
    found = client.get(f"q{name}", visibilitytimeout=3600).messages[0]
    expect(client.delete(f"q{name}", found.MessageId, found.PopReceipt), 204)


def blob(client, name, number):
    expect(client.put(f"q{name}/{number % 10}", b"x" * 200), 201)


def blob_churn(client, name, number):
    expect(client.put(f"q{name}/b", b"x" * 200), 201)
    expect(client.delete(f"q{name}/b"), 202)


def metadata(client, name, number):
    """Of a container: a write of the catalogue."""
    expect(client.request("PUT", f"q{name}?restype=container&comp=metadata", b"",
                          x_ms_meta_n=str(number)), 200)


KINDS = {"insert": insert, "update": update, "oldest": replace_old, "churn": churn,
         "message": message, "work": work, "blob": blob, "blob-churn": blob_churn,
         "metadata": metadata}
QUEUES, BLOBS = ("message", "work"), ("blob", "blob-churn", "metadata")


def open_client(kind, name, port):
    """A client of the service that the kind is about, with a queue or container of its own."""
    if kind in QUEUES:
        client = QueueClient(port)
        expect(client.create(f"q{name}"), 201)
    elif kind in BLOBS:
        client = BlobClient(port)
        expect(client.create_container(f"q{name}"), 201)
    else:
        client = Client(port)
    return client


def port_of(node, kind):
    return (node.queue_port if kind in QUEUES else
            node.blob_port if kind in BLOBS else node.table_port)


def load(port, kind, run, node):
    """Until the end of standard input."""
    ended = threading.Event()

    def work(number):
        name = f"{run}c{node}x{number}"
        client = open_client(kind, name, port)
        count = 0
        while not ended.is_set():
            KINDS[kind](client, name, count)
            count += 1
        client.close()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    ended.set()
    for thread in threads:
        thread.join()


def counters(nodes):
    """The sums over all nodes."""
    sums = dict.fromkeys(COUNTERS, 0.0)
    for node in nodes:
        with urllib.request.urlopen(f"{node.admin_url}/metrics", timeout=60) as reply:
            text = reply.read().decode()
        for name in COUNTERS:
            sums[name] += float(re.search(rf"^tavola_{name} (\S+)$", text, re.M)[1])
    return sums


def measure(nodes, kind, run, seconds):
    """(operations a second, share refused for instants, share refused for rows)."""
    loads = [subprocess.Popen([sys.executable, __file__, "--load", str(port_of(node, kind)), kind,
                               f"r{run}", str(number)], stdin=subprocess.PIPE)
             for number, node in enumerate(nodes)]
    time.sleep(SETTLE_S)
    before = counters(nodes)
    time.sleep(seconds)
    after = counters(nodes)
    for one in loads:
        one.stdin.close()
    assert not any([one.wait() for one in loads])
    ops, clock, rows = (after[name] - before[name] for name in COUNTERS)
    return ops / seconds, clock / ops, rows / ops


def main():
    if sys.argv[1:2] == ["--load"]:
        load(int(sys.argv[2]), *sys.argv[3:6])
        return
    arguments = argparse.ArgumentParser(description="Measure refused write operations.")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--seconds", type=int, default=20, help="of each measurement")
    arguments.add_argument("--level", type=int, help="that the nodes pretend to understand")
    arguments.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    given = arguments.parse_args()
    unknown = set(given.kinds) - set(KINDS)
    if unknown:
        arguments.error(f"there is no {', '.join(unknown)}; kinds are {', '.join(KINDS)}")
    program = os.environ.get("TAVOLAD_RELEASE", str(ROOT / "build-cluster" / "tavolad"))
    values = f"level={given.level}" if given.level else ""
    env = {"TAVOLA_TEST_POINTS": "1", "TAVOLA_TEST_VALUES": values} if values else {}
    results = {}
    with stand.Nodes(NODES, program=program, envs=dict.fromkeys(range(NODES), env)) as nodes:
        expect(Client(nodes[0].table_port).create_table(TABLE), 204)
        wanted = max(node["level"] for node in admin.cluster(nodes[0])["nodes"])
        assert stand.until(lambda: admin.cluster(nodes[0])["level"] == wanted, 60, 0.2)
        for turn in range(given.rounds):
            for kind in given.kinds or KINDS:
                found = measure(nodes, kind, f"{turn}{kind}", given.seconds)
                results.setdefault(kind, []).append(found)
                print(f"  {kind}: {found[0]:,.0f} operations a second, {found[1]:.2%} refused for "
                      f"instants, {found[2]:.2%} for rows; load {os.getloadavg()[0]:.0f}", flush=True)
    print(f"\nlevel {wanted}, {given.rounds} rounds of {given.seconds} s:\n\n"
          "| | refused for instants |\n|---|---|")
    for kind, found in results.items():
        print(f"| {kind} | " + ", ".join(f"{one[1]:.2%}" for one in sorted(found, key=lambda one: one[1]))
              + " |")


if __name__ == "__main__":
    main()
