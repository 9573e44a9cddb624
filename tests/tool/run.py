#!/usr/bin/python3
"""The command tavola, as a person or a script uses it.  Ends with "tool: N passed, N failed".

    tests/tool/run.py [PART...]         e.g. formats, terminal, test_keys_never_appear

The program is $TAVOLA, else build/tavola; the server as ever.  With CLIENT_SERVER=azurite the tests
run against Azurite; what it cannot do is left out, and named (needs_tavolad).
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[0] = str(HERE.parent)
sys.path.insert(1, str(HERE.parent / "lib"))
sys.path.insert(2, str(HERE))

import suite  # noqa: E402

if __name__ == "__main__":
    sys.exit(suite.main("tool", suite.files(HERE), sys.argv[1:], package="tool"))
