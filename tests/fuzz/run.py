#!/usr/bin/python3
"""Run every fuzzer for a while.

    tests/fuzz/run.py BUILD_DIR SECONDS [NAME...]   e.g. json sas
    tests/fuzz/run.py --find NAME...                the targets that these need

The build has the libFuzzer programs (-Dfuzzers=true).  New inputs go to a
scratch folder; a crash is kept in BUILD_DIR and named.  Ends with
"fuzz: N passed, N failed", one for each fuzzer.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CORPUS = HERE / "corpus"
sys.path.insert(0, str(HERE.parent / "lib"))

import parts  # noqa: E402


def fuzz(program, seconds, build):
    """True when it found nothing."""
    name = program.name.removeprefix("fuzz_")
    with tempfile.TemporaryDirectory(prefix="tavola-fuzz-") as scratch:
        done = subprocess.run(
            [program, scratch, CORPUS / name, f"-max_total_time={seconds}", "-print_final_stats=1",
             "-rss_limit_mb=4096", f"-artifact_prefix={build}/{name}-"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = done.stdout.decode(errors="replace")
    runs = re.search(r"stat::number_of_executed_units:\s*(\d+)", output)
    if done.returncode == 0 and runs:
        print(f"  {name}: {int(runs[1]):,} runs", flush=True)
        return True
    print(f"  {name}: FAILED\n" + "\n".join("    " + line for line in output.splitlines()[-60:]),
          flush=True)
    return False


def choose(names):
    known = {path.name.removesuffix("_fuzz.c"): () for path in sorted(HERE.glob("*_fuzz.c"))}
    return parts.choose_or_exit("fuzz", known, names)


def main(arguments):
    if arguments[0] == "--find":
        print(*(f"tests/fuzz_{name}" for name in choose(arguments[1:])))
        return 0
    build, seconds, *names = arguments
    build = pathlib.Path(build).resolve()
    outcomes = [fuzz(build / "tests" / f"fuzz_{name}", seconds, build) for name in choose(names)]
    print(f"fuzz: {outcomes.count(True)} passed, {outcomes.count(False)} failed")
    return 0 if outcomes and all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
