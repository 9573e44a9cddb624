"""Facts about tables against a model that counts, whatever is done to the server.

One client, so that the model knows the state after each answer: inserts, replacements, merges,
deletions, batches of all of these, requests that are refused, tables that are dropped and made
again, restarts, and kills while a batch is under way.  After each step the facts are those of
the model, and the store verifies.  A store of the format before is counted and has the same.
"""

import os
import random
import threading
import time
import unittest

import old_store
from fault.table.facts_test import verify
from server import Server
from table_client import BROKEN, Client, key_path
from table_model import Model, facts_of, to_json

TABLES = ("Small", "Wide", "Other")
STEPS, ROUNDS = 40, 4
STALE = "W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\""


class Facts(unittest.TestCase):
    def setUp(self):
        self.seed = int(os.environ.get("TAVOLA_SEED", random.randrange(10**6)))
        self.chance = random.Random(self.seed)
        print(f"  table/facts_model: seed {self.seed}", flush=True)
        self.server = self.enterContext(Server(engine="rocksdb"))
        self.client = Client(self.server.table_port)
        self.addCleanup(lambda: self.client.close())
        self.models = {}
        for table in TABLES:
            self.create(table)

    def create(self, table):
        self.assertEqual(self.client.create_table(table).status, 204)
        self.models[table] = Model()

    # --- random entities and changes ---

    def entity(self):
        kinds = {"N": ("Edm.Int32", self.chance.randrange(9)),
                 "Text": ("Edm.String", "é" * self.chance.randrange(200)),
                 "Big": ("Edm.Int64", str(self.chance.randrange(2**50))),
                 "Yes": ("Edm.Boolean", self.chance.random() < 0.5),
                 "Bytes": ("Edm.Binary", bytes(self.chance.randrange(300))),
                 "Mixed": self.chance.choice((("Edm.Int32", 1), ("Edm.String", "one")))}
        return {name: kinds[name] for name in self.chance.sample(sorted(kinds), k=3)}

    def key(self):
        return f"p{self.chance.randrange(4)}", f"r{self.chance.randrange(12):02}"

    def change(self, model, key):
        """Method and properties of a change of one entity that succeeds."""
        method = self.chance.choice(("POST", "PUT", "MERGE", "DELETE", "PUT"))
        if (key in model.entities) == (method == "POST") or (method == "DELETE" and
                                                             key not in model.entities):
            method = "PUT" if key in model.entities or method == "DELETE" else "POST"
        return method, None if method == "DELETE" else self.entity()

    def apply(self, model, key, method, properties):
        if method == "DELETE":
            model.delete(*key)
        elif method == "MERGE":
            model.merge(*key, properties)
        else:
            model.put(*key, properties)

    def part(self, table, key, method, properties):
        path = f"/{table}" if method == "POST" else key_path(table, *key)
        return (method, path, None if properties is None else to_json(*key, properties),
                {"If-Match": "*"} if method == "DELETE" else {})

    # --- steps ---

    def step_one(self, table):
        model, key = self.models[table], self.key()
        method, properties = self.change(model, key)
        method, path, body, headers = self.part(table, key, method, properties)
        headers = {name.replace("-", "_"): value for name, value in headers.items()}
        reply = self.client.request(method, path, body, Prefer="return-no-content", **headers)
        self.assertEqual(reply.status, 204, reply)
        self.apply(model, key, method, properties)

    def batch_changes(self, model):
        partition = f"p{self.chance.randrange(4)}"
        rows = self.chance.sample(range(12), k=self.chance.randrange(1, 10))
        keys = [(partition, f"r{row:02}") for row in rows]
        return [(key, *self.change(model, key)) for key in keys]

    def step_batch(self, table):
        model = self.models[table]
        changes = self.batch_changes(model)
        reply = self.client.batch_of([self.part(table, *change) for change in changes])
        self.assertEqual(reply.status, 202, reply)
        for change in changes:
            self.apply(model, *change)

    def step_refused(self, table):
        """Nothing happens: a stale ETag, an insert of what is there, a batch with one of these."""
        model = self.models[table]
        if not model.entities:
            return
        key = self.chance.choice(sorted(model.entities))
        body = to_json(*key, self.entity())
        reply = self.client.request("PUT", key_path(table, *key), body, If_Match=STALE)
        self.assertEqual(reply.status, 412, reply)
        self.assertEqual(self.client.insert(table, body).status, 409)
        changes = [self.part(table, (key[0], f"new{i}"), "POST", self.entity()) for i in range(3)]
        reply = self.client.batch_of([*changes, self.part(table, key, "POST", self.entity())])
        self.assertEqual(reply.status, 409, reply)

    def step_drop(self, table):
        self.assertEqual(self.client.request("DELETE", f"/Tables('{table}')").status, 204)
        deadline = time.monotonic() + 60
        while True:
            reply = self.client.create_table(table)
            if reply.status == 204:
                break
            self.assertEqual(reply.status, 409, reply)
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        self.models[table] = Model()

    def steps(self):
        kinds = [self.step_one] * 12 + [self.step_batch] * 6 + [self.step_refused] * 3
        for number in range(STEPS):
            self.chance.choice(kinds)(self.chance.choice(TABLES))
            if number % 8 == 7:
                self.check_all()
        self.step_drop(self.chance.choice(TABLES))
        self.check_all()

    def check_all(self):
        for table, model in self.models.items():
            model.check(self, facts_of(self.server, table))

    # --- ends of rounds ---

    def assert_verifies(self):
        report = verify(self.server.data)
        self.assertEqual(report.returncode, 0, report.stdout + report.stderr)

    def kill_under_way(self):
        """Kill it while batches are sent; the one without an answer is there as a whole or not."""
        killer, last = threading.Thread(target=self.server.kill), self.chance.randrange(1, 30)
        number = 0
        while True:
            if number == last:
                killer.start()  # it ends this batch, or the one after
            table = self.chance.choice(TABLES)
            keys = [("killed", f"{self.server.process.pid}-{number}-{i}") for i in range(5)]
            changes = [(key, "POST", self.entity()) for key in keys]
            number += 1
            try:
                reply = self.client.batch_of([self.part(table, *change) for change in changes])
            except BROKEN:
                break
            self.assertEqual(reply.status, 202, reply)
            for change in changes:
                self.apply(self.models[table], *change)
        killer.join()
        self.client.close()
        self.assert_verifies()
        self.server.start()
        there = {self.client.get(table, *key).status for key in keys}
        self.assertIn(there, ({200}, {404}))
        if there == {200}:
            for change in changes:
                self.apply(self.models[table], *change)

    def wait_until_counted(self):
        for table, model in self.models.items():
            deadline = time.monotonic() + 60
            while True:
                facts = facts_of(self.server, table)
                if facts["exact"] and (facts["sample"]["keys"] or not model.entities):
                    break
                self.assertLess(time.monotonic(), deadline, facts)
                time.sleep(0.01)

    def restart(self):
        self.client.close()
        self.assertEqual(self.server.stop(), 0, self.server.log())
        self.assert_verifies()

    def test_facts_are_those_of_a_model_after_anything(self):
        for number in range(ROUNDS):
            self.steps()
            if number % 2:
                self.restart()
                self.server.start()
                self.check_all()  # what was saved is used: nothing has to be counted
            else:
                self.kill_under_way()
                for table, model in self.models.items():
                    model.check_counts(self, facts_of(self.server, table, "&parts=counts"))
                self.wait_until_counted()
                self.check_all()
        self.assertNotIn("facts_differ", self.server.log())

    def test_a_store_of_the_format_before_has_the_same_facts(self):
        self.steps()
        self.restart()
        self.assertGreater(old_store.make_old(self.server.data), 0)
        self.assert_verifies()
        self.server.start()
        self.wait_until_counted()
        for table, model in self.models.items():
            model.check(self, facts_of(self.server, table), has_history=False)
            model.created = model.replaced = model.deleted = 0
        self.step_batch(TABLES[0])
        self.check_all()
        self.kill_under_way()
        self.wait_until_counted()
        self.check_all()
        self.restart()


if __name__ == "__main__":
    unittest.main()
