#!/usr/bin/python3
"""The client library against a running server.  Ends with "client: N passed, N failed".

    tests/client/run.py [PART...]       e.g. proxy, test_stop_after
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[0] = str(HERE.parent)
sys.path.insert(1, str(HERE.parent / "lib"))

import suite  # noqa: E402

if __name__ == "__main__":
    sys.exit(suite.main("client", suite.files(HERE), sys.argv[1:], "client"))
