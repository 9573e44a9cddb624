"""What logs say of requests, read by a reader that was written for Azure's."""

import datetime
import email.utils
import html
import re
import subprocess
import time
import urllib.parse

import azure_log
import operations
import sas
from fixture import SERVICES, Case
from server import ACCOUNT, KEY, binary
from wire import properties

READS = ("Query", "Get", "List", "Peek", "TablePreflight", "QueuePreflight", "BlobPreflight")
DELETES = ("Delete", "Clear")


def kind_of(operation):
    return ("read" if operation.startswith(READS) else
            "delete" if operation.startswith(DELETES) else "write")


def is_logged(seen):
    """Whether a log should have it, with all kinds switched on."""
    return seen.auth != "none" or seen.status < 300 or seen.status == 304 or seen.status >= 500


def status_of(seen):
    twin = {"none": "Anonymous", "sas": "SAS"}.get(seen.auth, "")
    if seen.status < 300:
        return twin + "Success"
    if seen.code == "CorsPreflightFailure":
        return seen.code
    if seen.status in (401, 403):
        return twin + "AuthorizationError"
    version = seen.headers.get("x-ms-version", "")
    return (seen.code if version >= "2017-04-17" and seen.code else twin + "ClientOtherError")


def object_of(seen):
    """The key of what was asked for."""
    path = urllib.parse.unquote(seen.target.partition("?")[0])
    path = "/" + path.strip("/").replace("-secondary", "", 1)
    if seen.service == "queue":
        return "/".join(path.split("/")[:3])
    if seen.operation == "CreateTable":
        return f"/{ACCOUNT}/People"
    if seen.operation == "QueryTables":
        return f"/{ACCOUNT}"
    return re.sub(r"/Tables\('(\w+)'\)", r"/\1", path)


def long_date(http_date):
    if not http_date:
        return ""
    return email.utils.parsedate_to_datetime(http_date).strftime("%A, %d-%b-%y %H:%M:%S GMT")


def conditions_of(seen):
    names = ("If-Modified-Since", "If-Unmodified-Since", "If-Match", "If-None-Match")
    return ";".join(f"{name}={seen.headers[name]}" for name in names if name in seen.headers)


def expected(seen):
    """The fields of a line that are certain."""
    blob = seen.service == "blob"
    url = re.sub(r"\bsig=[^&]*", "sig=XXXXX", seen.target)
    return {
        "operation-type": seen.operation,
        "request-status": status_of(seen),
        "http-status-code": str(seen.status),
        "authentication-type": {"none": "anonymous", "sas": "sas"}.get(seen.auth, "authenticated"),
        "requester-account-name": "" if seen.auth in ("none", "sas") else ACCOUNT,
        "owner-account-name": ACCOUNT,
        "service-type": seen.service,
        "request-url": f"http://{seen.headers['Host']}{url}",
        "requested-object-key": object_of(seen),
        "request-id-header": seen.id,
        "operation-count": 0,
        "requester-ip-address": seen.local,
        "request-version-header": seen.headers.get("x-ms-version", ""),
        "request-header-size": seen.request_head,
        "response-header-size": seen.response_head,
        "response-packet-size": len(seen.body),
        "request-content-length": seen.request_body,
        "request-md5": seen.headers.get("Content-MD5", "") if blob else "",
        "server-md5": seen.reply.get("content-md5", "") if blob else "",
        "etag-identifier": seen.reply.get("etag", ""),
        "last-modified-time": long_date(seen.reply.get("last-modified")) if blob else "",
        "conditions-used": conditions_of(seen),
        "user-agent-header": seen.headers["User-Agent"],
        "referrer-header": seen.headers.get("Referer", "").replace("sig=secret", "sig=XXXXX"),
        "client-request-id": seen.headers["x-ms-client-request-id"],
    }


class Logs(Case):
    def compare(self, seen, record):
        """A line against what the client saw; times lie within its own."""
        self.assertEqual({name: record[name] for name in expected(seen)}, expected(seen))
        # What is refused by its head has no body that anybody reads.
        read = record["request-packet-size"]
        self.assertIn(read, {seen.request_body} if seen.status < 300 else {0, seen.request_body})
        start = azure_log.start_time(record).timestamp()
        self.assertTrue(seen.begin - 0.1 <= start <= seen.end + 0.1, (seen.begin, start, seen.end))
        self.assertLessEqual(record["server-latency-in-ms"], record["end-to-end-latency-in-ms"])
        # The server may see the end of its answer later than the client; but before it is in a log.
        self.assertLessEqual(record["end-to-end-latency-in-ms"],
                             (time.time() - seen.begin) * 1000 + 100)

    def run_all(self, version="1.0"):
        for service in SERVICES:
            self.set(service, log="rwd", version="1.0" if service == "table" else version)
            operations.RUN[service](self.wire(service), properties(
                log="rwd", version="1.0" if service == "table" else version))

    def test_every_operation_has_a_line_that_says_what_its_client_saw(self):
        self.run_all()
        wanted = [seen for seen in self.seen if is_logged(seen)]
        by_id = self.logged(wanted)
        for seen in wanted:
            with self.subTest(repr(seen)):
                self.compare(seen, by_id[seen.id])
        unwanted = {seen.id for seen in self.seen} - {seen.id for seen in wanted}
        self.assertFalse(unwanted & set(by_id), "requests of strangers that failed are logged")
        self.assertGreater(len(wanted), 90)

    def test_the_requests_above_are_of_every_operation(self):
        output = subprocess.run([binary(), "--operations"], check=True, capture_output=True,
                                text=True).stdout
        rows = {tuple(line.split("\t")[:2]) for line in output.splitlines()[1:]}
        self.run_all()
        self.assertEqual({(seen.service, seen.operation) for seen in self.seen
                          if "Preflight" not in seen.operation}, rows)
        # All of them have succeeded at least once, but the one that cannot.
        good = {(seen.service, seen.operation) for seen in self.seen if seen.status < 300}
        self.assertEqual(rows - good, {("blob", "AbortCopyBlob")})

    def test_version_2_appends_eight_fields_that_only_oauth_fills(self):
        self.run_all(version="2.0")
        wanted = [seen for seen in self.seen if is_logged(seen)
                  and not seen.operation.startswith("Set")]
        by_id = self.logged(wanted)
        for seen in wanted:
            record = by_id[seen.id]
            self.assertEqual(record["version-number"], "1.0" if seen.service == "table" else "2.0")
            if seen.service != "table":
                self.compare(seen, record)
                self.assertEqual([record[name] for name in azure_log.FIELDS_2], [""] * 8)
        for service in ("queue", "blob"):
            versions = {metadata["LogVersion"] for metadata in self.logs(service + "/").values()}
            self.assertIn("2.0", versions)

    def test_names_and_metadata_tell_what_is_in_a_blob(self):
        self.run_all()
        self.logged([seen for seen in self.seen if is_logged(seen)])
        for service in SERVICES:
            logs, numbers = self.logs(f"{service}/"), {}
            for name, records in self.records(service).items():
                if name not in logs:
                    continue
                found = re.fullmatch(r"(\w+)/(\d{4}/\d\d/\d\d/\d\d)00/(\d{6})\.log", name)
                self.assertTrue(found and found[1] == service, name)
                numbers.setdefault(found[2], []).append(int(found[3]))
                kinds = {kind_of(record["operation-type"]) for record in records}
                starts = sorted(azure_log.start_time(record).strftime("%Y-%m-%dT%H:%M:%SZ")
                                for record in records)
                self.assertEqual(logs[name], {
                    "LogType": ",".join(kind for kind in ("read", "write", "delete")
                                        if kind in kinds),
                    "StartTime": starts[0], "EndTime": starts[-1], "LogVersion": "1.0"})
            for hour in numbers.values():
                self.assertEqual(hour, list(range(len(hour))), "numbers without gaps, from 0")

    def test_only_the_kinds_that_are_on_are_logged(self):
        for log, kinds in (("r", {"read"}), ("w", {"write"}), ("d", {"delete"}),
                           ("rd", {"read", "delete"})):
            with self.subTest(log):
                self.seen.clear()
                for service in SERVICES:
                    self.set(service, log=log)
                    operations.RUN[service](self.wire(service), properties(log=log))
                wanted = [seen for seen in self.seen
                          if is_logged(seen) and kind_of(seen.operation) in kinds]
                by_id = self.logged(wanted)
                ids = {seen.id for seen in self.seen}
                self.assertEqual({kind_of(record["operation-type"]) for key, record in
                                  by_id.items() if key in ids}, kinds)

    def test_a_sas_is_logged_without_its_signature(self):
        self.set("table", log="rwd")
        self.set("blob", log="rwd")
        self.table.ask("CreateTable", "POST", "/Tables", {"TableName": "People"})
        token = sas.account_sas(KEY, ACCOUNT, ss="tb", srt="sco", sp="rwdlacu", se="2099-01-01")
        secret = urllib.parse.parse_qs(token)["sig"][0]
        self.table.ask("QueryEntities", "GET", "/People()", sas=token)
        self.table.ask("QueryEntity", "GET", "/People(PartitionKey='a',RowKey='b')", sas=token)
        self.table.ask("QueryEntities", "GET", "/People()", sas=token.replace("sp=r", "sp=l"))
        # Its name may be written in other ways, which do not open anything.
        odd = self.blob.ask("GetBlob", "GET", f"/c/b?s%69g={urllib.parse.quote(secret)}")
        self.blob.ask("ListContainers", "GET", "/?comp=list", sas=token)
        page = self.blob.ask("ListContainers", "GET", "/?comp=list",
                             Referer=f"http://a.example/?{token}")
        coded = urllib.parse.quote(token, safe="")
        lost = self.blob.ask("GetBlob", "GET", f"/c/b%3F{coded}",
                             Referer=f"http://a.example/?next={coded}")
        wanted = [seen for seen in self.seen if seen not in (odd, page, lost)]
        by_id = self.logged(self.seen)
        for seen in wanted:
            with self.subTest(repr(seen)):
                self.compare(seen, by_id[seen.id])
        self.assertIn("sig=XXXXX", by_id[odd.id]["request-url"])
        self.assertIn("sig=XXXXX", by_id[page.id]["referrer-header"])
        for field in ("request-url", "referrer-header", "requested-object-key"):
            self.assertIn("sig=XXXXX", by_id[lost.id][field])
        quoted = urllib.parse.quote(secret, safe="")
        for text in (secret, quoted, urllib.parse.quote(quoted), html.escape(secret)):
            self.assertNotIn(text, repr(by_id))

    def test_what_a_client_makes_long_is_cut_and_logged(self):
        self.set("table", log="rwd")
        wanted = {}
        for what, headers in (
                ("62,000 quotes", {"User-Agent": '"' * 62_000}),
                ("42,500 quotes", {"Referer": '"' * 42_500}),
                ("all at once", {name: "<" * 9000 for name in
                                 ("User-Agent", "Referer", "If-None-Match", "Content-MD5")}),
                ("a character at the cut", {"User-Agent": "x" * 1023 + "\u00e9" * 500})):
            wanted[what] = self.table.ask("QueryTables", "GET", "/Tables", **headers)
        wanted["a query"] = self.table.ask(
            "QueryTables", "GET", "/Tables?x=" + "%22" * 9000 + "&sig=secret")
        wanted["a signature at the cut"] = self.table.ask(
            "QueryTables", "GET", "/Tables?x=" + "y" * 1016 + "&sig=secret")
        by_id = self.logged(wanted.values())
        for what, seen in wanted.items():
            with self.subTest(what):
                record = by_id[seen.id]
                self.assertLess(sum(len(str(text)) for text in record.values()), 8192)
                self.assertNotIn("secret", repr(record))
        for what, field, text in (("62,000 quotes", "user-agent-header", '"' * 1024),
                                  ("42,500 quotes", "referrer-header", '"' * 1024),
                                  ("a character at the cut", "user-agent-header", "x" * 1023)):
            self.assertTrue(by_id[wanted[what].id][field] == text, what)
        self.assertEqual(self.metrics()["dropped_lines"], 0)

    def test_an_object_with_the_longest_name_is_logged_whole(self):
        self.set("blob", log="rwd")
        self.blob.ask("CreateContainer", "PUT", "/longest?restype=container")
        name = "\u00e9" * 512
        seen = self.blob.ask("GetBlob", "GET", "/longest/" + urllib.parse.quote(name))
        self.assertEqual(self.logged([seen])[seen.id]["requested-object-key"],
                         f"/{ACCOUNT}/longest/{name}")

    def test_a_stop_writes_what_is_there(self):
        self.restart("--test-points", "--test-values", "analytics-ms=3600000")
        self.set("table", log="rwd")
        self.table.ask("CreateTable", "POST", "/Tables", {"TableName": "People"})
        wanted = list(self.seen)
        self.assertEqual(self.logs(), {}, "nothing is written before it is time")
        self.restart()
        self.seen.extend(wanted)
        self.logged(wanted)

    def test_numbers_go_on_after_a_restart(self):
        self.set("table", log="rwd")
        wanted = []
        for _ in range(3):
            wanted.append(self.table.ask("QueryTables", "GET", "/Tables"))
            self.restart()
        self.logged(wanted)
        by_hour = {}
        for name in self.logs("table/"):
            by_hour.setdefault(name[:-10], []).append(int(name[-10:-4]))
        for numbers in by_hour.values():
            self.assertEqual(numbers, list(range(len(numbers))))

    def test_a_crash_loses_no_more_than_what_was_not_written(self):
        self.set("table", log="rwd")
        first = self.table.ask("CreateTable", "POST", "/Tables", {"TableName": "People"})
        self.logged([first])
        self.close()
        self.server.kill()
        self.server.start()
        self.connect()
        self.logged([first])
        second = self.table.ask("QueryTables", "GET", "/Tables")
        self.logged([first, second])

    def test_nothing_is_recorded_while_it_is_off(self):
        for service in SERVICES:
            operations.RUN[service](self.wire(service), properties())
        self.assertEqual(self.metrics()["records"], 0)
        self.assertEqual(self.logs(), {})
        self.assertEqual(self.look_blob.ask("", "GET", "/$logs?restype=container").status, 404)

    def test_another_account_has_none_of_it(self):
        self.set("table", log="rwd")
        stranger = self.table.ask("QueryTables", "GET", "/Tables", auth="none")
        self.assertIn(stranger.status, (401, 403))
        mine = self.table.ask("QueryTables", "GET", "/Tables")
        by_id = self.logged([mine])
        self.assertNotIn(stranger.id, by_id)
        self.assertEqual({record["owner-account-name"] for record in by_id.values()}, {ACCOUNT})

    def test_the_hour_is_that_of_the_end(self):
        self.set("table", log="rwd")
        before = datetime.datetime.now(datetime.timezone.utc)
        seen = self.table.ask("QueryTables", "GET", "/Tables")
        self.logged([seen])
        after = datetime.datetime.now(datetime.timezone.utc)
        hours = {name[6:19] for name in self.logs("table/")}
        self.assertTrue(hours <= {now.strftime("%Y/%m/%d/%H") for now in (before, after)}, hours)
