"""Help, manual, completion: they say what the tool does, and the examples run."""

import os
import pathlib
import re
import shutil
import subprocess

from server import ROOT
from tavola import PROGRAM, TavolaTest


def flat(text):
    """Lines that were wrapped are one."""
    return re.sub(r"\s+", " ", text)


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
                self.assertEqual(len(re.findall(rf"^  {name} +(?=[A-Z]|'|\d|\n)", whole, re.MULTILINE)), 1)
                self.assertIn(text, flat(whole))
                one = self.ok("help", *name.split())
                self.assertRegex(one, r"\AFor example:\n(  .*\n)+\nusage: ")
                self.assertIn(f" usage: tavola {name} {arguments}".rstrip(), flat(one))
                self.assertLessEqual(max(map(len, one.splitlines())), 80)
                self.assertIn(f"tavola {name}", one.split("usage:")[0])
                self.assertEqual(self.ok(*name.split(), "--help"), one)
                self.assertEqual(self.ok("-h", *name.split(), "too", "many", "words"), one)
        self.assertIn("table create TABLE", self.ok("help", "table"))
        self.assertNotIn("describe", whole)

    def test_the_overview_is_grouped_and_fits_a_terminal(self):
        whole = self.ok("help")
        self.assertLessEqual(max(map(len, whole.splitlines())), 80)
        titles = re.findall(r"^(\S.*):$", whole, re.MULTILINE)
        self.assertEqual(titles[:4], ["Read entities", "Write entities", "Tables",
                                      "Files and copies"])
        self.assertIn("Files and copies:\n  import ", whole)

    def test_what_a_flag_means_to_another_verb_is_not_told(self):
        for verb, told, untold in (
                ("import", "--types LIST .*Age:int32", "signature|report|junit|LETTERS"),
                ("sas make", r"--types LETTERS +of s \(service\)", "CSV file|Age:int32"),
                ("lint", "--output FORMAT +of the report: text", "ndjson, json, typed-csv or csv"),
                ("export", "--output FORMAT +of the file: ndjson", "tsv"),
                ("import", "--format FORMAT +of the file: ndjson", "junit"),
                ("bench", "--parallel COUNT +requests", "batches"),
                ("bench", "--number COUNT +operations", "messages|how many"),
                ("ping", "--number COUNT +questions", "how many"),
                ("tail", "--limit COUNT +at most this many entities; 10", "in all"),
                ("message get", "--limit COUNT +at most this many messages, 1 to 32", "in all"),
                ("whatif", "--limit COUNT +entities of the table", "in all"),
                ("blob list", "--page-size COUNT .*1 to 5000", "1 to 1000"),
                ("export", r"--where FILTER \[VALUE\]\.\.\. +only entities that pass the filter",
                 "all of them"),
                ("server url", "--admin URL", "--connection"),
                ("table stats", "--connection", "nothing")):
            with self.subTest(verb):
                one = flat(self.ok("help", *verb.split()))
                self.assertRegex(one, told)
                self.assertNotRegex(one, untold)

    def test_the_examples_of_the_help_are_valid(self):
        """Each as it stands: what it names may be missing, but none is a mistake in the usage."""
        for name, text in (("portrait.jpg", "x"), ("order.json", "{}"), ("commands.txt", "help\n"),
                           ("more.ndjson", ""), ("staff.csv", "PartitionKey,RowKey,Age,Hired\n"),
                           ("employees.typed.csv", "PartitionKey,RowKey\n"),
                           ("changes.txt", "put Sales 1\n")):
            (self.home / name).write_text(text)
        config = self.home / ".config/tavola"
        config.mkdir(parents=True)
        (config / "connections").write_text("".join(
            f"{name} = {self.server.connection_string}\n" for name in ("live", "test")))
        (config / "connections").chmod(0o600)
        self.ok("table", "create", "Employees", "--if-absent")
        count = 0
        for name, _, _ in self.verbs:
            text = self.ok("help", *name.split()).split("\n\nusage:")[0]
            if "--admin URL" in self.ok("help", *name.split()):
                continue  # of a server: server_test.py and others
            # A command may go over lines.
            for line in re.sub(r"\\\n|(?<=\|)\n", "", text).splitlines()[1:]:
                with self.subTest(line):
                    code, _, errors = self.shell(f"set -o pipefail; ETAG='*' ID=1 RECEIPT=1\n{line}")
                    self.assertNotIn(code, (2, 127), errors)
                    count += 1
        self.assertGreater(count, 50)

    def test_version(self):
        self.assertRegex(self.ok("--version"), r"\Atavola \d+\.\d+\.\d+ \(libtavola \d+\.\d+\.\d+\)\n\Z")

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

    def test_it_runs_wherever_it_is_copied_to(self):
        """It is a program over tavola.h (a rule of tools/floors.py) that needs none of our files."""
        copy = self.home / "elsewhere" / "tavola"
        copy.parent.mkdir()
        shutil.copy(PROGRAM, copy)
        linked = subprocess.run(["ldd", copy], capture_output=True, text=True).stdout
        self.assertNotIn("tavola", linked)
        self.assertNotIn("rocksdb", linked)
        done = subprocess.run([copy, "--version"], capture_output=True, text=True, env=self.env)
        self.assertRegex(done.stdout, r"\Atavola \d")


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
                (("--vers",), ["--version"]),
                (("help", "table", "policy", "s"), ["set"]),
                (("completion", ""), ["bash", "zsh", "fish"])):
            with self.subTest(words):
                self.assertEqual(self.complete(*words), expected)
        self.ok("queue", "create", "completed-queue", "--if-absent")
        self.ok("container", "create", "completed-box", "--if-absent")
        for partition, row in (("Sales", "212"), ("Sales", "213"), ("Support", "7"), ("two words", "1")):
            self.ok("put", "Completed", partition, row, "Age:int32=1")
        (self.home / ".config/tavola").mkdir(parents=True, exist_ok=True)
        named = self.home / ".config/tavola/connections"
        named.write_text(f"# names\nlive = {self.server.connection_string}\nlist=x\n")
        named.chmod(0o600)
        for words, expected in (
                (("message", "get", "comp"), ["completed-queue"]),
                (("blob", "list", "comp"), ["completed-box"]),
                (("-c", "li"), ["live", "list"]),
                (("query", "Completed", "-o", "t"), ["table", "typed-csv", "tsv"]),
                (("export", "Completed", "-o", "t"), ["typed-csv"]),
                (("lint", "-o", "s"), ["sarif"]),
                (("import", "T", "--format", "n"), ["ndjson"]),
                (("import", "T", "--on-conflict", "r"), ["replace"]),
                (("message", "put", "q", "x", "--encoding", ""), ["text", "base64"]),
                (("get", "Completed", ""), ["Sales", "Support"]),
                (("tail", "Completed", "Su"), ["Support"]),
                (("get", "Completed", "Sales", ""), ["212", "213"]),
                (("keys", "Completed", "Sales", "213"), ["213"]),
                (("merge", "Completed", "Sales", "212", "A"), ["Age"]),
                (("query", "Completed", "--where", "A"), ["Age"]),
                (("query", "--where", "A eq ? and B eq ?", "x", "y", "Comp"), ["Completed"]),
                (("whatif", "t", "--table", "Comp"), ["Completed"])):
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
