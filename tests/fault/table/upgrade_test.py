"""A store of the format before on a disk that is nearly full: the start that upgrades it serves what the old server did."""

import os

import old_store
from fault.small_disk import RESERVE_MB, SmallDisk
from table_client import Client
from table_model import facts_of
from until import until

TABLE = "People"


class Upgrade(SmallDisk):
    def test_an_upgrade_below_the_disk_reserve(self):
        client = Client(self.server.table_port)
        self.addCleanup(client.close)
        self.assertEqual(client.create_table(TABLE).status, 204)
        for i in range(20):
            self.assertEqual(client.insert(TABLE, {"PartitionKey": "p", "RowKey": str(i)}).status, 204)
        client.close()
        self.stop()
        self.assertGreater(old_store.make_old(self.server.data), 0)
        self.fill(leave_mb=RESERVE_MB * 3 // 4)  # the start itself takes a few

        self.server.start(health=(200, 503))
        self.assertEqual(client.insert(TABLE, {"PartitionKey": "p", "RowKey": "new"}).status, 503)
        self.assertEqual(client.get(TABLE, "p", "7").status, 200)
        self.assertEqual(client.delete(TABLE, "p", "7").status, 204)
        self.assertEqual(client.get(TABLE, "p", "7").status, 404)
        client.close()
        self.server.kill()

        # With room again all is as it should be, the counts too.
        os.unlink(os.path.join(self.disk, "filler"))
        self.server.start()
        until(lambda: facts_of(self.server, TABLE)["exact"], "the table is counted")
        self.assertEqual(facts_of(self.server, TABLE)["entities"], 19)
        self.assertEqual(client.insert(TABLE, {"PartitionKey": "p", "RowKey": "new"}).status, 204)
        self.assertEqual(facts_of(self.server, TABLE)["entities"], 20)
