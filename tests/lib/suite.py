"""Run unittest modules as one suite of ./check.

    sys.exit(suite.main("fault", [kill_test, stop_test]))

One line per module while all is well, the whole story of what failed, the
reason of every skip, and the closing line "NAME: N passed, N failed".
"""

import sys
import time
import unittest


class Result(unittest.TestResult):
    """Counts cases; a failing subtest makes its case fail once."""

    def __init__(self):
        super().__init__()
        self.passed = 0

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


def run(modules):
    """Run the tests of the modules and return how many (passed, failed)."""
    passed = failed = 0
    for module in modules:
        result = Result()
        began = time.monotonic()
        unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
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


def main(name, modules):
    passed, failed = run(modules)
    print(f"{name}: {passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0
