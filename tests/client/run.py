#!/usr/bin/python3
"""The client library against a running server.  Ends with "client: N passed, N failed".

    tests/client/run.py [PART...]       e.g. batches, proxy, test_stop_after

A part is a program in C, which uses the library as an application does and finds its server by
$TAVOLA_TEST_CONNECTION, or a module in Python, which starts what it needs.  The programs are taken
from $TAVOLA_CLIENT_BUILD, else build-check/.  Each part has a server of its own, whose time it may
move (clock.h).

With CLIENT_SERVER=azurite the programs, and nothing else, run against Azurite, which is installed
if need be.  Where Azurite differs from the service, a test says so and why (AZURITE_DIFFERS).
With CLIENT_SERVER=<connection string> they run against a server that runs already.
"""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[0] = str(HERE.parent)
sys.path.insert(1, str(HERE.parent / "lib"))

import parts  # noqa: E402
import suite  # noqa: E402
import unit  # noqa: E402
from azurite import AzuriteServer  # noqa: E402
from server import Server  # noqa: E402

TIMEOUT_S = 300
BUILD = pathlib.Path(os.environ.get("TAVOLA_CLIENT_BUILD", ROOT / "build-check"))


def programs():
    """{part: names of its tests} of the programs in C."""
    return {path.name.removesuffix("_test.c"): unit.TEST.findall(path.read_text())
            for path in sorted(HERE.glob("*_test.c"))}


def modules():
    return {} if "CLIENT_SERVER" in os.environ else suite.files(HERE)


def target(part):
    return f"tests/client_live_{part}"


def targets(part):
    """What ninja has to build for a part."""
    if (HERE / f"{part}_test.c").exists():
        return [target(part)]
    return ["examples-all"] if part in ("examples", "connect") else []


def run_program(part, names, connection, kind, **env):
    return unit.run_here([unit.job({
        "part": part,
        "cmd": [str(BUILD / target(part))],
        "env": {"TAVOLA_TEST_CONNECTION": connection, "TAVOLA_TEST_SERVER": kind,
                "TAVOLA_TEST_FAULT_PROXIES": str(HERE.parent / "lib" / "fault_proxies.py"), **env},
        "workdir": None,
        "timeout": TIMEOUT_S,
        "only": unit.only(names),
    }, "client")])


def run_with_server(part, names):
    server = os.environ.get("CLIENT_SERVER")
    if server == "azurite":
        with AzuriteServer() as azurite:
            return run_program(part, names, azurite.connection_string, "azurite")
    if server:
        return run_program(part, names, server, "other")
    with Server("--test-points") as tavolad:
        return run_program(part, names, tavolad.connection_string, "tavolad",
                           TAVOLA_TEST_ADMIN_PORT=str(tavolad.admin_port),
                           TAVOLA_TEST_ADMIN_TOKEN=tavolad.admin_token())


def main(arguments):
    in_c = programs()
    is_list = arguments[:1] == ["--jobs"]
    chosen = parts.choose_or_exit("client", in_c | modules(), arguments[is_list:])
    if is_list:
        return suite.print_jobs(chosen, targets=targets)
    passed = failed = 0
    for part, names in chosen.items():
        more_passed, more_failed = (run_with_server(part, names) if part in in_c
                                    else suite.run_parts("client", {part: names}))
        passed, failed = passed + more_passed, failed + more_failed
    return suite.close("client", passed, failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
