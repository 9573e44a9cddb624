#!/usr/bin/python3
"""Pages in a real browser against a tavolad.  Ends with "browser: N passed, N failed".

    tests/browser/run.py [PART...]      e.g. simple sdk

Every file gets a server of its own, in memory.  README.md says what is where.
"""

import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import certificate  # noqa: E402
import javascript  # noqa: E402
import parts  # noqa: E402
import suite  # noqa: E402
from server import ACCOUNT, KEY, Server  # noqa: E402

ENDING = ".test.mjs"


def tell(server, cert, key):
    """What browser.mjs finds in its environment."""
    os.environ.update({
        "BROWSER_TEST_TABLE_PORT": str(server.table_port),
        "BROWSER_TEST_QUEUE_PORT": str(server.queue_port),
        "BROWSER_TEST_BLOB_PORT": str(server.blob_port),
        "BROWSER_TEST_ACCOUNT": ACCOUNT, "BROWSER_TEST_KEY": KEY,
        "BROWSER_TEST_LOG": server.log_path,
        "BROWSER_TEST_CERTIFICATE": cert, "BROWSER_TEST_CERTIFICATE_KEY": key,
    })


def run_file(part, cert, key):
    """(passed, failed) of one file; a server that does not end well is a failure of it."""
    try:
        # On one thread, lines of the log are in the order of the requests.
        with Server("--access-log", "--threads", "1", engine="memory") as server:
            tell(server, cert, key)
            return javascript.run_tests(part, HERE, [str(HERE / (part + ENDING))])
    except RuntimeError as error:
        print(f"    FAILED {part}: {error}")
        return 0, 1


def main(arguments):
    is_list = arguments[:1] == ["--jobs"]
    known = {path.name.removesuffix(ENDING): () for path in sorted(HERE.glob(f"*{ENDING}"))}
    chosen = parts.choose_or_exit("browser", known, arguments[is_list:])
    if is_list:
        return suite.print_jobs(chosen)
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="tavola-browser-") as folder:
        cert, key = certificate.make(folder)
        for part in chosen:
            more_passed, more_failed = run_file(part, cert, key)
            passed, failed = passed + more_passed, failed + more_failed
    return suite.close("browser", passed, failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
