"""libtavola next to wrk and the JavaScript SDK, on one server and the same entities.

CPU time is the client's own, all its threads.  wrk replays requests that were signed beforehand and
reads no more of an answer than its length; the others sign each request and give out typed entities.
"""

import json
import pathlib
import re
import resource
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "tests" / "lib"))

import javascript  # noqa: E402
import table_client  # noqa: E402
from measurement import Measurement, milliseconds  # noqa: E402
from report import stamp, table  # noqa: E402
from server import ACCOUNT, KEY, Server  # noqa: E402

TABLE = "clients"
PARTITIONS = 1000
IN_FLIGHT = 64


def connection_of(server):
    return (f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};"
            f"TableEndpoint={server.table_url}")


def measured(command, pinned=None):
    """Run a load that reports in JSON."""
    prefix = ["taskset", "-c", str(pinned)] if pinned is not None else []
    done = subprocess.run(prefix + [str(word) for word in command], stdout=subprocess.PIPE,
                          text=True, check=True)
    return json.loads(done.stdout)


def child_cpu_s():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Clients:
    TITLE = "Client library"

    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch
        self.title = self.TITLE
        self.rows = [("load", "client", "entities/s", "CPU us/entity", "ratio", "target", "peak MB")]

    def text(self):
        return f"## {self.title}\n\n{stamp(others=False)} {__doc__.strip()}\n\n{table(self.rows)}\n"

    def ours(self, server, *words, pinned=None):
        return measured([ROOT / "build/bench/client/client_bench", connection_of(server), *words],
                        pinned)

    def sum(self, into, result):
        into.requests += result["count"]
        into.seconds += result["seconds"]
        into.cpu_s += result["cpu_s"]
        into.peak_kb = max(getattr(into, "peak_kb", 0), result["rss_kb"])

    def add(self, load, client, m, ratio="", target=""):
        peak = getattr(m, "peak_kb", 0)
        self.rows.append((load, client, f"{m.rate:,.0f}", f"{m.cpu_us:.2f}", ratio, target,
                          f"{peak / 1024:.0f}" if peak else ""))
        print(" | ".join(self.rows[-1]), flush=True)

    def wrk(self, into, server, script, *arguments, per_request=1):
        before = child_cpu_s()
        done = subprocess.run(
            ["wrk", "-t", "1", "-c", str(IN_FLIGHT if per_request == 1 else 8), "-d",
             f"{self.options.seconds}s", "-s", str(HERE / script), server.table_url, "--",
             *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True).stdout
        if re.search(r"Non-2xx|Socket errors|Failed transactions: [1-9]", done):
            raise RuntimeError(done)
        count, seconds = re.search(r"(\d+) requests in ([\d.]+\w+),", done).groups()
        into.cpu_s += child_cpu_s() - before
        into.requests += int(count) * per_request
        into.seconds += milliseconds(seconds) / 1000

    def signed_reads(self, server, rows):
        client = table_client.Client(server.table_port)
        requests = []
        for i in range(min(rows, 10000)):
            number = i * 7919 % rows
            path = table_client.key_path(TABLE, f"p{number % PARTITIONS:03}",
                                         f"r{number // PARTITIONS:09}")
            headers = {**client.headers(path), "Accept": "application/json;odata=minimalmetadata"}
            requests.append(f"GET /{ACCOUNT}{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n" + "".join(
                f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n")
        path = self.scratch / "client-reads"
        path.write_bytes("\0".join(requests).encode())
        return path

    def reads(self, server, rows):
        javascript.install(HERE / "client")
        wrk, ours, one, js = (Measurement() for _ in range(4))
        for _ in range(self.options.rounds):
            self.wrk(wrk, server, "reads.lua", self.signed_reads(server, rows))
            self.sum(ours, self.ours(server, "reads", TABLE, rows, IN_FLIGHT, self.options.seconds))
            # On one core like the SDK, which cannot use more.
            self.sum(one, self.ours(server, "reads", TABLE, rows, IN_FLIGHT, self.options.seconds,
                                    pinned=0))
            self.sum(js, measured(["node", HERE / "client/reads.mjs", server.table_url, ACCOUNT,
                                   KEY, TABLE, rows, IN_FLIGHT, self.options.seconds], pinned=0))
        self.add("point reads, 64 in flight", "wrk", wrk)
        self.add("", "libtavola", ours, f"{ours.cpu_us / wrk.cpu_us:.2f} of wrk's CPU", "<= 2")
        self.add("", "libtavola, one core", one, f"{one.rate / js.rate:.1f} times the SDK's rate",
                 ">= 20")
        self.add("", "@azure/data-tables, one core", js)

    def bulk(self, server, rows):
        batches, ours = Measurement(), Measurement()
        client = table_client.Client(server.table_port)
        assert client.create_table("batches").status == 204
        headers = {**client.headers("/$batch"), "Accept": "application/json;odata=minimalmetadata",
                   "Content-Type": "multipart/mixed; boundary=batch_bench"}
        head = self.scratch / "client-batches"
        head.write_text(f"POST /{ACCOUNT}/$batch HTTP/1.1\r\nHost: 127.0.0.1\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in headers.items()), newline="")
        for run in range(self.options.rounds):
            self.wrk(batches, server, "batches.lua", head, f"b{run}", 100,
                     f"{server.table_url}/batches", per_request=100)
        self.sum(ours, self.ours(server, "fill", TABLE, rows))
        self.add("inserts in batches of 100", "wrk, 8 connections", batches)
        self.add(f"bulk insert of {rows:,}", "libtavola, 8 in flight", ours,
                 f"{ours.rate / batches.rate:.2f} of that rate", ">= 0.60")

    def scan(self, server):
        ours = Measurement()
        for _ in range(self.options.rounds):
            self.sum(ours, self.ours(server, "scan", TABLE))
        self.add("scan of all of them", "libtavola", ours, "", "<= 1.0 us")


def measure(options, scratch):
    rows = 1_000_000 if options.large else 100_000
    clients = Clients(options, scratch)
    with Server(data=str(scratch / "clients-data")) as server:
        clients.bulk(server, rows)
        clients.reads(server, rows)
        clients.scan(server)
    return clients
