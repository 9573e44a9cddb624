"""Entity group transactions: all of it or nothing, and which operation failed."""

import itertools
from unittest import mock

from azure.core import MatchConditions
from azure.data.tables import TableTransactionError, UpdateMode
from azure.data.tables._table_batch import TableBatchOperations

from helpers import ETAG_FORM, Case, table_name

_part = itertools.count(1)


def rows(count, **properties):
    partition = f"part {next(_part)}"
    return [{"PartitionKey": partition, "RowKey": f"{i:03}", **properties} for i in range(count)]


class Transactions(Case):
    def fails(self, status, code, index, operations, table=None):
        """The transaction must fail at that operation, and the error must say so."""
        error = self.refused(status, code, (table or self.table).submit_transaction, operations,
                             kind=TableTransactionError)
        self.assertEqual(error.index, index)
        return error

    def present(self, entities):
        return [(e["RowKey"], e.get("n")) for e in self.in_partition(entities[0]["PartitionKey"])]

    def test_100_inserts(self):
        entities = rows(100, n=1)
        replies = self.table.submit_transaction([("create", e) for e in entities])
        self.assertEqual(len(replies), 100)
        for reply, entity in zip(replies, self.in_partition(entities[0]["PartitionKey"])):
            self.assertRegex(reply["etag"], ETAG_FORM)
            self.assertEqual(reply["etag"], entity.metadata["etag"])

    def test_large_ones_are_answered_like_small_ones(self):
        entities = rows(60, n=1, text="x" * 10_000)  # prepared off the network threads
        replies = self.table.submit_transaction([("create", e) for e in entities])
        self.assertEqual(len(replies), 60)
        self.assertEqual(len(self.present(entities)), 60)

        self.fails(409, "EntityAlreadyExists", 0, [("create", e) for e in entities])
        self.fails(404, "ResourceNotFound", 59,
                   [("upsert", e) for e in entities[:59]]
                   + [("update", {**entities[59], "RowKey": "none"})])
        self.fails(400, "PropertyValueTooLarge", 30,
                   [("upsert", {**e, "text": "x" * (33_000 if i == 30 else 10_000)})
                    for i, e in enumerate(entities)])
        self.fails(404, "TableNotFound", 0, [("create", e) for e in entities],
                   self.service.get_table_client(table_name()))

    def test_merges_into_large_entities(self):
        """Each sends little; what they write again is made off the committer, up to 8 MiB."""
        large = {f"P{i:02}": "x" * 32_000 for i in range(15)}
        entities = rows(20, **large)
        for entity in entities:
            self.table.create_entity(entity)
        changes = [{"PartitionKey": e["PartitionKey"], "RowKey": e["RowKey"], "n": 7}
                   for e in entities]
        merges = [("update", c, {"mode": UpdateMode.MERGE}) for c in changes]
        replies = self.table.submit_transaction(merges[:10])
        for reply, entity in zip(replies, self.in_partition(entities[0]["PartitionKey"])):
            self.assertEqual(reply["etag"], entity.metadata["etag"])
            self.assertEqual((entity["n"], len(entity["P14"])), (7, 32_000))
        with self.assertRaises(TableTransactionError) as caught:
            self.table.submit_transaction(merges)
        self.assertIn("17:The entities that the merges", str(caught.exception))
        self.assertEqual([n for _, n in self.present(entities)], [7] * 10 + [None] * 10)
        changes[3]["RowKey"] = "none"
        self.fails(404, "ResourceNotFound", 3, [merges[i] for i in range(10)])
        self.table.update_entity({**changes[12], "n": 9}, mode=UpdateMode.MERGE)
        self.assertEqual(self.present(entities)[12], ("012", 9))

    def test_101_are_refused(self):
        entities = rows(101)
        self.fails(400, "InvalidInput", 99, [("create", e) for e in entities])
        self.assertEqual(self.present(entities), [])

    def test_every_kind_together(self):
        entities = rows(6, n=1, m=1)
        a, b, c, d, e, f = entities
        for entity in (a, b, c, d, e):
            self.table.create_entity(entity)
        etag = self.stored(b).metadata["etag"]

        def change(entity):
            return {"PartitionKey": entity["PartitionKey"], "RowKey": entity["RowKey"], "n": 2}

        self.table.submit_transaction([
            ("delete", a),
            ("update", change(b), {"mode": UpdateMode.MERGE, "etag": etag,
                                   "match_condition": MatchConditions.IfNotModified}),
            ("update", change(c), {"mode": UpdateMode.REPLACE}),
            ("upsert", change(d), {"mode": UpdateMode.MERGE}),
            ("upsert", change(e), {"mode": UpdateMode.REPLACE}),
            ("create", f),
        ])
        got = [(x["RowKey"], x["n"], x.get("m")) for x in self.in_partition(a["PartitionKey"])]
        self.assertEqual(got, [("001", 2, 1), ("002", 2, None), ("003", 2, 1), ("004", 2, None),
                               ("005", 1, 1)])

    def test_conflict_names_its_operation_and_applies_nothing(self):
        entities = rows(5, n=1)
        self.table.create_entity(entities[3])
        error = self.fails(409, "EntityAlreadyExists", 3,
                           [("create", {**e, "n": 2}) for e in entities])
        self.assertIn("The specified entity already exists.", error.message)
        self.assertEqual(self.present(entities), [("003", 1)])

    def test_stale_etag_names_its_operation_and_applies_nothing(self):
        a, b = rows(2, n=1)
        etag = self.table.create_entity(a)["etag"]
        self.table.update_entity({**a, "n": 2})
        self.fails(412, "UpdateConditionNotSatisfied", 1, [
            ("create", b),
            ("update", {**a, "n": 3}, {"etag": etag,
                                       "match_condition": MatchConditions.IfNotModified})])
        self.assertEqual(self.present([a]), [("000", 2)])

    def test_missing_entity_names_its_operation_and_applies_nothing(self):
        a, b = rows(2)
        self.fails(404, "ResourceNotFound", 1, [("create", a), ("delete", b)])
        self.fails(404, "ResourceNotFound", 1, [("create", a), ("update", b)])
        self.assertEqual(self.present([a]), [])

    def test_bad_entity_names_its_operation_and_applies_nothing(self):
        entities = rows(3)
        entities[2]["s"] = "x" * 32769
        self.fails(400, "PropertyValueTooLarge", 2, [("create", e) for e in entities])
        self.assertEqual(self.present(entities), [])

    def test_same_entity_twice_is_refused(self):
        (a,) = rows(1)
        self.fails(400, "InvalidDuplicateRow", 1, [("create", a), ("upsert", a)])
        self.assertEqual(self.present([a]), [])

    def test_two_partitions_are_refused_by_the_sdk_and_by_the_server(self):
        (a,), (b,) = rows(1), rows(1)
        operations = [("create", a), ("create", b)]
        with self.assertRaises(ValueError):
            self.table.submit_transaction(operations)
        with mock.patch.object(TableBatchOperations, "_verify_partition_key"):
            self.fails(400, "CommandsInBatchActOnDifferentPartitions", 1, operations)
        self.assertEqual(self.present([a]) + self.present([b]), [])

    def test_missing_table(self):
        nowhere = self.service.get_table_client(table_name())
        self.fails(404, "TableNotFound", 0, [("create", e) for e in rows(2)], table=nowhere)

    def test_single_operation(self):
        (a,) = rows(1)
        self.table.submit_transaction([("create", a)])
        self.fails(409, "EntityAlreadyExists", 0, [("create", a)])

    def test_odd_keys_and_text_in_a_transaction(self):
        entity = {"PartitionKey": "it's 100% 日本語 😀", "RowKey": "a''b%27",
                  "text": "line\r\n--changeset\r\n\r\nHTTP/1.1 200 OK 𝄞", "data": bytes(range(256))}
        self.table.submit_transaction([("create", entity)])
        self.assertEqual(dict(self.stored(entity)), entity)

    def test_over_4_mib_is_refused(self):
        entities = rows(100, a="x" * 30000, b="x" * 30000)
        with self.assertRaises(TableTransactionError) as caught:
            self.table.submit_transaction([("create", e) for e in entities])
        self.assertEqual(caught.exception.status_code, 413)
        self.assertEqual(self.present(entities), [])
