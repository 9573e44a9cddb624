"""Power cuts: a server's run is noted, and started again on what each of many could leave of it.

$CRASH_STATES says how many (200).  A state that fails is kept, and its folder named.
"""

import collections
import concurrent.futures
import os
import random
import shutil
import unittest

import seed
from crash.disk import Disk
from crash.recorder import Recorder, folder_in_memory, keep, server_on
from crash.world import KINDS, check_store, end, work_together

STATES = int(os.environ.get("CRASH_STATES") or 200)
STATES_OF_A_RUN = 100
AT_A_TIME = 2
WRITTEN_AHEAD = 8  # states that wait for their turn


class Run:
    """A server under load, killed and started again in the middle, and its journal."""

    def __init__(self, number):
        self.chance = random.Random(f"{seed.SEED}/{number}")
        self.recorder = Recorder()
        self.clients = [kind(n, self.recorder, random.Random(f"{seed.SEED}/{number}/{n}"))
                        for n, kind in enumerate(KINDS)]
        folder = folder_in_memory()
        server = server_on(folder, env=self.recorder.env(folder))
        try:
            server.start()
            work_together(self.clients, server, 40)
            server.kill()
            self.recorder.settle()
            server.start()
            work_together(self.clients, server, 40)
            if server.stop() != 0:
                raise AssertionError(server.log())
            self.journal = self.recorder.settle()
            disk = Disk()
            disk.play(self.journal, len(self.journal))
            if wrong := disk.differs_from(folder):
                raise AssertionError(f"the journal does not tell all that happened to {wrong}")
        finally:
            end(server)
            shutil.rmtree(folder)
            self.recorder.clean()

    def moments(self, count):
        """Numbers of records: half of them anywhere, half just when somebody was told of success."""
        acked = [step.acked for client in self.clients for step in client.steps[1:]]
        return sorted(self.chance.choice(acked) if n % 2 else
                      self.chance.randint(0, len(self.journal)) for n in range(count))


Wrong = collections.namedtuple("Wrong", "number text")


def check(run, moment, folder, number, keeps):
    """What is wrong with a state, or None."""
    trouble = check_store(folder, run.clients, moment)
    if trouble is None or not keeps:
        shutil.rmtree(folder)
    if trouble is None:
        return None
    kept = f", kept in {keep(folder)}" if keeps else ""
    return Wrong(number, f"state {number}, after record {moment} of {len(run.journal)}{kept}: "
                 f"{trouble}")


def check_run(name, count, keeps=True):
    """Note a run and check so many states of it; what is wrong with the first that is."""
    run, disk, waiting = Run(name), Disk(), []
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        for number, moment in enumerate(run.moments(count)):
            disk.play(run.journal, moment)
            folder = folder_in_memory()
            disk.leave(folder, run.chance)
            waiting.append(pool.submit(check, run, moment, folder, number, keeps))
            if len(waiting) > WRITTEN_AHEAD and waiting[-WRITTEN_AHEAD].result():
                break
        return next((each.result() for each in waiting if each.result()), None)


class PowerCuts(unittest.TestCase):
    def test_what_was_acknowledged_is_there_after_any_power_cut(self):
        for number in range(max(1, STATES // STATES_OF_A_RUN)):
            with self.subTest(run=number):
                wrong = check_run(number, min(STATES, STATES_OF_A_RUN))
                if wrong:
                    self.fail(wrong.text)
