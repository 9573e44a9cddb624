#!/usr/bin/python3
"""Storage Analytics: logs, metrics, who may touch them, how long they stay.

    tests/analytics/run.py [PART...]    e.g. logs, test_rows_equal_the_counts_of_a_model

Ends with "analytics: N passed, N failed".
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[0] = str(HERE.parent / "lib")
sys.path.insert(1, str(HERE))

import suite  # noqa: E402

if __name__ == "__main__":
    sys.exit(suite.main("analytics", suite.files(HERE), sys.argv[1:]))
