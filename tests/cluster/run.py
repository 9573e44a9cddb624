#!/usr/bin/python3
"""Many nodes on a real Ceph cluster.  Ends with "cluster: N passed, N failed".

    tests/cluster/run.py [PART...]      e.g. nodes, consistency, start, test_a_drop

The servers are $TAVOLAD, built with -Drados=enabled; $CEPH_DIR is a cluster of tools/ceph.sh
that is there already and stays, else one is made and removed.  When Ceph does not start nothing
can be tested: one line says why.
"""

import pathlib
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[0] = str(HERE.parent)
sys.path.insert(1, str(HERE.parent / "lib"))
sys.path.insert(2, str(ROOT / "tools"))

import suite  # noqa: E402
from cluster import stand  # noqa: E402

WITHOUT_CEPH = {"linear", "queues"}  # tests of the checkers


def needs_ceph(words):
    return not stand.IS_ALONE and words[:1] != ["--find"] and not set(words or [""]) <= WITHOUT_CEPH


def main(words):
    if needs_ceph(words):
        try:
            stand.ceph()
        except RuntimeError as error:
            print(f"  Ceph did not start here, so nothing was tested: {error}")
            return suite.close("cluster", 0, 1)
    return suite.main("cluster", suite.files(HERE), words, "cluster")


if __name__ == "__main__":
    # So that nothing is left running: what has a cleanup gets it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main(sys.argv[1:]))
