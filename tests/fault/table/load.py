"""Eight clients that write, and a ledger of what the server promised them.

Each client owns its partitions, so it knows what must be there:

  (1) an insert that was acknowledged is there, with its value;
  (2) a transaction is there as a whole or not at all, and there if acknowledged;
  (3) a counter never goes back before the last value acknowledged or read;
  (4) a deletion that was acknowledged lasts.

A request that broke off is in doubt: its effect may be there or not.  `check`
looks, and from then on what it saw must stay.
"""

import random
import threading
import time

from table_client import BROKEN, Client
from until import until

TABLE = "load"
CLIENTS = 8


class Worker:
    """One client: its connection, its random choices and its part of the ledger."""

    def __init__(self, number, port, seed):
        self.number = number
        self.port = port
        self.random = random.Random(f"{seed}/{number}")
        self.partition = f"w{number}"
        self.serial = 0
        self.rows = {}          # (partition, row) -> batch id or None: must be there
        self.gone = set()       # (partition, row): must not be there
        self.counter = 0        # the last value acknowledged
        self.counter_sent = 0   # the last value sent
        self.doubt = None       # what the broken request would have done
        self.acknowledged = 0
        self.trouble = []       # answers that no client should get

    def next_key(self):
        self.serial += 1
        return f"{self.serial:08}"

    def run(self, ended):
        client = Client(self.port)
        while not ended.is_set():
            kind = self.random.choice((self.insert, self.insert, self.count, self.batch, self.drop))
            try:
                kind(client)
            except BROKEN:
                break
        client.close()

    def settle(self, reply, *expected):
        """True if the request was acknowledged; either way it is no longer in doubt."""
        self.doubt = None
        if reply.status in expected:
            self.acknowledged += 1
            return True
        self.trouble.append(f"client {self.number}: {reply}")
        return False

    def insert(self, client):
        key = (self.partition, self.next_key())
        self.doubt = ("rows", [key], None)
        entity = {"PartitionKey": key[0], "RowKey": key[1], "text": "x" * self.random.randrange(200)}
        if self.settle(client.insert(TABLE, entity), 204):
            self.rows[key] = None

    def batch(self, client):
        count = self.random.randint(1, 20)
        batch = f"{self.number}-{self.next_key()}"
        keys = [(self.partition, self.next_key()) for _ in range(count)]
        self.doubt = ("rows", keys, batch)
        entities = [{"PartitionKey": p, "RowKey": r, "batch": batch, "count": count}
                    for p, r in keys]
        if self.settle(client.batch(TABLE, entities), 202):
            self.rows.update(dict.fromkeys(keys, batch))

    def count(self, client):
        self.counter_sent += 1
        self.doubt = ("counter",)
        entity = {"PartitionKey": "counters", "RowKey": self.partition, "n": self.counter_sent}
        if self.settle(client.replace(TABLE, entity), 204):
            self.counter = self.counter_sent

    def drop(self, client):
        if not self.rows:
            return
        key, batch = self.rows.popitem()
        if batch is not None:
            self.rows[key] = batch
            return
        self.doubt = ("gone", key)
        if self.settle(client.delete(TABLE, *key), 204):
            self.gone.add(key)


class Load:
    def __init__(self, port, seed):
        self.port = port
        self.workers = [Worker(number, port, seed) for number in range(CLIENTS)]
        self.threads = []
        self.ended = threading.Event()
        self.seen = {}          # counter -> the last value a reader was given
        self.trouble = []

    def start(self):
        self.ended.clear()
        self.threads = [threading.Thread(target=worker.run, args=(self.ended,))
                        for worker in self.workers]
        self.threads.append(threading.Thread(target=self.read))
        for thread in self.threads:
            thread.start()

    def read(self):
        """A reader must never be given a value that is not durable."""
        client = Client(self.port)
        try:
            while not self.ended.is_set():
                for worker in self.workers:
                    reply = client.get(TABLE, "counters", worker.partition)
                    if reply.status == 200:
                        before, now = self.seen.get(worker.number, 0), reply.json["n"]
                        self.seen[worker.number] = now
                        if now < before:
                            self.trouble.append(f"a counter was read as {before}, then {now}")
                time.sleep(0.002)
        except BROKEN:
            pass
        client.close()

    def until_acknowledged(self, count, server):
        """Until so many requests more have been acknowledged, or the server has died."""
        wanted = self.acknowledged + count
        until(lambda: self.acknowledged >= wanted or server.process.poll() is not None,
              lambda: f"{wanted} acknowledged requests; there are {self.acknowledged}")

    def join(self):
        self.ended.set()
        for thread in self.threads:
            thread.join()

    @property
    def acknowledged(self):
        return sum(worker.acknowledged for worker in self.workers)

    def check(self, test, lost_answers_are_faults=False):
        """Compare the table with the ledger; `test` fails with the list of what is wrong.

        With `lost_answers_are_faults` a write in doubt must not have happened:
        that is the promise of a clean stop.
        """
        client = Client(self.port)
        stored = {(e["PartitionKey"], e["RowKey"]): e for e in client.scan(TABLE)}
        client.close()
        wrong, self.trouble = self.trouble, []
        expected = set()
        for worker in self.workers:
            wrong += worker.trouble
            worker.trouble = []
            wrong += self.settle_doubt(worker, stored, lost_answers_are_faults)
            expected.update(worker.rows)
            for key, batch in worker.rows.items():
                if key not in stored:
                    wrong.append(f"acknowledged row {key} is missing")
                elif stored[key].get("batch") != batch:
                    wrong.append(f"row {key} has batch {stored[key].get('batch')}, not {batch}")
            wrong += [f"deleted row {key} is back" for key in worker.gone if key in stored]
        for key in stored:
            if key[0] != "counters" and key not in expected:
                wrong.append(f"row {key} was never acknowledged and not in doubt")
        wrong += self.check_batches(stored)
        if wrong:
            test.fail("\n".join([f"{len(wrong)} faults", *wrong[:20]]))

    def settle_doubt(self, worker, stored, lost_answers_are_faults):
        wrong = []
        doubt, worker.doubt = worker.doubt, None
        number = stored.get(("counters", worker.partition), {"n": 0})["n"]
        floor = max(worker.counter, self.seen.get(worker.number, 0))
        ceiling = worker.counter_sent if doubt == ("counter",) else worker.counter
        happened = False
        if not floor <= number <= max(floor, ceiling):
            wrong.append(f"counter {worker.number} is {number}, not {floor}..{ceiling}")
        if doubt and doubt[0] == "counter":
            happened = number > worker.counter
        elif doubt and doubt[0] == "rows":
            there = [key for key in doubt[1] if key in stored]
            happened = bool(there)
            if there and len(there) != len(doubt[1]):
                wrong.append(f"batch {doubt[2]} is torn: {len(there)} of {len(doubt[1])}")
            worker.rows.update(dict.fromkeys(there, doubt[2]))
        elif doubt and doubt[0] == "gone":
            happened = doubt[1] not in stored
            if happened:
                worker.gone.add(doubt[1])
            else:
                worker.rows[doubt[1]] = None
        worker.counter = worker.counter_sent = number
        if happened and lost_answers_are_faults:
            wrong.append(f"client {worker.number} got no answer, but its write is there: {doubt}")
        return wrong

    def check_batches(self, stored):
        sizes = {}
        for entity in stored.values():
            if "batch" in entity:
                found, _ = sizes.get(entity["batch"], (0, 0))
                sizes[entity["batch"]] = (found + 1, entity["count"])
        return [f"batch {batch} is torn: {found} of {count} rows"
                for batch, (found, count) in sizes.items() if found != count]
