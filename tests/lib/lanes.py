"""Parts of a suite two at a time, each in a process of its own: for suites that wait more than they
compute.

    passed, failed = lanes.run(run_file, [(part,) for part in chosen])
"""

import multiprocessing
import multiprocessing.connection
import os
import sys
import tempfile

import server
import slow

LANES = 2


def work(lane, function, arguments, output, to_parent):
    """In a process of its own: the output goes into a file, the counts to the parent."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    server.take_lane(lane, LANES)
    slow.times.clear()
    counts = function(*arguments)
    sys.stdout.flush()
    to_parent.send((counts, slow.times))


class Running:
    """A part that runs in a lane."""

    def __init__(self, lane, function, arguments):
        self.lane, self.arguments = lane, arguments
        self.output = tempfile.TemporaryFile()
        self.result, to_parent = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.get_context("fork").Process(
            target=work, args=(lane, function, arguments, self.output.fileno(), to_parent))
        self.process.start()
        to_parent.close()

    def finish(self):
        """(passed, failed), with its output printed as one piece."""
        try:
            counts, times = self.result.recv()
            slow.times.extend(times)
        except EOFError:  # it has ended before it could tell
            counts = (0, 1)
        self.process.join()
        self.output.seek(0)
        sys.stdout.write(self.output.read().decode(errors="replace"))
        if self.process.exitcode:
            print(f"  {self.arguments} ended with {self.process.exitcode}")
            counts = (counts[0], max(counts[1], 1))
        sys.stdout.flush()
        self.output.close()
        self.result.close()
        return counts


def run(function, calls):
    """Call `function`, which returns (passed, failed), with each of these arguments; the sums."""
    waiting, free, running = list(calls), list(range(LANES)), []
    passed = failed = 0
    sys.stdout.flush()
    while waiting or running:
        while waiting and free:
            running.append(Running(free.pop(), function, waiting.pop(0)))
        ready = multiprocessing.connection.wait([one.result for one in running])
        for one in [one for one in running if one.result in ready]:
            more_passed, more_failed = one.finish()
            passed, failed = passed + more_passed, failed + more_failed
            running.remove(one)
            free.append(one.lane)
    return passed, failed
