"""What clients saw, from many threads: histories for linear.py, and acknowledgements by time."""

import collections
import datetime
import math
import re
import threading
import time

from cluster import linear

LATE_TICKS = 10**7  # ETags of different rows of a partition are less than a second behind
STAMP = re.compile(r"datetime'(\d{4}-\d\d-\d\dT\d\d)%3A(\d\d)%3A(\d\d)(?:\.(\d{1,7}))?Z'")


def ticks(etag):
    """The instant in an ETag, in units of 100 ns."""
    hours, minutes, seconds, fraction = STAMP.search(etag).groups()
    when = datetime.datetime.fromisoformat(f"{hours}:{minutes}:{seconds}+00:00")
    return int(when.timestamp()) * 10**7 + int((fraction or "").ljust(7, "0"))


class Record:
    """One for a run; any thread."""

    def __init__(self):
        self.began = time.monotonic()
        self.wall_s = time.time() - self.began
        self.lock = threading.Lock()
        self.ops = collections.defaultdict(list)       # partition -> Ops
        self.etags = collections.defaultdict(list)     # partition -> (row, token, etag)
        self.writes = collections.defaultdict(list)    # (partition, row) -> (called, answered, ticks)
        self.answers = collections.defaultdict(list)   # what was written -> times of answers
        self.done = 0                                  # answers to all clients
        self.unknown = collections.Counter()           # why there was no answer -> how often
        self.trouble = []                              # answers that no client should get

    def now(self):
        return time.monotonic() - self.began

    def hint(self, etag):
        return None if etag is None else ticks(etag) / 1e7 - self.wall_s - self.began

    def add(self, partition, op, observed=(), written=()):
        """An operation, the (row, token, etag) that it showed, and those that it wrote."""
        with self.lock:
            self.ops[partition].append(op)
            self.etags[partition] += [*observed, *written]
            self.done += op.answered != math.inf
            for row, _, etag in written:
                self.writes[partition, row].append((op.called, op.answered, ticks(etag)))
            if op.kind == "change" and op.answered != math.inf:
                self.answers[partition].append(op.answered)

    def answer(self, what):
        with self.lock:
            self.done += 1
            self.answers[what].append(self.now())

    def lost(self, why):
        with self.lock:
            self.unknown[why] += 1

    def complain(self, text):
        with self.lock:
            self.trouble.append(f"{self.now():.3f}: {text}")

    def are_written(self, since):
        """Whether every partition and queue has had a write acknowledged that came after this time."""
        with self.lock:
            return all(times[-1] > since for times in self.answers.values())

    # --- afterwards, by one thread

    def count(self):
        return sum(map(len, self.ops.values()))

    def problems(self):
        """Texts of all that must not be."""
        found = list(self.trouble)
        for partition, ops in sorted(self.ops.items()):
            error = linear.check(ops)
            if error:
                found.append(f"partition {partition}: {error}")
            found += [f"partition {partition}: {error}"
                      for error in linear.etag_errors(self.etags[partition])]
        together = collections.defaultdict(list)
        for (partition, row), writes in sorted(self.writes.items()):
            together[partition] += writes
            found += [f"partition {partition}, row {row}: {error}"
                      for error in backward_stamps(writes)]
        for partition, writes in together.items():
            found += [f"partition {partition}: {error}"
                      for error in backward_stamps(writes, LATE_TICKS)]
        return found

    def gaps(self, since, until):
        """{what: the longest time without an acknowledged write to it} between two times."""
        longest = {}
        for what, times in self.answers.items():
            marks = [since, *sorted(time for time in times if since < time < until), until]
            longest[what] = max(after - before for before, after in zip(marks, marks[1:]))
        return longest


def backward_stamps(writes, by=0):
    """Writes that began when another had been answered, and whose ETag is so far behind, in ticks."""
    errors = []
    ends = sorted((answered, stamp) for _, answered, stamp in writes)
    highest, index = 0, 0
    for called, _, stamp in sorted(writes):
        while index < len(ends) and ends[index][0] < called:
            highest = max(highest, ends[index][1])
            index += 1
        if stamp <= highest - by:
            errors.append(f"a write called at {called:.4f} has the ETag {stamp}, "
                          f"and one answered before that has {highest}")
    return errors
