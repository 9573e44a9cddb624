#!/usr/bin/python3
"""The thread sanitizer: the C tests, then the whole server under load.

    tests/tsan/run.py BUILD_DIR [PART...]           parts of the C tests, or server
    tests/tsan/run.py --find BUILD_DIR PART...      the targets that these parts need

Any report that tests/tsan.supp does not give a reason for is a failure.  Ends
with "tsan: N passed, N failed".
"""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "lib"))

import suite  # noqa: E402
import unit  # noqa: E402


def main(arguments):
    is_find = arguments[0] == "--find"
    build, *words = arguments[1:] if is_find else arguments
    chosen = unit.choose(build, words, own=["server"])
    tests = [test for test in chosen if test["part"] != "server"]
    if is_find:
        print(*unit.targets(build, tests), *(["tavolad"] if len(tests) < len(chosen) else []))
        return 0
    os.environ["TAVOLAD"] = os.path.join(os.path.abspath(build), "tavolad")
    passed, failed = unit.run_all(tests)
    if len(tests) < len(chosen):
        import server_test  # it needs TAVOLAD

        more_passed, more_failed = suite.run([server_test])
        passed, failed = passed + more_passed, failed + more_failed
    return suite.close("tsan", passed, failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
