#!/usr/bin/python3
"""Run the C tests that Meson knows of and count their cases.

    tests/lib/unit.py BUILD_DIR [PART...]           e.g. blob, base/json, sim, test_name
    tests/lib/unit.py --find BUILD_DIR PART...      the targets that these parts need

Meson's own runner counts programs; here every case that a cmocka program
reports counts.  A program that reports no cases (a fuzzer run over its corpus)
counts as one.  Ends with "unit: N passed, N failed".
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import parts
import slow

TESTS = pathlib.Path(__file__).resolve().parent.parent
# The folder of a part by the suite of Meson that it is in; a name has it where there is none.
FOLDERS = {"unit": "", "engine": "engine/", "sim": "sim/", "fuzz-corpus": "fuzz/"}
TEST = re.compile(r"\bcmocka_unit_test\w*\(\s*(\w+)")
CASE = re.compile(r"^(not ok|ok)\b(.*)$", re.MULTILINE)


class Outcome:
    def __init__(self, test, code, output):
        self.name = test["part"]
        self.output = output
        self.passed = self.failed = 0
        self.skipped = []
        for verdict, text in CASE.findall(output):
            if "# SKIP" in text:
                self.skipped.append(text.split("# SKIP")[1].strip())
            elif verdict == "ok":
                self.passed += 1
            else:
                self.failed += 1
        # A crash or a sanitizer's finding is a failure though every case said ok.
        if code != 0 and not self.failed:
            self.failed += 1
            self.output += f"\n(exit code {code})"
        elif not (self.passed or self.failed or self.skipped):
            self.passed = 1


def run(test):
    env = {**os.environ, "CMOCKA_MESSAGE_OUTPUT": "TAP", **test["env"]}
    if test["only"]:
        env["TAVOLA_TEST"] = test["only"]
    # Meson's time limits are for a plain build; the sanitizers are slower.
    limit_s = test["timeout"] * 4 if test["timeout"] > 0 else None
    try:
        done = subprocess.run(test["cmd"], env=env, cwd=test["workdir"], timeout=limit_s,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        return Outcome(test, done.returncode, done.stdout.decode(errors="replace"))
    except subprocess.TimeoutExpired as late:
        return Outcome(test, "none: it hung", (late.stdout or b"").decode(errors="replace"))


def timed(test):
    began = time.monotonic()
    outcome = run(test)
    return outcome, time.monotonic() - began


def listing(build):
    """The tests that Meson knows of, by their part."""
    done = subprocess.run(["meson", "introspect", "--tests", build], check=True,
                          stdout=subprocess.PIPE)
    found = {}
    for test in json.loads(done.stdout):
        suite = test["suite"][0].rpartition(":")[2]
        part = FOLDERS[suite] + test["name"].removeprefix("fuzz ")
        found[part] = {**test, "part": part, "only": None}
    return found


def names_in(part):
    """The names of the cases of a part, from its source."""
    for path in (TESTS / "unit" / f"{part}_test.c", TESTS / f"{part}_test.c"):
        if path.exists():
            return TEST.findall(path.read_text())
    return ()


def choose(build, words, own=()):
    """The tests that the words ask for, all without words; `own` are parts in addition to them."""
    tests = listing(build)
    known = {part: names_in(part) for part in tests} | dict.fromkeys(own, ())
    chosen = []
    for part, names in parts.choose_or_exit("unit", known, words).items():
        # A program runs one of its cases, or all of them.
        only = next(iter(names)) if names and len(names) == 1 else None
        chosen.append({**tests[part], "only": only} if part in tests else {"part": part})
    return chosen


def targets(build, tests):
    """What ninja has to build for these tests."""
    return [os.path.relpath(test["cmd"][0], os.path.abspath(build)) for test in tests]


def run_all(tests):
    """Run these tests and return how many cases (passed, failed)."""
    together = [t for t in tests if t.get("is_parallel", True)]
    alone = [t for t in tests if not t.get("is_parallel", True)]
    passed = failed = 0

    def report(outcome, seconds):
        nonlocal passed, failed
        slow.note(outcome.name, seconds)
        passed += outcome.passed
        failed += outcome.failed
        skips = f", {len(outcome.skipped)} skipped" if outcome.skipped else ""
        print(f"  {outcome.name}: {outcome.passed} ok{skips}" +
              (f", {outcome.failed} FAILED" if outcome.failed else ""), flush=True)
        for reason in outcome.skipped:
            print(f"    SKIP {reason}")
        if outcome.failed:
            print("    " + outcome.output[-8000:].rstrip().replace("\n", "\n    "), flush=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for outcome, seconds in pool.map(timed, together):
            report(outcome, seconds)
    for test in alone:
        report(*timed(test))
    return passed, failed


def main(arguments):
    if arguments[0] == "--find":
        build = arguments[1]
        print(*targets(build, choose(build, arguments[2:])))
        return 0
    passed, failed = run_all(choose(arguments[0], arguments[1:]))
    slow.report()
    print(f"unit: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
