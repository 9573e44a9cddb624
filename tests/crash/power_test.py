"""Power cuts: a server's run is noted, and started again on what each of many could leave of it.

A half of them is under load, a quarter in an upgrade of an older store, a quarter in a backup.

$CRASH_STATES says how many (200).  A state that fails is kept, and its folder named.
"""

import collections
import concurrent.futures
import copy
import os
import random
import shutil
import unittest

import old_store
import seed
from crash.disk import Disk
from crash.recorder import Recorder, folder_in_memory, keep, server_on
from crash.world import AT_THE_END, KINDS, check_store, end, work_together
from fault.server.backup import Admin

STATES = int(os.environ.get("CRASH_STATES") or 200)
STATES_OF_A_RUN = 50
AT_A_TIME = 2
WRITTEN_AHEAD = 8  # states that wait for their turn


class Run:
    """A server under load, killed and started again in the middle, and its journal."""

    def __init__(self, number):
        self.chance = random.Random(f"{seed.SEED}/{number}")
        self.recorder = Recorder()
        self.clients = [kind(n, self.recorder, random.Random(f"{seed.SEED}/{number}/{n}"))
                        for n, kind in enumerate(KINDS)]
        self.root = folder_in_memory()
        self.data = os.path.join(self.root, "data")
        self.span = None  # (from, to): the records of what is not done all the time, if there is any
        self.server = None
        try:
            self.prepare()
            self.disk = Disk(self.root)
            after = copy.deepcopy(self.disk)
            self.server = server_on(self.data, env=self.recorder.env(self.root))
            self.server.start()
            self.act()
            if self.server.stop() != 0:
                raise AssertionError(self.server.log())
            self.journal = self.recorder.settle()
            after.play(self.journal, len(self.journal))
            if wrong := after.differs_from(self.root):
                raise AssertionError(f"the journal does not tell all that happened to {wrong}")
        finally:
            if self.server:
                end(self.server)
            shutil.rmtree(self.root)
            self.recorder.clean()

    def prepare(self):
        """What is not noted."""

    def act(self):
        work_together(self.clients, self.server, 40)
        self.recorder.kill(self.server)
        self.recorder.settle()
        self.server.start()
        work_together(self.clients, self.server, 40)

    def moments(self, count):
        """Numbers of records: half of them anywhere, in the span, half just when somebody was told
        of success."""
        first, last = self.span or (0, len(self.journal))
        acked = [step.acked for client in self.clients for step in client.steps[1:]
                 if step.acked > first]
        return sorted(self.chance.choice(acked) if n % 2 else self.chance.randint(first, last)
                      for n in range(count))

    def check(self, folder, moment):
        """What is wrong with a state, or None."""
        return check_store(os.path.join(folder, "data"), self.clients, moment)


class Upgrade(Run):
    """A store of the format before, as a crash left it, is started and counted under load."""

    def prepare(self):
        server = server_on(self.data)
        try:
            server.start()
            work_together(self.clients, server, 40)
        finally:
            end(server)
        old_store.make_old(self.data)

    def act(self):
        self.span = 0, self.recorder.records()
        work_together(self.clients, self.server, 15)


class Backup(Run):
    """A backup next to the store, between two loads."""

    def act(self):
        work_together(self.clients, self.server, 40)
        self.copied = [client.twin() for client in self.clients]
        begin, admin = self.recorder.records(), Admin(self.server)
        status, text = admin.begin(os.path.join(self.root, "backup"))
        if status != 202 or admin.finish()["state"] != "done":
            raise AssertionError(f"{text} {admin.status()}")
        self.span = begin, self.recorder.records()
        work_together(self.clients, self.server, 3)

    def check(self, folder, moment):
        """One that was told of is there; one that has its name is whole."""
        trouble, backup = super().check(folder, moment), os.path.join(folder, "backup")
        if trouble is None and os.path.exists(backup):
            trouble = check_store(backup, self.copied, AT_THE_END)
        elif trouble is None and moment >= self.span[1]:
            trouble = "the backup is gone"
        return trouble


KINDS_OF_RUNS = (Run, Upgrade, Run, Backup)
Wrong = collections.namedtuple("Wrong", "number text")


def check(run, moment, folder, number, keeps):
    """What is wrong with a state, or None."""
    trouble = run.check(folder, moment)
    if trouble is None or not keeps:
        shutil.rmtree(folder)
    if trouble is None:
        return None
    kept = f", kept in {keep(folder)}" if keeps else ""
    return Wrong(number, f"state {number} of {type(run).__name__}, after record {moment} of {len(run.journal)}{kept}: "
                 f"{trouble}")


def check_run(name, count, keeps=True, kind=Run):
    """Note a run and check so many states of it; what is wrong with the first that is."""
    run, waiting = kind(name), []
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        for number, moment in enumerate(run.moments(count)):
            run.disk.play(run.journal, moment)
            folder = folder_in_memory()
            run.disk.leave(folder, run.chance)
            waiting.append(pool.submit(check, run, moment, folder, number, keeps))
            if len(waiting) > WRITTEN_AHEAD and waiting[-WRITTEN_AHEAD].result():
                break
        return next((each.result() for each in waiting if each.result()), None)


class PowerCuts(unittest.TestCase):
    def test_what_was_acknowledged_is_there_after_any_power_cut(self):
        for number in range(max(1, STATES // STATES_OF_A_RUN)):
            kind = KINDS_OF_RUNS[number % len(KINDS_OF_RUNS)]
            with self.subTest(run=number, kind=kind.__name__):
                wrong = check_run(number, min(STATES, STATES_OF_A_RUN), kind=kind)
                if wrong:
                    self.fail(wrong.text)
