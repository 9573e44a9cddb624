"""What every test module here needs: clients, tables that go away, refusals.

tests/sdk/run.py says where the server is, by the environment:
  SDK_TEST_TABLE_ENDPOINT   http://127.0.0.1:PORT
  SDK_TEST_ACCOUNTS         {"account": ["key", "second key"], ...}
  SDK_TEST_CLOCKS           [["http://127.0.0.1:PORT", "token"], ...] of the admin port, or of
                            those of all nodes, if the server's clock can be moved
"""

import datetime
import itertools
import json
import os
import unittest

from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError
from azure.data.tables import TableServiceClient

ENDPOINT = os.environ["SDK_TEST_TABLE_ENDPOINT"]
ACCOUNTS = json.loads(os.environ["SDK_TEST_ACCOUNTS"])
CLOCKS = json.loads(os.environ.get("SDK_TEST_CLOCKS") or "[]")
MAIN, FIRST, SECOND = list(ACCOUNTS)[:3]

ETAG_FORM = r"""^W/"datetime'\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\d(\.\d{1,7})?Z'"$"""
STALE = "W/\"datetime'2001-02-03T04%3A05%3A06.789Z'\""

_count = itertools.count(1)

needs_clock = unittest.skipUnless(CLOCKS, "the clock of this server cannot be moved")


def pass_time(seconds):
    """Let so much time pass for what is stored; returns its time then."""
    import server  # of tests/lib, which a worker does not need
    for url, token in CLOCKS:
        unix_ms = server.pass_time(url, token, seconds)
    return datetime.datetime.fromtimestamp(unix_ms / 1000, datetime.timezone.utc)


def stored_now():
    """The time of what is stored now, which may be ahead of the wall clock."""
    return pass_time(0) if CLOCKS else datetime.datetime.now(datetime.timezone.utc)


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
