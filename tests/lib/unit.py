"""The C tests that Meson knows of, as jobs of ./check.

Meson's own runner counts programs; here every case that a program reports counts, and one that
reports fewer than its plan ("1..N") announces has failed.
"""

import json
import os
import pathlib
import re
import subprocess
import time

import parts
import seed
import slow
import story
import suite
from schedule import Job, Outcome

TESTS = pathlib.Path(__file__).resolve().parent.parent
# The folder of a part by the suite of Meson that it is in; a name has it where there is none.
FOLDERS = {"unit": "", "engine": "engine/", "sim": "sim/", "fuzz-corpus": "fuzz/"}
TEST = re.compile(r"\b(?:(?:[A-Z]+_)?TEST|cmocka_unit_test\w*)\(\s*(\w+)")
PLAN = re.compile(r"^1\.\.(\d+)", re.MULTILINE)
CASE = re.compile(r"^(not ok|ok)\b(.*)$", re.MULTILINE)
NAME = re.compile(r"^\W*\d+\W+(\w+)")
SHOWN = 8000


def judge(job, code, output):
    """The outcome of a program that prints TAP."""
    passed, failed, skips = 0, [], []
    for verdict, text in CASE.findall(output):
        if "# SKIP" in text:
            skips.append(text.split("# SKIP")[1].strip())
        elif verdict == "ok":
            passed += 1
        else:
            failed.append(NAME.sub(r"\1", text.strip()))
    trouble = None
    planned = sum(int(count) for count in PLAN.findall(output))
    if code != 0 and not failed:
        # A crash or a sanitizer's finding is a failure though every case said ok.
        trouble = f"exit code {code}"
    elif not planned or passed + len(failed) + len(skips) < planned:
        trouble = f"{passed + len(failed) + len(skips)} of {planned} cases came to an end"
    text = "\n".join(f"    SKIP {reason}" for reason in skips)
    if trouble or failed:
        text += "\n    " + output[-SHOWN:].rstrip().replace("\n", "\n    ")
        text += f"\n    ({trouble})" if trouble else ""
        text += "".join(f"\n    {line}" for line in repeats(job, failed, output))
    return Outcome(passed, len(failed) + bool(trouble), len(skips), text)


def repeats(job, failed, output):
    """How to run each failed case alone, or all of them; a program prints its seed."""
    seeds = re.findall(r"TAVOLA_SEED=(\d+)", output)
    command = (f"TAVOLA_SEED={seeds[-1]} " if seeds else "") + f"./check {job.suite} {job.part}"
    return [f"repeat: {command}/{name}" for name in failed] or [f"repeat: {command}"]


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
            return tuple(dict.fromkeys(TEST.findall(path.read_text())))
    return ()


def choose(build, words, own=()):
    """The tests that the words ask for, all without words; `own` are parts in addition to them."""
    tests = listing(build)
    known = {part: names_in(part) for part in tests} | dict.fromkeys(own, ())
    chosen = []
    for part, names in parts.choose_or_exit("unit", known, words).items():
        chosen.append({**tests[part], "only": only(names)} if part in tests else {"part": part})
    return chosen


def only(names):
    """A program runs one of its cases, or all of them."""
    return next(iter(names)) if names and len(names) == 1 else None


def target(build, test):
    """What ninja has to build for a test."""
    return os.path.relpath(test["cmd"][0], os.path.abspath(build))


def job(test, suite="unit", needs=(), env=None):
    env = {**test["env"], **(env or {}), "CMOCKA_MESSAGE_OUTPUT": "TAP"}
    if not seed.IS_GIVEN:
        env["TAVOLA_SEED"] = ""  # they have seeds of their own, many of them
    if test["only"]:
        env["TAVOLA_TEST"] = test["only"]
    # Meson's time limits are for a plain build; the sanitizers are slower, and machines are busy.
    return Job(suite, test["part"], test["cmd"], needs, env, test["workdir"], judge,
               test["timeout"] * 4 if test["timeout"] > 0 else None)


def run_here(jobs):
    """Run programs one after the other, with a server that this process has: (passed, failed)."""
    passed = failed = 0
    for one in jobs:
        story.begin()
        began = time.monotonic()
        try:
            done = subprocess.run(one.command, env={**os.environ, **one.env}, cwd=one.cwd,
                                  timeout=one.limit_s, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            code, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            code, output = "none: it hung", late.stdout or b""
        slow.note(one.part, time.monotonic() - began)
        outcome = judge(one, code, output.decode(errors="replace"))
        passed, failed = passed + outcome.passed, failed + outcome.failed
        suite.skipped += outcome.skipped
        if outcome.failed or outcome.skipped:
            print(outcome.text)
        if outcome.failed:
            print(story.tell(), flush=True)
    return passed, failed
