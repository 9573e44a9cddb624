"""Measure queries: pages, scans that find nothing, and point reads by filter and in large tables."""

import random
import re
import time
import urllib.parse

import table_client

from measurement import Measurement, cpu_s

TABLE = "queries"
PAGE_ROWS = 1000
ENTITY_BYTES = 245  # of JSON with minimal metadata, as a client gets it
SCAN_ROWS = 200000
SMALL_ROWS, LARGE_ROWS = 10000, 1000000
READ_KEYS = 50000  # point reads in a load, far more than a hot few
FULL = {"Accept": "application/json;odata=minimalmetadata"}


def entity(partition, number, note=""):
    return {"PartitionKey": partition, "RowKey": f"r{number:07}", "Name": "Ada Lovelace",
            "Visits": number, "Active": True, "Note": note}


def fill(client, table, partition, count, note=""):
    for first in range(0, count, 100):
        reply = client.batch(table, [entity(partition, n, note)
                                     for n in range(first, min(first + 100, count))])
        assert reply.status == 202, reply


def filter_path(table, text):
    return f"/{table}()?$filter={urllib.parse.quote(text)}"


def note_for(client):
    """The text that makes an entity of the page as large as wanted."""
    assert client.insert(TABLE, entity("sample", 0)).status == 204
    reply = client.request("GET", filter_path(TABLE, "PartitionKey eq 'sample'"), **FULL)
    size = len(reply.body) - reply.body.index(b"[") - 2
    return "x" * (ENTITY_BYTES - size)


class Queries:
    def __init__(self, options, report, bench, server):
        self.options, self.report, self.bench, self.server = options, report, bench, server
        self.client = table_client.Client(server.table_port)
        self.pid = server.process.pid
        assert self.client.create_table(TABLE).status == 204
        self.note = note_for(self.client)

    def load(self, name, paths, size=1, target=""):
        """Rounds of wrk with these paths; returns the measurement."""
        port = self.server.table_port
        requests = [self.bench.head(self.client, "GET", path, port) + "\r\n" for path in paths]
        file = self.bench.write("queries", "\0".join(requests))
        numbers = Measurement()
        for _ in range(self.options.rounds):
            self.bench.wrk(numbers, [self.pid], f"http://127.0.0.1:{port}/", "reads.lua", file)
        self.report.load(name, size, numbers, None, target)
        print(f"{name}: {numbers.rate:,.0f}/s, {numbers.cpu_us:.1f} us of CPU", flush=True)
        return numbers

    def fact(self, what, measured, target):
        self.report.fact(what, measured, target)
        print(f"{what}: {measured} ({target})", flush=True)

    def pages(self):
        fill(self.client, TABLE, "page", PAGE_ROWS, self.note)
        path = filter_path(TABLE, "PartitionKey eq 'page'")
        reply = self.client.request("GET", path, **FULL)
        size = (len(reply.body) - reply.body.index(b"[")) / PAGE_ROWS
        numbers = self.load(f"page of {PAGE_ROWS:,}", [path], PAGE_ROWS)
        self.fact(f"CPU per entity of a page ({size:.0f} bytes of JSON)",
                  f"{numbers.cpu_us / PAGE_ROWS:.2f} us", "<= 1.0 us")

    def scan(self):
        """One client that asks for what is not there, page by page."""
        fill(self.client, TABLE, "scan", SCAN_ROWS, self.note)
        path = filter_path(TABLE, "PartitionKey eq 'scan' and Visits eq -1")
        token, examined, pages = "", 0, 0
        self.client.request("GET", path)  # once to warm up
        before, began = cpu_s([self.pid]), time.monotonic()
        while token or time.monotonic() - began < self.options.seconds:
            reply = self.client.request("GET", path + token)
            assert reply.status == 200 and reply.json["value"] == [], reply
            examined += int(re.search(r"examined=(\d+)", reply.headers["x-tavola-plan"])[1])
            pages += 1
            next_row = reply.headers["x-ms-continuation-NextRowKey"]
            token = "" if next_row is None else "&" + urllib.parse.urlencode(
                {"NextPartitionKey": reply.headers["x-ms-continuation-NextPartitionKey"],
                 "NextRowKey": next_row})
        used = cpu_s([self.pid]) - before
        self.fact(f"entities examined per second of CPU ({pages} scans of {SCAN_ROWS:,})",
                  f"{examined / used / 1e6:.2f} M", ">= 1.5 M")

    def point_by_filter(self):
        keys = [f"r{n:07}" for n in range(PAGE_ROWS)]
        direct = self.load("point read by URL",
                           [table_client.key_path(TABLE, "page", key) for key in keys])
        by_filter = self.load("point read by $filter", [
            filter_path(TABLE, f"PartitionKey eq 'page' and RowKey eq '{key}'") for key in keys])
        self.fact("CPU of a point read by $filter, relative to the direct one",
                  f"{by_filter.cpu_us / direct.cpu_us:.2f}", "<= 1.3")

    def point_in(self, rows):
        """Point reads all over a table of this many entities, in 100 partitions."""
        table = f"rows{rows}"
        assert self.client.create_table(table).status == 204
        began = time.monotonic()
        for partition in range(100):
            fill(self.client, table, f"p{partition}", rows // 100)
        print(f"{rows:,} entities stored in {time.monotonic() - began:.0f} s", flush=True)
        time.sleep(2)  # for what the store does in the background
        numbers = random.Random(1)
        return self.load(f"point read among {rows:,}", [
            table_client.key_path(table, f"p{numbers.randrange(100)}",
                                  f"r{numbers.randrange(rows // 100):07}")
            for _ in range(READ_KEYS)])

    def point_in_large_table(self):
        small, large = self.point_in(SMALL_ROWS), self.point_in(LARGE_ROWS)
        self.fact(f"CPU of a point read among {LARGE_ROWS:,}, relative to one among {SMALL_ROWS:,}",
                  f"{large.cpu_us / small.cpu_us:.2f}", "<= 1.5")


def measure(options, report, bench, server):
    queries = Queries(options, report, bench, server)
    queries.pages()
    queries.point_by_filter()
    queries.scan()
    if options.large:
        queries.point_in_large_table()
    queries.client.close()
