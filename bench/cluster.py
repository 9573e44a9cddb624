"""Measure tavolad on a small Ceph cluster beside librados by itself, taking turns in one run.

bench/rados/raw.c does the same operations on the same kind of objects without a server: what the
cluster gives is its figure, and what tavolad keeps of it the ratio.  CPU time is from /proc: of
the nodes, and of the OSDs together (three replicas).
"""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import time
import urllib.error
import urllib.request

import table_client
from measurement import Measurement, cpu_s
from report import machine, table, version_of
from server import ROOT, Server

BUILD = ROOT / "build-cluster"
RAW = BUILD / "bench" / "rados" / "raw"
JOURNAL = BUILD / "bench" / "rados" / "journal"
SCRIPT = ROOT / "tools" / "ceph.sh"
POOL = "tavola"
CONNECTIONS, MANY = 64, 512
RAW_ROWS = 20000
PAGE_ROWS = 1000
APPLY_ROWS = 512  # of a range, that the journal's prototype writes to it at once
COLUMNS = ("load", "requests/s", "p50 ms", "p99 ms", "node CPU us", "OSD CPU us", "raw rows/s",
           "ratio", "target")


class Part:
    """The part of the page."""

    title = "Cluster"

    def __init__(self):
        self.rows, self.facts = [COLUMNS], [("what", "measured", "target")]

    def text(self):
        commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"],
                                stdout=subprocess.PIPE, text=True).stdout.strip()
        return (f"## {self.title}\n\nCommit {commit}, {machine()}; Ceph "
                f"{version_of('ceph', '--version')}: one mon, one mgr and three OSDs, all on this "
                "machine with the nodes and the load, size 3. CPU is for each request, of the "
                "nodes and of the three OSDs together. \"raw\" is librados without a server in "
                "the same run.\n\n"
                f"{table(self.rows)}\n\n{table(self.facts)}\n")

    def load(self, name, ours, osd_us, raw=None, target=""):
        self.rows.append((name, f"{ours.rate:,.0f}", f"{statistics.mean(ours.p50_ms):.2f}",
                          f"{statistics.mean(ours.p99_ms):.2f}", f"{ours.cpu_us:.1f}",
                          f"{osd_us:.1f}", f"{raw:,.0f}" if raw else "",
                          f"{ours.rate / raw:.2f}" if raw else "", target))
        print(" | ".join(self.rows[-1]), flush=True)

    def fact(self, what, measured, target=""):
        self.facts.append((what, measured, target))
        print(f"{what}: {measured}", flush=True)


class Ceph:
    def __init__(self, scratch):
        self.folder = pathlib.Path(scratch) / "ceph"

    @property
    def conf(self):
        return str(self.folder / "ceph.conf")

    def __enter__(self):
        subprocess.run([SCRIPT, "start", self.folder], check=True, stdin=subprocess.DEVNULL,
                       env={**os.environ, "CEPH_OWNER": str(os.getpid())})
        return self

    def __exit__(self, *_):
        subprocess.run([SCRIPT, "wipe", self.folder], check=True, stdin=subprocess.DEVNULL)

    def osds(self):
        done = subprocess.run([SCRIPT, "pids", self.folder], check=True, text=True,
                              stdout=subprocess.PIPE)
        return [int(line.split()[1]) for line in done.stdout.splitlines()
                if line.startswith("osd.")]

    def rows(self):
        """How many rows of entities are in the pool: keys of tables begin with r."""
        def run(*words):
            return subprocess.run([SCRIPT, "rados", self.folder, "-p", POOL, *words], check=False,
                                  text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  errors="replace").stdout.splitlines()
        return sum(1 for object in run("ls") if object.startswith("tv.R.")
                   for key in run("listomapkeys", object) if key.startswith("r"))

    def raw(self, *words, program=RAW):
        """What librados does: its figures, with the OSDs' CPU for each row in them."""
        pids = self.osds()
        before = cpu_s(pids)
        done = subprocess.run([program, self.conf, "tavola", POOL, *map(str, words)], check=True,
                              text=True, stdout=subprocess.PIPE)
        if not done.stdout:
            return None
        figures = json.loads(done.stdout)
        figures["osd_us_row"] = (cpu_s(pids) - before) * 1e6 / figures["rows"]
        return figures


class Load:
    """wrk against some nodes at once; all connections are shared out among them."""

    def __init__(self, bench, ceph, nodes):
        self.bench, self.ceph, self.nodes = bench, ceph, nodes
        self.client = table_client.Client(nodes[0].table_port)

    def run(self, kind, nodes, connections):
        """(Measurement, OSD CPU us a request)."""
        total, osds = Measurement(), self.ceph.osds()
        osd_cpu = 0
        for _ in range(self.bench.options.rounds):
            before = cpu_s(osds)
            began = time.monotonic()
            parts = [Measurement() for _ in nodes]
            loads = [kind(self.client, node.table_port) for node in nodes]
            with concurrent.futures.ThreadPoolExecutor(len(nodes)) as threads:
                for future in [threads.submit(self.one, part, load, node,
                                              connections // len(nodes))
                               for part, load, node in zip(parts, loads, nodes)]:
                    future.result()
            osd_cpu += cpu_s(osds) - before
            total.seconds += max(part.seconds for part in parts) or time.monotonic() - began
            for part in parts:
                total.requests += part.requests
                total.cpu_s += part.cpu_s
                total.p50_ms += part.p50_ms
                total.p99_ms += part.p99_ms
        return total, osd_cpu * 1e6 / total.requests

    def one(self, part, load, node, connections):
        script, arguments = load
        self.bench.wrk(part, [node.process.pid], f"http://127.0.0.1:{node.table_port}/", script,
                       *arguments, connections=connections)


def cluster_of(node):
    """GET /cluster, or None where a server has none."""
    try:
        with urllib.request.urlopen(f"{node.admin_url}/cluster", timeout=20) as reply:
            return json.load(reply)
    except urllib.error.HTTPError:
        return None


def split(node, key):
    """Split a range in its middle and wait until that is done; whether it was."""
    token = (pathlib.Path(node.data) / "admin.token").read_text().strip()
    request = urllib.request.Request(f"{node.admin_url}/cluster/force", method="POST",
                                     data=json.dumps({"op": "split", "range": key}).encode(),
                                     headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            job = json.load(reply)["job"]
    except urllib.error.HTTPError:
        return False  # another change is under way
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        now = cluster_of(node).get("force", {})
        if now.get("job") != job:
            return False
        if now.get("state") == "done":
            return not now.get("error")
        time.sleep(0.1)
    return False


def split_until(node, wanted):
    """Split the largest range until there are so many; how many there are."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        ranges = cluster_of(node)["ranges"]
        if len(ranges) >= wanted:
            return len(ranges)
        if not split(node, max(ranges, key=lambda one: one["rows"] or 0)["key"]):
            time.sleep(1)
    return len(cluster_of(node)["ranges"])


def measure(options, scratch, bench, fill):
    part = Part()
    flags = ["--ceph-user", "tavola", "--pool", POOL, "--test-points"]
    with Ceph(scratch) as ceph, contextlib.ExitStack() as stack:
        ceph.raw("fill", 1, RAW_ROWS)
        nodes = [stack.enter_context(Server("--ceph-conf", ceph.conf, *flags, engine="rados",
                                            program=str(BUILD / "tavolad")))
                 for _ in range(3)]
        load = Load(bench, ceph, nodes)
        fill(load.client)
        measure_reads(part, bench, ceph, load, nodes)
        measure_inserts(part, bench, ceph, load, nodes)
        measure_pages(part, ceph, load, options)
        measure_ranges(part, bench, ceph, load, nodes)
        measure_drop(part, ceph, load)
        load.client.close()
    return part


def measure_reads(part, bench, ceph, load, nodes):
    seconds = bench.options.seconds
    singly = ceph.raw("get", 1, 64, 1, seconds)
    grouped = ceph.raw("get", 1, 4, 16, seconds)
    one, osd_us = load.run(bench.reads, nodes[:1], CONNECTIONS)
    part.load("point read, 1 node", one, osd_us, singly["rows_s"], "ratio >= 1.5")
    part.fact("point reads against raw with 16 keys an operation",
              f"{one.rate / grouped['rows_s']:.2f}", ">= 0.35")
    part.fact("node CPU for a point read", f"{one.cpu_us:.1f} us", "<= 16 us")
    for count in (2, 3):
        more, osd_us = load.run(bench.reads, nodes[:count], CONNECTIONS)
        part.load(f"point read, {count} nodes", more, osd_us)
        part.fact(f"point reads of {count} nodes against 1", f"{more.rate / one.rate:.2f}",
                  ">= 1.3" if count == 2 else "")


def measure_inserts(part, bench, ceph, load, nodes):
    seconds = bench.options.seconds
    raw = ceph.raw("insert", 1, CONNECTIONS, seconds)
    one, osd_us = load.run(bench.inserts, nodes[:1], CONNECTIONS)
    part.load("insert, 1 node, 1 range", one, osd_us, raw["rows_s"],
              "ratio >= 0.7, >= 8,000/s quiet")
    part.fact("OSD CPU for a row, raw group commit of 64", f"{raw['osd_us_row']:.1f} us")
    part.fact("node CPU for an insert", f"{one.cpu_us:.1f} us", "<= 20 us")
    for count in (2, 3):
        more, osd_us = load.run(bench.inserts, nodes[:count], CONNECTIONS)
        part.load(f"insert, {count} nodes, 1 range", more, osd_us)
        part.fact(f"inserts of {count} nodes against 1", f"{more.rate / one.rate:.2f}",
                  ">= 0.6" if count == 2 else "")
    raw = ceph.raw("insert", 1, MANY, seconds)
    many, osd_us = load.run(bench.inserts, nodes[:1], MANY)
    part.load(f"insert, 1 node, 1 range, {MANY} connections", many, osd_us, raw["rows_s"],
              ">= 25,000/s")


def measure_pages(part, ceph, load, options):
    """A page of 1,000 by one client."""
    raw = ceph.raw("page", 1, 1, PAGE_ROWS, options.short_s)
    path = f"/bench()?$top={PAGE_ROWS}"
    times = []
    deadline = time.monotonic() + options.short_s
    while time.monotonic() < deadline:
        began = time.monotonic()
        reply = load.client.request("GET", path)
        times.append((time.monotonic() - began) * 1000)
        assert reply.status == 200 and len(reply.json["value"]) == PAGE_ROWS, reply
    ours = statistics.median(times)
    part.fact(f"page of {PAGE_ROWS:,}, p50", f"{ours:.1f} ms; raw {raw['p50_ms']:.1f} ms "
              f"({ours / raw['p50_ms']:.2f})", "<= 1.5")


def measure_ranges(part, bench, ceph, load, nodes):
    """The same inserts over more ranges, which the balancer would not have made."""
    seconds = bench.options.seconds
    for wanted in (4, 16):
        ranges = split_until(nodes[0], wanted)
        raw = ceph.raw("insert", ranges, CONNECTIONS, seconds)
        ours, osd_us = load.run(bench.inserts, nodes[:1], CONNECTIONS)
        part.load(f"insert, 1 node, {ranges} ranges", ours, osd_us, raw["rows_s"],
                  "ratio >= 0.7")
        part.fact(f"OSD CPU for a row over {ranges} ranges",
                  f"{osd_us:.0f} us; raw {raw['osd_us_row']:.0f} us", "<= 100 us")
        journal = ceph.raw(ranges, CONNECTIONS, APPLY_ROWS, seconds, program=JOURNAL)
        part.fact(f"the same through a journal for the node (prototype), {ranges} ranges",
                  f"{journal['osd_us_row']:.0f} us, {journal['rows_s']:,.0f} rows/s "
                  f"(raw {raw['rows_s']:,.0f})")
    reads, osd_us = load.run(bench.reads, nodes[:1], CONNECTIONS)
    part.load(f"point read, 1 node, {ranges} ranges", reads, osd_us)
    measure_pauses(part, nodes[0])


def measure_pauses(part, node):
    """How long writers waited for the splits of this run, by how many rows were moved."""
    splits = [event for event in cluster_of(node)["history"]
              if event["op"] == "split" and event["outcome"] == "done"]
    for name, least, most, target in (("up to 10,000", 0, 10000, "<= 100 ms"),
                                      ("10,000 to 50,000", 10001, 50000,
                                       "p50 <= 350 ms, max 1 s")):
        pauses = [event["paused_ms"] for event in splits if least <= event["rows"] <= most]
        if pauses:
            part.fact(f"pause of writers, {len(pauses)} splits that moved {name} rows",
                      f"p50 {statistics.median(pauses):.0f} ms, max {max(pauses):.0f} ms", target)


def measure_drop(part, ceph, load):
    """The table goes, with all that the runs before have put into it."""
    before = ceph.rows()
    began = time.monotonic()
    reply = load.client.request("DELETE", "/Tables('bench')")
    answered = time.monotonic() - began
    assert reply.status == 204, reply
    left = ceph.rows()
    while left and time.monotonic() - began < 120:
        left = ceph.rows()
    gone = time.monotonic() - began
    part.fact(f"drop of the table, {before:,} rows, answered", f"{answered * 1000:.0f} ms",
              "<= 100 ms")
    part.fact("its rows gone after", f"{left:,} left after {gone:.0f} s" if left
              else f"{gone:.1f} s", "<= 10 s")
