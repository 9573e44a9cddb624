#!/usr/bin/python3
"""Do the server harm and see what survives.  Ends with "fault: N passed, N failed".

    tests/fault/run.py [PART...]        e.g. blob, table/kill, clock, test_sigterm
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[0] = str(HERE.parent)
sys.path.insert(1, str(HERE.parent / "lib"))

import suite  # noqa: E402

if __name__ == "__main__":
    sys.exit(suite.main("fault", suite.files(HERE), sys.argv[1:], "fault"))
