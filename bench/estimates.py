#!/usr/bin/python3
"""How good the estimates of explained queries are, on tables of six kinds.

    bench/estimates.py [--queries 60] [--entities 20000] [--seed 1] [--server PROGRAM]

Each query is explained and then run to its last page.  Of every table: how many of the queries had
the entities that they examined, and those that they returned, inside of the bounds; how many were
said to be exact, and were; and by which factor the estimates were off, of entities and of time, in
the median and in nine of ten.  The time of a query is that of a client on this machine, the median
of three, less that of a query that reads nothing; less than half a millisecond counts as that.  With the filters of the first half repeated in the second, with
other values, the server has a history of their shapes by then.
"""

import argparse
import pathlib
import random
import statistics
import sys
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "lib"))

from server import Server  # noqa: E402
from table_client import Client  # noqa: E402

RUNS = 3        # of each query; its time is the median
LEAST_MS = 0.5  # below, a client does not see the difference
KINDS = ("uniform", "zipf", "onepartition", "oneeach", "timeseries", "mixed")


def keys(kind, number, chance):
    row = f"r{number:06}"
    if kind == "uniform":
        return f"p{chance.randrange(200):03}", row
    if kind == "zipf":
        return f"p{int(1 / (1 - chance.random() * 0.997)):03}", row
    if kind == "onepartition":
        return "all", row
    if kind == "oneeach":
        return f"u{number:06}", row
    if kind == "timeseries":
        return f"202611{number // 900:02}", row
    return ("big" if number % 2 else f"s{number // 7:05}"), row


def fill(client, kind, count, chance):
    """The entities of a table, and their keys."""
    partitions = {}
    for number in range(count):
        partition, row = keys(kind, number, chance)
        age = min(int(chance.expovariate(1 / 20)), 120)
        partitions.setdefault(partition, []).append({
            "PartitionKey": partition, "RowKey": row, "Age": age,
            "City": f"c{int(chance.paretovariate(1)):03}"[:6], "Active": number % 3 == 0,
            "Note": "x" * chance.randrange(20, 200)})
    assert client.create_table(kind).status == 204
    for entities in partitions.values():
        for first in range(0, len(entities), 100):
            reply = client.batch(kind, entities[first:first + 100])
            assert reply.status == 202, reply
    return [(e["PartitionKey"], e["RowKey"]) for list_ in partitions.values() for e in list_]


def a_filter(all_keys, chance):
    (p, r), (q, s) = sorted((chance.choice(all_keys), chance.choice(all_keys)))
    low, high = min(r, s), max(r, s)
    ranges = chance.choice((
        f"PartitionKey eq '{p}'",
        f"PartitionKey eq '{p}' and RowKey ge '{low}' and RowKey lt '{high}'",
        f"PartitionKey ge '{p}' and PartitionKey lt '{q}'",
        f"(PartitionKey eq '{p}' or PartitionKey eq '{q}')",
        f"PartitionKey gt '{p}'"))
    test = chance.choice(("", "", f"Age gt {chance.randrange(100)}",
                          f"City eq 'c{int(chance.paretovariate(1)):03}'",
                          f"Active and Age lt {chance.randrange(60)}",
                          f"not (City eq 'c001') and Age ge {chance.randrange(60)}"))
    return f"{ranges} and {test}" if test else ranges


def ask(client, table, text, **headers):
    path = f"/{table}()?$filter={urllib.parse.quote(text)}"
    reply = client.request("GET", path, **headers)
    assert reply.status == 200, reply
    return reply


def run(client, table, text):
    """Entities examined and returned, and seconds, over all pages."""
    examined = returned = 0
    took_s, token = 0.0, ""
    while True:
        began = time.perf_counter()
        reply = client.request("GET", f"/{table}()?$filter={urllib.parse.quote(text)}{token}")
        took_s += time.perf_counter() - began
        assert reply.status == 200, reply
        plan = dict(part.split("=") for part in reply.headers["x-tavola-plan"].split("; ")[1:])
        examined += int(plan["examined"])
        returned += int(plan["returned"])
        following = {name: reply.headers.get(f"x-ms-continuation-{name}")
                     for name in ("NextPartitionKey", "NextRowKey")}
        if following["NextPartitionKey"] is None:
            return examined, returned, took_s
        token = "&" + urllib.parse.urlencode({n: v for n, v in following.items() if v is not None})


def factor(estimate, truth):
    ratio = (estimate + 1) / (truth + 1)
    return max(ratio, 1 / ratio)


class Figures:
    def __init__(self):
        self.asked = self.inside = self.returned_inside = self.exact = self.wrong = 0
        self.factors = {"examined": [], "returned": [], "ms": []}

    def add(self, estimate, examined, returned, ms):
        def is_inside(low, value, high):
            return round(low) <= value and (high is None or value <= round(high))
        self.asked += 1
        self.inside += is_inside(estimate["low"], examined, estimate["high"])
        self.returned_inside += is_inside(estimate["returnedLow"], returned,
                                          estimate["returnedHigh"])
        if estimate["exact"]:
            self.exact += 1
            self.wrong += estimate["examined"] != examined
        self.factors["examined"].append(factor(estimate["examined"], examined))
        self.factors["returned"].append(factor(estimate["returned"], returned))
        low, high = sorted((max(estimate["ms"], LEAST_MS), max(ms, LEAST_MS)))
        self.factors["ms"].append(high / low)

    def line(self, name):
        text = (f"| {name} | {self.inside} of {self.asked} | {self.returned_inside} | "
                f"{self.exact}, {self.wrong} wrong |")
        for values in self.factors.values():
            tenths = statistics.quantiles(values, n=10)
            text += f" {statistics.median(values):.2f}, {tenths[8]:.2f} |"
        return text

    def join(self, more):
        for name in ("asked", "inside", "returned_inside", "exact", "wrong"):
            setattr(self, name, getattr(self, name) + getattr(more, name))
        for name, values in more.factors.items():
            self.factors[name] += values


def nothing_ms(client, table):
    took = []
    for _ in range(50):
        began = time.perf_counter()
        ask(client, table, "PartitionKey eq 'a' and PartitionKey eq 'b'")
        took.append(time.perf_counter() - began)
    return 1000 * statistics.median(took)


def measure(client, kind, options, chance):
    all_keys = fill(client, kind, options.entities, chance)
    idle_ms = nothing_ms(client, kind)
    halves = [Figures(), Figures()]
    for number in range(2 * options.queries):
        text = a_filter(all_keys, chance)
        estimate = ask(client, kind, text, x_tavola_explain="true").json["estimate"]
        runs = [run(client, kind, text) for _ in range(RUNS)]
        examined, returned, _ = runs[0]
        took_s = statistics.median(took_s for _, _, took_s in runs)
        halves[number // options.queries].add(estimate, examined, returned,
                                              1000 * took_s - idle_ms)
        if number == options.queries - 1:
            time.sleep(2)  # what was asked so far is a history then
    return halves


def main():
    parser = argparse.ArgumentParser(description="How good estimates of queries are.")
    parser.add_argument("--queries", type=int, default=60, help="of each half of a table (60)")
    parser.add_argument("--entities", type=int, default=20000, help="of a table (20000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--server", help="the tavolad to ask; build/tavolad")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    sums = [Figures(), Figures()]
    lines = []
    with Server(program=options.server) as server:
        client = Client(server.table_port)
        for kind in KINDS:
            halves = measure(client, kind, options, chance)
            for half, figures in enumerate(halves):
                lines.append(figures.line(f"{kind}{', with history' if half else ''}"))
                sums[half].join(figures)
        client.close()
    print("| table | examined inside | returned inside | exact | factor off, examined: median, "
          "nine of ten | returned | ms |\n|---|---|---|---|---|---|---|")
    print("\n".join(lines))
    print(sums[0].line("all"))
    print(sums[1].line("all, with history"))


if __name__ == "__main__":
    main()
