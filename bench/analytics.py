"""Measure what Storage Analytics costs: point reads and inserts with it off, with metrics, with
logs and metrics, on servers that take turns."""

import sys

import table_client
from measurement import Measurement
from report import Report
from server import ROOT, Server

sys.path.insert(0, str(ROOT / "tests" / "analytics"))

import wire  # noqa: E402

KINDS = {
    "off": None,
    "metrics of hours": {"hour": True, "apis": True},
    "logs": {"log": "rwd"},
    "logs, metrics of hours and minutes": {"log": "rwd", "hour": True, "minute": True},
}


def switch_on(server, what):
    connection = wire.Wire("table", server.table_port)
    reply = connection.ask("", "PUT", "/?restype=service&comp=properties",
                           wire.properties(**what))
    assert reply.status == 202, reply
    connection.close()


def measure(options, scratch, bench, fill):
    about = (f"{options.connections} connections from {options.threads} "
             f"threads of wrk, {options.rounds} rounds of {options.seconds} s each; the servers "
             "take turns. CPU is all of the server's, with what it writes in the background.")
    report = Report("Storage Analytics", about)
    servers = {name: Server(data=str(scratch / f"analytics-{i}")).start()
               for i, name in enumerate(KINDS)}
    try:
        clients = {}
        for name, server in servers.items():
            clients[name] = table_client.Client(server.table_port)
            fill(clients[name])
            if KINDS[name]:
                switch_on(server, KINDS[name])
        for load_name, load in (("point read", bench.reads), ("insert", bench.inserts)):
            numbers = {name: Measurement() for name in KINDS}
            for _ in range(options.rounds):
                for name, server in servers.items():
                    script, arguments = load(clients[name], server.table_port)
                    bench.wrk(numbers[name], [server.process.pid],
                              f"http://127.0.0.1:{server.table_port}/", script, *arguments)
            floor = numbers["off"]
            for name, figure in numbers.items():
                report.load(f"{load_name}, {name}", 1, figure, None)
                if name != "off":
                    report.fact(f"{load_name} with {name}, CPU, relative to off",
                                f"{figure.cpu_us / floor.cpu_us:.2f} "
                                f"({figure.cpu_us - floor.cpu_us:+.1f} us)")
                print(f"{load_name}, {name}: {figure.rate:,.0f}/s, {figure.cpu_us:.1f} us of CPU",
                      flush=True)
        for client in clients.values():
            client.close()
    finally:
        for server in servers.values():
            server.stop()
            server.clean()
    return report
