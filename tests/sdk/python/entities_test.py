"""One entity at a time: insert, read, update, upsert, delete, and their conditions."""

import itertools
import urllib.parse

from azure.core import MatchConditions
from azure.core.exceptions import (ResourceExistsError, ResourceModifiedError,
                                   ResourceNotFoundError)
from azure.data.tables import UpdateMode

from helpers import ETAG_FORM, STALE, Case, table_name

MODES = ((UpdateMode.MERGE, {"a": 1, "b": 20, "c": 3}),
         (UpdateMode.REPLACE, {"b": 20, "c": 3}))
_row = itertools.count(1)


def fresh(**properties):
    return {"PartitionKey": "p", "RowKey": f"r{next(_row)}", **properties}


def changed(entity):
    return {"PartitionKey": entity["PartitionKey"], "RowKey": entity["RowKey"], "b": 20, "c": 3}


class Entities(Case):
    def condition(self, etag):
        return {"etag": etag, "match_condition": MatchConditions.IfNotModified}

    def test_insert_and_read(self):
        entity = fresh(name="Ada", age=36)
        etag = self.table.create_entity(entity)["etag"]
        self.assertRegex(etag, ETAG_FORM)
        got = self.stored(entity)
        self.assertEqual(dict(got), entity)
        self.assertEqual(got.metadata["etag"], etag)
        # The etag and the timestamp are the same instant.
        self.assertEqual(urllib.parse.unquote(etag)[12:-2],
                         got.metadata["timestamp"].tables_service_value)

    def test_insert_twice_is_a_conflict_and_changes_nothing(self):
        entity = fresh(n=1)
        self.table.create_entity(entity)
        self.refused(409, "EntityAlreadyExists", self.table.create_entity, {**entity, "n": 2},
                     kind=ResourceExistsError)
        self.assertEqual(self.properties(entity), {"n": 1})

    def test_reading_what_is_not_there(self):
        self.refused(404, "ResourceNotFound", self.table.get_entity, "p", "none",
                     kind=ResourceNotFoundError)
        nowhere = self.service.get_table_client(table_name())
        self.refused(404, "TableNotFound", nowhere.get_entity, "p", "r",
                     kind=ResourceNotFoundError)
        self.refused(404, "TableNotFound", nowhere.create_entity, fresh(),
                     kind=ResourceNotFoundError)

    def test_update_of_anything(self):
        for mode, expected in MODES:
            with self.subTest(mode):
                entity = fresh(a=1, b=2)
                first = self.table.create_entity(entity)["etag"]
                second = self.table.update_entity(changed(entity), mode=mode)["etag"]
                self.assertRegex(second, ETAG_FORM)
                self.assertNotEqual(first, second)
                self.assertEqual(self.properties(entity), expected)

    def test_update_with_the_right_etag(self):
        for mode, expected in MODES:
            with self.subTest(mode):
                entity = fresh(a=1, b=2)
                etag = self.table.create_entity(entity)["etag"]
                self.table.update_entity(changed(entity), mode=mode, **self.condition(etag))
                self.assertEqual(self.properties(entity), expected)

    def test_update_with_a_stale_etag_changes_nothing(self):
        for mode, _ in MODES:
            with self.subTest(mode):
                entity = fresh(a=1, b=2)
                old = self.table.create_entity(entity)["etag"]
                self.table.update_entity(entity, mode=UpdateMode.MERGE)
                for etag in (old, STALE):
                    self.refused(412, "UpdateConditionNotSatisfied", self.table.update_entity,
                                 changed(entity), mode=mode, kind=ResourceModifiedError,
                                 **self.condition(etag))
                self.assertEqual(self.properties(entity), {"a": 1, "b": 2})

    def test_update_of_what_is_not_there(self):
        for mode, _ in MODES:
            with self.subTest(mode):
                self.refused(404, "ResourceNotFound", self.table.update_entity, fresh(a=1),
                             mode=mode, kind=ResourceNotFoundError)

    def test_upsert_inserts_then_updates(self):
        for mode, expected in MODES:
            with self.subTest(mode):
                entity = fresh(a=1, b=2)
                self.assertRegex(self.table.upsert_entity(entity, mode=mode)["etag"], ETAG_FORM)
                self.assertEqual(self.properties(entity), {"a": 1, "b": 2})
                self.table.upsert_entity(changed(entity), mode=mode)
                self.assertEqual(self.properties(entity), expected)

    def test_delete_of_anything(self):
        entity = fresh()
        self.table.create_entity(entity)
        self.table.delete_entity(entity)
        self.refused(404, "ResourceNotFound", self.table.get_entity, entity["PartitionKey"],
                     entity["RowKey"], kind=ResourceNotFoundError)

    def test_delete_with_etags(self):
        entity = fresh()
        etag = self.table.create_entity(entity)["etag"]
        self.refused(412, "UpdateConditionNotSatisfied", self.table.delete_entity, entity,
                     kind=ResourceModifiedError, **self.condition(STALE))
        self.table.delete_entity(entity, **self.condition(etag))
        self.refused(404, "ResourceNotFound", self.table.get_entity, entity["PartitionKey"],
                     entity["RowKey"], kind=ResourceNotFoundError)

    def test_select(self):
        entity = fresh(a=1, b=2)
        self.table.create_entity(entity)
        got = self.table.get_entity(entity["PartitionKey"], entity["RowKey"], select=["b"])
        self.assertEqual(dict(got), {"b": 2})

    def test_odd_keys(self):
        for key in ("it's", "''a''''b'", "100%", "x-%20-%27", " a b ",
                    "a:b@c+d,e$f=g&h;i!j*k(l)[m]", 'a"b{c}<d>|^`~', "Grüße-日本語",
                    "clef-𝄞-😀"):
            with self.subTest(key):
                entity = {"PartitionKey": key, "RowKey": key, "n": 1}
                self.table.create_entity(entity)
                self.assertEqual(dict(self.stored(entity)), entity)
                self.table.update_entity({**entity, "n": 2}, mode=UpdateMode.REPLACE)
                self.table.upsert_entity({"PartitionKey": key, "RowKey": key, "m": 3})
                self.assertEqual([dict(e) for e in self.in_partition(key)],
                                 [{**entity, "n": 2, "m": 3}])
                self.table.delete_entity(key, key)
                self.assertEqual(self.in_partition(key), [])

    def test_empty_keys(self):
        # Old versions of the SDK leave empty keys out of what they return.
        self.table.create_entity({"PartitionKey": "", "RowKey": "", "n": 1})
        keys = {"PartitionKey": "", "RowKey": ""}
        self.assertEqual({**keys, **self.table.get_entity("", "")}, {**keys, "n": 1})
        self.table.upsert_entity({"PartitionKey": "", "RowKey": "", "n": 2})
        self.assertEqual([{**keys, **e} for e in self.in_partition("")], [{**keys, "n": 2}])
        self.table.delete_entity("", "")
        self.assertEqual(self.in_partition(""), [])
