"""The counts of a table after kill -9 under load: those of its entities, every time.

Load inserts, replaces, deletes and sends batches.  After each kill the store is verified, which
counts every row, and after each restart the server's own count is that of a scan.
"""

import os
import random
import re
import subprocess
import time
import unittest

from fault.table import load
from server import Server, binary
from table_client import Client

ROUNDS = 5


def verify(data):
    return subprocess.run([binary(), "--verify", "--data", str(data)], timeout=300,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)


class Facts(unittest.TestCase):
    def count(self, client, table):
        reply = client.request("GET", f"/{table}()?$top=1")
        self.assertEqual(reply.status, 200)
        plan = reply.headers["x-tavola-plan"]
        found = re.search(r"; entities=(\d+)$", plan)
        self.assertIsNotNone(found, plan)
        return int(found[1])

    def test_counts_are_those_of_the_entities_after_each_kill(self):
        seed = int(os.environ.get("TAVOLA_SEED", random.randrange(10**6)))
        chance = random.Random(seed)
        server = Server(engine="rocksdb")
        print(f"  table/facts: seed {seed}", flush=True)
        server.start()
        try:
            client = Client(server.table_port)
            self.assertEqual(client.create_table(load.TABLE).status, 204)
            client.close()
            writers = load.Load(server.table_port, seed)
            for _ in range(ROUNDS):
                before = writers.acknowledged
                writers.start()
                while writers.acknowledged < before + 200:
                    time.sleep(0.01)
                time.sleep(chance.uniform(0, 0.5))
                server.kill()
                writers.join()
                report = verify(server.data)
                self.assertEqual(report.returncode, 0, report.stdout + report.stderr)
                server.start()
                client = Client(server.table_port)
                self.assertEqual(self.count(client, load.TABLE), len(list(client.scan(load.TABLE))))
                client.close()
            self.assertEqual(server.stop(), 0)
            report = verify(server.data)
            self.assertEqual(report.returncode, 0, report.stdout + report.stderr)
        finally:
            server.stop()
            server.clean()


if __name__ == "__main__":
    unittest.main()
