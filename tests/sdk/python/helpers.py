"""What every test module here needs: clients, tables that go away, refusals.

tests/sdk/run.py says where the server is, by the environment:
  SDK_TEST_TABLE_ENDPOINT   http://127.0.0.1:PORT
  SDK_TEST_ACCOUNTS         {"account": ["key", "second key"], ...}
"""

import itertools
import json
import os
import unittest

from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError
from azure.data.tables import TableServiceClient

ENDPOINT = os.environ["SDK_TEST_TABLE_ENDPOINT"]
ACCOUNTS = json.loads(os.environ["SDK_TEST_ACCOUNTS"])
MAIN, FIRST, SECOND = list(ACCOUNTS)[:3]

ETAG_FORM = r"""^W/"datetime'\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\d(\.\d{1,7})?Z'"$"""
STALE = "W/\"datetime'2001-02-03T04%3A05%3A06.789Z'\""

_count = itertools.count(1)


def connect(account=MAIN, key=None):
    credential = AzureNamedKeyCredential(account, key or ACCOUNTS[account][0])
    # A test of an error must not wait for the SDK to try again.
    return TableServiceClient(f"{ENDPOINT}/{account}", credential=credential, retry_total=0)


def table_name():
    return f"py{os.getpid()}x{next(_count)}"


class Case(unittest.TestCase):
    """A test case with one table of its own in `self.table`."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.service = connect()
        cls.table = cls.service.create_table(table_name())

    @classmethod
    def tearDownClass(cls):
        cls.table.delete_table()
        cls.service.close()

    def refused(self, status, code, function, *arguments, kind=HttpResponseError, **named):
        """The call must fail with this status and this code of the service."""
        with self.assertRaises(kind) as caught:
            function(*arguments, **named)
        error = caught.exception
        # create_entity raises an error that has not been through the SDK's decoder.
        got = (error.error_code if hasattr(error, "error_code")
               else json.loads(error.response.text())["odata.error"]["code"])
        self.assertEqual((error.status_code, getattr(got, "value", got)), (status, code), error)
        return error

    def stored(self, entity):
        return self.table.get_entity(entity["PartitionKey"], entity["RowKey"])

    def properties(self, entity):
        return {name: value for name, value in self.stored(entity).items()
                if name not in ("PartitionKey", "RowKey")}

    def in_partition(self, key):
        key = key.replace("'", "''")
        return list(self.table.query_entities(f"PartitionKey eq '{key}'"))
