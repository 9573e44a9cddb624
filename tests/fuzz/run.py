#!/usr/bin/python3
"""Run every fuzzer for a while.

    tests/fuzz/run.py [NAME...]     e.g. json sas

build-fuzz/ has the libFuzzer programs (-Dfuzzers=true).  Each runs for $FUZZ_SECONDS (60).  New
inputs go to a scratch folder; a crash is kept in build-fuzz/ and named.  Ends with
"fuzz: N passed, N failed", one for each fuzzer.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CORPUS = HERE / "corpus"
sys.path.insert(0, str(HERE.parent / "lib"))

import parts  # noqa: E402
import suite  # noqa: E402

BUILD = HERE.parents[1] / "build-fuzz"
SECONDS = int(os.environ.get("FUZZ_SECONDS", 60))


def fuzz(program):
    """True when it found nothing."""
    name = program.name.removeprefix("fuzz_")
    with tempfile.TemporaryDirectory(prefix="tavola-fuzz-") as scratch:
        done = subprocess.run(
            [program, scratch, CORPUS / name, f"-max_total_time={SECONDS}", "-print_final_stats=1",
             "-rss_limit_mb=4096", f"-artifact_prefix={BUILD}/{name}-"],
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
    is_list = arguments[:1] == ["--jobs"]
    chosen = choose(arguments[is_list:])
    if is_list:
        return suite.print_jobs(chosen, targets=lambda name: [f"tests/fuzz_{name}"])
    outcomes = [fuzz(BUILD / "tests" / f"fuzz_{name}") for name in chosen]
    return suite.close("fuzz", outcomes.count(True), outcomes.count(False))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
