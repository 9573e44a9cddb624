"""Run unittest modules as one suite of ./check.

    sys.exit(suite.main("fault", suite.files(HERE), sys.argv[1:]))

One line per module while all is well, the whole story of what failed, the
reason of every skip, and the closing line "NAME: N passed, N failed".
"""

import importlib
import multiprocessing
import multiprocessing.connection
import os
import re
import sys
import tempfile
import time
import unittest

import parts
import server
import slow

LANES = 2
TEST = re.compile(r"^    def (test_\w+)", re.MULTILINE)


class Result(unittest.TestResult):
    """Counts cases and times them; a failing subtest makes its case fail once."""

    def __init__(self):
        super().__init__()
        self.passed = 0

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        slow.note(test.id(), time.monotonic() - self.began)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1

    def trouble(self):
        """(name, text) of what failed, with all subtests of a case under one name."""
        stories = {}
        for test, text in self.failures + self.errors:
            case = getattr(test, "test_case", test)
            stories.setdefault(case.id(), []).append(f"{test}\n{text}")
        for test in self.unexpectedSuccesses:
            stories.setdefault(test.id(), []).append(f"{test}\nexpected to fail, and passed")
        return stories


def files(folder):
    """{part: names of its tests} of the *_test.py under a folder; nothing is imported yet."""
    found = {}
    for path in sorted(folder.glob("**/*_test.py")):
        part = str(path.relative_to(folder)).removesuffix("_test.py")
        found[part] = TEST.findall(path.read_text())
    return found


def module_of(package, part):
    """The module of a part; `package` is the folder's name, or None if it is on the path itself."""
    name = part.replace("/", ".") + "_test"
    return importlib.import_module(f"{package}.{name}" if package else name)


def cases(loaded):
    """The test cases inside of suites."""
    for one in loaded:
        if isinstance(one, unittest.TestSuite):
            yield from cases(one)
        else:
            yield one


def load(module, names=None):
    """The tests of a module, or those of them with these names."""
    loaded = unittest.defaultTestLoader.loadTestsFromModule(module)
    if names is None:
        return loaded
    return unittest.TestSuite(one for one in cases(loaded)
                              if one.id().rpartition(".")[2] in names)


def run(modules, names=None):
    """Run the tests of the modules and return how many (passed, failed).

    `names` gives for a module the names of the tests to run, if not all of them.
    """
    passed = failed = 0
    for module in modules:
        result = Result()
        began = time.monotonic()
        load(module, (names or {}).get(module)).run(result)
        stories = result.trouble()
        passed += result.passed
        failed += len(stories)
        print(f"  {module.__name__}: {result.passed} ok" +
              (f", {len(result.skipped)} skipped" if result.skipped else "") +
              (f", {len(stories)} FAILED" if stories else "") +
              f" ({time.monotonic() - began:.1f} s)")
        for test, reason in result.skipped:
            print(f"    SKIP {test}: {reason}")
        for texts in stories.values():
            for text in texts:
                print("    FAILED " + text.rstrip().replace("\n", "\n      "))
        sys.stdout.flush()
    return passed, failed


def run_parts(package, chosen):
    """Run what parts.choose() chose, one module after the other."""
    passed = failed = 0
    for part, names in chosen.items():
        module = module_of(package, part)
        more_passed, more_failed = run([module], {module: names})
        passed, failed = passed + more_passed, failed + more_failed
    return passed, failed


def run_in_lane(lane, package, part, names, output, to_parent):
    """In a process of its own: run one part, its output into a file, its counts to the parent."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    server.take_lane(lane, LANES)
    slow.times.clear()
    counts = run_parts(package, {part: names})
    sys.stdout.flush()
    to_parent.send((counts, slow.times))


class Running:
    """A part that runs in a lane."""

    def __init__(self, lane, package, part, names):
        self.lane, self.part = lane, part
        self.output = tempfile.TemporaryFile()
        self.result, to_parent = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.get_context("fork").Process(
            target=run_in_lane,
            args=(lane, package, part, names, self.output.fileno(), to_parent))
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
            print(f"  {self.part}: ended with {self.process.exitcode}")
            counts = (counts[0], max(counts[1], 1))
        sys.stdout.flush()
        self.output.close()
        self.result.close()
        return counts


def run_lanes(package, chosen):
    """As run_parts, two parts at a time: for suites that wait more than they compute."""
    waiting, free, running = list(chosen.items()), list(range(LANES)), []
    passed = failed = 0
    sys.stdout.flush()
    while waiting or running:
        while waiting and free:
            running.append(Running(free.pop(), package, *waiting.pop(0)))
        ready = multiprocessing.connection.wait([one.result for one in running])
        for one in [one for one in running if one.result in ready]:
            more_passed, more_failed = one.finish()
            passed, failed = passed + more_passed, failed + more_failed
            running.remove(one)
            free.append(one.lane)
    return passed, failed


def close(name, passed, failed):
    """Print the closing line; returns the exit code."""
    slow.report()
    print(f"{name}: {passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0


def main(name, known, arguments, package=None, has_lanes=False):
    """Run the parts that are asked for; after --find, only say whether they exist."""
    is_find = arguments[:1] == ["--find"]
    chosen = parts.choose_or_exit(name, known, arguments[1:] if is_find else arguments)
    if is_find:
        return 0
    return close(name, *(run_lanes if has_lanes else run_parts)(package, chosen))
