#!/usr/bin/python3
"""Many nodes on a real Ceph cluster.  Ends with "cluster: N passed, N failed".

    tests/cluster/run.py [PART...]      e.g. nodes, consistency, start, test_a_drop

The servers are $TAVOLAD, built with -Drados=enabled; $CEPH_DIR is a cluster of tools/ceph.sh
that is there already and stays, else one is made and removed.  When Ceph does not start nothing
can be tested: one line says why.

Tests wait more than they compute, and have pools of their own, so some run at a time; but those
that harm Ceph itself have it for themselves.
"""

import pathlib
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[0] = str(HERE.parent)
sys.path.insert(1, str(HERE.parent / "lib"))
sys.path.insert(2, str(ROOT / "tools"))

import lanes  # noqa: E402
import parts  # noqa: E402
import suite  # noqa: E402
from cluster import stand  # noqa: E402

LANES = 3
WITHOUT_CEPH = {"linear", "queues"}  # tests of the checkers
# Tests of these files have nothing in common, so that each can be in another lane.
APART = {"consistency", "members", "start", "suites"}
HARM_CEPH = {"test_an_order_explains_it_all", "test_a_lost_mon",
             "test_a_stop_does_not_wait_for_ever_for_a_pool_that_does_not_answer"}
# These take the longest, so they begin first.
LONG = ["test_sdk_javascript_blobs_and_queues", "points", "test_sdk_python",
        "test_sdk_through_a_balancer", "blob_points", "test_sdk_javascript_tables", "test_wire",
        "test_engine_contract_with_20_ranges", "test_engine_contract_with_5_ranges",
        "test_engine_contract_with_1_range",
        "test_without_sweeps_everything_stays_until_a_node_with_sweeps_leads",
        "test_what_a_killed_node_has_left_is_swept_and_nothing_else"]


def split(known, chosen):
    """(calls that can run at a time, calls that cannot) for all that is chosen; a call is what
    suite.run_parts takes: {part: names of tests or None}."""
    together, alone = [], []
    for part, names in chosen.items():
        names = set(known[part]) if names is None and part in APART else names
        for each in [[name] for name in sorted(names)] if part in APART else [names]:
            is_harm = part in APART and HARM_CEPH & set(each)
            (alone if is_harm else together).append({part: each})
    return sorted(together, key=rank), alone


def rank(call):
    ((part, names),) = call.items()
    name = names[0] if part in APART else part
    return LONG.index(name) if name in LONG else len(LONG)


def needs_ceph(words):
    return not stand.IS_ALONE and not set(words or [""]) <= WITHOUT_CEPH


def main(words):
    known = suite.files(HERE)
    is_find = words[:1] == ["--find"]
    chosen = parts.choose_or_exit("cluster", known, words[1:] if is_find else words)
    if is_find:
        return 0
    if needs_ceph(words):
        try:
            stand.ceph()
        except RuntimeError as error:
            print(f"  Ceph did not start here, so nothing was tested: {error}")
            return suite.close("cluster", 0, 1)
    together, alone = split(known, chosen)
    lanes.LANES = LANES
    passed, failed = lanes.run(suite.run_parts, [("cluster", call) for call in together])
    for call in alone:
        more_passed, more_failed = suite.run_parts("cluster", call)
        passed, failed = passed + more_passed, failed + more_failed
    return suite.close("cluster", passed, failed)


if __name__ == "__main__":
    # So that nothing is left running: what has a cleanup gets it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main(sys.argv[1:]))
