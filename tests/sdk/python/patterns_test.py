"""Patterns of the table design guide that need queues and blobs in addition to tables."""

import json
import multiprocessing
import threading

from azure.core import MatchConditions
from azure.core.exceptions import ResourceExistsError, ResourceModifiedError, ResourceNotFoundError
from azure.storage.blob import BlobClient

import archive_worker
from helpers import connect, needs_clock, pass_time, table_name
from storage import OPTIONS, StorageCase, key, some_bytes


class Pattern(StorageCase):
    def new_table(self):
        table = connect().create_table(table_name())
        self.addCleanup(table.delete_table)
        return table


class EventuallyConsistentTransactions(Pattern):
    """Archive employees: a worker takes the message, copies, deletes, deletes the message."""

    def work(self, current, archive, queue, crash_after, visibility_timeout):
        said, says = multiprocessing.Pipe(duplex=False)
        worker = multiprocessing.get_context("fork").Process(target=archive_worker.main, args=(
            says.send, current.table_name, archive.table_name, queue.queue_name,
            visibility_timeout, crash_after))
        worker.start()
        says.close()
        try:
            return said.recv()
        finally:
            worker.kill()
            worker.join()
            said.close()

    def has(self, table):
        return any(entity["RowKey"] == "456" for entity in table.list_entities())

    @needs_clock
    def test_killed_worker(self):
        """Wherever a worker is killed, the next one finishes what it began."""
        begun = []
        for step in ("get", "insert", "delete"):
            places = self.new_table(), self.new_table(), self.new_queue()
            current, archive, queue = places
            current.create_entity({"PartitionKey": "Sales", "RowKey": "456", "Age": 42})
            sent = queue.send_message(json.dumps({"partition_key": "Sales", "row_key": "456"}))
            with self.subTest(f"killed after {step}"):
                self.assertEqual(self.work(*places, step, 600), f"{step} {sent.id} 1")
                self.assertIsNone(queue.receive_message())
                self.assertEqual((self.has(current), self.has(archive)),
                                 (step != "delete", step != "get"))
            begun.append((step, places, sent.id))
        pass_time(601)
        for step, places, message in begun:
            current, archive, queue = places
            with self.subTest(f"finished after {step}"):
                self.assertEqual(self.work(*places, "all", 60), f"all {message} 2")
                self.assertFalse(self.has(current))
                self.assertEqual(archive.get_entity("Sales", "456")["Age"], 42)
                self.assertEqual(queue.get_queue_properties().approximate_message_count, 0)

    def test_poison_message(self):
        queue, poison = self.new_queue(), self.new_queue()
        queue.send_message("this is no JSON")
        while True:
            message = queue.receive_message()
            if message.dequeue_count > 3:
                poison.send_message(message.content)
                queue.delete_message(message)
                break
            queue.update_message(message, visibility_timeout=0)
        self.assertEqual(poison.receive_message().content, "this is no JSON")
        self.assertIsNone(queue.receive_message())


class LargeEntities(Pattern):
    def test_photo_is_a_blob(self):
        table, photos, photo = self.new_table(), self.new_container(), some_bytes(2_000_000)
        blob = photos.upload_blob("Sales/1/photo.jpg", photo)
        table.create_entity({"PartitionKey": "Sales", "RowKey": "1", "Photo": blob.url})
        url = table.get_entity("Sales", "1")["Photo"]
        there = BlobClient.from_blob_url(url, credential=key(), **OPTIONS)
        self.assertEqual(there.download_blob().readall(), photo)


class IndexBlobs(Pattern):
    """A blob per last name holds the keys of the employees that have it."""

    def setUp(self):
        self.table, self.index = self.new_table(), self.new_container()

    def keys(self, last_name):
        return json.loads(self.index.download_blob(last_name).readall())

    def add(self, last_name, keys):
        """Read, change, write if nobody else wrote, else from the start."""
        blob = self.index.get_blob_client(last_name)
        while True:
            try:
                stream = blob.download_blob()
                content = json.dumps(json.loads(stream.readall()) + [keys])
                blob.upload_blob(content, overwrite=True, etag=stream.properties.etag,
                                 match_condition=MatchConditions.IfNotModified)
                return
            except ResourceNotFoundError:
                pass
            except ResourceModifiedError:
                continue
            try:
                blob.upload_blob(json.dumps([keys]))
                return
            except ResourceExistsError:
                continue

    def test_writers_at_the_same_time(self):
        def employ(i):
            entity = {"PartitionKey": ("Sales", "Marketing")[i % 2], "RowKey": str(i),
                      "LastName": "Jones"}
            self.table.create_entity(entity)
            self.add("Jones", [entity["PartitionKey"], entity["RowKey"]])

        threads = [threading.Thread(target=employ, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        keys = self.keys("Jones")
        self.assertEqual(sorted(int(row) for _, row in keys), list(range(8)))
        for partition, row in keys:
            self.assertEqual(self.table.get_entity(partition, row)["LastName"], "Jones")


class LogData(Pattern):
    def test_logs_are_found_by_prefix(self):
        logs = self.new_container()
        for hour in ("1700", "1800", "1900"):
            log = logs.get_blob_client(f"queue/2014/07/31/{hour}/000001.log")
            log.create_append_blob()
            for i in range(3):
                log.append_block(f"1.0;{hour};{i}\n")
        found = [blob.name for blob in logs.list_blobs(name_starts_with="queue/2014/07/31/1800")]
        self.assertEqual(found, ["queue/2014/07/31/1800/000001.log"])
        self.assertEqual(logs.download_blob(found[0]).readall(),
                         b"1.0;1800;0\n1.0;1800;1\n1.0;1800;2\n")
