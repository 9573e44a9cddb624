"""Queries: filters with parameters of every type, select, pages, and listings of tables."""

import datetime
import uuid

from azure.data.tables import EdmType

from helpers import Case, table_name

WHEN = datetime.datetime(2019, 7, 10, 19, 0, 0, 123456, tzinfo=datetime.timezone.utc)
GUID = uuid.UUID("c9da6455-213d-42c9-9a79-3e9149a57833")


class Queries(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        values = {"string": "it's", "int32": 5, "int64": (2 ** 40, EdmType.INT64), "double": 4.1,
                  "true": True, "false": False, "when": WHEN, "guid": GUID, "binary": b"binary"}
        for name, value in values.items():
            cls.table.create_entity({"PartitionKey": "types", "RowKey": name, "value": value})
        for p in ("a", "b"):
            cls.table.submit_transaction([
                ("create", {"PartitionKey": p, "RowKey": f"{n:03}", "n": n, "even": n % 2 == 0,
                            "name": f"name {n}"}) for n in range(100)])

    def found(self, query_filter, **options):
        return [e["RowKey"] for e in self.table.query_entities(query_filter, **options)]

    def test_parameters_of_every_type(self):
        for name, value in (("string", "it's"), ("int64", 2 ** 40), ("double", 4.1),
                            ("true", True), ("false", False), ("when", WHEN), ("guid", GUID),
                            ("binary", b"binary")):
            with self.subTest(name):
                self.assertEqual(self.found("PartitionKey eq @p and value eq @v",
                                            parameters={"p": "types", "v": value}), [name])
        self.assertEqual(self.found("PartitionKey eq @p and value eq @v",
                                    parameters={"p": "types", "v": 5}), ["int32"])

    def test_an_explained_query_has_no_entities(self):
        headers = {"x-tavola-explain": "true"}
        self.assertEqual(self.found("PartitionKey eq 'a'", headers=headers), [])
        self.assertEqual(list(self.table.list_entities(headers=headers)), [])
        self.assertEqual(len(self.found("PartitionKey eq 'a'")), 100)

    def test_integer_between_int32_and_uint32_is_refused(self):
        # The SDK writes it without its L, and the service needs one.
        self.refused(400, "InvalidInput", self.found, "value eq @v", parameters={"v": 2 ** 31})

    def test_operators(self):
        for text, expected in (("n eq 7", [7]), ("n gt 97", [98, 99]), ("n ge 98", [98, 99]),
                               ("n lt 2", [0, 1]), ("n le 1", [0, 1]),
                               ("n ge 4 and n le 8 and even", [4, 6, 8]),
                               ("n lt 6 and not even", [1, 3, 5]),
                               ("n eq 3 or n eq 5", [3, 5]),
                               ("(n eq 3 or n eq 5) and n ne 3", [5])):
            with self.subTest(text):
                self.assertEqual(self.found(f"PartitionKey eq 'a' and ({text})"),
                                 [f"{n:03}" for n in expected])

    def test_range_of_row_keys(self):
        self.assertEqual(self.found("PartitionKey eq @p and RowKey ge @from and RowKey lt @to",
                                    parameters={"p": "b", "from": "010", "to": "013"}),
                         ["010", "011", "012"])

    def test_many_row_keys(self):
        keys = [f"{n:03}" for n in range(0, 200, 3)]
        text = " or ".join(f"RowKey eq '{key}'" for key in reversed(keys))
        self.assertEqual(self.found(f"PartitionKey eq 'a' and ({text})"), keys[:34])

    def test_select(self):
        entities = list(self.table.query_entities("PartitionKey eq 'a' and n lt 2",
                                                  select=["name", "missing"]))
        self.assertEqual([dict(e) for e in entities], [{"name": "name 0", "missing": None},
                                                       {"name": "name 1", "missing": None}])

    def test_pages_of_a_filter(self):
        pages = self.table.query_entities("even", results_per_page=7).by_page()
        pages = [[(e["PartitionKey"], e["n"]) for e in page] for page in pages]
        self.assertTrue(all(len(page) <= 7 for page in pages))
        self.assertEqual(sum(pages, []), [(p, n) for p in "ab" for n in range(0, 100, 2)])

    def test_continuation_token_resumes_in_a_new_call(self):
        seen, token = [], None
        while True:
            pages = self.table.query_entities("n ge @n", parameters={"n": 50},
                                              results_per_page=30).by_page(token)
            seen += [(e["PartitionKey"], e["n"]) for e in next(pages)]
            token = pages.continuation_token
            if not token:
                break
        self.assertEqual(seen, [(p, n) for p in "ab" for n in range(50, 100)])

    def test_rows_come_and_go_while_paging(self):
        table = self.service.create_table(table_name())
        for first in (0, 100):
            table.submit_transaction([("create", {"PartitionKey": "p", "RowKey": f"{n:04}", "n": n})
                                      for n in range(first, first + 100)])
        seen = []
        pages = table.query_entities("PartitionKey eq 'p' and n ge 0", results_per_page=20).by_page()
        for page in pages:
            seen += [e["RowKey"] for e in page]
            last = int(seen[-1][:4])
            if last + 1 < 200:
                table.delete_entity("p", f"{last + 1:04}")        # where the token points
            table.upsert_entity({"PartitionKey": "p", "RowKey": f"{last:04}+", "n": 0})  # after
            table.upsert_entity({"PartitionKey": "p", "RowKey": "0000+", "n": 0})        # passed
        self.assertEqual(seen, sorted(set(seen)))
        kept = [f"{n:04}" for n in range(200)]
        for key in kept:
            self.assertLessEqual(seen.count(key), 1)
        gone = set(kept) - set(seen)
        self.assertEqual(gone, set(kept) - {e["RowKey"] for e in table.list_entities()})
        table.delete_table()

    def test_refused_filters(self):
        self.refused(400, "InvalidInput", self.found, "aaa bbb ccc")
        self.refused(400, "InvalidInput", self.found, "name eq 'open")
        self.refused(501, "NotImplemented", self.found, "startswith(name, 'n')")

    def test_listing_tables_by_filter(self):
        stem = table_name()
        made = [self.service.create_table(f"{stem}t{i}").table_name for i in range(5)]

        def names(query_filter, **options):
            return [table.name for table in self.service.query_tables(query_filter, **options)]

        self.assertEqual(names("TableName eq @name", parameters={"name": made[2]}), [made[2]])
        self.assertEqual(names(f"TableName ge '{stem}t' and TableName lt '{stem}u'"), made)
        self.assertEqual(names(f"TableName eq '{made[4]}' or TableName eq '{made[0]}'"),
                         [made[0], made[4]])
        pages = self.service.query_tables(f"TableName ge '{made[1]}' and TableName lt '{stem}u'",
                                          results_per_page=2).by_page()
        pages = [[table.name for table in page] for page in pages]
        # The last page may be followed by an empty one, for other tests have tables, too.
        self.assertEqual([page for page in pages if page], [made[1:3], made[3:5]])
        for name in made:
            self.service.delete_table(name)
