#!/usr/bin/python3
"""Run a program with a server of its own, whose time it can move (clock.h).

    tests/client/with_server.py PROGRAM [ARGUMENT...]

Its exit code is that of the program; a server that does not end well is a failure, too.
"""

import os
import pathlib
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).resolve().parents[1] / "lib")

from server import Server  # noqa: E402


def main(command):
    with Server("--test-points") as server:
        return subprocess.call(command, env=os.environ | {
            "TAVOLA_TEST_CONNECTION": server.connection_string,
            "TAVOLA_TEST_ADMIN_PORT": str(server.admin_port),
            "TAVOLA_TEST_ADMIN_TOKEN": server.admin_token()})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
