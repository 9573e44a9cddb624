"""./check quick: what a change can have broken, as far as it shows within a minute.

The C tests of the files that differ from HEAD, or, when nothing does, of those of the last commit;
of the files that include them, as ninja knows from the last build; and in any case the wire tests
and a few tests with an SDK for each service.
"""

import pathlib
import re
import subprocess
import sys

import unit

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build-check"
# One file for each service: what goes in comes out again by an SDK that nobody here wrote.
SMOKE = ["python/entities", "python/queue_messages", "python/blob_append"]
# A header that so many C tests include says nothing about which of them matter: its own are run.
TESTS_MAX = 60


def git(*words):
    return subprocess.run(["git", "-C", str(ROOT), *words], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.split("\n")


def changed_files():
    """The paths that differ from HEAD or are new; else those of the last commit."""
    here = [line for line in git("diff", "--name-only", "HEAD") +
            git("ls-files", "--others", "--exclude-standard") if line]
    return here or [line for line in git("diff", "--name-only", "HEAD~1", "HEAD") if line]


def includes():
    """{path in the tree: sources that include it}, from ninja's records of the last build."""
    done = subprocess.run(["ninja", "-C", str(BUILD), "-t", "deps"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    found = {}
    source = None
    for line in done.stdout.splitlines():
        path = line.strip().removeprefix("../")
        if not line.startswith(" "):
            source = None
        elif source is None:
            source = path
        elif not path.startswith("/"):
            found.setdefault(path, set()).add(source)
    return found


def parts_of(path, known):
    """The C tests that are about a file: tests/unit mirrors src, and a test is its own."""
    stem = re.sub(r"\.[ch]$", "", path)
    for prefix in ("tests/unit/", "tests/", "src/"):
        stem = stem.removeprefix(prefix)
    stem = re.sub(r"_(test|fuzz)$", "", stem)
    exact = [part for part in known if part == stem]
    # src/services/blob/ops/put.c has no test of its own name: those of the folder are about it.
    folder = stem.rpartition("/")[0]
    return exact or [part for part in known if folder and part.rpartition("/")[0] == folder]


def what_to_check(words):
    """{suite: parts} for a quick check."""
    if words:
        print("check: quick takes no words", file=sys.stderr)
        sys.exit(2)
    files = [path for path in changed_files() if re.search(r"\.(c|h|def)$", path)]
    asked = {"wire": [], "sdk": SMOKE}
    if files and (BUILD / "build.ninja").exists():
        known = unit.listing(str(BUILD))
        users = includes()
        chosen = {part for path in files for part in parts_of(path, known)}
        wider = {part for path in files for source in users.get(path, ())
                 for part in parts_of(source, known)}
        if len(chosen | wider) <= TESTS_MAX:
            chosen |= wider
        else:
            print(f"quick: {len(wider)} C tests include what has changed; only those that are named "
                  "for it run (./check unit runs all)")
        if chosen:
            asked["unit"] = sorted(chosen)
    print("quick:", *(f"{suite} {' '.join(parts)}" for suite, parts in asked.items()), sep="\n  ")
    return asked
