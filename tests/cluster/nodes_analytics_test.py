"""Storage Analytics of three nodes: one log and one set of counts for all of them."""

import sys
import threading
import unittest

from cluster import stand
from server import ROOT

sys.path.append(str(ROOT / "tests" / "analytics"))

import fixture  # noqa: E402
from wire import Wire  # noqa: E402

INSERTS = 60  # through each node


class Analytics(fixture.Case):
    def setUp(self):
        self.nodes = stand.Nodes(3, *self.FLAGS)
        self.addCleanup(self.end)
        self.nodes.start()
        self.server = self.nodes[0]
        self.connect()
        self.tables = [Wire("table", node.table_port) for node in self.nodes]

    def end(self):
        for wire in self.tables:
            wire.close()
        self.close()
        problems = self.nodes.stop()
        self.nodes.clean()
        self.assertEqual(problems, [])

    def switch_on(self):
        """Logs and counts of the hour, and wait until every node knows of them."""
        self.set("table", log="rwd", hour=True)
        self.assertEqual(self.table.ask("", "POST", "/Tables", {"TableName": "People"}).status, 201)
        for wire in self.tables:
            fixture.until("the properties are known", lambda wire=wire: b"<Write>true</Write>" in
                          wire.ask("", "GET", "/?restype=service&comp=properties").body)
            wire.seen.clear()

    def insert(self, number):
        for row in range(INSERTS):
            self.tables[number].ask("InsertEntity", "POST", "/People",
                                    {"PartitionKey": f"n{number}", "RowKey": f"r{row:03}"})

    def counted(self):
        rows = self.rows("$MetricsHourPrimaryTransactionsTable")
        return sum(int(row["TotalRequests"]) for (_, key), row in rows.items()
                   if key == "user;InsertEntity")

    def test_the_log_and_the_counts_are_of_all_nodes(self):
        self.switch_on()
        threads = [threading.Thread(target=self.insert, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        inserts = [seen for wire in self.tables for seen in wire.seen]
        self.assertEqual([seen.status for seen in inserts], [201] * 3 * INSERTS)

        records = self.logged(inserts)
        self.assertEqual({records[seen.id]["operation-type"] for seen in inserts}, {"InsertEntity"})
        fixture.until("all are counted", lambda: self.counted() >= 3 * INSERTS)
        self.assertEqual(self.counted(), 3 * INSERTS)


if __name__ == "__main__":
    unittest.main()
