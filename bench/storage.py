"""What measuring queues and blobs shares: requests by SAS, the load generator, and tables that
put tavolad next to its competitors."""

import http.client
import json
import pathlib
import statistics
import subprocess

import sas
from measurement import Measurement, cpu_s
from report import stamp, table
from server import ACCOUNT, KEY

GENERATOR = pathlib.Path(__file__).resolve().parents[1] / "build" / "bench" / "load" / "load"

# A token in the query needs no work for each request, neither here nor in the generator.
TOKEN = sas.account_sas(KEY, ACCOUNT, ss="bq", srt="sco", sp="rwdlacup",
                        se="2099-01-01T00:00:00Z")


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def __repr__(self):
        return f"<{self.status} {self.body[:300]!r}>"


def request(port, method, path, body=None, wanted=None, **headers):
    """One request for a path below the account, on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, f"/{ACCOUNT}{path}{'&' if '?' in path else '?'}{TOKEN}", body,
                       {"x-ms-version": "2021-12-02",
                        **{name.replace("_", "-"): value for name, value in headers.items()}})
    answer = connection.getresponse()
    reply = Reply(answer.status, answer.headers, answer.read())
    connection.close()
    assert wanted is None or reply.status == wanted, f"{method} {path}: {reply}"
    return reply


class Contender:
    """A server under load: its port for each load, and the processes that serve it."""

    def __init__(self, name, ports, pids):
        self.name, self.ports, self.pids = name, ports, pids

    def port(self, load):
        return self.ports if isinstance(self.ports, int) else self.ports.get(load)


def run_load(into, contender, load, kind, path, **flags):
    """One round of the generator, added to the measurement."""
    flags = {"port": contender.port(load), "path": f"/{ACCOUNT}{path}", "query": TOKEN, **flags}
    before = cpu_s(contender.pids)
    done = subprocess.run(
        [str(GENERATOR), *[word for name, value in flags.items()
                           for word in (f"--{name}", str(value))], kind],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{load} against {contender.name}: {done.stderr}")
    numbers = json.loads(done.stdout)
    into.cpu_s += cpu_s(contender.pids) - before
    into.requests += numbers["operations"]
    into.bytes += numbers["bytes"]
    into.seconds += numbers["seconds"]
    into.p50_ms.append(numbers["p50_ms"])
    into.p99_ms.append(numbers["p99_ms"])
    return numbers


class Row:
    """One load: what it did to each contender, in operations or in bytes."""

    def __init__(self, name, unit, target=""):
        self.name, self.unit, self.target = name, unit, target
        self.numbers = {}

    def of(self, contender):
        return self.numbers.setdefault(contender.name, Measurement())

    def speed(self, name):
        """Operations or megabytes per second."""
        numbers = self.numbers[name]
        return numbers.bytes / numbers.seconds / 1e6 if self.unit == "MB" else numbers.rate

    def cells(self, name):
        if name not in self.numbers:
            return "", ""
        numbers = self.numbers[name]
        if self.unit == "MB":
            return (f"{self.speed(name):,.0f} MB/s",
                    f"{numbers.cpu_s * 1e12 / numbers.bytes:,.0f} us/MB")
        return f"{numbers.rate:,.0f}/s", f"{numbers.cpu_us:,.0f} us/{self.unit}"

    def times(self, name):
        return f"{self.speed('tavolad') / self.speed(name):.2f}" if name in self.numbers else ""

    def line(self):
        ours = self.numbers["tavolad"]
        return (self.name, *self.cells("tavolad"), f"{statistics.mean(ours.p50_ms):.2f}",
                f"{statistics.mean(ours.p99_ms):.2f}", *self.cells("Azurite"),
                self.times("Azurite"), *self.cells("nginx"), self.times("nginx"), self.target)

    def __str__(self):
        parts = []
        for name in self.numbers:
            rate, cpu = self.cells(name)
            parts.append(f"{name} {rate}, {cpu} of CPU")
        return f"{self.name}: " + "; ".join(parts)


class Section:
    """The tables of one service in the report."""

    COLUMNS = ("load", "rate", "CPU", "p50 ms", "p99 ms", "Azurite", "its CPU",
               "times Azurite", "nginx", "its CPU", "times nginx", "target")

    def __init__(self, title, options, about):
        self.title = title
        self.about = (f"One thread of bench/load, {options.rounds} rounds of {options.short_s} s "
                      f"each. {about}")
        self.rows = []
        self.facts = [("what", "measured", "target")]

    def row(self, *arguments):
        self.rows.append(Row(*arguments))
        return self.rows[-1]

    def fact(self, what, measured, target=""):
        self.facts.append((what, measured, target))
        print(f"{what}: {measured}{f' ({target})' if target else ''}", flush=True)

    def text(self):
        loads = table([self.COLUMNS, *[row.line() for row in self.rows]])
        return f"## {self.title}\n\n{stamp()} {self.about}\n\n{loads}\n\n{table(self.facts)}\n"
