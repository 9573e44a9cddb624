"""Tables: create, list, delete, and the names that are refused."""

from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError

from helpers import Case, table_name


class Tables(Case):
    def names(self):
        return [table.name for table in self.service.list_tables()]

    def test_created_table_is_listed_until_deleted(self):
        name = table_name()
        self.service.create_table(name)
        self.assertIn(name, self.names())
        self.service.delete_table(name)
        self.assertNotIn(name, self.names())

    def test_creating_twice_is_a_conflict(self):
        self.refused(409, "TableAlreadyExists", self.service.create_table,
                     self.table.table_name, kind=ResourceExistsError)

    def test_name_that_differs_in_case_is_the_same_table(self):
        self.refused(409, "TableAlreadyExists", self.service.create_table,
                     self.table.table_name.upper(), kind=ResourceExistsError)

    def test_create_if_not_exists(self):
        name = table_name()
        self.service.create_table_if_not_exists(name)
        self.service.create_table_if_not_exists(name)
        self.assertEqual(self.names().count(name), 1)
        self.service.delete_table(name)

    def test_deleting_what_is_not_there_is_no_error_for_the_sdk(self):
        self.service.delete_table(table_name())

    def test_deleted_table_is_gone_and_comes_back_empty(self):
        table = self.service.create_table(table_name())
        table.create_entity({"PartitionKey": "p", "RowKey": "r"})
        table.delete_table()
        self.refused(404, "TableNotFound", table.get_entity, "p", "r", kind=ResourceNotFoundError)
        table.create_table()
        self.refused(404, "ResourceNotFound", table.get_entity, "p", "r",
                     kind=ResourceNotFoundError)
        self.assertEqual(list(table.list_entities()), [])
        table.delete_table()

    def test_bad_names(self):
        # The SDK turns the service's two refusals of a name into a ValueError.
        for what, name in (("too short", "ab"), ("too long", "a" * 64),
                           ("a digit first", "1table"), ("an underscore", "my_table")):
            with self.subTest(what), self.assertRaisesRegex(ValueError, "[Tt]able names"):
                self.service.create_table(name)

    def test_listing_by_pages_gives_every_table_once(self):
        made = [self.service.create_table(table_name()).table_name for _ in range(5)]
        seen = []
        for page in self.service.list_tables(results_per_page=2).by_page():
            names = [table.name for table in page]
            self.assertLessEqual(len(names), 2)
            seen += names
        self.assertEqual(len(set(seen)), len(seen))
        self.assertLessEqual(set(made), set(seen))
        for name in made:
            self.service.delete_table(name)
