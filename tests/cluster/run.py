#!/usr/bin/python3
"""Many nodes on a real Ceph cluster.  Ends with "cluster: N passed, N failed".

    tests/cluster/run.py [PART...]      e.g. nodes, consistency, start, test_a_drop
    tests/cluster/run.py --start        only make the cluster in $CEPH_DIR ready for tests

The servers are $TAVOLAD, built with -Drados=enabled; $CEPH_DIR is a cluster of tools/ceph.sh
that is there already and stays, else one is made and removed.  When Ceph does not start nothing
can be tested: one line says why.
"""

import json
import pathlib
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[0] = str(HERE.parent)
sys.path.insert(1, str(HERE.parent / "lib"))
sys.path.insert(2, str(ROOT / "tools"))

import parts  # noqa: E402
import suite  # noqa: E402
from cluster import stand  # noqa: E402

WITHOUT_CEPH = {"linear", "queues"}  # tests of the checkers
# Tests of these files have nothing in common, so each is a job of its own.
APART = {"consistency", "members", "suites"}
HARM_CEPH = {"test_an_order_explains_it_all", "test_a_lost_mon",
             "test_every_request_is_answered_while_the_pool_does_not_answer",
             "test_a_stop_does_not_wait_for_ever_for_a_pool_that_does_not_answer"}


def print_jobs(known, chosen):
    """Tests wait more than they compute, and have pools of their own; only what harms Ceph itself
    has it alone."""
    for part, names in chosen.items():
        listed = sorted(names or known[part])
        apart = [name for name in listed if part in APART or name in HARM_CEPH]
        # A file may make tests that it does not list, so it is asked for as a whole where that can be.
        together = ([f"{part}/{name}" for name in listed if name not in apart] if apart or names
                    else [part])
        for words in [together, *([f"{part}/{name}"] for name in apart)]:
            if words:
                name = part if words is together else words[0]
                print(json.dumps({"part": name, "words": words, "needs": [], "targets": [],
                                  "is_alone": name.rpartition("/")[2] in HARM_CEPH}))
    return 0


def needs_ceph(chosen):
    return not stand.IS_ALONE and not set(chosen) <= WITHOUT_CEPH


def main(arguments):
    if arguments == ["--start"]:
        stand.ceph()
        return 0
    known = suite.files(HERE)
    is_list = arguments[:1] == ["--jobs"]
    chosen = parts.choose_or_exit("cluster", known, arguments[is_list:])
    if is_list:
        return print_jobs(known, chosen)
    if needs_ceph(chosen):
        try:
            stand.ceph()
        except RuntimeError as error:
            print(f"  Ceph did not start here, so nothing was tested: {error}")
            return suite.close("cluster", 0, 1)
    return suite.close("cluster", *suite.run_parts("cluster", chosen))


if __name__ == "__main__":
    # So that nothing is left running: what has a cleanup gets it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main(sys.argv[1:]))
