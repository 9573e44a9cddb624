"""Which tests take the time: `./check --slowest` names the ten slowest of every suite.

Jobs run in processes of their own, so they write what they know into the file $CHECK_SLOWEST.
"""

import os

SHOWN = 10


def note(name, seconds):
    path = os.environ.get("CHECK_SLOWEST")
    if path:
        with open(path, "a", encoding="utf-8") as times:
            times.write(f"{seconds:.3f} {name}\n")


def report(path):
    """Print the slowest of those that were noted in a file."""
    with open(path, encoding="utf-8") as times:
        noted = [line.rstrip("\n").partition(" ") for line in times]
    for seconds, _, name in sorted(noted, key=lambda one: -float(one[0]))[:SHOWN]:
        print(f"  {float(seconds):7.1f} s  {name}")
