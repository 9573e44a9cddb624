#!/usr/bin/python3
"""The client library against a running server.  Ends with "client: N passed, N failed".

    tests/client/run.py [PART...]       e.g. batches, proxy, test_stop_after
    tests/client/run.py --find PART...  the targets that these parts need

A part is a program in C, which uses the library as an application does and finds its server by
$TAVOLA_TEST_CONNECTION, or a module in Python, which starts what it needs.  The programs are taken
from $TAVOLA_CLIENT_BUILD, else build-check/.  One that moves the server's time (clock.h) has a
server of its own.

With CLIENT_SERVER=azurite the programs, and nothing else, run against Azurite, which is installed
if need be.  Where Azurite differs from the service, a test says so and why (AZURITE_DIFFERS).
With CLIENT_SERVER=<connection string> they run against a server that runs already.
"""

import os
import pathlib
import re
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

TEST = re.compile(r"\b(?:[A-Z]+_TEST|cmocka_unit_test\w*)\(\s*(\w+)")
MOVES_TIME = '#include "clock.h"'
TIMEOUT_S = 300
BUILD = pathlib.Path(os.environ.get("TAVOLA_CLIENT_BUILD", ROOT / "build-check"))


def programs():
    """{part: names of its tests} of the programs in C."""
    return {path.name.removesuffix("_test.c"): TEST.findall(path.read_text())
            for path in sorted(HERE.glob("*_test.c"))}


def modules():
    return {} if "CLIENT_SERVER" in os.environ else suite.files(HERE)


def target(part):
    return f"tests/client_live_{part}"


def command(part, kind):
    program = [str(BUILD / target(part))]
    if kind == "tavolad" and MOVES_TIME in (HERE / f"{part}_test.c").read_text():
        return [sys.executable, str(HERE / "with_server.py"), *program]
    return program


def run_programs(chosen, connection, kind):
    env = {"TAVOLA_TEST_CONNECTION": connection, "TAVOLA_TEST_SERVER": kind,
           "TAVOLA_TEST_FAULT_PROXIES": str(HERE.parent / "lib" / "fault_proxies.py")}
    return unit.run_all([{
        "part": part,
        "cmd": command(part, kind),
        "env": env,
        "workdir": None,
        "timeout": TIMEOUT_S,
        "only": next(iter(names)) if names and len(names) == 1 else None,
    } for part, names in chosen.items()])


def run_with_server(chosen):
    server = os.environ.get("CLIENT_SERVER")
    if not chosen:
        return 0, 0
    if server == "azurite":
        with AzuriteServer() as azurite:
            return run_programs(chosen, azurite.connection_string, "azurite")
    if server:
        return run_programs(chosen, server, "other")
    with Server() as tavolad:
        return run_programs(chosen, tavolad.connection_string, "tavolad")


def main(arguments):
    in_c, in_python = programs(), modules()
    is_find = arguments[:1] == ["--find"]
    chosen = parts.choose_or_exit("client", in_c | in_python, arguments[is_find:])
    if is_find:
        print(*(target(part) for part in chosen if part in in_c),
              *(["examples-all"] if {"examples", "connect"} & set(chosen) else []))
        return 0
    passed, failed = run_with_server({part: names for part, names in chosen.items()
                                      if part in in_c})
    more_passed, more_failed = suite.run_parts("client", {part: names
                                                          for part, names in chosen.items()
                                                          if part in in_python})
    return suite.close("client", passed + more_passed, failed + more_failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
