"""One call fails: a start, a load, a backup or an upgrade goes on, or ends with a line; nothing is lost.

Each of the server's calls to the file system below its data folder is counted, and one of them
returns an error instead.  $CRASH_CALLS says how many of the calls are tried (12) for each kind of
run; with "all" it is every one of them.
"""

import concurrent.futures
import errno
import os
import queue
import random
import shutil
import unittest

import old_store
import seed
from crash.recorder import Recorder, folder_in_memory, keep, server_on
from crash.world import AT_THE_END, KINDS, check_store, end, work_together
from fault.server.backup import Admin
from table_client import BROKEN

CALLS = os.environ.get("CRASH_CALLS") or "12"
ERRORS = (errno.EIO, errno.ENOSPC, errno.EMFILE, errno.EACCES)
NEVER = 0  # no call has this number
AT_A_TIME = 2


class Calling(unittest.TestCase):
    """Subclasses have the tests."""

    @classmethod
    def setUpClass(cls):
        """A store with a history, as a crash left it."""
        cls.recorders = [Recorder() for _ in range(AT_A_TIME)]
        cls.free = queue.SimpleQueue()  # those that no run has
        for recorder in cls.recorders:
            cls.free.put(recorder)
        cls.store = folder_in_memory()
        cls.clients = [kind(n, cls.recorders[0], random.Random(f"{seed.SEED}/{n}"))
                       for n, kind in enumerate(KINDS)]
        server = server_on(cls.store)
        try:
            server.start()
            work_together(cls.clients, server, 40)
        finally:
            end(server)
        for client in cls.clients:  # the name of a snapshot whose answer is lost would be unknown
            client.acts = [act for act in client.acts if act.__name__ != "snapshot"]

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.store)
        for recorder in cls.recorders:
            recorder.clean()

    def chance(self, *what):
        """The same for the same test, however many run at a time."""
        return random.Random("/".join(map(str, (seed.SEED, self.id(), *what))))

    def run_once(self, fail_at, act):
        """Start on a copy of the store with one call that fails, and act; (calls, what is wrong)."""
        recorder = self.free.get()
        try:
            return self.run_noted(recorder, fail_at, act)
        finally:
            self.free.put(recorder)

    def run_noted(self, recorder, fail_at, act):
        folder, clients = folder_in_memory(), [client.twin() for client in self.clients]
        for n, client in enumerate(clients):
            client.chance = self.chance(fail_at, n)
        data = os.path.join(folder, "data")
        shutil.copytree(self.store, data)
        error = self.chance(fail_at).choice(ERRORS) if fail_at else 0
        recorder.forget()
        server = server_on(data, env=recorder.env(folder, fail_at, error))
        try:
            server.start(health=(200, 503))
            act(server, clients)
            server.stop()
        except (RuntimeError, *BROKEN):
            pass  # it did not start, or ended: judge_end says whether it may
        finally:
            code, log = server.process.poll(), server.log()
            end(server)
        trouble = judge_end(code, log) or check_store(data, clients, AT_THE_END)
        backup = os.path.join(folder, "backup")
        if trouble is None and os.path.exists(backup):
            trouble = check_store(backup, clients, AT_THE_END)
        if trouble:
            return recorder.calls(), (f"call {fail_at} with {errno.errorcode.get(error)}, kept in "
                                      f"{keep(folder)}: {trouble}\n{log[-3000:]}")
        shutil.rmtree(folder)
        return recorder.calls(), None

    def check(self, act):
        count, trouble = self.run_once(NEVER, act)
        self.assertIsNone(trouble)
        numbers = range(1, count + 1)
        if CALLS != "all":
            numbers = sorted(self.chance().sample(numbers, min(int(CALLS), count)))
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            runs = pool.map(lambda number: self.run_once(number, act)[1], numbers)
            wrong = [trouble for trouble in runs if trouble]
        if wrong:
            self.fail(f"{len(wrong)} of {len(numbers)} calls; the first: {wrong[0]}")

    def check_start(self):
        self.check(lambda server, clients: None)

    def check_load(self):
        self.check(lambda server, clients: work_together(clients, server, 8))


class Calls(Calling):
    def test_a_start(self):
        self.check_start()

    def test_a_load(self):
        self.check_load()

    def test_a_backup(self):
        """One that has its name is a whole one, whatever failed on the way."""
        def back_up(server, clients):
            admin = Admin(server)
            if admin.begin(os.path.join(os.path.dirname(server.data), "backup"))[0] == 202:
                admin.finish()
        self.check(back_up)


class Upgrades(Calling):
    """A start and a load on a store of the format before."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        old_store.make_old(cls.store)

    def test_an_upgrade(self):
        self.check_start()

    def test_a_load_in_an_upgrade(self):
        self.check_load()


def judge_end(code, log):
    """How a server may end whose disk has failed once: with 0, or with a line that says why."""
    if code is None or code == 0:
        return None
    if code in (1, 2, 3) and "tavolad: " in log:
        return None
    return f"it ended with {code}"
