#!/usr/bin/python3
"""One client against all others.  Ends with "neighbours: N passed, N failed".

    tests/neighbours/run.py [NAME...]       e.g. slow_scans big_batches

A well-behaved client of one account reads, queries and writes at a steady pace
while another account, or somebody without any, does its worst.  Times are the
subject here, so this runs only when it is named, on the release build, and on
a machine that has nothing else to do.
"""

import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "lib"))

import attacks_test  # noqa: E402
import suite  # noqa: E402

if __name__ == "__main__":
    wanted = [f"test_{name}" for name in sys.argv[1:]]
    known = unittest.defaultTestLoader.getTestCaseNames(attacks_test.Neighbours)
    for name in wanted:
        if name not in known:
            sys.exit(f"run.py: there is no attack '{name[5:]}'; there are: "
                     + " ".join(test[5:] for test in known))
    if wanted:
        for name in set(known) - set(wanted):
            delattr(attacks_test.Neighbours, name)
    sys.exit(suite.main("neighbours", [attacks_test]))
