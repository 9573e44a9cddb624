"""The tables of metrics against a model that counts what the client saw."""

import datetime
import time

import operations
from fixture import SERVICES, Case, until
from wire import properties

RESULTS = ("Success", "ThrottlingError", "ClientTimeoutError", "ServerTimeoutError",
           "ClientOtherError", "ServerOtherError", "AuthorizationError", "NetworkError")
TWINS = ("", "Anonymous", "SAS")
COUNTERS = [twin + result for result in RESULTS for twin in TWINS]
NOT_BILLED = {twin + result for twin in TWINS
              for result in ("ThrottlingError", "ServerTimeoutError", "ServerOtherError")}
NOT_BILLED.add("AnonymousAuthorizationError")
NOT_IN_AVAILABILITY = {twin + "ThrottlingError" for twin in TWINS} | {"AnonymousAuthorizationError"}
PERCENTS = {"PercentSuccess": ["Success"], "PercentThrottlingError": ["ThrottlingError"],
            "PercentTimeoutError": ["ClientTimeoutError", "ServerTimeoutError"],
            "PercentServerOtherError": ["ServerOtherError"],
            "PercentClientOtherError": ["ClientOtherError"],
            "PercentAuthorizationError": ["AuthorizationError"],
            "PercentNetworkError": ["NetworkError"]}
COLUMNS = {"PartitionKey", "RowKey", "Timestamp", "TotalIngress", "TotalEgress", "TotalRequests",
           "TotalBillableRequests", "Availability", "AverageE2ELatency", "AverageServerLatency",
           *PERCENTS, *COUNTERS}


def counter_of(seen):
    twin = {"none": "Anonymous", "sas": "SAS"}.get(seen.auth, "")
    if seen.status < 300:
        return twin + "Success"
    if seen.status in (401, 403) and seen.code != "CorsPreflightFailure":
        return twin + "AuthorizationError"
    return twin + "ClientOtherError"


class Model:
    """What the rows of one table, of all its hours or minutes together, must add up to."""

    def __init__(self):
        self.counters = dict.fromkeys(COUNTERS, 0)
        self.ingress = [0, 0]  # at least, at most: some failures do not read their body
        self.egress = 0
        self.begin = time.time()  # of the first

    def count(self, seen):
        self.counters[counter_of(seen)] += 1
        self.ingress[0] += seen.request_head + (seen.request_body if seen.status < 300 else 0)
        self.ingress[1] += seen.request_head + seen.request_body
        self.egress += seen.response_head + len(seen.body)
        self.begin = min(self.begin, seen.begin)


def model_of(requests):
    """{RowKey: Model}."""
    rows = {}
    for seen in requests:
        for key in ("user;All", f"user;{seen.operation}"):
            rows.setdefault(key, Model()).count(seen)
    return rows


class Metrics(Case):
    def run_all(self, **what):
        """All operations with metrics on, then off; {(service, is secondary): requests}."""
        counted = {}
        for service in SERVICES:
            self.seen.clear()
            self.set(service, **what)
            looks = [seen for wire in (self.look_table, self.look_blob) for seen in wire.seen
                     if wire.service == service and seen.begin >= self.seen[0].begin]
            operations.RUN[service](self.wire(service), properties(**what))
            all_of_it = [seen for seen in self.seen if seen.service == service]
            self.set(service)  # off: what comes now is not counted
            for seen in looks:
                seen.operation = "QueryTable" if service == "table" else "GetContainerProperties"
            for seen in all_of_it + looks:
                counted.setdefault((service, "-secondary" in seen.target), []).append(seen)
        return counted

    def table_of(self, span, service, is_secondary):
        place = "Secondary" if is_secondary else "Primary"
        return f"$Metrics{span}{place}Transactions{service.title()}"

    def total(self, table, key):
        return sum(int(row["TotalRequests"]) for (_, row_key), row in self.rows(table).items()
                   if row_key == key)

    def check_row(self, row):
        """What holds in every row by itself."""
        self.assertEqual(set(row), COLUMNS)
        counts = {name: int(row[name]) for name in COUNTERS}
        requests = sum(counts.values())
        billed = sum(count for name, count in counts.items() if name not in NOT_BILLED)
        available = sum(count for name, count in counts.items()
                        if name not in NOT_IN_AVAILABILITY)
        self.assertEqual(int(row["TotalRequests"]), requests)
        self.assertEqual(int(row["TotalBillableRequests"]), billed)
        self.assertAlmostEqual(row["Availability"], 100 * billed / available if available else 100)
        for name, results in PERCENTS.items():
            part = sum(counts[twin + result] for twin in TWINS for result in results)
            self.assertAlmostEqual(row[name], 100 * part / requests if requests else 0)
        for name in ("Availability", "AverageE2ELatency", "AverageServerLatency", *PERCENTS):
            self.assertIsInstance(row[name], float)

    def check_table(self, table, requests):
        model = model_of(requests)
        until(f"{len(requests)} requests in {table}",
              lambda: self.total(table, "user;All") == len(requests))
        rows = self.rows(table)
        self.assertEqual({key for _, key in rows} - {"system;All"}, set(model))
        for key, wanted in model.items():
            found = [row for (_, row_key), row in rows.items() if row_key == key]
            for name in COUNTERS:
                self.assertEqual(sum(int(row[name]) for row in found), wanted.counters[name],
                                 f"{table} {key} {name}")
            self.assertEqual(sum(int(row["TotalEgress"]) for row in found), wanted.egress, key)
            ingress = sum(int(row["TotalIngress"]) for row in found)
            self.assertTrue(wanted.ingress[0] <= ingress <= wanted.ingress[1], key)
            for row in found:
                self.assertLessEqual(row["AverageServerLatency"], row["AverageE2ELatency"] + 0.001)
                # The server may see the end of its answer later than the client; but before now.
                self.assertLessEqual(row["AverageE2ELatency"],
                                     (time.time() - wanted.begin) * 1000 + 100)
        for row in rows.values():
            self.check_row(row)

    def test_rows_equal_the_counts_of_a_model(self):
        counted = self.run_all(hour=True, minute=True)
        for (service, is_secondary), requests in counted.items():
            for span in ("Hour", "Minute"):
                with self.subTest(f"{span} {service} {is_secondary}"):
                    self.check_table(self.table_of(span, service, is_secondary), requests)
        self.assertEqual(self.rows("$MetricsTransactionsBlob"),
                         self.rows("$MetricsHourPrimaryTransactionsBlob"), "the older name")

    def test_partitions_are_the_hours_and_minutes_of_the_requests(self):
        before = datetime.datetime.now(datetime.timezone.utc)
        self.run_all(hour=True, minute=True)
        after = datetime.datetime.now(datetime.timezone.utc)
        for span, form in (("Hour", "%Y%m%dT%H00"), ("Minute", "%Y%m%dT%H%M")):
            table = self.table_of(span, "table", False)
            until("rows", lambda table=table: self.total(table, "user;CreateTable"))
            for partition, _ in self.rows(table):
                self.assertTrue(before.strftime(form) <= partition <= after.strftime(form),
                                partition)

    def test_without_apis_there_are_two_rows(self):
        counted = self.run_all(hour=True, apis=False)
        table = self.table_of("Hour", "table", False)
        until("rows", lambda: self.total(table, "user;All") == len(counted["table", False]))
        self.assertEqual({key for _, key in self.rows(table)}, {"user;All", "system;All"})
        self.assertEqual(self.rows(self.table_of("Minute", "table", False)), {})

    def test_counts_go_on_after_a_restart(self):
        self.set("queue", hour=True)
        table = self.table_of("Hour", "queue", False)
        for _ in range(3):
            for _ in range(7):
                self.queue.ask("ListQueues", "GET", "/?comp=list")
            self.restart()
        until("21 requests", lambda: self.total(table, "user;ListQueues") == 21)

    def test_the_average_of_many_parts_is_that_of_the_whole(self):
        self.set("queue", hour=True)
        table = self.table_of("Hour", "queue", False)
        for count in range(1, 11):
            self.queue.ask("ListQueues", "GET", "/?comp=list")
            until("one more", lambda count=count: self.total(table, "user;ListQueues") == count)
        averages = [row["AverageE2ELatency"] for (_, key), row in self.rows(table).items()
                    if key == "user;ListQueues"]
        if len(averages) == 1:  # a new hour has not begun meanwhile
            micros = averages[0] * 1000 * 10
            self.assertAlmostEqual(micros, round(micros), places=3)

    def test_an_hour_without_requests_has_rows_of_zeros(self):
        self.set("queue", hour=True)
        table = self.table_of("Hour", "queue", False)
        self.restart(ahead_s=3600)
        wanted = until("the next hour", lambda: {
            key: row for key, row in self.rows(table).items()
            if key[1] == "user;All" and int(row["TotalRequests"]) == 0})
        for row in wanted.values():
            self.check_row(row)
            self.assertEqual(row["Availability"], 100)
        self.assertIn("system;All", {key for _, key in self.rows(table)})

    def test_own_writes_are_counted_apart(self):
        self.set("blob", log="rwd", hour=True)
        self.set("table", hour=True)
        self.blob.ask("CreateContainer", "PUT", "/films?restype=container")
        for service in ("blob", "table"):
            table = self.table_of("Hour", service, False)

            def some(table=table, service=service):
                self.wire(service).ask("", "GET", "/?restype=service&comp=properties")
                return self.total(table, "system;All")
            until("writes of analytics", some)

    def test_capacity_has_two_rows_a_day(self):
        self.blob.ask("CreateContainer", "PUT", "/films?restype=container")
        for name, size in (("a", 1000), ("b", 70000), ("c", 0)):
            self.blob.ask("PutBlob", "PUT", f"/films/{name}", b"x" * size,
                          x_ms_blob_type="BlockBlob")
        # A snapshot shares the data of its blob, until that gets another.
        self.blob.ask("SnapshotBlob", "PUT", "/films/a?comp=snapshot")
        self.blob.ask("SnapshotBlob", "PUT", "/films/b?comp=snapshot")
        self.blob.ask("PutBlob", "PUT", "/films/b", b"y" * 10, x_ms_blob_type="BlockBlob")
        self.blob.ask("PutBlock", "PUT", "/films/d?comp=block&blockid=b25l", b"uncommitted")
        self.set("blob", hour=True)
        rows = until("both rows", lambda: (lambda rows: rows if len(rows) >= 2 else None)(
            self.rows("$MetricsCapacityBlob")))
        today = {key: {name: int(row[name]) for name in ("Capacity", "ContainerCount",
                                                         "ObjectCount")}
                 for (day, key), row in rows.items() if day == max(rows)[0]}
        self.assertEqual(today, {
            "data": {"Capacity": 1000 + 70000 + 10, "ContainerCount": 1, "ObjectCount": 4},
            "analytics": {"Capacity": 0, "ContainerCount": 0, "ObjectCount": 0}})
        self.restart(ahead_s=24 * 3600)
        until("the next day", lambda: len({day for day, _ in self.rows("$MetricsCapacityBlob")})
              == 2)
        for day, _ in self.rows("$MetricsCapacityBlob"):
            self.assertRegex(day, r"^\d{8}T0000$")
