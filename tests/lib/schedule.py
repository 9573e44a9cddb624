"""Run the jobs of all suites in lanes, the longest first, beside the builds that others wait for.

    counts = schedule.run(steps, jobs, lanes)

A job is a command in a process of its own, with ports and servers of its own.  Most of them wait
more than they compute, so there are more lanes than cores.  A step builds something; it runs in
the order of the list, and a job begins when the steps it names are done.
"""

import collections
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

SECONDS = pathlib.Path(__file__).resolve().parent / "seconds.txt"
LIMIT_S = 1800
CLOSING = re.compile(r"^\w+: (\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.MULTILINE)
REPEAT = re.compile(r"^\s*repeat: (.*)$", re.MULTILINE)

Step = collections.namedtuple("Step", "name run")           # run() returns what went wrong, or None
Outcome = collections.namedtuple("Outcome", "passed failed skipped text")


class Job:
    def __init__(self, suite, part, command, needs=(), env=None, cwd=None, judge=None,
                 limit_s=LIMIT_S, targets=(), is_alone=False):
        self.suite, self.part, self.command, self.needs = suite, part, command, set(needs)
        self.env, self.cwd, self.limit_s = env or {}, cwd, limit_s
        self.judge = judge or judge_closing_line
        self.targets = targets      # what ninja has to build for it
        self.is_alone = is_alone    # no other job of its suite may run beside it
        self.cpu_s = 0              # what it took of a core, once it has run

    @property
    def name(self):
        return f"{self.suite} {self.part}"


def judge_closing_line(job, code, output):
    """The outcome of a run.py by its last line "NAME: N passed, N failed, N skipped"."""
    found = CLOSING.findall(output)
    text = CLOSING.sub("", output).strip("\n")
    if not found:
        return Outcome(0, 1, 0, f"{text}\n  {job.name}: no closing line, exit code {code}")
    passed, failed, skipped = (int(number or 0) for number in found[-1])
    if not passed + failed + skipped:
        return Outcome(0, 1, 0, f"{text}\n  {job.name}: ran nothing")
    if code and not failed:
        return Outcome(passed, 1, skipped, f"{text}\n  {job.name}: exit code {code}")
    return Outcome(passed, failed, skipped, text)


def read_seconds():
    """{name of a job: how long it took when somebody looked}"""
    if not SECONDS.exists():
        return {}
    lines = (line.rpartition(" ") for line in SECONDS.read_text().splitlines())
    return {name: float(seconds) for name, _, seconds in lines}


def write_seconds(took):
    known = {**read_seconds(), **took}
    SECONDS.write_text("".join(f"{name} {seconds:.0f}\n" for name, seconds in sorted(known.items())
                               if seconds >= 2))


class Schedule:
    def __init__(self, steps, jobs, lanes):
        self.steps, self.lanes = steps, lanes
        known = read_seconds()
        self.waiting = sorted(jobs, key=lambda job: (job.is_alone, -known.get(job.name, 5)))
        self.undone = {step.name for step in steps}
        self.broken = None      # the step that failed
        self.begun = []         # jobs that run
        self.running = set()    # their processes
        self.changed = threading.Condition()
        self.counts = {job.suite: [0, 0, 0] for job in jobs}
        self.took = {}
        self.cpu_s = 0
        self.repeats = []
        self.is_stopping = False

    def next_job(self):
        """One whose steps are done; None when there is no more."""
        with self.changed:
            while self.waiting and not self.is_stopping:
                for job in self.waiting:
                    if self.may_begin(job):
                        self.waiting.remove(job)
                        self.begun.append(job)
                        return job
                self.changed.wait()
            return None

    def may_begin(self, job):
        beside = [one for one in self.begun if one.suite == job.suite]
        return not (job.needs & self.undone or job.is_alone and beside or
                    any(one.is_alone for one in beside))

    def build(self):
        """The steps, one after the other; without one nothing that follows makes sense."""
        for step in self.steps:
            trouble = attempt(step) if not self.is_stopping else None
            with self.changed:
                if trouble:
                    self.broken, self.waiting = trouble, []
                    self.changed.notify_all()
                    return
                self.undone.discard(step.name)
                self.changed.notify_all()

    def work(self):
        while job := self.next_job():
            began = time.monotonic()
            try:
                outcome = job.judge(job, *self.execute(job))
            except Exception:  # no job may get lost with its lane
                outcome = Outcome(0, 1, 0, traceback.format_exc())
            self.report(job, outcome, time.monotonic() - began)

    def execute(self, job):
        """(exit code, output) of its process; what it left running ends with it."""
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(job.command, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, start_new_session=True,
                                       cwd=job.cwd, env={**os.environ, **job.env})
            self.running.add(process)
            code = wait(process, job.limit_s, job)
            self.running.discard(process)
            output.seek(0)
            return code, output.read().decode(errors="replace")

    def report(self, job, outcome, seconds):
        with self.changed:
            self.begun.remove(job)
            self.changed.notify_all()
            if self.is_stopping:
                return
            self.took[job.name] = seconds
            self.cpu_s += job.cpu_s
            counts = self.counts[job.suite]
            for at, more in enumerate(outcome[:3]):
                counts[at] += more
            failed = f", {outcome.failed} FAILED" if outcome.failed else ""
            skipped = f", {outcome.skipped} skipped" if outcome.skipped else ""
            took = f"{seconds:.1f} s, {job.cpu_s:.1f} of a core"
            print(f"{job.name}: {outcome.passed} ok{skipped}{failed} ({took})")
            if outcome.failed or outcome.skipped:
                print(outcome.text)
            if outcome.failed:
                self.repeats += REPEAT.findall(outcome.text) or [f"./check {job.name}"]
            sys.stdout.flush()

    def stop(self):
        """End everything; what has a cleanup gets it."""
        with self.changed:
            self.is_stopping = True
            self.changed.notify_all()
        for process in list(self.running):
            kill(process, signal.SIGTERM)

    def run(self):
        workers = [threading.Thread(target=self.work) for _ in range(self.lanes)]
        builder = threading.Thread(target=self.build)
        try:
            for thread in (builder, *workers):
                thread.start()
            for thread in (builder, *workers):
                thread.join()
        except BaseException:
            self.stop()
            for thread in (builder, *workers):
                thread.join()
            raise


def attempt(step):
    """What went wrong in a step, or None; jobs that need it would wait for ever for one that broke."""
    try:
        return step.run()
    except Exception:
        return f"{step.name}: {traceback.format_exc()}"


def wait(process, limit_s, job):
    """Its exit code, or that it had to be ended; what it left running ends with it."""
    ended = os.pidfd_open(process.pid)
    is_late = not select.select([ended], [], [], limit_s)[0]
    os.close(ended)
    kill(process, signal.SIGKILL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    job.cpu_s = usage.ru_utime + usage.ru_stime
    return f"none: it hung for {limit_s} s" if is_late else process.returncode


def kill(process, number):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass
