"""Measure what recording requests costs: point reads of a server with --watch=off and of one with
--watch=on, which take turns in short rounds."""

import os
import pathlib
import statistics

import table_client
from measurement import Measurement
from report import Report
from server import Server

KINDS = ("off", "on")
TURNS = 4  # so many for each round that was asked for: what else runs falls on both alike


def scheduled_s(pid):
    """CPU time of the threads of a process, to the nanosecond, in seconds."""
    spent = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        spent += int((task / "schedstat").read_text().split()[0])
    return spent / 1e9


def measure(options, scratch, bench, fill):
    turns = options.rounds * TURNS
    options.seconds = options.short_s
    load_then = os.getloadavg()[0]
    servers = {kind: Server(f"--watch={kind}", data=str(scratch / f"watch-{kind}")).start()
               for kind in KINDS}
    try:
        clients = {}
        numbers = {kind: Measurement() for kind in KINDS}
        rounds = {kind: [] for kind in KINDS}
        for kind, server in servers.items():
            clients[kind] = table_client.Client(server.table_port)
            fill(clients[kind])
        for turn in range(turns + 1):
            for kind in KINDS if turn % 2 else reversed(KINDS):
                server, before = servers[kind], numbers[kind].requests
                script, arguments = bench.reads(clients[kind], server.table_port)
                began_s = scheduled_s(server.process.pid)
                into = numbers[kind] if turn else Measurement()  # the first one warms up
                bench.wrk(into, [], f"http://127.0.0.1:{server.table_port}/", script, *arguments)
                if turn == 0:
                    continue
                spent_s = scheduled_s(server.process.pid) - began_s
                into.cpu_s += spent_s
                rounds[kind].append(spent_s * 1e6 / (into.requests - before))
        about = (f"{options.connections} connections from {options.threads} threads of wrk, {turns} "
                 f"rounds of {options.short_s} s each; the servers take turns. CPU is all of the "
                 "server's, with the advisor's thread, by schedstat; relative is the median of "
                 f"pairs of rounds. The load average was {load_then:.1f} before and "
                 f"{os.getloadavg()[0]:.1f} after.")
        report = Report("Recording requests", about)
        for kind, figure in numbers.items():
            report.load(f"point read, --watch={kind}", 1, figure, None)
            print(f"point read, --watch={kind}: {figure.cpu_us:.2f} us of CPU, the least of a "
                  f"round {min(rounds[kind]):.2f}", flush=True)
            report.fact(f"point read, --watch={kind}, CPU of the cheapest round",
                        f"{min(rounds[kind]):.2f} us")
        low, ratio, high = statistics.quantiles(
            (on / off for off, on in zip(rounds["off"], rounds["on"])), n=4)
        print(f"on, relative to off: {ratio:.3f}, half of the pairs {low:.3f} to {high:.3f}",
              flush=True)
        report.fact("point read with --watch=on, CPU, relative to off",
                    f"{ratio:.3f} (half of the pairs: {low:.3f} to {high:.3f})", "<= 1.03")
        for client in clients.values():
            client.close()
    finally:
        for server in servers.values():
            server.stop()
            server.clean()
    return report
