"""Accounts and keys: who gets in, and that they do not see each other."""

import base64
import os
import unittest

from azure.core.exceptions import ClientAuthenticationError, ResourceNotFoundError
from azure.data.tables import TableServiceClient

from helpers import ACCOUNTS, ENDPOINT, FIRST, SECOND, Case, connect, table_name


class Accounts(Case):
    def test_wrong_key(self):
        service = connect(FIRST, base64.b64encode(b"\7" * 64).decode())
        self.refused(403, "AuthenticationFailed", lambda: list(service.list_tables()),
                     kind=ClientAuthenticationError)
        self.refused(403, "AuthenticationFailed",
                     service.get_table_client("sometable").get_entity, "p", "r",
                     kind=ClientAuthenticationError)

    def test_unknown_account(self):
        service = connect("nobody", ACCOUNTS[FIRST][0])
        self.refused(403, "AuthenticationFailed", lambda: list(service.list_tables()),
                     kind=ClientAuthenticationError)

    def test_wrong_key_of_a_transaction(self):
        table = connect(FIRST, ACCOUNTS[SECOND][0]).get_table_client("sometable")
        self.refused(403, "AuthenticationFailed", table.submit_transaction,
                     [("create", {"PartitionKey": "p", "RowKey": "r"})],
                     kind=ClientAuthenticationError)

    def test_second_key_works_like_the_first(self):
        table = connect(FIRST).create_table(table_name())
        second = connect(FIRST, ACCOUNTS[FIRST][1]).get_table_client(table.table_name)
        second.create_entity({"PartitionKey": "p", "RowKey": "r", "n": 1})
        self.assertEqual(table.get_entity("p", "r")["n"], 1)
        second.delete_table()

    def test_accounts_do_not_see_each_other(self):
        mine = connect(FIRST).create_table(table_name())
        mine.create_entity({"PartitionKey": "p", "RowKey": "r", "owner": "first"})
        theirs = connect(SECOND)
        self.assertNotIn(mine.table_name, [t.name for t in theirs.list_tables()])
        same_name = theirs.get_table_client(mine.table_name)
        self.refused(404, "TableNotFound", same_name.get_entity, "p", "r",
                     kind=ResourceNotFoundError)
        same_name.create_table()
        self.refused(404, "ResourceNotFound", same_name.get_entity, "p", "r",
                     kind=ResourceNotFoundError)
        same_name.delete_table()
        self.assertEqual(mine.get_entity("p", "r")["owner"], "first")
        mine.delete_table()

    def test_connection_string(self):
        service = TableServiceClient.from_connection_string(
            f"DefaultEndpointsProtocol=http;AccountName={FIRST};AccountKey={ACCOUNTS[FIRST][0]};"
            f"TableEndpoint={ENDPOINT}/{FIRST};")
        list(service.list_tables())

    @unittest.skipUnless(os.environ.get("SDK_TEST_DEFAULT_PORTS"),
                         "port 10002 is taken by another program")
    def test_use_development_storage(self):
        service = TableServiceClient.from_connection_string("UseDevelopmentStorage=true")
        table = service.create_table(table_name())
        table.create_entity({"PartitionKey": "p", "RowKey": "r", "n": 1})
        self.assertEqual(table.get_entity("p", "r")["n"], 1)
        table.delete_table()
