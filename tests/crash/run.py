#!/usr/bin/python3
"""What is left of a store after power cuts and failing calls.  Ends with "crash: N passed, N failed".

    tests/crash/run.py [PART...]        e.g. power; mutants run only when they are named
"""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[0] = str(HERE.parent)
sys.path.insert(1, str(HERE.parent / "lib"))

import parts  # noqa: E402
import suite  # noqa: E402

ASKED = "CRASH_STATES", "CRASH_CALLS", "CRASH_MUTANT_STATES"  # how much somebody wants to have tried
DAY_S = 24 * 3600


def main(arguments):
    is_list = arguments[:1] == ["--jobs"]
    known = suite.files(HERE)
    words = arguments[is_list:] or ["calls", "power"]
    chosen = parts.choose_or_exit("crash", known, words)
    if is_list:
        is_long = any(name in os.environ for name in ASKED)
        return suite.print_jobs(chosen, needs=lambda part: ["release"],
                                **{"limit_s": DAY_S} if is_long else {})
    return suite.close("crash", *suite.run_parts("crash", chosen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
