"""./check: build with sanitizers, run the tests, print one line.

The suites and what each needs are the table SUITES.  A suite is a folder of tests/ with a run.py,
which takes the words after the suite's name, answers --jobs with what can run by itself (a line of
JSON for each: suite.py) and ends with "NAME: N passed, N failed, N skipped".
"""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import changed
import schedule
import server
import slow
import unit
from schedule import Job, Schedule, Step

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
PYTHON = "/usr/bin/python3"
LINKER = {"CC_LD": "mold", "CXX_LD": "mold"}  # takes half the time, for hundreds of programs
# Without -no-pie the loader writes to each page of what the sanitizer knows of the source, megabytes
# of it at every start of a program.
SANITIZERS = ("--buildtype=debugoptimized", "-Db_sanitize=address,undefined",
              "-Dc_link_args=-no-pie", "-Dcpp_link_args=-no-pie")

USAGE = """\
usage: ./check [--slowest] [--record] [suite [part...]]...
       ./check quick

Installs the Debian packages that are missing, builds what is needed in
build-check/ with the address and undefined-behaviour sanitizers, runs the suites
(all of them, unless some are named), their parts side by side, and ends with a line
"N passed, N failed".  quick is for every change: the C tests of what has changed and
of what includes it, wire, and a test with an SDK for each service.
The word "all" stands for these:

  unit    the C tests: units, the engine contract, the fuzzers' corpora
  wire    request and response texts against a running server
  access  every operation with every kind of credential, and attacks
  advice  traffic and what the server advises about it
  sdk     the official Azure SDKs for JavaScript and Python
  client  programs in C that use the library, with a running server; with
          CLIENT_SERVER=azurite in the environment, with Azurite
  tool    the command tavola, with a running server and on a terminal; also with
          CLIENT_SERVER=azurite
  analytics  what Storage Analytics writes of every operation, who may touch it and
          how long it stays; read by a reader for Azure's logs and by the SDK
  explorer  the server's own page in a real browser (Debian's chromium)
  harness  the programs that run the tests
  fault   kill -9, SIGTERM under load, a full disk, bad starts; its kill test
          runs the release build, which writes faster and so loses more if it can
  crash   power cuts: a run of the release build is noted call by call, and started
          again on 200 states ($CRASH_STATES) that could be left of it; and one call
          that fails in starts, loads, backups and upgrades ($CRASH_CALLS of each, 12,
          or all).  When named: "crash mutants", servers with one line wrong are caught

These run only when they are named:

  cluster many nodes on a small real Ceph cluster, in build-cluster-check/ and, where
          speed matters, build-cluster/: what one node does the others know, faults of
          nodes, OSDs and the mon under a check for linearizability, bad starts, the
          engine contract, wire, access and SDK tests on a node
  tsan    the C tests, the library's programs with threads and the whole server with
          clients of every service under the thread sanitizer, in build-tsan/
  neighbours  the latency of a polite client while another does its worst, in
          multiples of its quiet one: on the release build and an idle machine
  sdks    the README's snippets, and the newest clients for Python, Go, Java and
          Rust, fetched by name from each language's package registry
  dotnet  the clients for .NET, the C# of the Table Design Guide as programs among them;
          needs the .NET SDK, and packages by name from its registry
  browser  pages of other sites and the JavaScript SDKs in pages, with Debian's
          chromium
  fuzz    every fuzzer for $FUZZ_SECONDS (60), with clang, in build-fuzz/

The words after a suite are the parts of it to run: folders, files or tests, by any
name they have.  Only what they need is built.

  ./check unit blob               the C tests of src/services/blob
  ./check unit base/json          one file; also: base/json_test.c, tests/unit/base/json
  ./check unit names_are_unique   one test; also: base/err/names_are_unique
  ./check wire queue table/batch  a folder and a file
  ./check access blob/matrix      the matrix of blobs without the attacks
  ./check sdk python queries      one file of one language
  ./check client batches          one program
  ./check fault table/kill unit commit    parts of two suites
  ./check fuzz sas                one fuzzer

A word that is the name of a suite always means the suite: for the unit tests of
access it is blob/access.  A part that does not exist is answered with those that do.
What fails names the command that repeats it alone.

  --slowest   the ten slowest tests of each suite and their times
  --record    write what each part took to tests/lib/seconds.txt, by which the longest
              begin first
"""

ALL = ("unit", "wire", "access", "advice", "sdk", "client", "tool", "analytics", "explorer", "fault",
       "crash", "harness")
NAMED = ("cluster", "tsan", "neighbours", "sdks", "dotnet", "browser", "fuzz")
# The steps that a suite needs before anything of it can run; a job can need more ("release").
NEEDS = {"cluster": ["ceph"], "tsan": ["tsan"], "fuzz": ["fuzz"], "neighbours": ["release"],
         "client": ["server", "programs"]}
ENVIRONMENT = {"cluster": {"TAVOLAD": str(ROOT / "build-cluster-check/tavolad"),
                           "TAVOLA": str(ROOT / "build-cluster-check/tavola"),
                           "TAVOLAD_RELEASE": str(ROOT / "build-cluster/tavolad")}}
INSTALLED_BY_NAME = ("cluster", "sdks", "browser", "fuzz")
C_TESTS_AT_A_TIME = 40  # are built before the first of them begins
# What is about files stays on the disk, and so do blobs, which are read in another way from memory.
# The rest keeps its files in memory: each new store is hundreds of folders, which a disk that has
# just lost as many makes slowly.
ON_DISK = re.compile(r"(fault|cluster|tsan|neighbours) |unit (engine|store|services/blob)/|"
                     r"(wire|sdk|client) .*blob")
LANES = int(os.environ.get("CHECK_LANES") or os.cpu_count() + 2)
ENGINE_TESTS = ("tests/engine_contract_test", "tests/engine_pool_test")


def complain(text):
    print(f"check: {text}", file=sys.stderr)
    sys.exit(2)


def read_words(words):
    """({suite: its parts}, whether the slowest are asked for, whether to record the times)"""
    asked, suite, flags = {}, None, set()
    for word in words:
        if word in ("--help", "-h"):
            print(USAGE, end="")
            sys.exit(0)
        elif word in ("--slowest", "--record"):
            flags.add(word)
        elif word == "all":
            suite = None
            asked |= {name: [] for name in ALL}
        elif word in ALL + NAMED:
            suite = word
            asked[suite] = []
        elif not re.fullmatch(r"[A-Za-z0-9_./][A-Za-z0-9_./-]*", word):
            complain(f"'{word}' is not the name of a suite or a part; see ./check --help")
        elif suite is None:
            complain(f"there is no suite '{word}'; the suites are: {' '.join(ALL + NAMED)}")
        else:
            asked[suite].append(word)
    return asked or {name: [] for name in ALL}, flags


# --- builds

class BuildFailed(Exception):
    pass


def install(what):
    done = subprocess.run([ROOT / "tools/install-deps.sh", what])
    if done.returncode:
        sys.exit(done.returncode)


def configure(folder, *options, env=None):
    """Once."""
    if (ROOT / folder / "build.ninja").exists():
        return
    print(f"configuring {folder}", flush=True)
    done = subprocess.run(["meson", "setup", ROOT / folder, ROOT, "-Db_lundef=false", "-Dwerror=true",
                           "-Dtests=true", *options], env={**os.environ, **LINKER, **(env or {})},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise BuildFailed(done.stdout.decode(errors="replace"))


def ninja(folder, *targets):
    """Build what changed of the targets, or of all; what went wrong, or None."""
    done = subprocess.run(["ninja", "-C", ROOT / folder, *targets], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode == 0:
        return None
    lines = done.stdout.decode(errors="replace").splitlines()
    first = next((n for n, line in enumerate(lines) if line.startswith("FAILED")), 0)
    return "\n".join(lines[first:first + 100])


def build_step(name, folder, *targets):
    """A step that builds targets, and says how long that took if it was long."""
    def run():
        began = time.monotonic()
        trouble = ninja(folder, *targets)
        took = time.monotonic() - began
        if took > 1 and not trouble:
            print(f"built {folder}: {name} ({took:.1f} s)", flush=True)
        return trouble
    return Step(name, run)


def script_step(name, *command, env=None):
    """A step that a script does."""
    def run():
        with tempfile.TemporaryFile() as said:  # no pipe: what it leaves running would hold it open
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=said,
                                  stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})
            said.seek(0)
            return said.read().decode(errors="replace")[-8000:] if done.returncode else None
    return Step(name, run)


# --- jobs

def jobs_of(suite, words):
    """The jobs of a suite that has a run.py; words that name no part end everything here."""
    program = str(TESTS / suite / "run.py")
    done = subprocess.run([PYTHON, program, "--jobs", *words], stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(done.returncode)
    jobs = []
    for line in done.stdout.decode().splitlines():
        job = json.loads(line)
        jobs.append(Job(suite, job["part"], [PYTHON, program, *job["words"]],
                        [*NEEDS.get(suite, ["server"]), *job["needs"]],
                        {**ENVIRONMENT.get(suite, {})}, targets=job["targets"],
                        limit_s=job.get("limit_s", schedule.LIMIT_S),
                        is_alone=job.get("is_alone", False)))
    return jobs


class Plan:
    """The steps and jobs of what is asked for."""

    def __init__(self, asked):
        self.asked = asked
        self.steps, self.jobs, self.cleanups = [], [], []
        if set(asked) - {"cluster", "tsan", "fuzz", "neighbours"}:
            configure("build-check", *SANITIZERS)
        for suite, words in asked.items():
            if suite in INSTALLED_BY_NAME:
                install(suite)
            if suite == "tsan":
                self.plan_tsan(words)
            elif suite != "unit":
                self.jobs += jobs_of(suite, words)
        self.needed = set().union(*(job.needs for job in self.jobs))
        self.plan_builds()

    def plan_builds(self):
        """In the order in which something can begin: servers, the library's programs, C tests."""
        if "server" in self.needed:
            self.steps.append(build_step("server", "build-check", "tavolad", "tavola", "azurite"))
        if "release" in self.needed:
            self.steps.append(script_step("release", ROOT / "run", "--no-start"))
        if "ceph" in self.needed:
            self.plan_cluster()
        if "programs" in self.needed:
            self.steps.append(build_step("programs", "build-check", *self.targets("programs")))
        if "unit" in self.asked:
            self.plan_c_tests("unit", "build-check", self.asked["unit"])
        if "tsan" in self.needed:
            self.steps.append(build_step("tsan", "build-tsan", *self.targets("tsan")))
        if "fuzz" in self.needed:
            configure("build-fuzz", *SANITIZERS, "-Dfuzzers=true",
                      env={"CC": "clang", "CXX": "clang++"})
            self.steps.append(build_step("fuzz", "build-fuzz", *self.targets("fuzz")))

    def targets(self, step):
        """What ninja has to build for the jobs that need a step."""
        return sorted(set().union(*(job.targets for job in self.jobs if step in job.needs)))

    def plan_cluster(self):
        configure("build-cluster-check", *SANITIZERS, "-Drados=enabled")
        build = build_step("cluster-check", "build-cluster-check", "tavolad", "tavola",
                           *ENGINE_TESTS)
        env = {}
        if "CEPH_DIR" not in os.environ:
            # /tmp may be memory, which OSDs cannot write to directly.  The daemons end with this
            # process, whatever becomes of it.
            folder = tempfile.mkdtemp(prefix="tavola-ceph-", dir="/var/tmp")
            env = {"CEPH_DIR": folder, "CEPH_OWNER": str(os.getpid())}
            self.cleanups.append([ROOT / "tools/ceph.sh", "wipe", folder])
        self.steps += [build, script_step("cluster", ROOT / "run", "cluster", "--no-start"),
                       script_step("ceph", PYTHON, TESTS / "cluster/run.py", "--start", env=env)]
        for job in self.jobs:
            if job.suite == "cluster":
                job.env |= {**env, "CEPH_IS_READY": "1"}

    def plan_c_tests(self, suite, build, words, own=()):
        """The longest are built and begin first, some at a time; returns the words for `own` parts."""
        known = schedule.read_seconds()
        chosen = unit.choose(build, words, own)
        tests = sorted((test for test in chosen if "cmd" in test),
                       key=lambda test: -known.get(f"{suite} {test['part']}", 0))
        for first in range(0, len(tests), C_TESTS_AT_A_TIME):
            some = tests[first:first + C_TESTS_AT_A_TIME]
            name = f"C tests of {suite} from {first + 1} on"
            self.steps.append(build_step(name, build, *(unit.target(build, test) for test in some)))
            self.jobs += [unit.job(test, suite, needs=[name]) for test in some]
        return [test["part"] for test in chosen if "cmd" not in test]

    def plan_tsan(self, words):
        """The C tests, and the parts of tests/tsan/run.py."""
        configure("build-tsan", "--buildtype=debugoptimized", "-Db_sanitize=thread")
        own = [job.part for job in jobs_of("tsan", [])]
        words = self.plan_c_tests("tsan", "build-tsan", words, own)
        self.jobs += jobs_of("tsan", words) if words else []


def prepare_environment():
    """Any finding ends the process that has it with exit code 99, at once or, for a leak, when it
    stops.  The suites check the exit code of every server."""
    own = os.environ
    own["ASAN_OPTIONS"] = f"detect_leaks=1:halt_on_error=1:exitcode=99:{own.get('ASAN_OPTIONS', '')}"
    own["UBSAN_OPTIONS"] = ("halt_on_error=1:print_stacktrace=1:exitcode=99:" +
                            own.get("UBSAN_OPTIONS", ""))
    own["TAVOLAD"] = str(ROOT / "build-check/tavolad")
    own["TAVOLA"] = str(ROOT / "build-check/tavola")
    own["TAVOLAD_RELEASE"] = str(ROOT / "build/tavolad")
    own["CCACHE_NOHASHDIR"] = "1"  # a clone in another folder finds what was compiled in this one
    own["PYTHONDONTWRITEBYTECODE"] = "1"


def keep_in_memory(jobs, stack):
    """Give the jobs a folder for their files that is memory and that the stack removes."""
    if parent := server.memory_folder():
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tavola-check-", dir=parent,
                                                                 ignore_cleanup_errors=True))
        for job in jobs:
            if not ON_DISK.match(job.name):
                job.env["TMPDIR"] = folder


def print_slowest(run, folder):
    """Of each suite, by the test where its jobs noted them, else by the job."""
    for suite in run.counts:
        if not os.path.exists(f"{folder}/{suite}"):
            os.environ["CHECK_SLOWEST"] = f"{folder}/{suite}"
            for name, seconds in run.took.items():
                if name.startswith(f"{suite} "):
                    slow.note(name, seconds)
        print(f"slowest of {suite}:")
        slow.report(f"{folder}/{suite}")


def close(run, flags, folder):
    """The last lines; returns the exit code."""
    if "--slowest" in flags:
        print_slowest(run, folder)
    if "--record" in flags:
        schedule.write_seconds(run.took)
    if run.repeats:
        print("What failed, and how to repeat it alone:", *run.repeats, sep="\n  ")
    for suite, (passed, failed, skipped) in run.counts.items():
        print(f"{suite}: {passed} passed, {failed} failed" +
              (f", {skipped} skipped" if skipped else ""))
    passed, failed, skipped = map(sum, zip(*run.counts.values()))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


def main(words):
    if words[:1] == ["quick"]:
        asked, flags = changed.what_to_check(words[1:]), set()
    else:
        asked, flags = read_words(words)
    prepare_environment()
    install("check")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tavola-check-"))
        try:
            plan = Plan(asked)
        except BuildFailed as error:
            print(f"{error}\ncheck: the build failed, so nothing was tested\n0 passed, 1 failed")
            return 1
        keep_in_memory(plan.jobs, stack)
        if "--slowest" in flags:
            for job in plan.jobs:
                job.env["CHECK_SLOWEST"] = f"{folder}/{job.suite}"
        began = time.monotonic()
        run = Schedule(plan.steps, plan.jobs, LANES)
        try:
            run.run()
        finally:
            for command in plan.cleanups:
                subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        print(f"{len(plan.jobs)} jobs in {time.monotonic() - began:.0f} s, {run.cpu_s:.0f} s of a core")
        if run.broken:
            print(f"{run.broken}\ncheck: the build failed, so the rest was not tested")
            print("0 passed, 1 failed")
            return 1
        return close(run, flags, folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
