"""docs/ci.md: the steps for pipelines do what the page says, as they stand there.

What installs is left out: those lines fetch packages and a repository that is an example.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from server import ROOT, binary, free_ports
from tavola import PROGRAM, TIMEOUT_S, TavolaTest, needs_tavolad

PAGE = (ROOT / "docs/ci.md").read_text()
POINT = "PartitionKey eq 'p' and RowKey eq 'r001'"
SCAN = "Name eq 'Ada'"
# Not by tavola, whose own requests are not judged.
RUN_TESTS = """#!{python}
import os, urllib.parse
from table_client import Client
client = Client(int(os.environ["TAVOLA_TABLE_PORT"]))
client.create_table("Logins")
for partition in range(2):
    client.batch("Logins", [{{"PartitionKey": f"p{{partition}}", "RowKey": f"r{{row:03}}", "Name": "Bob"}}
                            for row in range(100)])
reply = client.request("GET", "/Logins()?" + urllib.parse.urlencode({{"$filter": "{filter}"}}))
assert reply.status == 200, reply
"""


def block(language, heading):
    section = PAGE.split(f"{heading}\n", 1)[1]
    return re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)[1]


def shell_steps():
    return [block("sh", "# Tavola in a pipeline")]


def github_steps():
    """What each `run` says, but for that which installs; the last one is run whatever happened."""
    steps = re.findall(r"- name: (\w+)\n(?: +if: .*\n)? +run: (?:\|\n((?: {10}.*\n)+)|(.*)\n)",
                       block("yaml", "## GitHub Actions"))
    found = {name: re.sub(r"^ {10}", "", many, flags=re.MULTILINE) or one for name, many, one in steps}
    assert list(found) == ["Install", "Start", "Test", "Lint", "Stop"], found
    return list(found.values())[1:]


def gitlab_steps():
    text = block("yaml", "## GitLab")

    def of(name):
        return "".join(line + "\n" for line in re.findall(
            r"^    - (.*)$", re.search(rf"^  {name}:\n((?:    - .*\n)+)", text, re.MULTILINE)[1],
            re.MULTILINE))

    return [of("script"), of("after_script")]


@needs_tavolad("it has no lint")
class Pipelines(TavolaTest):
    def run_steps(self, steps, tests):
        """Their exit codes and outputs, each in a shell of its own, as pipelines have them."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tavola-ci-", dir=self.home))
        self.addCleanup(shutil.rmtree, folder)
        program = folder / "bin/tavola"
        program.parent.mkdir()
        program.symlink_to(pathlib.Path(PROGRAM).resolve())
        (folder / "bin/tavolad").symlink_to(pathlib.Path(binary()).resolve())
        (folder / "run-tests").write_text(RUN_TESTS.format(python=sys.executable, filter=tests))
        (folder / "run-tests").chmod(0o755)
        names = ("BLOB", "QUEUE", "TABLE", "ADMIN")
        ports = dict(zip(names, map(str, free_ports(4))))
        env = self.env | {f"TAVOLA_{name}_PORT": port for name, port in ports.items()} | {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "tests/lib"),
            "TAVOLA_ADMIN": f"http://127.0.0.1:{ports['ADMIN']}"}
        env["AZURE_STORAGE_CONNECTION_STRING"] = re.sub(
            r"(\w+)Endpoint=http://127\.0\.0\.1:\d+/", lambda found: "{}Endpoint=http://127.0.0.1:{}/".format(
                found[1], ports[found[1].upper()]), self.server.connection_string)
        codes, text = [], ""
        try:
            for i, step in enumerate(steps):
                if codes and codes[-1] and i < len(steps) - 1:
                    continue
                with open(folder / "out", "wb") as out:  # the server keeps nothing open that is waited for
                    codes.append(subprocess.run(["bash", "-e", "-c", step], cwd=folder, env=env, stdout=out,
                                                stderr=out, stdin=subprocess.DEVNULL,
                                                timeout=TIMEOUT_S).returncode)
                text += (folder / "out").read_text()
        finally:
            self.end(folder)
        return codes, text + "".join(path.read_text() for path in folder.glob("*.xml"))

    def end(self, folder):
        """The server of the steps is gone, or will be; a shell that fails leaves it behind."""
        pid = int((folder / "tavolad.pid").read_text())
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            try:
                if b"tavolad" not in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                    return
                os.kill(pid, 15)
            except (FileNotFoundError, ProcessLookupError):
                return
            time.sleep(0.05)
        self.fail("the server does not end")

    def test_tests_that_scan_fail_the_build(self):
        for what, steps, wanted in (("shell", shell_steps(), [1]),
                                    ("github", github_steps(), [0, 0, 1, 0]),
                                    ("gitlab", gitlab_steps(), [1, 0])):
            with self.subTest(what):
                codes, text = self.run_steps(steps, SCAN)
                self.assertEqual(codes, wanted, text)
                self.assertIn("table-scan-property", text)

    def test_tests_that_do_not_scan_pass(self):
        for what, steps in (("shell", shell_steps()), ("github", github_steps()),
                            ("gitlab", gitlab_steps())):
            with self.subTest(what):
                codes, text = self.run_steps(steps, POINT)
                self.assertEqual(set(codes), {0}, text)
