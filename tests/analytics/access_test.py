"""Who may do what to the data of analytics: its owner reads and deletes it, and no more."""

import re

import sas
from fixture import Case, until
from server import ACCOUNT, KEY
from wire import properties

DENIED = (403, "InsufficientAccountPermissions")
TEXT = (b"The account being accessed does not have sufficient permissions to execute this "
        b"operation.")
HOURS = "$MetricsHourPrimaryTransactionsTable"
ROW = {"PartitionKey": "20260101T0000", "RowKey": "user;All", "TotalRequests": 7}
ENTITY = f"/{HOURS}(PartitionKey='20260101T0000',RowKey='user%3BAll')"
ACL = b'<?xml version="1.0" encoding="utf-8"?><SignedIdentifiers />'
LEASE = {"x_ms_lease_action": "acquire", "x_ms_lease_duration": "-1"}

TABLE_CHANGES = [
    ("POST", "/Tables", {"TableName": HOURS}, {}),
    ("POST", "/Tables", {"TableName": "$MetricsCapacityBlob"}, {}),
    ("POST", "/Tables", {"TableName": "$metricsminutesecondarytransactionsqueue"}, {}),
    ("DELETE", f"/Tables('{HOURS}')", b"", {}),
    ("DELETE", "/Tables('$MetricsTransactionsTable')", b"", {}),
    ("PUT", f"/{HOURS}?comp=acl", ACL, {}),
    ("POST", f"/{HOURS}", ROW, {}),
    ("POST", f"/{HOURS.lower()}", ROW, {}),
    ("PUT", ENTITY, {"TotalRequests": 8}, {}),
    ("PUT", ENTITY, {"TotalRequests": 8}, {"If_Match": "*"}),
    ("PATCH", ENTITY, {"TotalRequests": 8}, {}),
    ("MERGE", ENTITY, {"TotalRequests": 8}, {"If_Match": "*"}),
]
BLOB_CHANGES = [
    ("PUT", "/$logs?restype=container", b"", {}),
    ("DELETE", "/$logs?restype=container", b"", {}),
    ("PUT", "/$logs?restype=container&comp=metadata", b"", {"x_ms_meta_a": "1"}),
    ("PUT", "/$logs?restype=container&comp=acl", ACL, {"x_ms_blob_public_access": "blob"}),
    ("PUT", "/$logs?restype=container&comp=lease", b"", LEASE),
    ("PUT", "/$logs/table/mine.log", b"lie", {"x_ms_blob_type": "BlockBlob"}),
    ("PUT", "/$logs/table/mine.log?comp=block&blockid=b25l", b"lie", {}),
    ("PUT", "/$logs/table/mine.log?comp=blocklist", b"<BlockList/>", {}),
    ("PUT", "/$logs/{log}", b"lie", {"x_ms_blob_type": "BlockBlob"}),
    ("PUT", "/$logs/{log}", b"", {"x_ms_copy_source": "{base}/films/a"}),
    ("PUT", "/$logs/{log}?comp=metadata", b"", {"x_ms_meta_a": "1"}),
    ("PUT", "/$logs/{log}?comp=properties", b"", {}),
    ("PUT", "/$logs/{log}?comp=snapshot", b"", {}),
    ("PUT", "/$logs/{log}?comp=lease", b"", LEASE),
]


class Access(Case):
    def setUp(self):
        super().setUp()
        self.set("table", log="rwd", hour=True, minute=True)
        self.set("blob", log="rwd", hour=True)
        self.table.ask("QueryTables", "GET", "/Tables")
        self.blob.ask("CreateContainer", "PUT", "/films?restype=container")
        self.blob.ask("PutBlob", "PUT", "/films/a", b"data", x_ms_blob_type="BlockBlob")
        self.log = min(until("a log", lambda: self.logs("table/")))
        until("a row", lambda: self.rows(HOURS))

    def refused(self, reply):
        self.assertEqual((reply.status, reply.code), DENIED, reply)
        self.assertIn(TEXT, reply.body)

    def test_no_table_of_metrics_can_be_changed(self):
        for method, path, body, headers in TABLE_CHANGES:
            with self.subTest(f"{method} {path}"):
                self.refused(self.table.ask("", method, path, body, **headers))

    def test_not_even_within_a_batch(self):
        part = (f"POST /{ACCOUNT}/{HOURS} HTTP/1.1\r\nContent-Type: application/json\r\n"
                "Accept: application/json;odata=nometadata\r\n\r\n"
                '{"PartitionKey":"a","RowKey":"b"}\r\n')
        body = ("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n"
                "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
                f"{part}--c--\r\n--b--\r\n").encode()
        reply = self.table.ask("", "POST", "/$batch", body,
                               Content_Type="multipart/mixed; boundary=b")
        self.assertEqual(reply.status, 202, reply)
        self.assertIn(b"HTTP/1.1 403", reply.body)
        self.assertIn(b"InsufficientAccountPermissions", reply.body)
        self.assertNotIn(("a", "b"), self.rows(HOURS))

    def test_no_log_can_be_changed(self):
        names = {"log": self.log, "base": self.server.blob_url}
        for method, path, body, headers in BLOB_CHANGES:
            with self.subTest(f"{method} {path}"):
                headers = {name: value.format(**names) for name, value in headers.items()}
                self.refused(self.blob.ask("", method, path.format(**names), body, **headers))

    def test_lists_do_not_show_them(self):
        self.table.ask("CreateTable", "POST", "/Tables", {"TableName": "People"})
        tables = self.table.ask("", "GET", "/Tables").json["value"]
        self.assertEqual([table["TableName"] for table in tables], ["People"])
        self.assertEqual(self.table.ask(
            "", "GET", f"/Tables?$filter=TableName%20eq%20'{HOURS}'").json["value"], [])
        for query in ("", "&prefix=$", "&prefix=$logs", "&maxresults=1"):
            reply = self.blob.ask("", "GET", f"/?comp=list{query}")
            names = re.findall(rb"<Name>(.*?)</Name>", reply.body)
            self.assertEqual(names, [] if "prefix" in query else [b"films"])

    def test_a_list_with_the_containers_of_the_system_shows_the_logs(self):
        for query, wanted in (("include=system", [b"$logs", b"films"]),
                              ("include=metadata%2Csystem", [b"$logs", b"films"]),
                              ("include=system&prefix=$", [b"$logs"]),
                              ("include=system&maxresults=1", [b"$logs"]),
                              ("include=system&maxresults=1&marker=films", [b"films"])):
            reply = self.blob.ask("", "GET", f"/?comp=list&{query}")
            self.assertEqual(re.findall(rb"<Name>(.*?)</Name>", reply.body), wanted, query)

    def test_their_owner_reads_them_by_name(self):
        table = self.table.ask("", "GET", f"/Tables('{HOURS}')")
        self.assertEqual((table.status, table.json["TableName"]), (200, HOURS))
        self.assertEqual(self.table.ask("", "GET", f"/{HOURS.upper()}()").status, 200)
        self.assertEqual(self.table.ask("", "GET", f"/{HOURS}?comp=acl").status, 200)
        for path in ("/$logs?restype=container", "/$logs?restype=container&comp=acl",
                     f"/$logs/{self.log}", f"/$logs/{self.log}?comp=metadata",
                     f"/$logs/{self.log}?comp=blocklist"):
            self.assertEqual(self.blob.ask("", "GET", path).status, 200, path)
        copy = self.blob.ask("", "PUT", "/films/copy",
                             x_ms_copy_source=f"{self.server.blob_url}/$logs/{self.log}")
        self.assertEqual(copy.status, 202, copy)

    def test_their_owner_deletes_what_is_in_them(self):
        self.assertEqual(self.blob.ask("", "DELETE", f"/$logs/{self.log}").status, 202)
        self.assertEqual(self.blob.ask("", "GET", f"/$logs/{self.log}").status, 404)
        # Rows of this hour come back with the next requests.  One of another hour would not.
        self.restart(ahead_s=3 * 3600)
        old = min(self.rows(HOURS))
        path = f"/{HOURS}(PartitionKey='{old[0]}',RowKey='{old[1].replace(';', '%3B')}')"
        self.assertEqual(self.table.ask("", "GET", path).status, 200)
        self.assertEqual(self.table.ask("", "DELETE", path, If_Match="*").status, 204)
        self.assertEqual(self.table.ask("", "GET", path).status, 404)

    def test_a_sas_reads_and_deletes_and_no_more(self):
        rights = {"sp": "raud", "se": "2099-01-01"}
        token = sas.table_sas(KEY, ACCOUNT, tn=HOURS, **rights)
        self.assertEqual(self.table.ask("", "GET", f"/{HOURS}()", sas=token).status, 200)
        self.refused(self.table.ask("", "POST", f"/{HOURS}", ROW, sas=token))
        reads = sas.table_sas(KEY, ACCOUNT, tn=HOURS, sp="r", se="2099-01-01")
        self.assertEqual(self.table.ask("", "DELETE", ENTITY, sas=reads, If_Match="*").code,
                         "AuthorizationPermissionMismatch")
        self.assertEqual(self.table.ask("", "DELETE", ENTITY, sas=token, If_Match="*").status, 404)
        logs = sas.blob_sas(KEY, ACCOUNT, "$logs", sp="rwdl", se="2099-01-01")
        listed = self.blob.ask("", "GET", "/$logs?restype=container&comp=list", sas=logs)
        self.assertIn(self.log.encode(), listed.body)
        self.assertEqual(self.blob.ask("", "GET", f"/$logs/{self.log}", sas=logs).status, 200)
        self.refused(self.blob.ask("", "PUT", f"/$logs/{self.log}", b"lie", sas=logs,
                                   x_ms_blob_type="BlockBlob"))
        self.assertEqual(self.blob.ask("", "DELETE", f"/$logs/{self.log}", sas=logs).status, 202)

    def test_strangers_learn_nothing_of_them(self):
        for path in (f"/{HOURS}()", "/$MetricsHourSecondaryTransactionsQueue()"):
            self.assertEqual(self.table.ask("", "GET", path, auth="none").code,
                             "NoAuthenticationInformation")
        for path in ("/$logs?restype=container&comp=list", f"/$logs/{self.log}"):
            self.assertEqual(self.blob.ask("", "GET", path, auth="none").code,
                             "NoAuthenticationInformation")

    def test_other_names_with_a_dollar_are_no_names(self):
        for name in ("$Metrics", "$MetricsHourPrimaryTransactionsFile", "$logs"):
            self.assertEqual(self.table.ask("", "POST", "/Tables", {"TableName": name}).code,
                             "InvalidResourceName", name)
        self.assertEqual(self.table.ask("", "GET", "/$MetricsMinuteSecondaryTransactionsBlob()")
                         .code, "TableNotFound")

    def test_switched_off_they_stay_and_stay_closed(self):
        self.table.ask("", "PUT", "/?restype=service&comp=properties", properties())
        self.blob.ask("", "PUT", "/?restype=service&comp=properties", properties())
        self.refused(self.blob.ask("", "DELETE", "/$logs?restype=container"))
        self.refused(self.table.ask("", "DELETE", f"/Tables('{HOURS}')"))
        self.assertTrue(self.logs("table/"))
