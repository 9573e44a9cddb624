"""Listing: 2,500 entities over 50 partitions, in order, by pages and by partition."""

from helpers import Case

PARTITIONS = ROWS = 50


class Paging(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.expected = []
        for p in range(PARTITIONS):
            entities = [{"PartitionKey": f"part-{p}", "RowKey": f"row-{r}", "n": p * ROWS + r}
                        for r in range(ROWS)]
            cls.table.submit_transaction([("create", e) for e in entities])
            cls.expected += [(e["PartitionKey"], e["RowKey"]) for e in entities]
        # The service's order is ordinal: part-1, part-10, part-11, ..., part-2.
        cls.expected.sort()

    def keys(self, entities):
        return [(e["PartitionKey"], e["RowKey"]) for e in entities]

    def test_whole_table_in_the_order_of_its_keys(self):
        self.assertEqual(self.keys(self.table.list_entities()), self.expected)

    def test_page_holds_1000_entities(self):
        sizes = [len(list(page)) for page in self.table.list_entities().by_page()]
        self.assertEqual(sizes, [1000, 1000, 500])

    def test_pages_of_a_size(self):
        for size in (1000, 333, 50):
            with self.subTest(size):
                seen = []
                for page in self.table.list_entities(results_per_page=size).by_page():
                    page = self.keys(page)
                    self.assertLessEqual(len(page), size)
                    seen += page
                self.assertEqual(seen, self.expected)

    def test_continuation_token_resumes_in_a_new_call(self):
        seen, token = [], None
        while True:
            pages = self.table.list_entities(results_per_page=400).by_page(token)
            seen += self.keys(next(pages))
            token = pages.continuation_token
            if not token:
                break
        self.assertEqual(seen, self.expected)

    def test_one_partition(self):
        expected = [key for key in self.expected if key[0] == "part-7"]
        self.assertEqual(self.keys(self.in_partition("part-7")), expected)
        seen = []
        query = self.table.query_entities("PartitionKey eq @key", parameters={"key": "part-7"},
                                          results_per_page=7)
        for page in query.by_page():
            page = self.keys(page)
            self.assertLessEqual(len(page), 7)
            seen += page
        self.assertEqual(seen, expected)

    def test_partition_that_does_not_exist_is_empty(self):
        self.assertEqual(self.in_partition("part-"), [])

    def test_tokens_of_odd_keys(self):
        table = self.service.create_table(self.table.table_name + "odd")
        # In the service's order, which is that of UTF-16: the emoji is D83D DE00.
        keys = ["", " ", "%", "'", "+", "=", "é", "日", "😀", "～"]
        for key in keys:
            for row in keys:
                table.create_entity({"PartitionKey": key, "RowKey": row})
        seen = []
        for page in table.list_entities(results_per_page=1).by_page():
            seen += [(e.get("PartitionKey", ""), e.get("RowKey", "")) for e in page]
        self.assertEqual(seen, [(p, r) for p in keys for r in keys])
        table.delete_table()
