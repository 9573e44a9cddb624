"""Microsoft's own client for Python switches analytics on, and reads and deletes what it writes."""

import datetime

import azure_log
from azure.core.exceptions import HttpResponseError
from azure.data.tables import (TableAnalyticsLogging, TableMetrics, TableRetentionPolicy,
                               TableServiceClient)
from azure.storage.blob import (BlobAnalyticsLogging, BlobServiceClient, Metrics, RetentionPolicy)
from fixture import Case, until

HOURS = "$MetricsHourPrimaryTransactionsTable"


class Sdk(Case):
    def setUp(self):
        super().setUp()
        string = self.server.connection_string
        self.tables = TableServiceClient.from_connection_string(string, retry_total=0)
        self.blobs = BlobServiceClient.from_connection_string(string, retry_total=0)
        self.addCleanup(self.tables.close)
        self.addCleanup(self.blobs.close)
        self.tables.set_service_properties(
            analytics_logging=TableAnalyticsLogging(
                read=True, write=True, delete=True,
                retention_policy=TableRetentionPolicy(enabled=True, days=5)),
            hour_metrics=TableMetrics(enabled=True, include_apis=True,
                                      retention_policy=TableRetentionPolicy(enabled=False)))
        self.blobs.set_service_properties(
            analytics_logging=BlobAnalyticsLogging(
                version="2.0", read=True, write=True, delete=True,
                retention_policy=RetentionPolicy(enabled=False)),
            hour_metrics=Metrics(enabled=True, include_apis=True))
        until("$logs", self.blobs.get_container_client("$logs").exists)

    def logs_of_the_hour(self, service):
        """The guide's way to the logs of an hour: their names begin with it."""
        now = datetime.datetime.now(datetime.timezone.utc)
        container = self.blobs.get_container_client("$logs")
        return list(container.list_blobs(
            name_starts_with=now.strftime(f"{service}/%Y/%m/%d/%H00/"), include=["metadata"]))

    def test_logs_of_an_hour_are_found_by_their_prefix_and_read(self):
        people = self.tables.create_table("People")

        def look():
            people.upsert_entity({"PartitionKey": "Sales", "RowKey": "1"})
            lines = []
            for blob in self.logs_of_the_hour("table"):
                self.assertEqual(set(blob.metadata),
                                 {"LogType", "StartTime", "EndTime", "LogVersion"})
                data = self.blobs.get_blob_client("$logs", blob.name).download_blob().readall()
                lines += azure_log.records(data)
            return [line for line in lines if line["operation-type"] == "InsertOrMergeEntity"]
        agents = {line["user-agent-header"] for line in until("lines of upserts", look)}
        self.assertTrue(all("azsdk-python-data-tables" in agent for agent in agents), agents)

    def test_logs_are_deleted_but_not_written(self):
        self.tables.create_table("People")
        blob = until("a log", lambda: self.logs_of_the_hour("table"))[0]
        client = self.blobs.get_blob_client("$logs", blob.name)
        for change in (lambda: client.upload_blob(b"lie", overwrite=True),
                       lambda: client.set_blob_metadata({"LogType": "lie"}),
                       lambda: self.blobs.delete_container("$logs"),
                       lambda: self.blobs.create_container("$logs")):
            with self.assertRaises(HttpResponseError) as caught:
                change()
            self.assertEqual((caught.exception.status_code, caught.exception.error_code.value),
                             (403, "InsufficientAccountPermissions"))
        client.delete_blob()
        self.assertFalse(client.exists())
        self.assertEqual([c.name for c in self.blobs.list_containers()], [])

    def test_metrics_are_read_and_deleted(self):
        hours = self.tables.get_table_client(HOURS)

        def look():
            self.tables.create_table_if_not_exists("People")
            try:
                return list(hours.query_entities("RowKey eq 'user;All' and TotalRequests gt 0L"))
            except HttpResponseError:
                return None
        row = until("a row", look)[0]
        self.assertRegex(row["PartitionKey"], r"^\d{8}T\d\d00$")
        self.assertIsInstance(row["Availability"], float)
        self.assertGreater(row["TotalEgress"].value, 0)
        with self.assertRaises(HttpResponseError) as caught:
            hours.create_entity({"PartitionKey": "20260101T0000", "RowKey": "user;All"})
        self.assertEqual(caught.exception.status_code, 403)
        hours.delete_entity(row)
        self.assertEqual([table.name for table in self.tables.list_tables()], ["People"])
