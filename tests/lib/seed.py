"""The seed of a run: new for each, and given to repeat one.

    chance = random.Random(f"{seed.SEED}/writers")      # or `random` itself, seeded for each test

TAVOLA_SEED=n repeats the run that printed n; so it does for the C tests (tests/unit/seed.h).
"""

import os
import secrets

SEED = int(os.environ.get("TAVOLA_SEED") or secrets.randbelow(10**9))
os.environ["TAVOLA_SEED"] = str(SEED)  # for what a test starts


def repeat(suite, words):
    """The line that says how to run something alone, with the same seed."""
    return f"repeat: TAVOLA_SEED={SEED} ./check {suite} {words}"
