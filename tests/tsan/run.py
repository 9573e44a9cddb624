#!/usr/bin/python3
"""The thread sanitizer: the C tests, the client's threads, then the whole server under load.

    tests/tsan/run.py BUILD_DIR [PART...]           parts of the C tests, client/live/*, or server
    tests/tsan/run.py --find BUILD_DIR PART...      the targets that these parts need

client/live/NAME is the program tests/client/NAME_test.c with a running server, for those programs
in which the threads of an application meet the client's own.

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

LIVE = ["client/live/async", "client/live/bulk", "client/live/patterns_far",
        "client/live/patterns_worker", "client/live/queries", "client/live/threads"]
LIVE_TIMEOUT_S = 300


def live_target(part):
    return "tests/client_live_" + part.rpartition("/")[2]


def run_live(build, parts):
    from server import Server  # it needs TAVOLAD
    from server_test import OPTIONS

    with Server(env={"TSAN_OPTIONS": OPTIONS}) as server:
        return unit.run_all([{
            "part": part,
            "cmd": [os.path.join(build, live_target(part))],
            "env": {"TAVOLA_TEST_CONNECTION": server.connection_string,
                    "TAVOLA_TEST_SERVER": "tavolad", "TSAN_OPTIONS": OPTIONS,
                    "TAVOLA_TEST_FAULT_PROXIES": str(HERE.parent / "lib" / "fault_proxies.py")},
            "workdir": None,
            "timeout": LIVE_TIMEOUT_S,
            "only": None,
            "is_parallel": False,
        } for part in parts])


def run_server_test():
    import server_test  # it needs TAVOLAD

    return suite.run([server_test])


def main(arguments):
    is_find = arguments[0] == "--find"
    build, *words = arguments[1:] if is_find else arguments
    build = os.path.abspath(build)
    chosen = unit.choose(build, words, own=[*LIVE, "server"])
    own = [test["part"] for test in chosen if "cmd" not in test]
    tests = [test for test in chosen if "cmd" in test]
    live = [part for part in own if part in LIVE]
    if is_find:
        print(*unit.targets(build, tests), *map(live_target, live), *(["tavolad"] if own else []))
        return 0
    os.environ["TAVOLAD"] = os.path.join(build, "tavolad")
    counts = [unit.run_all(tests)]
    if live:
        counts.append(run_live(build, live))
    if "server" in own:
        counts.append(run_server_test())
    return suite.close("tsan", *map(sum, zip(*counts)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
