#!/usr/bin/python3
"""The clients for .NET against a tavolad.  Ends with "dotnet: N passed, N failed".

    tests/dotnet/run.py [PART[/CASE]...]      e.g. cosmos framework/Another_key_reads_nothing

A part is a project, NAME/NAME.csproj, with the source files of the folders that it compiles.  Each
gets a server of its own, in memory, and proxies before it that harm requests.  README.md says what
is where.  What is built is kept in build-dotnet/; packages are asked for by name alone.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "lib"))

import parts  # noqa: E402
import seed  # noqa: E402
import suite  # noqa: E402
from fault_proxies import FaultProxies  # noqa: E402
from server import Server  # noqa: E402

CASE = re.compile(r"^    \[Case\]\n    public (?:async )?(?:Task|void) (\w+)\(", re.MULTILINE)
LIBRARY = os.environ.get("TAVOLA_LIBRARY", str(ROOT / "build/src/client/libtavola.so"))
QUIET = {"DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1", "MSBUILDDISABLENODEREUSE": "1"}
LIMIT_S = 1500  # packages may have to be fetched
ABSENT = re.compile(r"error NU1(?:10[123]|301): (.*?)(?: \[|$)", re.MULTILINE)  # from the registry


FRAME = """{usings}
public class {name}
{{
    static readonly string CONNECTION = Environment.GetEnvironmentVariable("TAVOLA_CONNECTION");

    [Case]
    public async Task {name}_runs_as_it_stands()
    {{
{code}    }}
}}
"""


def frame_snippets():
    """The C# of docs/connect.md as cases of the part `snippets`."""
    folder = ROOT / "build-dotnet/snippets"
    folder.mkdir(parents=True, exist_ok=True)
    shown = re.findall(r"^```csharp\n(.*?)^```$", (ROOT / "docs/connect.md").read_text(),
                       re.MULTILINE | re.DOTALL)
    wanted = {}
    for n, text in enumerate(shown, 1):
        lines = text.splitlines(True)
        usings = [line for line in lines if line.startswith("using ")]
        code = "".join(" " * 8 + line for line in lines if line not in usings)
        wanted[folder / f"Snippet{n}.cs"] = FRAME.format(usings="".join(usings),
                                                         name=f"Snippet{n}", code=code)
    for path in {*folder.glob("*.cs"), *wanted}:  # other jobs may build: only what differs
        if path not in wanted:
            path.unlink(missing_ok=True)
        elif not path.exists() or path.read_text() != wanted[path]:
            path.write_text(wanted[path])


def project(part):
    return HERE / part / f"{part}.csproj"


def cases(part):
    """The names of the cases in the files that a project compiles."""
    folders = [HERE / part] + [(HERE / part / folder).resolve()
                               for folder in re.findall(r'Compile Include="(.*?)/\*\.cs"',
                                                        project(part).read_text())]
    return [name for folder in folders for path in sorted(folder.glob("*.cs"))
            for name in CASE.findall(path.read_text())]


def needs(part):
    return ["release"] if "../encryption/" in project(part).read_text() else []


def packages(part):
    return ", ".join(" ".join(pair) for pair in re.findall(
        r'<Package(?:Reference|Download) Include="([^"]+)" Version="\[?([\d.]+)',
        project(part).read_text()))


def build(part):
    """What went wrong, or None."""
    done = subprocess.run(["dotnet", "build", project(part), "-v", "q"], env={**os.environ, **QUIET},
                          text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    wrong = [line for line in done.stdout.splitlines() if ": error " in line]
    return "\n".join(dict.fromkeys(wrong)) or done.stdout if done.returncode else None


def run_cases(part, names, server):
    """{case: "" or what was wrong} of those that ran."""
    proxies = FaultProxies(server.connection_string).start()
    told = {"TAVOLA_CONNECTION": server.connection_string,
            "TAVOLA_FAULTY": proxies.connection_string,
            "TAVOLA_FAULT_CONTROL": str(proxies.control.server_address[1]), "TAVOLA_LIBRARY": LIBRARY}
    with tempfile.TemporaryDirectory(prefix="tavola-dotnet-") as folder:
        pathlib.Path(folder, "ada.jpg").write_bytes(b"a picture")  # of the snippets
        done = subprocess.run(["dotnet", ROOT / f"build-dotnet/bin/{part}/{part}.dll", *names],
                              cwd=folder, env={**os.environ, **QUIET, **told}, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    found = re.findall(r"^(?:ok (\w+)|FAILED (\w+): (.*))$", done.stdout, re.MULTILINE)
    outcome = {ok or bad: why for ok, bad, why in found}
    if len(outcome) < len(names):
        print(f"    the program ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return outcome


def run_part(part, names):
    """(passed, failed); a case that is listed and did not run has failed."""
    if trouble := build(part):
        if absent := ABSENT.search(trouble):
            suite.skipped += 1
            print(f"  SKIP {part}: {absent[1]}", flush=True)
            return 0, 0
        print(f"    FAILED {part} could not be built:\n{trouble}")
        return 0, 1
    print(f"  {part}: {packages(part)}", flush=True)
    names = names or cases(part)
    with Server(engine="memory") as server:
        outcome = run_cases(part, names, server)
        wrong = {name: outcome.get(name, "did not run") for name in names if outcome.get(name, "-")}
        for name, why in wrong.items():
            print(f"    FAILED {part}/{name}: {why}\n{seed.repeat('dotnet', f'{part}/{name}')}")
        if wrong:
            print(server.log()[-3000:])
    print(f"  {part}: {len(names) - len(wrong)} ok" + (f", {len(wrong)} FAILED" if wrong else ""),
          flush=True)
    return len(names) - len(wrong), len(wrong)


def main(arguments):
    is_list = arguments[:1] == ["--jobs"]
    frame_snippets()
    known = {path.parent.name: cases(path.parent.name) for path in sorted(HERE.glob("*/*.csproj"))
             if path.stem == path.parent.name}
    chosen = parts.choose_or_exit("dotnet", known, arguments[is_list:])
    if is_list:
        return suite.print_jobs(chosen, needs, limit_s=LIMIT_S)
    if shutil.which("dotnet") is None:
        suite.skipped += len(chosen)
        print(f"  SKIP {' '.join(chosen)}: there is no dotnet, and Debian has none", flush=True)
        return suite.close("dotnet", 0, 0)
    passed = failed = 0
    for part, names in chosen.items():
        try:
            more_passed, more_failed = run_part(part, sorted(names) if names else None)
        except RuntimeError as error:  # a server that did not end well
            print(f"    FAILED {part}: {error}")
            more_passed, more_failed = 0, 1
        passed, failed = passed + more_passed, failed + more_failed
    return suite.close("dotnet", passed, failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
