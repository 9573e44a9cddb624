#!/usr/bin/python3
"""Who may do what: generated matrices and attacks.  Ends with "access: N passed, N failed".

    tests/access/run.py [matrix] [queues] [blobs] [attacks]
"""

import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "lib"))

import attacks_test  # noqa: E402
import blob_attacks_test  # noqa: E402
import blob_matrix  # noqa: E402
import certificate  # noqa: E402
import crowd_test  # noqa: E402
import hostile_test  # noqa: E402
import matrix  # noqa: E402
import pages_test  # noqa: E402
import queue_attacks_test  # noqa: E402
import queue_matrix  # noqa: E402
import suite  # noqa: E402
from server import Server  # noqa: E402

MATRICES = {"matrix": (matrix, "table_port"), "queues": (queue_matrix, "queue_port"),
            "blobs": (blob_matrix, "blob_port")}


def run_matrix(name):
    module, port = MATRICES[name]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tavola-access-") as folder:
        cert, key = certificate.make(folder)
        env = {"AZURITE_ACCOUNTS": module.ACCOUNTS}
        with Server(engine="memory", env=env) as plain, \
                Server("--cert", cert, "--key", key, engine="memory", env=env) as secure:
            passed, failed, allowed = module.run(getattr(plain, port), getattr(secure, port))
    for category in passed | failed:
        print(f"  {category}: {passed[category]} ok" +
              (f", {allowed[category]} of them allowed" if allowed[category] else "") +
              (f", {failed[category]} FAILED" if failed[category] else ""))
    print(f"  {name}: {passed.total()} cases in {time.monotonic() - began:.1f} s", flush=True)
    return passed.total(), failed.total()


def main(which):
    passed = failed = 0
    for name in MATRICES:
        if name in which:
            more_passed, more_failed = run_matrix(name)
            passed, failed = passed + more_passed, failed + more_failed
    if "attacks" in which:
        more_passed, more_failed = suite.run([attacks_test, crowd_test, hostile_test,
                                               queue_attacks_test, blob_attacks_test, pages_test])
        passed, failed = passed + more_passed, failed + more_failed
    print(f"access: {passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or [*MATRICES, "attacks"]))
