#!/usr/bin/python3
"""Run the C tests that Meson knows of and count their cases.

    tests/lib/unit.py BUILD_DIR [NAME]

Meson's own runner counts programs; here every case that a cmocka program
reports counts.  A program that reports no cases (a fuzzer run over its corpus)
counts as one.  Ends with "NAME: N passed, N failed".
"""

import concurrent.futures
import json
import os
import re
import subprocess
import sys

CASE = re.compile(r"^(not ok|ok)\b(.*)$", re.MULTILINE)


class Outcome:
    def __init__(self, test, code, output):
        self.name = test["name"]
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
    # Meson's time limits are for a plain build; the sanitizers take their time.
    limit_s = test["timeout"] * 4 if test["timeout"] > 0 else None
    try:
        done = subprocess.run(test["cmd"], env=env, cwd=test["workdir"], timeout=limit_s,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        return Outcome(test, done.returncode, done.stdout.decode(errors="replace"))
    except subprocess.TimeoutExpired as late:
        return Outcome(test, "none: it hung", (late.stdout or b"").decode(errors="replace"))


def run_all(build):
    """Run every test of a build and return how many cases (passed, failed)."""
    listing = subprocess.run(["meson", "introspect", "--tests", build], check=True,
                             stdout=subprocess.PIPE)
    tests = json.loads(listing.stdout)
    together = [t for t in tests if t.get("is_parallel", True)]
    alone = [t for t in tests if not t.get("is_parallel", True)]
    passed = failed = 0

    def report(outcome):
        nonlocal passed, failed
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
        for outcome in pool.map(run, together):
            report(outcome)
    for test in alone:
        report(run(test))
    return passed, failed


def main(build, name="unit"):
    passed, failed = run_all(build)
    print(f"{name}: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
