#!/usr/bin/python3
"""Measure tavolad next to nginx and Azurite, in the same run on the same machine.

nginx returns the same bytes with similar headers for the same signed requests,
with as many workers as tavolad has threads: it is the floor for a server that
does nothing.  Azurite is what people use today.

CPU time is the server's own, user and system, from /proc, so it does not suffer
much from wrk sharing the cores; requests per second do.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "tests" / "lib"))

import analytics  # noqa: E402
import blobs  # noqa: E402
import clients  # noqa: E402
import cluster  # noqa: E402
import curl  # noqa: E402
import growth  # noqa: E402
import queries  # noqa: E402
import queues  # noqa: E402
import sas  # noqa: E402
import sign  # noqa: E402
import table_client  # noqa: E402
import tool  # noqa: E402
import watch  # noqa: E402
from competitors import Azurite, Nginx, fixed_reply  # noqa: E402
from measurement import Measurement, cpu_s, milliseconds  # noqa: E402
from report import Report, record  # noqa: E402
from server import ACCOUNT, KEY, Server  # noqa: E402

TABLE = "bench"
ROWS = 1000


class Bench:
    def __init__(self, options, scratch):
        self.options = options
        self.scratch = scratch
        self.run = 0

    def wrk(self, into, pids, url, script, *arguments, connections=None):
        """One round of load; a refused request spoils the results, so it ends the run."""
        before = cpu_s(pids)
        done = subprocess.run(
            ["wrk", "-t", str(self.options.threads), "-c", str(connections or self.options.connections),
             "-d", f"{self.options.seconds}s", "--latency", "--timeout", "10s",
             "-s", str(HERE / script), url, "--", *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
        text = done.stdout
        refused = re.search(r"Non-2xx.*|Socket errors.*|Failed transactions: [1-9].*", text)
        if refused:
            raise RuntimeError(f"{script} against {url}: {refused[0]}")
        count, seconds = re.search(r"(\d+) requests in ([\d.]+\w+),", text).groups()
        into.cpu_s += cpu_s(pids) - before
        into.requests += int(count)
        into.seconds += milliseconds(seconds) / 1000
        into.p50_ms.append(milliseconds(re.search(r"\n\s+50%\s+(\S+)", text)[1]))
        into.p99_ms.append(milliseconds(re.search(r"\n\s+99%\s+(\S+)", text)[1]))

    def head(self, client, method, path, port, **headers):
        """A request's signed head up to the last header line."""
        lines = [f"{method} /{ACCOUNT}{path} HTTP/1.1", f"Host: 127.0.0.1:{port}"]
        signed = {**client.headers(path), "Accept": "application/json;odata=minimalmetadata",
                  **{name.replace("_", "-"): value for name, value in headers.items()}}
        return "\r\n".join(lines + [f"{n}: {v}" for n, v in signed.items()]) + "\r\n"

    def write(self, name, text):
        path = self.scratch / name
        path.write_bytes(text.encode())
        return path

    # The loads: each gives the script and its arguments, signed now (a signature
    # lasts 15 minutes), for a server that tavolad's clients would reach at `port`.

    def reads(self, client, port):
        requests = [self.head(client, "GET", table_client.key_path(TABLE, f"p{i % 10}", f"r{i}"),
                              port) + "\r\n" for i in range(ROWS)]
        return "reads.lua", [self.write(f"reads-{port}", "\0".join(requests))]

    def sas_reads(self, token):
        """The same reads by a token in the URL instead of a signature in a header."""
        def load(client, port):
            requests = []
            for i in range(ROWS):
                path = table_client.key_path(TABLE, f"p{i % 10}", f"r{i}")
                lines = self.head(client, "GET", path, port).split("\r\n")
                lines[0] = f"GET /{ACCOUNT}{path}?{token} HTTP/1.1"
                requests.append("\r\n".join(line for line in lines
                                            if not line.startswith("Authorization")) + "\r\n")
            return "reads.lua", [self.write("sas_reads", "\0".join(requests))]
        return load

    def inserts(self, client, port):
        self.run += 1
        head = self.head(client, "POST", f"/{TABLE}", port, Content_Type="application/json",
                         Prefer="return-no-content")
        return "inserts.lua", [self.write(f"inserts-{port}", head), f"i{self.run}"]

    def batches(self, size):
        def load(client, port):
            self.run += 1
            head = self.head(client, "POST", "/$batch", port,
                             Content_Type="multipart/mixed; boundary=batch_bench")
            return "batches.lua", [self.write("batches", head), f"b{self.run}", size,
                                   f"http://127.0.0.1:{port}/{ACCOUNT}/{TABLE}"]
        return load


def fill(client):
    """The table and the entities that are read."""
    assert client.create_table(TABLE).status == 204
    for partition in range(10):
        rows = [{"PartitionKey": f"p{i % 10}", "RowKey": f"r{i}", "Name": "Ada Lovelace",
                 "Email": "ada@example.org", "Visits": i, "Rating": 4.5, "Active": True,
                 "Note": "The analytical engine weaves algebraic patterns."}
                for i in range(partition, ROWS, 10)]
        reply = client.batch(TABLE, rows)
        assert reply.status == 202, reply


def samples(client):
    """One answer of each kind, for nginx to repeat."""
    entity = {"PartitionKey": "sample", "Name": "Ada Lovelace"}
    full = {"Accept": "application/json;odata=minimalmetadata"}
    path = table_client.key_path(TABLE, "p1", "r1")
    return {
        "point read": client.request("GET", path, **full),
        "insert": client.insert(TABLE, {**entity, "RowKey": "0"}),
        "batch of 20": client.batch(TABLE, [{**entity, "RowKey": f"a{i}"} for i in range(20)]),
        "batch of 100": client.batch(TABLE, [{**entity, "RowKey": f"b{i}"} for i in range(100)]),
    }


def start_up_ms(scratch):
    """From exec to a healthy answer on an empty folder: the median of five."""
    times = []
    for number in range(5):
        server = Server(data=str(scratch / f"start{number}"))
        began = time.monotonic()
        server.start()
        times.append((time.monotonic() - began) * 1000)
        server.stop()
        server.clean()
    return statistics.median(times)


def resident_mb(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", text)[1]) / 1024


def fdatasync_rate(scratch):
    """What the disk does by itself: 4 KiB appended and synced, one after the other."""
    with open(scratch / "sync", "wb", buffering=0) as file:
        began, count = time.monotonic(), 0
        while time.monotonic() - began < 1:
            file.write(b"x" * 4096)
            os.fdatasync(file.fileno())
            count += 1
        return count / (time.monotonic() - began)


def by_wrk(options):
    return (f"{options.connections} connections from {options.threads} threads of wrk, "
            f"{options.rounds} rounds of {options.seconds} s each.")


def measure_queries(options, scratch):
    report, bench = Report("Queries", by_wrk(options)), Bench(options, scratch)
    with Server(data=str(scratch / "queries-data")) as server:
        queries.measure(options, report, bench, server)
    return report


def measure_loads(options, scratch):
    report, bench = Report("Tables", by_wrk(options)), Bench(options, scratch)
    report.fact("start-up on an empty folder", f"{start_up_ms(scratch):.0f} ms", "< 200 ms")
    server = Server(data=str(scratch / "data"))
    server.start()
    try:
        time.sleep(1)
        report.fact("resident when idle", f"{resident_mb(server.process.pid):.1f} MB", "< 40 MB")
        inserts = measure_beside_nginx(options, scratch, report, bench, server)
        measure_sas(options, report, bench, server)
        report.fact("resident after the load", f"{resident_mb(server.process.pid):.1f} MB")
    finally:
        code = server.stop()
        server.clean()
    assert code == 0, f"tavolad ended with exit code {code}"
    report.fact("fdatasync of the disk alone", f"{fdatasync_rate(scratch):,.0f}/s")
    if options.azurite:
        measure_azurite(scratch, report, bench, inserts)
    return report


def measure_beside_nginx(options, scratch, report, bench, server):
    """All loads, tavolad and nginx taking turns; returns the measurement of the inserts."""
    client = table_client.Client(server.table_port)
    fill(client)
    loads = (("point read", 1, bench.reads, "ratio <= 1.8"),
             ("insert", 1, bench.inserts, ""),
             ("batch of 20", 20, bench.batches(20), ""),
             ("batch of 100", 100, bench.batches(100), ""))
    inserts = None
    workers = options.server_threads or os.cpu_count()
    servers = {name: fixed_reply(reply) for name, reply in samples(client).items()}
    with Nginx(servers, workers, scratch) as nginx:
        for name, size, load, target in loads:
            ours, theirs = Measurement(), Measurement()
            for _ in range(options.rounds):
                for into, pids, port in ((ours, [server.process.pid], server.table_port),
                                         (theirs, nginx.pids(), nginx.ports[name])):
                    script, arguments = load(client, server.table_port)
                    bench.wrk(into, pids, f"http://127.0.0.1:{port}/", script, *arguments)
            report.load(name, size, ours, theirs, target)
            print(f"{name}: {ours.rate:,.0f}/s, {ours.cpu_us:.1f} us of CPU "
                  f"(nginx {theirs.rate:,.0f}/s, {theirs.cpu_us:.1f} us)", flush=True)
            if name == "insert":
                inserts = ours
    client.close()
    return inserts


def measure_sas(options, report, bench, server):
    """Point reads by SAS and by SharedKeyLite, taking turns."""
    client = table_client.Client(server.table_port)
    policy = (b"<SignedIdentifiers><SignedIdentifier><Id>p</Id><AccessPolicy><Expiry>2099-01-01"
              b"</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier>"
              b"</SignedIdentifiers>")
    path = f"/{ACCOUNT}/{TABLE}?comp=acl"
    headers = client.headers("")
    headers["Authorization"] = sign.shared_key_lite(ACCOUNT, KEY, headers["x-ms-date"], path)
    client.connection.request("PUT", path, policy, {**headers, "Content-Type": "application/xml"})
    reply = client.connection.getresponse()
    assert reply.status == 204, reply.read()
    reply.read()

    limits = {"tn": TABLE, "sp": "raud", "se": "2099-01-01T00:00:00Z"}
    kinds = {
        "SharedKeyLite": bench.reads,
        "table SAS": bench.sas_reads(sas.table_sas(KEY, ACCOUNT, **limits)),
        "table SAS with all fields": bench.sas_reads(sas.table_sas(
            KEY, ACCOUNT, st="2020-01-01T00:00:00Z", sip="127.0.0.0-127.0.0.9", spr="https,http",
            spk="a", srk="a", epk="z", erk="z", **limits)),
        "table SAS by policy": bench.sas_reads(sas.table_sas(KEY, ACCOUNT, tn=TABLE, si="p")),
        "account SAS": bench.sas_reads(sas.account_sas(KEY, ACCOUNT, ss="t", srt="sco", sp="rl",
                                                       se="2099-01-01T00:00:00Z")),
    }
    numbers = {name: Measurement() for name in kinds}
    for _ in range(options.rounds):
        for name, load in kinds.items():
            script, arguments = load(client, server.table_port)
            bench.wrk(numbers[name], [server.process.pid],
                      f"http://127.0.0.1:{server.table_port}/", script, *arguments)
    client.close()
    floor = numbers.pop("SharedKeyLite")
    for name, figure in numbers.items():
        report.fact(f"point read by {name}, CPU, relative to SharedKeyLite",
                    f"{figure.cpu_us / floor.cpu_us:.2f} ({figure.cpu_us:.1f} us)", "<= 1.25")


def measure_azurite(scratch, report, bench, inserts):
    with Azurite("table", scratch) as azurite:
        client = table_client.Client(azurite.port)
        assert client.create_table(TABLE).status == 204
        theirs = Measurement()
        script, arguments = bench.inserts(client, azurite.port)
        bench.wrk(theirs, azurite.pids(), f"http://127.0.0.1:{azurite.port}/", script,
                  *arguments)
        client.close()
    report.load("Azurite: insert (not durable)", 1, theirs, None)
    report.fact("insert rate, relative to Azurite", f"{inserts.rate / theirs.rate:.1f}", ">= 10")


def measure_cluster(options, scratch):
    return cluster.measure(options, scratch, Bench(options, scratch), fill)


def measure_analytics(options, scratch):
    return analytics.measure(options, scratch, Bench(options, scratch), fill)


def measure_watch(options, scratch):
    return watch.measure(options, scratch, Bench(options, scratch), fill)


SECTIONS = {"loads": measure_loads, "queries": measure_queries, "queues": queues.measure,
            "blobs": blobs.measure, "clients": clients.measure, "curl": curl.measure, "tool": tool.measure,
            "analytics": measure_analytics, "watch": measure_watch,
            "growth": growth.measure, "cluster": measure_cluster}
LONG = {"growth", "cluster"}  # minutes, or Ceph; only when named


def main():
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int,
                        help="length of a round (5; 2 for queues and blobs)")
    parser.add_argument("--rounds", type=int, default=2, help="rounds per load and server (2)")
    parser.add_argument("--connections", type=int, default=16, help="(16)")
    parser.add_argument("--blob-connections", type=int, default=8, help="(8)")
    parser.add_argument("--threads", type=int, default=2, help="threads of wrk (2)")
    parser.add_argument("--server-threads", type=int, default=0,
                        help="threads of tavolad and workers of nginx (one per core)")
    parser.add_argument("--only", choices=SECTIONS, help="one section; all but growth and cluster without it")
    parser.add_argument("--large", action="store_true",
                        help="point reads in a table of 1,000,000 entities, growth to 20,000,000 "
                             "rows, clients with 1,000,000 entities, too (minutes)")
    parser.add_argument("--no-azurite", dest="azurite", action="store_false")
    parser.add_argument("--record", action="store_true", help="write bench/RESULTS.md")
    options = parser.parse_args()
    options.short_s = options.seconds or 2
    options.seconds = options.seconds or 5
    if options.server_threads:
        os.environ["TAVOLA_THREADS"] = str(options.server_threads)

    # Next to the build and not in /tmp, which may be memory: inserts must reach a disk.
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=ROOT / "build") as scratch:
        reports = [section(options, pathlib.Path(scratch)) for name, section in SECTIONS.items()
                   if options.only == name or (options.only is None and name not in LONG)]
    for report in reports:
        print("\n" + report.text())
    if options.record:
        record(reports)


if __name__ == "__main__":
    main()
