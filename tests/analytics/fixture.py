"""A server with analytics that writes often, and the three services of its account."""

import re
import time
import unittest
import urllib.parse
import urllib.request

import azure_log
from server import Server
from wire import Wire, properties

SERVICES = ("table", "queue", "blob")
OFTEN = ("--test-points", "--test-values", "analytics-ms=100")


def until(what, condition, wait_s=60):
    """Wait for a condition, and return what it returned."""
    deadline = time.monotonic() + wait_s
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"never: {what}")
        time.sleep(0.05)


class Case(unittest.TestCase):
    FLAGS = OFTEN
    maxDiff = None

    def setUp(self):
        self.server = Server(*self.FLAGS).start()
        self.addCleanup(self.end)
        self.connect()

    def connect(self):
        self.seen = []
        server = self.server
        self.table = Wire("table", server.table_port, self.seen)
        self.queue = Wire("queue", server.queue_port, self.seen)
        self.blob = Wire("blob", server.blob_port, self.seen)
        # What looks at analytics uses connections of its own, whose requests nobody compares.
        self.look_table = Wire("table", server.table_port)
        self.look_blob = Wire("blob", server.blob_port)

    def close(self):
        for wire in (self.table, self.queue, self.blob, self.look_table, self.look_blob):
            wire.close()

    def end(self):
        self.close()
        code = self.server.stop()
        log = self.server.log()
        self.server.clean()
        self.assertEqual(code, 0, log[-3000:])

    def restart(self, *flags, ahead_s=0):
        """Again, with other flags, and with a clock that is ahead."""
        self.close()
        self.assertEqual(self.server.stop(), 0, self.server.log()[-3000:])
        self.server.flags = list(flags or self.FLAGS)
        if ahead_s:
            self.server.flags[-1] += f",clock-ms={ahead_s * 1000}"
        self.server.start()
        self.connect()
        for wire in (self.table, self.queue, self.blob, self.look_table, self.look_blob):
            wire.ahead_s = ahead_s

    def wire(self, service):
        return {"table": self.table, "queue": self.queue, "blob": self.blob}[service]

    def set(self, service, **what):
        """Set Service Properties, and wait until the places it asks for are there."""
        seen = self.wire(service).ask(f"Set{service.title()}ServiceProperties", "PUT",
                                      "/?restype=service&comp=properties", properties(**what))
        self.assertEqual(seen.status, 202, seen)
        name = service.title()
        if what.get("log"):
            until("$logs", lambda: self.look_blob.ask(
                "", "GET", "/$logs?restype=container").status == 200)
        for span in ("Hour", "Minute"):
            if what.get(span.lower()):
                until("metrics", lambda span=span: self.look_table.ask(
                    "", "GET", f"/Tables('$Metrics{span}PrimaryTransactions{name}')").status == 200)
        return seen

    def logs(self, prefix=""):
        """{name of a log blob: its metadata}."""
        reply = self.look_blob.ask("", "GET", "/$logs?restype=container&comp=list"
                                   f"&include=metadata&prefix={urllib.parse.quote(prefix)}")
        if reply.status == 404:
            return {}
        found = {}
        for xml in re.findall(r"<Blob>.*?</Blob>", reply.body.decode("utf-8-sig")):
            name = re.search("<Name>(.*?)</Name>", xml)[1]
            metadata = re.search("<Metadata>(.*)</Metadata>", xml)
            found[name] = dict(re.findall(r"<(\w+)>([^<]*)</", metadata[1] if metadata else ""))
        return found

    def records(self, service):
        """{name of a log blob: its records}."""
        found = {}
        for name in self.logs(f"{service}/"):
            reply = self.look_blob.ask("", "GET", "/$logs/" + name)
            if reply.status == 404:
                continue  # it was old, and has gone since it was listed
            self.assertEqual(reply.status, 200)
            found[name] = azure_log.records(reply.body)
        return found

    def logged(self, wanted):
        """{request id: record} of all logs, once they have all of these requests."""
        ids = {seen.id for seen in wanted}

        def look():
            by_id = {}
            for service in {seen.service for seen in wanted}:
                for records in self.records(service).values():
                    by_id.update((record["request-id-header"], record) for record in records)
            return by_id if ids <= set(by_id) else None
        return until(f"{len(ids)} requests in the logs", look)

    def rows(self, table):
        """{(PartitionKey, RowKey): row} of a table of metrics."""
        reply = self.look_table.ask("", "GET", f"/{table}()",
                                    Accept="application/json;odata=nometadata")
        if reply.status == 404:
            return {}
        return {(row["PartitionKey"], row["RowKey"]): row for row in reply.json["value"]}

    def metrics(self):
        """{name: value} of the admin port's counters of analytics."""
        with urllib.request.urlopen(self.server.admin_url + "/metrics") as reply:
            text = reply.read().decode()
        return {name: int(value) for name, value in
                re.findall(r"^tavola_analytics_(\w+)_total (\d+)$", text, re.M)}
