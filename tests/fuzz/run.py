#!/usr/bin/python3
"""Run every fuzzer for a while.

    tests/fuzz/run.py BUILD_DIR [SECONDS]

The build has the libFuzzer programs (-Dfuzzers=true).  New inputs go to a
scratch folder; a crash is kept in BUILD_DIR and named.  Ends with
"fuzz: N passed, N failed", one for each fuzzer.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"


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


def main(build, seconds=60):
    build = pathlib.Path(build).resolve()
    programs = [path for path in sorted((build / "tests").glob("fuzz_*"))
                if path.is_file() and os.access(path, os.X_OK)
                and not path.name.endswith("_corpus")]
    outcomes = [fuzz(program, seconds, build) for program in programs]
    print(f"fuzz: {outcomes.count(True)} passed, {outcomes.count(False)} failed")
    return 0 if outcomes and all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
