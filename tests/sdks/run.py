#!/usr/bin/python3
"""Run the newest clients of other languages, and the README's own snippets, against a tavolad.

    tests/sdks/run.py [python] [javascript] [csharp] [go] [java] [rust] [encryption]

Every language gets a server of its own.  First come the snippets of README.md and docs/connect.md, as they stand,
in a frame that gives them CONNECTION; then a program, or for Python the tests of tests/sdk/python,
that goes through the operations of tables, queues and blobs.  A language whose tools are not here
is skipped with the reason.  What is fetched and built is kept in build-sdks/.

Ends with "sdks: N passed, N failed".
"""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
KEPT = ROOT / "build-sdks"
sys.path.insert(0, str(HERE.parent / "lib"))

import javascript  # noqa: E402
import parts  # noqa: E402
import sas  # noqa: E402
import server  # noqa: E402
import suite  # noqa: E402
from table_client import Client, key_path  # noqa: E402

PACKAGES = ["azure-data-tables", "azure-storage-blob", "azure-storage-queue"]
GO_OLDEST = (1, 23)  # of the modules in go/go.mod; Debian 12 has 1.19
RUST_OLDEST = 88  # of 1.N, of the crates in rust/Cargo.toml; Debian 12 has 1.63


class Skip(Exception):
    """This cannot be run here; says why."""


class Failed(Exception):
    """A step of a run went wrong; says how."""


def tool(name, package):
    path = shutil.which(name)
    if path is None:
        raise Skip(f"there is no {name} (Debian: {package})")
    return path


def run(command, cwd=None, env=None, minutes=20):
    """The output of a command, which must go well."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, text=True, timeout=60 * minutes,
                          env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise Failed(f"{command[0]} ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout


def snippets(language):
    """What README.md and docs/connect.md show in a language, in their order."""
    text = "".join((ROOT / page).read_text() for page in ("README.md", "docs/connect.md"))
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def indented(text, by):
    return "".join(f"{by}{line}" if line.strip() else line for line in text.splitlines(True))


# --- languages: `prepare` fetches and builds, `snippet` runs one of the README, `smoke` the rest

class Python:
    mark = "python"

    def prepare(self):
        folder = KEPT / "python"
        self.python = folder / "bin" / "python"
        if not self.python.exists():
            run(["/usr/bin/python3", "-m", "venv", folder])
        run([self.python, "-m", "pip", "install", "--quiet", "--upgrade", *PACKAGES])

    def versions(self):
        listed = run([self.python, "-m", "pip", "list"])
        return ", ".join(" ".join(line.split()) for line in listed.splitlines()
                         if line.split()[0] in PACKAGES)

    def snippet(self, code, folder, env):
        (folder / "snippet.py").write_text(f"import os\nCONNECTION = os.environ['TAVOLA_CONNECTION']\n"
                                           f"{code}")
        run([self.python, "snippet.py"], folder, env)

    def smoke(self, env):
        """The tests of Debian's clients, with the newest ones; they start a server of their own."""
        done = subprocess.run([self.python, ROOT / "tests/sdk/run.py", "python"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        lines = done.stdout.splitlines()
        passed = failed = 0
        for line in lines:
            match = re.match(r"sdk: (\d+) passed, (\d+) failed", line)
            if match:
                passed, failed = int(match[1]), int(match[2])
            elif " ok (" not in line and "MB/s" not in line:
                print(f"    {line}")
        if not passed or (done.returncode != 0 and not failed):
            failed += 1
        return passed, failed


class JavaScript:
    mark = "js"

    def prepare(self):
        tool("node", "nodejs")
        self.modules = HERE.parent / "sdk" / "js"
        javascript.install(self.modules)

    def versions(self):
        return "those of tests/sdk/js/package-lock.json"

    def snippet(self, code, folder, env):
        if not (folder / "node_modules").exists():
            (folder / "node_modules").symlink_to(self.modules / "node_modules")
        (folder / "snippet.mjs").write_text(f"const CONNECTION = process.env.TAVOLA_CONNECTION;\n{code}")
        run(["node", "snippet.mjs"], folder, env)

    smoke = None  # ./check sdk runs this client


class CSharp:
    mark = "csharp"

    packages = ["Azure.Data.Tables", "Azure.Storage.Blobs", "Azure.Storage.Queues"]
    frame = """global using Azure.Data.Tables;
global using static Told;

static class Told
{
    public static readonly string CONNECTION = Environment.GetEnvironmentVariable("TAVOLA_CONNECTION")!;
}
"""

    def prepare(self):
        if shutil.which("dotnet") is None:
            raise Skip("there is no dotnet, and Debian has none")
        self.env = {"DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1"}
        self.project = self.copy("driver", "Driver.cs")
        try:
            for package in self.packages:
                run(["dotnet", "add", "package", package], self.project, self.env)
            self.without = ""
        except Failed:  # they share Azure.Core, so all or none
            self.without = f"the registry does not have all of {', '.join(self.packages)}"
            self.project = self.copy("driver", "Driver.cs", "StandIn.cs", "BlobStandIn.cs")

    def copy(self, name, *sources):
        """A fresh project."""
        project = KEPT / "csharp" / name
        shutil.rmtree(project, ignore_errors=True)
        project.mkdir(parents=True)
        for source in ("Cures.csproj", *sources):
            shutil.copy(HERE / "csharp" / source, project)
        return project

    def versions(self):
        if self.without:
            return f"{self.without}; stand-ins with their interfaces are used"
        return re.search(r'Version="(.*?)"', (self.project / "Cures.csproj").read_text())[1]

    def build(self, project):
        run(["dotnet", "build", "--nologo", "-v", "q", "-o", project / "out"], project, self.env)
        return ["dotnet", project / "out/Cures.dll"]

    def snippet(self, code, folder, env):
        project = self.copy("snippet")
        shutil.copy(self.project / "Cures.csproj", project)
        (project / "Told.cs").write_text(self.frame)
        (project / "Program.cs").write_text(code)
        run(self.build(project), folder, env)

    def smoke(self, env):
        """The code of the server's cures, by the cases of tests/advice/cures.py."""
        sys.path.append(str(HERE.parent / "advice"))
        found = importlib.util.spec_from_file_location("advice_run", HERE.parent / "advice/run.py")
        advice = importlib.util.module_from_spec(found)
        found.loader.exec_module(advice)

        def run_code(folder, cases, codes, connection):
            for n, code in enumerate(codes):
                (self.project / f"Cure{n}.cs").write_text(code["C#"] + "\n")
            return advice.cures.run_jobs(self.build(self.project), folder, cases, codes, "C#", "cs", connection)

        return advice.run_cures({"C#": (run_code, "cs")})


class Go:
    mark = "go"
    frame = """package main

import (
	"context"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

func main() {
	ctx, CONNECTION := context.Background(), os.Getenv("TAVOLA_CONNECTION")
%s	if err != nil {
		panic(err)
	}
}
"""

    def prepare(self):
        go = tool("go", "golang-go")
        version = re.search(r"go(\d+)\.(\d+)", run([go, "version"]))
        if (int(version[1]), int(version[2])) < GO_OLDEST:
            raise Skip(f"{version[0]} is too old for the clients, which need go1.23")
        self.env = {"GOFLAGS": "-mod=mod -buildvcs=false", "GOTOOLCHAIN": "local"}
        self.folder = KEPT / "go"
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in ("go.mod", "go.sum"):
            shutil.copy(HERE / "go" / name, self.folder)
        shutil.copytree(HERE / "go" / "smoke", self.folder / "smoke", dirs_exist_ok=True)
        run([go, "build", "-o", "bin/smoke", "./smoke"], self.folder, self.env)

    def versions(self):
        return ", ".join(re.findall(r"sdk/\w+/(az\w+ v[\d.]+)", (HERE / "go/go.mod").read_text()))

    def snippet(self, code, folder, env):
        place = self.folder / "snippet"
        place.mkdir(exist_ok=True)
        (place / "main.go").write_text(self.frame % indented(code, "\t"))
        run(["go", "build", "-o", "bin/snippet", "./snippet"], self.folder, self.env)
        run([self.folder / "bin/snippet"], folder, env)

    def smoke(self, env):
        return count(run([self.folder / "bin/smoke"], env=env))


class Java:
    mark = "java"
    frame = """import com.azure.data.tables.*;
import com.azure.data.tables.models.*;

public class Snippet {
    public static void main(String[] arguments) {
        String CONNECTION = System.getenv("TAVOLA_CONNECTION");
%s        System.exit(0);
    }
}
"""

    def prepare(self):
        tool("javac", "default-jdk-headless")
        maven = tool("mvn", "maven")
        self.folder = KEPT / "java"
        self.folder.mkdir(parents=True, exist_ok=True)
        pom, kept = HERE / "java/pom.xml", self.folder / "pom.xml"
        if not kept.exists() or kept.read_bytes() != pom.read_bytes():
            shutil.rmtree(self.folder / "lib", ignore_errors=True)
            run([maven, "-B", "-q", "-f", pom, "dependency:copy-dependencies",
                 f"-DoutputDirectory={self.folder / 'lib'}"])
            shutil.copy(pom, kept)
        self.path = f"{self.folder / 'lib'}/*:{self.folder / 'classes'}"
        self.compile(*(HERE / "java").glob("*.java"))

    def compile(self, *files):
        run(["javac", "-encoding", "UTF-8", "-cp", self.path, "-d", self.folder / "classes", *files])

    def start(self, name, folder, env):
        return run(["java", "-Dfile.encoding=UTF-8", "-cp", self.path, name], folder, env)

    def versions(self):
        return ", ".join(f"{name} {version}" for name, version in re.findall(
            r"<artifactId>(azure-[\w-]+)</artifactId>\s*<version>([\d.]+)",
            (HERE / "java/pom.xml").read_text()))

    def snippet(self, code, folder, env):
        (folder / "Snippet.java").write_text(self.frame % indented(code, " " * 8))
        self.compile(folder / "Snippet.java")
        self.start("Snippet", folder, env)

    def smoke(self, env):
        return count(self.start("Smoke", None, env))


class Rust:
    mark = "rust"

    def prepare(self):
        cargo = tool("cargo", "cargo")
        version = re.search(r"cargo 1\.(\d+)", run([cargo, "--version"]))
        if int(version[1]) < RUST_OLDEST:
            raise Skip(f"{version[0]} is too old for the crates, which need 1.{RUST_OLDEST}")
        self.folder = KEPT / "rust"
        shutil.copytree(HERE / "rust", self.folder, dirs_exist_ok=True)
        run([cargo, "build", "--quiet"], self.folder, minutes=60)

    def versions(self):
        return ", ".join(" ".join(pair) for pair in re.findall(
            r'name = "(azure_storage_(?:blob|queue))"\nversion = "([\d.]+)"',
            (self.folder / "Cargo.lock").read_text()))

    def smoke(self, env):
        return count(run([self.folder / "target/debug/smoke"], env=env))


class Encryption:
    """Not a language: the retired clients that encrypt entities, and libtavola, for each other."""

    mark = "encryption"  # the README has no snippets of it
    packages = ["azure-cosmosdb-table==1.0.6", "azure-storage-common==1.4.2", "cryptography"]
    library = pathlib.Path(os.environ.get("TAVOLA_LIBRARY", ROOT / "build/src/client/libtavola.so"))

    def prepare(self):
        if not self.library.exists():
            raise Skip(f"there is no {self.library}")
        folder = KEPT / "encryption"
        self.python = folder / "python" / "bin" / "python"
        if not self.python.exists():
            run(["/usr/bin/python3", "-m", "venv", folder / "python"])
        run([self.python, "-m", "pip", "install", "--quiet", *self.packages])
        self.java = self.prepare_java(folder) if shutil.which("mvn") else ""

    def prepare_java(self, folder):
        path = f"{folder / 'lib'}/*:{folder / 'classes'}"
        if not (folder / "lib").exists():
            run([tool("mvn", "maven"), "-B", "-q", "-f", HERE / "encryption/pom.xml",
                 "dependency:copy-dependencies", f"-DoutputDirectory={folder / 'lib'}"])
        run([tool("javac", "default-jdk-headless"), "-encoding", "UTF-8", "-cp", path, "-d",
             folder / "classes", HERE / "encryption/Encryption.java"])
        return path

    def versions(self):
        return ", ".join(self.packages[:2]) + (", azure-storage 8.6.6" if self.java else
                                               "; Java skipped: there is no mvn (Debian: maven)")

    def smoke(self, env):
        return count(run([self.python, HERE / "encryption/encryption.py"],
                         env={**env, "TAVOLA_LIBRARY": str(self.library),
                              "TAVOLA_OLD_JAVA": self.java}))


LANGUAGES = {"python": Python, "javascript": JavaScript, "csharp": CSharp, "go": Go, "java": Java,
             "rust": Rust, "encryption": Encryption}


def count(output):
    """Of a program's lines "ok NAME" and "FAILED NAME: why"; what failed is shown."""
    passed = len(re.findall(r"^ok ", output, re.MULTILINE))
    wrong = [line for line in output.splitlines() if line.startswith("FAILED ")]
    for line in wrong:
        print(f"    {line}")
    return passed, len(wrong) or (0 if passed else 1)


# --- a server for each run, and what a snippet must have left in it

class Served(server.Server):
    def __init__(self):
        super().__init__(engine="memory")

    def told(self):
        """What programs find in their environment."""
        at = {name: f"http://127.0.0.1:{port}/{server.ACCOUNT}" for name, port in (
            ("Blob", self.blob_port), ("Queue", self.queue_port), ("Table", self.table_port))}
        return {
            "TAVOLA_CONNECTION": f"DefaultEndpointsProtocol=http;AccountName={server.ACCOUNT};"
                                 f"AccountKey={server.KEY};" +
                                 "".join(f"{name}Endpoint={url};" for name, url in at.items()),
            "TAVOLA_ACCOUNT": server.ACCOUNT, "TAVOLA_KEY": server.KEY,
            "TAVOLA_SAS": sas.account_sas(server.KEY, server.ACCOUNT, ss="bq", srt="sco",
                                          sp="rwdlacup", se="2099-01-01T00:00:00Z"),
            "TAVOLA_TABLES": at["Table"], "TAVOLA_QUEUES": at["Queue"], "TAVOLA_BLOBS": at["Blob"],
        }


def run_snippet(language, code):
    with tempfile.TemporaryDirectory(prefix="tavola-sdks-") as name, Served() as served:
        folder = pathlib.Path(name)
        (folder / "ada.jpg").write_bytes(b"a picture")
        language.snippet(code, folder, served.told())
        if "People" in code:
            left = Client(served.table_port).request("GET", key_path("People", "Sales", "121"))
            if b'"Ada"' not in left.body:
                raise Failed(f"the snippet has left {left}")


def run_part(name, function):
    """(passed, failed) of one step of a language."""
    try:
        numbers = function() or (1, 0)
    except (Failed, OSError, RuntimeError, subprocess.TimeoutExpired) as trouble:
        print(f"    FAILED {name}: {trouble}")
        return 0, 1
    print(f"  {name}: {numbers[0]} ok" + (f", {numbers[1]} FAILED" if numbers[1] else ""), flush=True)
    return numbers


def smoke(language):
    with Served() as served:
        numbers = language.smoke(served.told())
    return numbers


def run_language(name):
    language = LANGUAGES[name]()
    shown = snippets(language.mark)
    try:
        language.prepare()
    except Skip as reason:
        suite.skipped += 1
        print(f"  SKIP {name}, {len(shown)} snippets of the README: {reason}", flush=True)
        return 0, 0
    except (Failed, OSError, RuntimeError, subprocess.TimeoutExpired) as trouble:
        print(f"    FAILED {name}: {trouble}")
        return 0, 1
    print(f"  {name}: {language.versions()}", flush=True)
    if getattr(language, "without", ""):
        suite.skipped += len(shown)
        print(f"  SKIP {name}, {len(shown)} snippets of the README: {language.without}", flush=True)
        shown = []
    parts = [run_part(f"{name}, snippet {n} of the README", lambda code=code: run_snippet(language, code))
             for n, code in enumerate(shown, 1)]
    if language.smoke:
        parts.append(run_part(f"{name}, operations", lambda: smoke(language)))
    return sum(p for p, _ in parts), sum(f for _, f in parts)


def main(arguments):
    is_list = arguments[:1] == ["--jobs"]
    which = parts.choose_or_exit("sdks", dict.fromkeys(LANGUAGES, ()), arguments[is_list:])
    if is_list:
        return suite.print_jobs(which)
    KEPT.mkdir(exist_ok=True)
    passed = failed = 0
    for name in which:
        more_passed, more_failed = run_language(name)
        passed, failed = passed + more_passed, failed + more_failed
    return suite.close("sdks", passed, failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
