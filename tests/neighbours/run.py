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

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "lib"))

import suite  # noqa: E402

if __name__ == "__main__":
    sys.exit(suite.main("neighbours", suite.files(HERE), sys.argv[1:]))
