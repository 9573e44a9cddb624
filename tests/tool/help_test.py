"""Help, manual, completion: they say what the tool does, and the examples run."""

import os
import pathlib
import re
import shutil
import subprocess

from server import ROOT
from tavola import PROGRAM, TavolaTest



class WithProgram(TavolaTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        tool = cls()
        cls.verbs = [line.split("\t")[1:] for line in tool.ok("describe").splitlines()
                     if line.startswith("verb\t")]
        # The program by its name, as the scripts call it.
        cls.bin = cls.home / "bin"
        cls.bin.mkdir()
        (cls.bin / "tavola").symlink_to(PROGRAM)
        cls.env["PATH"] = f"{cls.bin}:{os.environ['PATH']}"

    def shell(self, script, shell="bash"):
        done = subprocess.run([shell, "-c", script], capture_output=True, text=True, env=self.env,
                              cwd=self.home, timeout=60)
        return done.returncode, done.stdout, done.stderr


class Help(WithProgram):
    def test_every_verb_has_help(self):
        whole = self.ok("help")
        self.assertEqual(self.ok("--help"), whole)
        self.assertGreater(len(self.verbs), 50)
        for name, arguments, text in self.verbs:
            with self.subTest(name):
                self.assertIn(f"  {name} {arguments}".rstrip(), whole)
                self.assertIn(text, whole)
                one = self.ok("help", *name.split())
                self.assertTrue(one.startswith(f"usage: tavola {name} {arguments}".rstrip()))
                self.assertEqual(self.ok(*name.split(), "--help"), one)
                self.assertEqual(self.ok("-h", *name.split(), "too", "many", "words"), one)
        self.assertIn("table create TABLE", self.ok("help", "table"))
        self.assertNotIn("describe", whole)

    def test_version(self):
        self.assertRegex(self.ok("--version"), r"\Atavola \d+\.\d+\.\d+ \(libtavola 1\.0\.0\)\n\Z")

    def test_the_manual_and_the_guide_list_what_there_is(self):
        done = subprocess.run([ROOT / "tools/tool-docs.py", "--check"], capture_output=True,
                              text=True, env=os.environ | {"TAVOLA": PROGRAM})
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_the_manual_is_well_formed(self):
        if not shutil.which("groff"):
            self.skipTest("there is no groff")
        done = subprocess.run(["groff", "-mandoc", "-Tutf8", "-ww", "-z",
                               ROOT / "docs/man/tavola.1"], capture_output=True, text=True)
        self.assertEqual(done.stderr, "")

    def test_the_examples_of_the_guide_run(self):
        blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "docs/tool.md").read_text(), re.DOTALL)
        self.assertTrue(blocks)
        for block in blocks:
            code, _, errors = self.shell("set -e\n" + block)
            self.assertEqual(code, 0, errors)

    def test_the_tool_uses_the_shared_library(self):
        """What it includes of the tree is a rule of tools/floors.py."""
        linked = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True).stdout
        self.assertIn("libtavola.so.1", linked)


class Completion(WithProgram):
    def complete(self, *words):
        return self.ok("complete", "--", *words).split()

    def test_words(self):
        self.ok("table", "create", "Completed", "--if-absent")
        for words, expected in (
                (("que",), ["query", "queue"]),
                (("table", "p"), ["policy"]),
                (("server", ""), ["status", "check", "metrics", "url", "backup"]),
                (("server", "backup", "--to"), ["--token-file"]),
                (("table", "policy", ""), ["list", "set", "delete"]),
                (("table", "exists", "Comp"), ["Completed"]),
                (("get", "Comp"), ["Completed"]),
                (("-c", "x", "-o", "csv", "que"), ["query", "queue"]),
                (("query", "T", "--l"), ["--limit"]),
                (("query", "T", "--limit", ""), []),
                (("--v",), ["--version"]),
                (("help", "table", "policy", "s"), ["set"]),
                (("completion", ""), ["bash", "zsh", "fish"])):
            with self.subTest(words):
                self.assertEqual(self.complete(*words), expected)
        self.assertEqual(self.ok("complete", "--", "get", "",
                                 env=self.env | {"AZURE_STORAGE_CONNECTION_STRING": "TableEndpoint="
                                                 "http://127.0.0.1:1/a;AccountName=a;AccountKey="
                                                 "YQ=="}), "", "no server, no names, no noise")

    def test_in_bash(self):
        code, shown, errors = self.shell(
            "source <(tavola completion bash); COMP_WORDS=(tavola table cr); COMP_CWORD=2; "
            "_tavola; echo ${COMPREPLY[@]}; complete -p tavola")
        self.assertEqual((code, errors), (0, ""))
        self.assertRegex(shown, r"\Acreate\ncomplete .*-F _tavola tavola\n\Z")

    def test_in_other_shells(self):
        for shell, check in (("zsh", "-n"), ("fish", "--no-execute")):
            script = pathlib.Path(self.home / f"completion.{shell}")
            script.write_text(self.ok("completion", shell))
            self.assertIn("tavola complete -- ", script.read_text())
            if shutil.which(shell):
                done = subprocess.run([shell, check, script], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
