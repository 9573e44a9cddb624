"""An account with a scalability target: the SDK's own retries get a burst through."""

import concurrent.futures
import os
import re
import unittest
import urllib.request

from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables import TableServiceClient

from helpers import ACCOUNTS, ENDPOINT, table_name

SLOW = "slowaccount"
ADMIN = os.environ.get("SDK_TEST_ADMIN_URL")


def throttled():
    with urllib.request.urlopen(ADMIN + "/metrics") as reply:
        found = re.search(r'tavola_throttled_total{scope="partition"} (\d+)',
                          reply.read().decode())
    return int(found[1])


@unittest.skipUnless(ADMIN, "a server that run.py has not started may have no targets")
class Throttling(unittest.TestCase):
    def test_a_burst_gets_through(self):
        """20 entities a second are let in, or more at once; the rest is told to come again."""
        credential = AzureNamedKeyCredential(SLOW, ACCOUNTS[SLOW][0])
        service = TableServiceClient(f"{ENDPOINT}/{SLOW}", credential=credential)
        table = service.create_table(table_name())
        before, rows = throttled(), 0

        def insert(row):
            table.create_entity({"PartitionKey": "p", "RowKey": f"{row:05}"})

        # A transaction counts as all of its entities, so that what comes after it is above the
        # target also on a slow machine.
        while throttled() == before and rows < 3000:
            table.submit_transaction([("create", {"PartitionKey": "p", "RowKey": f"{row:05}"})
                                      for row in range(rows, rows + 50)])
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                list(pool.map(insert, range(rows + 50, rows + 60)))
            rows += 60
        self.assertGreater(throttled(), before)
        found = [entity["RowKey"] for entity in table.query_entities("PartitionKey eq 'p'")]
        self.assertEqual(found, [f"{row:05}" for row in range(rows)])
        table.delete_table()
        service.close()


if __name__ == "__main__":
    unittest.main()
