"""Run unittest modules as one suite of ./check.

    sys.exit(suite.main("fault", suite.files(HERE), sys.argv[1:]))

One line per module while all is well, the whole story of what failed, the
reason of every skip, and the closing line "NAME: N passed, N failed".
"""

import importlib
import re
import sys
import time
import unittest

import lanes
import parts
import slow

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
    if not has_lanes:
        return close(name, *run_parts(package, chosen))
    return close(name, *lanes.run(run_parts, [(package, {part: names})
                                              for part, names in chosen.items()]))
