"""The packages and the tests of a folder with JavaScript."""

import fcntl
import os
import pathlib
import re
import shutil
import subprocess

import seed
import slow
import story
import suite

STORY = pathlib.Path(__file__).resolve().parent / "story.mjs"
STORY_LINES = 80
POINT = re.compile(r"( *)(not ok|ok) \d+ - (.*)")
BETWEEN = re.compile(r"\s*(# Subtest|# (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) |"
                     r"1\.\.\d+$|$)")
TEST = re.compile(r"^\s*(?:test|it)(?:\.\w+)?\(", re.MULTILINE)


def install(folder):
    """npm ci, when what is installed is not what the lock file says; one process at a time."""
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        install_alone(folder)
    finally:
        os.close(held)


def install_alone(folder):
    lock = (folder / "package-lock.json").read_bytes()
    stamp = folder / "node_modules" / ".installed-lock.json"
    if stamp.exists() and stamp.read_bytes() == lock:
        return
    print(f"  installing the packages of {folder.name} (npm ci)", flush=True)
    done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"npm ci failed:\n{done.stdout}")
    stamp.write_bytes(lock)


class Point:
    """A line "ok" or "not ok" of TAP and what stands below it, up to the next."""

    def __init__(self, indent, verdict, name, below):
        self.is_ok, self.name, self.below = verdict == "ok", name, below
        self.is_file = name.endswith(".test.mjs")
        # A suite is as good as its tests, unless it broke outside of them.
        self.is_suite = f"{indent}  type: 'suite'" in below and (
            self.is_ok or f"{indent}  failureType: 'subtestsFailed'" in below)
        self.is_skipped = "# SKIP" in name or "# TODO" in name

    @property
    def seconds(self):
        took = re.search(r"duration_ms: ([\d.]+)", "\n".join(self.below))
        return float(took[1]) / 1000 if took else 0

    def story(self):
        return "\n".join([self.name, *self.below[:STORY_LINES]])


def points(output):
    """The tests of a run in TAP; those of a file as a whole only when nothing in it failed."""
    lines = output.split("\n")
    starts = [number for number, line in enumerate(lines) if POINT.match(line)]
    found = []
    for start, end in zip(starts, [*starts[1:], len(lines)]):
        indent, verdict, name = POINT.match(lines[start]).groups()
        below = [line for line in lines[start + 1:end] if not BETWEEN.match(line)]
        found.append(Point(indent, verdict, name, below))
    tests = [point for point in found if not point.is_file and not point.is_suite]
    if all(point.is_ok for point in tests):
        # Newer nodes do not report a file; older ones do, on top of its tests.
        tests += [point for point in found if point.is_file and not point.is_ok]
    return tests


def run_tests(label, folder, files):
    """Run these files of a folder with node's test runner and return (passed, failed)."""
    try:
        install(folder)
    except (RuntimeError, OSError) as error:
        print(f"  {label}: {error}")
        return 0, 1
    story.begin()
    done = subprocess.run([shutil.which("node"), "--test", "--test-reporter=tap", *files],
                          cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, "NODE_OPTIONS": f"--import={STORY}"})
    tests = points(done.stdout)
    skipped = [point for point in tests if point.is_skipped]
    failed = [point for point in tests if not point.is_ok and not point.is_skipped]
    passed = len(tests) - len(skipped) - len(failed)
    listed = sum(len(TEST.findall(pathlib.Path(file).read_text())) for file in files)
    trouble = [point.story() for point in failed]
    if not tests or len(tests) < listed:
        trouble.append(f"{listed} tests are listed, {len(tests)} came to an end")
    elif done.returncode != 0 and not trouble:
        trouble.append(f"exit code {done.returncode}")
    suite.skipped += len(skipped)
    for point in tests:
        slow.note(f"{label}: {point.name}", point.seconds)
    print(f"  {label}: {passed} ok" + (f", {len(skipped)} skipped" if skipped else "") +
          (f", {len(trouble)} FAILED" if trouble else ""))
    for figure in re.findall(r"^ *# figure: (.*)", done.stdout, re.MULTILINE):
        print(f"    {figure}")
    for point in skipped:
        print(f"    SKIP {point.name}")
    for text in trouble:
        print("    FAILED " + text.replace("\n", "\n    "))
    if trouble:
        print(done.stdout[-4000:] if not failed else story.tell())
        print(f"    {seed.repeat(suite.NAME, label)}")
    return passed, len(trouble)
