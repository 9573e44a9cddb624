#!/usr/bin/python3
"""The thread sanitizer: the client's threads, and the whole server under load.

    tests/tsan/run.py [PART...]         client/live/*, or server

client/live/NAME is the program tests/client/NAME_test.c with a running server, for those programs
in which the threads of an application meet the client's own.  The C tests, which ./check tsan runs
as well, need no run.py.

Any report that tests/tsan.supp does not give a reason for is a failure.  Ends
with "tsan: N passed, N failed".
"""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build-tsan"
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "lib"))

import parts  # noqa: E402
import suite  # noqa: E402
import unit  # noqa: E402

LIVE = ["client/live/async", "client/live/bulk", "client/live/patterns_inter",
        "client/live/patterns_worker", "client/live/queries", "client/live/threads"]
LIVE_TIMEOUT_S = 300


def live_target(part):
    return "tests/client_live_" + part.rpartition("/")[2]


def run_live(chosen):
    from server import Server  # it needs TAVOLAD
    from server_test import OPTIONS

    with Server("--test-points", env={"TSAN_OPTIONS": OPTIONS}) as server:
        return unit.run_here([unit.job({
            "part": part,
            "cmd": [str(BUILD / live_target(part))],
            "env": {"TAVOLA_TEST_CONNECTION": server.connection_string,
                    "TAVOLA_TEST_SERVER": "tavolad", "TSAN_OPTIONS": OPTIONS,
                    "TAVOLA_TEST_ADMIN_PORT": str(server.admin_port),
                    "TAVOLA_TEST_ADMIN_TOKEN": server.admin_token(),
                    "TAVOLA_TEST_FAULT_PROXIES": str(HERE.parent / "lib" / "fault_proxies.py")},
            "workdir": None,
            "timeout": LIVE_TIMEOUT_S,
            "only": None,
        }, "tsan") for part in chosen])


def run_server_test():
    import server_test  # it needs TAVOLAD

    return suite.run([server_test])


def targets(part):
    return ["tavolad"] if part == "server" else ["tavolad", live_target(part)]


def main(arguments):
    is_list = arguments[:1] == ["--jobs"]
    chosen = parts.choose_or_exit("tsan", dict.fromkeys([*LIVE, "server"], ()), arguments[is_list:])
    if is_list:
        return suite.print_jobs(chosen, targets=targets)
    os.environ["TAVOLAD"] = str(BUILD / "tavolad")
    counts = [run_live([part]) for part in chosen if part in LIVE]
    if "server" in chosen:
        counts.append(run_server_test())
    return suite.close("tsan", *map(sum, zip(*counts)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
