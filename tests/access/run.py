#!/usr/bin/python3
"""Who may do what: generated matrices and attacks.  Ends with "access: N passed, N failed".

    tests/access/run.py [PART...]       e.g. table, queue/matrix, attacks, test_a_batch

Matrices and attacks need nothing of the disk, so their servers keep everything in memory, unless
$TAVOLA_TEST_ENGINE names another engine.  A matrix has two servers that know nothing of each
other: for rados they are on $TAVOLA_POOL and $TAVOLA_OTHER_POOL.
"""

import importlib
import os
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[0] = str(HERE.parent)
sys.path.insert(1, str(HERE.parent / "lib"))

import certificate  # noqa: E402
import parts  # noqa: E402
import slow  # noqa: E402
import suite  # noqa: E402
from access import matrix  # noqa: E402
from access.credentials import ACCOUNTS, ENGINE  # noqa: E402
from access.talk import Talk  # noqa: E402
from server import Server  # noqa: E402

MATRICES = {f"{service}/matrix": service for service in ("table", "queue", "blob")}


def run_matrix(part):
    stage = importlib.import_module(f"access.{MATRICES[part]}.stage").Stage
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tavola-access-") as folder:
        cert, key = certificate.make(folder)
        env = {"AZURITE_ACCOUNTS": ACCOUNTS}
        other = {"TAVOLA_POOL": os.environ["TAVOLA_OTHER_POOL"]} if ENGINE == "rados" else {}
        with Server(engine=ENGINE, env=env) as plain, \
                Server("--cert", cert, "--key", key, engine=ENGINE, env=env | other) as secure:
            talk = Talk(getattr(plain, stage.port))
            secure_talk = Talk(getattr(secure, stage.port), tls=True)
            passed, failed, allowed = matrix.run(stage, talk, secure_talk)
            talk.close()
            secure_talk.close()
    for category in passed | failed:
        print(f"  {category}: {passed[category]} ok" +
              (f", {allowed[category]} of them allowed" if allowed[category] else "") +
              (f", {failed[category]} FAILED" if failed[category] else ""))
    took = time.monotonic() - began
    slow.note(part, took)
    print(f"  {part}: {passed.total()} cases in {took:.1f} s", flush=True)
    return passed.total(), failed.total()


def run_part(part, names=None):
    """How many cases of a matrix, or tests of a file, passed and how many failed."""
    return run_matrix(part) if part in MATRICES else suite.run_parts("access", {part: names})


def main(arguments):
    is_list = arguments[:1] == ["--jobs"]
    known = dict.fromkeys(MATRICES, ()) | suite.files(HERE)
    chosen = parts.choose_or_exit("access", known, arguments[is_list:])
    if is_list:
        return suite.print_jobs(chosen)
    return suite.close("access", *suite.run_apart(run_part, chosen.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
