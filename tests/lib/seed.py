"""The seed of a run: new for each, and given to repeat one.

    chance = random.Random(f"{seed.SEED}/writers")      # or `random` itself, seeded for each test

TAVOLA_SEED=n repeats the run that printed n; so it does for the C tests (tests/unit/seed.h).
"""

import os
import secrets

SEED = int(os.environ.get("TAVOLA_SEED") or secrets.randbelow(10**9))
# For what a test starts; but a C test that is given one repeats that run alone.
IS_GIVEN = os.environ.setdefault(
    "TAVOLA_SEED_BY", "user" if os.environ.get("TAVOLA_SEED") else "run") == "user"
os.environ["TAVOLA_SEED"] = str(SEED)


def repeat(suite, words):
    """The line that says how to run something alone, with the same seed."""
    return f"repeat: TAVOLA_SEED={SEED} ./check {suite} {words}"
