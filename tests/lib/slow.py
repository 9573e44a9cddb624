"""Which tests take the time: `./check --slowest` has every suite name its ten slowest."""

import os

SHOWN = 10
times = []


def note(name, seconds):
    times.append((seconds, name))


def report():
    """Print the slowest tests noted so far, if $CHECK_SLOWEST asks for them."""
    if not os.environ.get("CHECK_SLOWEST") or not times:
        return
    print("  slowest:")
    for seconds, name in sorted(times, reverse=True)[:SHOWN]:
        print(f"  {seconds:7.1f} s  {name}")
