"""Writers of tables, queues and blobs that know what a point in time is.

A writer does one thing after the other and notes each: what was stored before it, by name, and
what should be after it.  So the states that its part of the server ever had are known, in their
order: state n is what n writes have left.  A copy that is one point in time holds for every writer
just one of these, and

  (1) none before those that were acknowledged when the copy began;
  (2) none after those that had been begun when it ended;
  (3) for any two writers: if a write is in the copy, so is every write of the other that had been
      acknowledged before it began.
"""

import hashlib
import random
import threading
import time

from blob_client import Client as BlobClient
from queue_client import QueueClient
from table_client import Client as TableClient

KIB = 1024
BLOBS = 3  # names of each writer
MESSAGES_MAX = 12
POOL = random.Random("backup").randbytes(2**20)


class Writer:
    def __init__(self, number, server, seed):
        self.number, self.server = number, server
        self.random = random.Random(f"{seed}/{number}")
        self.table, self.queue = f"table{number}", f"queue{number}"
        self.container = f"container{number}"
        self.writes = []      # (begun, name, value or None): value of a row, message or blob
        self.acked = []       # when the first, second, ... of them was acknowledged
        self.receipts = {}    # text of a message -> (id, pop receipt)
        self.trouble = []
        self.state = {}

    def open(self):
        self.tables = TableClient(self.server.table_port)
        self.queues = QueueClient(self.server.queue_port)
        self.blobs = BlobClient(self.server.blob_port)

    def close(self):
        for client in (self.tables, self.queues, self.blobs):
            client.close()

    def prepare(self):
        self.open()
        for reply, status in ((self.tables.create_table(self.table), 204),
                              (self.queues.create(self.queue), 201),
                              (self.blobs.create_container(self.container), 201)):
            assert reply.status == status, reply

    def write(self, name, value, send, status):
        """One write that is acknowledged, or trouble."""
        self.writes.append((time.monotonic(), name, value))
        reply = send()
        if reply.status != status:
            self.trouble.append(f"{name}: {reply}")
            return None
        self.acked.append(time.monotonic())
        if value is None:
            self.state.pop(name, None)
        else:
            self.state[name] = value
        return reply

    def put_row(self, serial):
        row = f"{serial % 5}"
        entity = {"PartitionKey": "p", "RowKey": row, "Serial": serial}
        self.write(f"row {row}", serial, lambda: self.tables.replace(self.table, entity), 204)

    def put_message(self, serial):
        reply = self.write(f"message {serial}", True,
                           lambda: self.queues.put(self.queue, f"{serial}"), 201)
        if reply:
            message = reply.messages[0]
            self.receipts[serial] = message.MessageId, message.PopReceipt

    def delete_message(self):
        serial = self.random.choice(list(self.receipts))
        held = self.receipts.pop(serial)
        self.write(f"message {serial}", None, lambda: self.queues.delete(self.queue, *held), 204)

    def content(self, serial):
        start, size = self.random.randrange(256 * KIB), self.random.randrange(80 * KIB, 400 * KIB)
        return b"%d/%d " % (self.number, serial) + POOL[start:start + size]

    def change_blob(self, serial):
        name = f"b{self.random.randrange(BLOBS)}"
        path, content = f"{self.container}/{name}", self.content(serial)
        digest, kind = hashlib.md5(content).hexdigest(), self.random.random()
        if f"blob {name}" in self.state and kind < 0.3:
            self.write(f"blob {name}", None, lambda: self.blobs.delete(path), 202)
        elif f"blob {name}" in self.state and kind < 0.45:
            other = f"b{BLOBS}"
            self.write(f"blob {other}", self.state[f"blob {name}"],
                       lambda: self.blobs.copy(f"{self.container}/{other}", path), 202)
        elif kind < 0.6:
            half = len(content) // 2
            for block, part in enumerate((content[:half], content[half:])):
                reply = self.blobs.put_block(path, block, part)
                if reply.status != 201:
                    self.trouble.append(f"block of {path}: {reply}")
            self.write(f"blob {name}", digest, lambda: self.blobs.put_blocks(path, (0, 1)), 201)
        else:
            self.write(f"blob {name}", digest, lambda: self.blobs.put(path, content), 201)

    def run(self, ended):
        serial = 0
        while not ended.is_set() and not self.trouble:
            serial += 1
            self.put_row(serial)  # so that no two states are the same
            if serial % 3:
                self.change_blob(serial)
            elif len(self.receipts) < MESSAGES_MAX and self.random.random() < 0.7:
                self.put_message(serial)
            elif self.receipts:
                self.delete_message()

    # --- what a server has of it

    def read(self, server):
        """The state of this writer's part of a server."""
        tables, queues = TableClient(server.table_port), QueueClient(server.queue_port)
        blobs, found = BlobClient(server.blob_port), {}
        for entity in tables.scan(self.table):
            found[f"row {entity['RowKey']}"] = entity["Serial"]
        for message in queues.peek(self.queue).messages:
            found[f"message {message.MessageText}"] = True
        for listed in blobs.list(self.container, ""):
            reply = blobs.get(f"{self.container}/{listed.name}")
            assert reply.status == 200, (listed.name, reply)
            found[f"blob {listed.name}"] = hashlib.md5(reply.body).hexdigest()
        for client in (tables, queues, blobs):
            client.close()
        return found

    def places(self, found):
        """How many writes may have been made, for a state that was found."""
        state, fits = {}, [0] if not found else []
        for count, (_, name, value) in enumerate(self.writes, 1):
            if value is None:
                state.pop(name, None)
            else:
                state[name] = value
            if state == found:
                fits.append(count)
        return fits


class Load:
    def __init__(self, server, writers, seed):
        self.writers = [Writer(number, server, seed) for number in range(writers)]
        self.ended = threading.Event()
        for writer in self.writers:
            writer.prepare()
        self.threads = [threading.Thread(target=writer.run, args=(self.ended,))
                        for writer in self.writers]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()
        for writer in self.writers:
            writer.close()

    def acknowledged(self):
        return [len(writer.acked) for writer in self.writers]

    def begun(self):
        return [len(writer.writes) for writer in self.writers]

    def check(self, test, server, least, most):
        """`server` runs on a copy that was begun and ended with these counts of writes."""
        counts = []
        for writer, low, high in zip(self.writers, least, most):
            test.assertEqual(writer.trouble, [])
            found = writer.read(server)
            fits = [count for count in writer.places(found) if low <= count <= high]
            test.assertTrue(fits, f"writer {writer.number}: what it has is no state from {low} to "
                                  f"{high}, but fits {writer.places(found)}: {found}")
            counts.append((min(fits), max(fits)))
        self.check_order(test, counts)
        return counts

    def check_order(self, test, counts):
        for writer, (fewest, _) in zip(self.writers, counts):
            if fewest == 0:
                continue
            begun = writer.writes[fewest - 1][0]
            for other, (_, at_most) in zip(self.writers, counts):
                acked = sum(when < begun for when in other.acked)
                test.assertGreaterEqual(at_most, acked,
                                        f"a write of {writer.number} is there, and an earlier one "
                                        f"of {other.number} is not")
