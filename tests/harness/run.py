#!/usr/bin/python3
"""The tests of what runs the tests.  Ends with "harness: N passed, N failed".

    tests/harness/run.py [PART...]      e.g. judges, words
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[0] = str(HERE)
sys.path.insert(1, str(HERE.parent / "lib"))

import suite  # noqa: E402

if __name__ == "__main__":
    sys.exit(suite.main("harness", suite.files(HERE), sys.argv[1:]))
