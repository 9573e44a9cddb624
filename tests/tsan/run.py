#!/usr/bin/python3
"""The thread sanitizer: the C tests, then the whole server under load.

    tests/tsan/run.py BUILD_DIR [server]

Any report that tests/tsan.supp does not give a reason for is a failure.  Ends
with "tsan: N passed, N failed".
"""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "lib"))
sys.path.insert(0, str(HERE.parent / "fault"))

import suite  # noqa: E402
import unit  # noqa: E402


def main(build, *which):
    os.environ["TAVOLAD"] = os.path.join(os.path.abspath(build), "tavolad")
    passed, failed = (0, 0) if "server" in which else unit.run_all(build)
    import server_test  # it needs TAVOLAD

    more_passed, more_failed = suite.run([server_test])
    passed, failed = passed + more_passed, failed + more_failed
    print(f"tsan: {passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
