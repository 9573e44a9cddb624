"""Clients that write blobs, and a ledger of what the server promised them.

Each client owns its blobs, so it knows what must be there:

  (1) what was acknowledged is there, whole: a put, a list of blocks, an append,
      a copy, a snapshot, each with the very bytes;
  (2) a deletion that was acknowledged lasts, for the blob and its snapshots;
  (3) what broke off is whole as it was before, or whole as it should become.

`check` reads every blob and every snapshot; what it saw must stay.
"""

import hashlib
import random
import threading

from blob_client import BROKEN, Client
from until import until

CLIENTS = 8
NAMES = 4  # block blobs of each client
APPENDED_MAX = 2 * 2**20
KIB = 1024

POOL = random.Random("the same for all").randbytes(8 * 2**20)
LONG_LISTS = 0.5  # of the block lists
LONG_LIST = 1500


def digest(content):
    return hashlib.sha256(content).hexdigest()


class Worker:
    """One client: its connection, its random choices and its part of the ledger."""

    def __init__(self, number, port, seed, container):
        self.number, self.port, self.container = number, port, container
        self.random = random.Random(f"{seed}/{number}")
        self.serial = 0
        self.blobs = {}         # path -> digest: must be there
        self.shots = {}         # (path, snapshot) -> digest: must be there
        self.log = None         # what has been appended, None without an append blob
        self.doubt = None       # (path, digest before, digest after, whether snapshots go, too)
        self.acknowledged = 0
        self.by_kind = {}
        self.trouble = []       # answers that no client should get

    def content(self, least, most):
        """Bytes that no other client writes."""
        self.serial += 1
        size, start = self.random.randrange(least, most), self.random.randrange(4 * 2**20)
        mark = b"%d/%d " % (self.number, self.serial)
        return mark + POOL[start:start + size - len(mark)]

    def path(self):
        return f"{self.container}/{self.number}-{self.random.randrange(NAMES)}"

    @property
    def log_path(self):
        return f"{self.container}/{self.number}-log"

    def run(self, ended):
        client = Client(self.port)
        kinds = (self.put, self.put, self.put, self.blocks, self.append, self.append, self.drop,
                 self.shoot, self.copy)
        while not ended.is_set():
            try:
                self.random.choice(kinds)(client)
            except BROKEN:
                break
        client.close()

    def settle(self, kind, reply, *expected):
        """True if the request was acknowledged; either way it is no longer in doubt."""
        self.doubt = None
        if reply.status in expected:
            self.acknowledged += 1
            self.by_kind[kind] = self.by_kind.get(kind, 0) + 1
            return True
        self.trouble.append(f"client {self.number}, {kind}: {reply}")
        return False

    def in_doubt(self, path, after, with_shots=False):
        self.doubt = (path, self.blobs.get(path), after, with_shots)

    def put(self, client):
        path, content = self.path(), self.content(100 * KIB, 3000 * KIB)
        self.in_doubt(path, digest(content))
        if self.settle("put", client.put(path, content), 201):
            self.blobs[path] = digest(content)

    def blocks(self, client):
        path = self.path()
        parts = [self.content(10 * KIB, 700 * KIB) for _ in range(self.random.randint(1, 4))]
        for number, part in enumerate(parts):
            if not self.settle("block", client.put_block(path, number, part), 201):
                return
        if self.random.random() < 0.2:
            return  # blocks that are abandoned
        numbers = list(range(len(parts)))
        if self.random.random() < LONG_LISTS:
            # More than a change does at once: planned before, what it replaces removed later.
            parts.append(b"%d" % self.random.randrange(10**6))
            if not self.settle("block", client.put_block(path, len(numbers), parts[-1]), 201):
                return
            numbers += [len(numbers)] * LONG_LIST
        whole = digest(b"".join(parts[number] for number in numbers))
        self.in_doubt(path, whole)
        if self.settle("block list", client.put_blocks(path, numbers), 201):
            self.blobs[path] = whole

    def append(self, client):
        path = self.log_path
        if self.log is None or len(self.log) > APPENDED_MAX:
            self.in_doubt(path, digest(b""))
            if self.settle("new log", client.put_append(path), 201):
                self.log, self.blobs[path] = b"", digest(b"")
            return
        content = self.content(1 * KIB, 300 * KIB)
        self.in_doubt(path, digest(self.log + content))
        if self.settle("append", client.append(path, content), 201):
            self.log += content
            self.blobs[path] = digest(self.log)

    def known(self):
        return self.random.choice(sorted(self.blobs)) if self.blobs else None

    def drop(self, client):
        path = self.known()
        if path is None:
            return
        self.in_doubt(path, None, with_shots=True)
        if self.settle("delete", client.delete(path), 202):
            self.forget(path)

    def forget(self, path):
        self.blobs.pop(path, None)
        self.shots = {key: value for key, value in self.shots.items() if key[0] != path}
        if path == self.log_path:
            self.log = None

    def shoot(self, client):
        path = self.known()
        if path is None:
            return
        self.in_doubt(path, self.blobs[path])
        reply = client.snapshot(path)
        if self.settle("snapshot", reply, 201):
            self.shots[path, reply.headers["x-ms-snapshot"]] = self.blobs[path]

    def copy(self, client):
        source, path = self.known(), self.path()
        if source is None or source == path or source == self.log_path or path not in self.blobs:
            return
        self.in_doubt(path, self.blobs[source])
        if self.settle("copy", client.copy(path, source), 202):
            self.blobs[path] = self.blobs[source]


class Load:
    def __init__(self, port, seed, container):
        self.port, self.container = port, container
        self.workers = [Worker(number, port, seed, container) for number in range(CLIENTS)]
        self.threads = []
        self.ended = threading.Event()

    def start(self):
        self.ended.clear()
        self.threads = [threading.Thread(target=worker.run, args=(self.ended,))
                        for worker in self.workers]
        for thread in self.threads:
            thread.start()

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

    @property
    def by_kind(self):
        total = {}
        for worker in self.workers:
            for kind, count in worker.by_kind.items():
                total[kind] = total.get(kind, 0) + count
        return total

    def check(self, test, lost_answers_are_faults=False):
        """Compare what is stored with the ledger; `test` fails with the list of what is wrong."""
        client = Client(self.port)
        stored, shots, wrong = {}, {}, []
        for listed in client.list(self.container):
            path = f"{self.container}/{listed.name}"
            reply = client.get(path, listed.snapshot)
            if reply.status != 200 or len(reply.body) != listed.length:
                wrong.append(f"{path} {listed.snapshot} is listed, but: {reply}")
            (shots if listed.snapshot else stored)[
                (path, listed.snapshot) if listed.snapshot else path] = reply.digest
        client.close()
        for worker in self.workers:
            wrong += worker.trouble
            worker.trouble = []
            wrong += self.check_worker(worker, stored, shots, lost_answers_are_faults)
        expected = {path for worker in self.workers for path in worker.blobs}
        expected_shots = {key for worker in self.workers for key in worker.shots}
        wrong += [f"{path} should not be there" for path in stored.keys() - expected]
        wrong += [f"snapshot {key} should not be there" for key in shots.keys() - expected_shots]
        if wrong:
            test.fail("\n".join([f"{len(wrong)} faults", *wrong[:20]]))

    def check_worker(self, worker, stored, shots, lost_answers_are_faults):
        wrong = self.settle_doubt(worker, stored, shots, lost_answers_are_faults)
        for path, want in worker.blobs.items():
            if stored.get(path) != want:
                wrong.append(f"{path} was acknowledged, and is " +
                             ("another" if path in stored else "missing"))
        for key, want in worker.shots.items():
            if shots.get(key) != want:
                wrong.append(f"snapshot {key} was acknowledged, and is " +
                             ("another" if key in shots else "missing"))
        return wrong

    def settle_doubt(self, worker, stored, shots, lost_answers_are_faults):
        """What is there decides; anything but before or after is a fault."""
        if worker.doubt is None:
            return []
        (path, before, after, with_shots), worker.doubt = worker.doubt, None
        now, wrong = stored.get(path), []
        extra = [key for key in shots if key[0] == path and key not in worker.shots]
        happened = (now == after and now != before) or bool(extra)
        if now not in (before, after):
            wrong.append(f"{path} broke off, and is neither as before nor as after")
        if with_shots and now is None and before is not None:
            wrong += [f"{path} is gone, its snapshot {key} is not" for key in shots
                      if key[0] == path]
            worker.forget(path)
        elif now is None:
            worker.blobs.pop(path, None)
        else:
            worker.blobs[path] = now
        if extra and (before != after or [shots[key] for key in extra] != [before]):
            wrong.append(f"{path} has snapshots that no client took: {extra}")
        worker.shots.update({key: shots[key] for key in extra})
        if path == worker.log_path and now != digest(worker.log or b""):
            worker.log = None  # starts over, since only its digest is known
        if happened and lost_answers_are_faults:
            wrong.append(f"client {worker.number} got no answer, but its write to {path} is there")
        return wrong
