"""Wait for what a test wants to see, never for a time.

    until(lambda: server.log().count("event=stop") == 1, "it stops")

The deadline is for what never comes; a machine that is busy needs longer than one that is not.
"""

import time

WAIT_S = 60
POLL_S = 0.01


def until(is_so, what, wait_s=WAIT_S):
    """Ask until the answer is true, and return it; else fail with `what`, a text or a function."""
    deadline = time.monotonic() + wait_s
    while not (answer := is_so()):
        if time.monotonic() > deadline:
            raise AssertionError(f"in {wait_s} s it did not happen: "
                                 f"{what() if callable(what) else what}")
        time.sleep(POLL_S)
    return answer
