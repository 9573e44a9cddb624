"""The eight property types come back exactly as they went in."""

import itertools
import math
import uuid
from datetime import datetime, timedelta, timezone

from azure.data.tables import EdmType, EntityProperty, UpdateMode

from helpers import Case

_row = itertools.count(1)


class Types(Case):
    def round_trip(self, value):
        entity = {"PartitionKey": "types", "RowKey": f"r{next(_row)}", "value": value}
        self.table.create_entity(entity)
        inserted = self.stored(entity)["value"]
        # An update takes another path through the server than an insert.
        self.table.update_entity(entity, mode=UpdateMode.REPLACE)
        updated = self.stored(entity)["value"]
        self.assertEqual(type(updated), type(inserted))
        return inserted

    def same(self, *values):
        for value in values:
            with self.subTest(repr(value)[:60]):
                got = self.round_trip(value)
                self.assertEqual(got, value)
                self.assertEqual(isinstance(got, bool), isinstance(value, bool))
                self.assertEqual(isinstance(got, float), isinstance(value, float))

    def test_strings(self):
        self.same("", "hello", "\0\1\b\f\n\r\t\x1f\x7f\u2028", "Grüße, Ελλάδα, 日本語",
                  "𝄞 😀 \U0010ffff", "2020-01-02T03:04:05Z", "AQID", '{"a":"\\u0041"}\\',
                  "é" * 32767)

    def test_booleans(self):
        self.same(True, False)

    def test_int32(self):
        self.same(0, 1, -1, 2**31 - 1, -(2**31))

    def test_int64(self):
        for n in (0, -1, 2**53 + 1, 2**63 - 1, -(2**63)):
            with self.subTest(n):
                got = self.round_trip(EntityProperty(n, EdmType.INT64))
                self.assertEqual(got, EntityProperty(n, EdmType.INT64))

    def test_doubles(self):
        self.same(0.0, 5.0, -0.1, 3.1, 1 / 3, 20.0, 123456789012345.12, 1e15, 1e16, 1e-4, 1e-5,
                  1.23456789012346e+24, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308,
                  -1.7976931348623157e308, math.inf, -math.inf)

    def test_not_a_number(self):
        self.assertTrue(math.isnan(self.round_trip(math.nan)))

    def test_dates(self):
        for date in (datetime(2026, 2, 3, 4, 5, 6, 123456, timezone.utc),
                     datetime(1601, 1, 1, tzinfo=timezone.utc),
                     datetime(9999, 12, 31, 23, 59, 59, 999999, timezone.utc),
                     datetime(2026, 2, 3, 4, 5, 6, tzinfo=timezone(timedelta(hours=2)))):
            with self.subTest(date):
                self.assertEqual(self.round_trip(date), date)

    def test_dates_to_100_ns(self):
        for sent, expected in (("2026-02-03T04:05:06.1234567Z", None),
                               ("9999-12-31T23:59:59.9999999Z", None),
                               ("2026-02-03T04:05:06.1200000Z", "2026-02-03T04:05:06.12Z"),
                               ("1973-10-04T00:00:00.000000Z", "1973-10-04T00:00:00Z")):
            with self.subTest(sent):
                got = self.round_trip(EntityProperty(sent, EdmType.DATETIME))
                self.assertEqual(got.tables_service_value, expected or sent)

    def test_guids(self):
        self.same(uuid.UUID("6f9619ff-8b86-d011-b42d-00c04fc964ff"), uuid.UUID(int=0))

    def test_binary(self):
        self.same(b"", bytes(range(256)), b"\xa5" * 65536)

    def test_none_is_not_stored(self):
        entity = {"PartitionKey": "types", "RowKey": "none", "value": None, "n": 1}
        self.table.create_entity(entity)
        self.assertEqual(self.properties(entity), {"n": 1})

    def test_properties_differ_by_case(self):
        entity = {"PartitionKey": "types", "RowKey": "case", "birthday": 1, "Birthday": 2}
        self.table.create_entity(entity)
        self.assertEqual(self.properties(entity), {"birthday": 1, "Birthday": 2})

    def test_252_properties_fit_and_253_do_not(self):
        many = {"PartitionKey": "types", "RowKey": "many", **{f"p{i}": i for i in range(252)}}
        self.table.create_entity(many)
        self.assertEqual(len(self.properties(many)), 252)
        self.refused(400, "TooManyProperties", self.table.create_entity,
                     {**many, "RowKey": "more", "p252": 252})

    def test_limits(self):
        for what, properties, code in (
                ("string", {"s": "x" * 32769}, "PropertyValueTooLarge"),
                ("binary", {"b": b"x" * 65537}, "PropertyValueTooLarge"),
                ("entity", {f"s{i}": "x" * 32000 for i in range(17)}, "EntityTooLarge"),
                ("name", {"n" * 256: 1}, "PropertyNameTooLong")):
            with self.subTest(what):
                entity = {"PartitionKey": "types", "RowKey": "over", **properties}
                self.refused(400, code, self.table.create_entity, entity)
                self.refused(404, "ResourceNotFound", self.table.get_entity, "types", "over")
