"""Import, export and copy: what is in the table afterwards, also after the worst."""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile

import tavola
from fault_proxy import FaultProxy
from server import Server
from tavola import TavolaTest

MANY = 5_000
PART = 1_000  # an import writes down how far it has come after so many


def line(row, **properties):
    return json.dumps({"PartitionKey": f"p{row // 1000:04}", "RowKey": f"r{row:07}",
                       **properties}) + "\n"


class Transfer(TavolaTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.number = 0

    def table(self):
        """A new table."""
        type(self).number += 1
        name = f"Transfer{self.number}"
        self.ok("table", "create", name)
        return name

    def file(self, text, name="in.ndjson"):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def count(self, table):
        return int(self.ok("count", table))

    def stops(self, code, *arguments, says, stdin=b""):
        done = self.run_tool(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        self.assertRegex(done.stderr.decode(), re.compile(says, re.DOTALL))
        return done.stderr.decode()


class Import(Transfer):
    def test_what_happens_to_entities_that_exist(self):
        for how, expected in (("skip", {"A": 1}), ("merge", {"A": 1, "B": 2}),
                              ("replace", {"B": 2})):
            with self.subTest(how):
                table = self.table()
                self.ok("import", table, "-", stdin=line(1, A=1), says="imported 1 .*\n")
                self.ok("import", table, "-", "--on-conflict", how, stdin=line(1, B=2) + line(2),
                        says="imported 2 .*\n")
                first, second = self.lines("export", table)
                self.assertEqual(first, {"PartitionKey": "p0000", "RowKey": "r0000001"} | expected)
                self.assertEqual(second["RowKey"], "r0000002")

    def test_an_entity_that_exists_is_a_failure_of_its_line(self):
        table = self.table()
        self.ok("import", table, "-", stdin=line(2, A=1), says="imported 1 .*\n")
        path = self.file(line(1) + line(2, A=2) + line(3))
        self.stops(4, "import", table, path, says="in.ndjson:2: EntityAlreadyExists.*stopped at line 1")
        self.assertEqual(self.lines("export", table)[1]["A"], 1)
        self.stops(4, "import", table, path, "--resume", says="in.ndjson:2: EntityAlreadyExists")
        self.ok("import", table, path, "--resume", "--skip-bad",
                says=r"[^\n]*:2: EntityAlreadyExists\nimported 2 .*\n1 bad line.*\n")
        self.assertEqual([e["RowKey"] for e in self.lines("export", table)],
                         ["r0000001", "r0000002", "r0000003"])

    def test_entities_that_were_skipped_are_counted(self):
        table, text = self.table(), "".join(line(i) for i in range(3000))
        self.ok("import", table, "-", stdin=text, says="imported 3,000 .*\n")
        self.ok("import", table, "-", "--on-conflict", "skip", stdin=text,
                says="imported 3,000 .*\n")

    def test_the_same_key_twice_is_named_by_its_second_line(self):
        table = self.table()
        self.stops(4, "import", table, "-", stdin=line(1) + line(2) + line(1, A=1),
                   says="-:3: EntityAlreadyExists")
        self.ok("import", table, "-", "--on-conflict", "replace",
                stdin="".join(line(1, A=i) for i in range(300)), says="imported 300 .*\n")
        self.assertEqual(self.lines("export", table)[0]["A"], 299)

    def test_a_bad_line_stops_just_there_and_the_import_goes_on_when_it_is_corrected(self):
        table = self.table()
        good = [line(i) for i in range(1, 4)]
        path = self.file(good[0] + good[1] + "oops\n" + good[2])
        self.stops(1, "import", table, path, says=":3: .*stopped at line 3: all before it is done;")
        self.assertEqual(self.count(table), 2)
        self.fails(2, "import", table, path, says="--resume goes on there")
        self.file(good[0] + good[1] + line(9) + good[2])
        self.ok("import", table, path, "--resume", says="imported 2 .*\n")
        self.assertEqual(self.count(table), 4)
        self.assertFalse(list(self.folder.glob(f"*.{table}.import*")), "the state file is gone")

    def test_a_file_that_was_changed_before_the_place_is_not_resumed(self):
        table = self.table()
        path = self.file(line(1) + line(2) + "oops\n")
        self.stops(1, "import", table, path, says="stopped at line 3")
        self.file(line(1) + line(3) + line(4))
        self.fails(2, "import", table, path, "--resume", says="was changed before line 3")
        self.ok("import", table, path, "--from-line", "2", says="imported 2 .*\n")
        self.assertEqual(self.count(table), 4)

    def test_a_resumed_file_has_the_types_of_its_first_row(self):
        table = self.table()
        text = ("PartitionKey,RowKey,Age,Age@type\np,1,30,Int32\np,2,31,\n", "p,3,old,\n")
        path = self.file("".join(text), "first.typed.csv")
        self.stops(1, "import", table, path, "--first-row-types", says=":4: .*stopped at line 4")
        self.file(text[0] + "p,3,32,\n", "first.typed.csv")
        self.ok("import", table, path, "--first-row-types", "--resume", says="imported 1 .*\n")
        self.assertEqual([e["Age"] for e in self.lines("export", table)], [30, 31, 32])

    def test_files_of_its_own_follow_no_link(self):
        """In a folder that others can write to a link could lead to a file of its user."""
        table, victim = self.table(), self.folder / "victim"
        path = self.file(line(1) + "oops\n", "linked.ndjson")
        state, out = pathlib.Path(f"{path}.{table}.import"), self.folder / "out.csv"
        victim.write_text("mine")
        for link in (f"{state}.new", f"{out}.partial", f"{out}.partial.wide", f"{out}.export.new"):
            os.symlink(victim, link)
        self.stops(1, "import", table, path, says="stopped at line 2")
        self.ok("export", table, str(out), says="exported .*\n")
        self.assertFalse(state.is_symlink() or out.is_symlink())
        self.assertEqual(victim.read_text(), "mine")

        os.replace(state, self.folder / "planted")
        os.symlink(self.folder / "planted", state)
        self.fails(2, "import", table, path, "--resume", says="cannot be read")
        os.symlink(self.folder / "planted", f"{out}.csv.export")
        self.fails(2, "export", table, f"{out}.csv", "--resume", says="cannot be read")

    def test_nothing_to_resume(self):
        path = self.file(line(1), "fresh.ndjson")
        self.fails(2, "import", self.table(), path, "--resume", says="nothing to resume")
        self.fails(2, "import", self.table(), "-", "--resume", says="standard input")
        self.fails(2, "import", self.table(), path, "--resume", "--from-line", "2", says="exclude")

    def test_bad_lines_in_a_file(self):
        table, errors = self.table(), self.folder / "bad"
        path = self.file(line(1) + "oops\n" + line(2) + "{}\n" + line(1))
        self.ok("import", table, path, "--skip-bad", "--errors", str(errors),
                says=r"(?:[^\n]*in.ndjson:[245]: [^\n]*\n){3}imported 2 .*\n3 bad lines.*\n")
        kept = [json.loads(one) for one in errors.read_text().splitlines()]
        self.assertEqual([one["line"] for one in kept], [2, 4, 5])
        self.assertEqual(kept[0]["text"].strip(), "oops")
        self.fails(2, "import", table, path, "--errors", path, says="is imported")
        self.assertIn("oops", pathlib.Path(path).read_text())

    def test_a_dry_run_needs_no_server_and_writes_nothing(self):
        away = self.env | {"AZURE_STORAGE_CONNECTION_STRING":
                           "AccountName=a;AccountKey=YQ==;TableEndpoint=http://127.0.0.1:1/a"}
        path = self.file(line(1) + line(2))
        self.ok("import", "Nowhere", path, "--dry-run", env=away,
                says="read 2 .*, nothing was written\n")
        self.assertFalse(list(self.folder.glob("*.Nowhere.import*")))

    def test_a_table_that_does_not_exist(self):
        path = self.file(line(1))
        self.stops(3, "import", "Missing", path, says="TableNotFound.*; --create makes the table")
        self.assertFalse(list(self.folder.glob("*.Missing.import*")), "there is nothing to resume")
        self.fails(1, "import", "Missing", str(self.folder / "missing"), says="No such file")

    def test_progress_is_shown_on_a_terminal_only(self):
        table = self.table()
        path = self.file("".join(line(i) for i in range(40_000)), "shown.ndjson")
        terminal = self.terminal("import", table, path, width=60)
        code, left = terminal.end()
        shown = terminal.shown.decode()
        self.assertEqual(code, 0)
        self.assertRegex(shown, r"\r\x1b\[K\[[#.]{20}\] +\d+ %  [\d,]+ entities")
        for drawn in re.findall(r"\x1b\[K([^\r\n\x1b]*)", shown):
            self.assertLess(len(drawn), 60)
        self.assertRegex(left, r"\Aimported 40,000 entities")

    # Interrupted imports.

    @classmethod
    def many(cls):
        path = cls.folder / "many.ndjson"
        if not path.exists():
            path.write_text("".join(line(i, N=i, S="x" * 100) for i in range(MANY)))
        return str(path)

    def through(self, server):
        """A proxy before a server, which holds the transactions of the second part."""
        proxy = self.enterContext(FaultProxy("127.0.0.1", server.table_port))
        proxy.plan("hold_request match $batch skip 15 always")
        self.env = self.env | {"TAVOLA_TEST_PART": str(PART), "AZURE_STORAGE_CONNECTION_STRING":
                               server.connection_string.replace(f":{server.table_port}/",
                                                                f":{proxy.port}/")}
        return proxy

    def begin(self, proxy, *arguments):
        """Start an import and wait until a part of it is done for sure, and some of the next."""
        process = subprocess.Popen([tavola.PROGRAM, "import", *arguments], env=self.env,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        state = pathlib.Path(f"{arguments[1]}.{arguments[0]}.import")
        self.assertTrue(proxy.held(), "it does not come")
        self.assertIn(f"\nline {PART + 1}\n", state.read_text())
        return process, state

    def check_all(self, table, path):
        out = self.folder / "check.ndjson"
        self.ok("export", table, str(out), "--overwrite", says="exported .*\n")
        self.ok("import", table + "x", str(out), "--create", "--dry-run", says="read .*\n")
        self.assertEqual([json.loads(one) for one in out.read_text().splitlines()],
                         [json.loads(one) for one in pathlib.Path(path).read_text().splitlines()])

    def test_control_c_finishes_what_is_on_its_way_and_says_where_it_stopped(self):
        table, path, proxy = self.table(), self.many(), self.through(self.server)
        process, state = self.begin(proxy, table, path)
        process.send_signal(signal.SIGINT)
        tavola.wait_for_signal(process)
        proxy.release()
        text = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 130, text)
        stopped = int(re.search(r"stopped at line (\d+): all before it is done;", text)[1])
        self.assertEqual(self.count(table), stopped - 1, "exactly what it says")
        self.ok("import", table, path, "--resume",
                says=f"imported {MANY - stopped + 1:,} entities.*\n")
        self.assertFalse(state.exists())
        self.check_all(table, path)

    def test_control_c_while_standard_input_is_silent(self):
        table = self.table()
        process = subprocess.Popen([tavola.PROGRAM, "import", table], env=self.env, text=True,
                                   stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(line(1) + line(2) + line(3)[:-20])
        process.stdin.flush()
        tavola.wait_for_input(process)
        process.send_signal(signal.SIGINT)
        text = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 130, text)
        self.assertIn("stopped at line 3: all before it is done; --from-line 3", text)
        self.assertEqual(self.count(table), 2)

    def test_a_killed_import_is_resumed_without_loss(self):
        for how in ("fail", "skip", "merge", "replace"):
            with self.subTest(how):
                table, path, proxy = self.table(), self.many(), self.through(self.server)
                process, state = self.begin(proxy, table, path, "--on-conflict", how)
                process.kill()
                process.communicate(timeout=60)
                proxy.clear()
                done = int(re.search(r"^line (\d+)$", state.read_text(), re.MULTILINE)[1]) - 1
                self.assertGreaterEqual(self.count(table), done, "what is done is there")
                self.ok("import", table, path, "--resume", "--on-conflict", how,
                        says=f"imported {MANY - done:,} entities.*\n")
                self.check_all(table, path)

    def test_a_killed_import_is_resumed_stopped_and_resumed(self):
        table, path, proxy = self.table(), self.many(), self.through(self.server)
        process, state = self.begin(proxy, table, path)
        process.kill()
        process.communicate(timeout=60)
        proxy.clear()
        # It stops before it is where the first run was.
        proxy.plan("hold_request match $batch skip 1 always")
        process = subprocess.Popen([tavola.PROGRAM, "import", table, path, "--resume", "--parallel", "1"],
                                   env=self.env, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.assertTrue(proxy.held(), "it does not come")
        process.send_signal(signal.SIGINT)
        tavola.wait_for_signal(process)
        proxy.release()
        text = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 130, text)
        self.assertRegex(text, r"stopped at line 1[0-4]\d\d: all before it is done, some of what follows, too;")
        proxy.clear()
        self.ok("import", table, path, "--resume", says="imported .*\n")
        self.assertFalse(state.exists())
        self.check_all(table, path)

    def test_what_exists_and_is_skipped_counts_from_the_first_line_on(self):
        table, lines = self.table(), "".join(line(i) for i in range(3_000))
        for _ in range(2):
            self.ok("import", table, "-", "--on-conflict", "skip", stdin=lines,
                    says="imported 3,000 entities.*\n")

    def test_a_server_that_goes_away(self):
        with Server() as server:
            proxy = self.through(server)
            self.ok("table", "create", "Lost")
            process, state = self.begin(proxy, "Lost", self.many())
            server.kill()
            proxy.release()
            text = process.communicate(timeout=120)[1]
            self.assertEqual(process.returncode, 6, text)
            self.assertRegex(text, r"stopped at line \d+: all before it is done, some of what")
            self.assertTrue(state.exists())
            server.start()
            self.ok("import", "Lost", self.many(), "--resume", says="imported .*\n")
            self.check_all("Lost", self.many())


class Export(Transfer):
    def test_a_file_has_its_name_when_it_is_complete(self):
        table, path = self.table(), self.folder / "out.ndjson"
        self.ok("import", table, "-", stdin=line(1) + line(2), says="imported 2 .*\n")
        self.ok("export", table, str(path), says="exported 2 .*\n")
        self.fails(2, "export", table, str(path), says="--overwrite")
        self.ok("export", table, str(path), "--overwrite", "--where", "RowKey eq 'r0000002'",
                says="exported 1 .*\n")
        self.assertEqual(path.read_text(), '{"PartitionKey":"p0000","RowKey":"r0000002"}\n')
        self.stops(3, "export", "Missing", str(self.folder / "missing"), says="TableNotFound")
        self.assertFalse((self.folder / "missing").exists())

    def test_the_filter_and_its_values(self):
        table = self.table()
        self.ok("import", table, "-", stdin=line(1) + line(2) + line(3), says="imported 3 .*\n")
        where = ("--where", "RowKey ge ? and RowKey lt ?", "r0000002", "r0000003")
        path = self.folder / "some.ndjson"
        for words in ((table, *where), (table, "-", *where), (*where, table), (table, str(path), *where)):
            with self.subTest(words):
                shown = self.ok("export", *words, says=r"(?:exported 1 .*\n)?")
                self.assertIn('"RowKey":"r0000002"', shown or path.read_text())
        self.ok("copy", table, f"{table}Some", "--create", *where, says="copied 1 .*\n")
        self.assertEqual(self.ok("count", f"{table}Some"), "1\n")
        self.fails(2, "export", table, "--where", "RowKey ge ?", says="with 0 values")

    def test_a_format_that_export_does_not_write(self):
        table = self.table()
        for name in ("x.parquet", "x.csv.gz", "x.2026"):
            self.fails(2, "export", table, str(self.folder / name), says=r"x\..*: by their names export "
                       r"writes \.ndjson, .* -o FORMAT")
            self.assertFalse((self.folder / name).exists())
        self.ok("export", table, str(self.folder / "x.2026"), "-o", "csv", says="exported 0 .*\n")

    def test_what_was_done_as_a_record(self):
        table = self.table()
        self.assertEqual(self.lines("import", table, "-", "-o", "json", stdin=line(1) + line(2),
                                    says="imported 2 .*\n"), [{"Imported": 2, "Bad": 0}])
        self.assertEqual(self.lines("copy", table, f"{table}Two", "--create", "-o", "json",
                                    says="copied 2 .*\n"), [{"Copied": 2, "Existing": 0}])

    def test_a_second_import_is_told_what_to_say(self):
        table = self.table()
        self.ok("import", table, "-", stdin=line(1), says="imported 1 .*\n")
        self.stops(4, "import", table, "-", stdin=line(1),
                   says="EntityAlreadyExists(.*\n)*.*--on-conflict skip, merge or replace")

    def test_some_properties(self):
        table = self.table()
        self.ok("import", table, "-", stdin=line(1, A=1, B=2, C="x"), says="imported 1 .*\n")
        self.assertEqual(self.ok("export", table, "-o", "csv", "--select", "C,A"),
                         "PartitionKey,RowKey,A,C\r\np0000,r0000001,1,x\r\n")
        self.assertRegex(self.ok("export", table, "-o", "typed-csv", "--timestamps"),
                         r"\APartitionKey,RowKey,Timestamp,A,A@type,B,[^\r]*\r\n"
                         r"p0000,r0000001,20\d\d-[^,]*Z,1,Edm.Int32,2,")
        self.assertIn("Timestamp", self.lines("export", table, "--timestamps")[0])
        self.assertEqual(self.ok("export", self.table(), "-o", "json"), "[]\n")
        self.fails(2, "export", table, "-o", "value", says="ndjson, json, typed-csv or csv")
        self.fails(1, "export", table, "/dev/full/x", says="/dev/full/x")

    def test_a_full_disk(self):
        table = self.table()
        self.ok("import", table, "-", stdin=line(1), says="imported 1 .*\n")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([tavola.PROGRAM, "export", table], env=self.env, stdout=full,
                                  stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left", done.stderr)

    def begin(self, proxy, table, path):
        """Start an export and wait until some of it is written, and the rest held."""
        process = subprocess.Popen([tavola.PROGRAM, "export", table, str(path)], env=self.env,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertTrue(proxy.held(), "it does not come")
        return process

    def test_a_server_that_goes_away(self):
        with Server() as server:
            proxy = self.enterContext(FaultProxy("127.0.0.1", server.table_port))
            self.env = self.env | {"AZURE_STORAGE_CONNECTION_STRING":
                                   server.connection_string.replace(f":{server.table_port}/",
                                                                    f":{proxy.port}/")}
            self.ok("import", "Lost", "-", "--create", says="imported .*\n",
                    stdin="".join(line(i, S="x" * 500) for i in range(5_000)))
            path = self.folder / "lost.ndjson"
            proxy.plan("hold_request match Lost skip 3 always")
            process = self.begin(proxy, "Lost", path)
            server.kill()
            proxy.release()
            text = process.communicate(timeout=120)[1]
            self.assertEqual(process.returncode, 6, text)
            self.assertIn("lost.ndjson.partial is not complete", text)
            self.assertFalse(path.exists())


class Copy(Transfer):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.other = cls.enterClassContext(Server())
        folder = cls.home / ".config" / "tavola"
        folder.mkdir(parents=True)
        connections = folder / "connections"
        connections.write_text(f"here = {cls.server.connection_string}\n"
                               f"there = {cls.other.connection_string}\n")
        connections.chmod(0o600)

    def test_between_two_accounts(self):
        table = self.table()
        self.ok("import", table, "-", says="imported .*\n",
                stdin="".join(line(i, N=i, S="é") for i in range(5000)))
        self.ok("copy", table, "-c", "here", "Copied", "-c", "there", "--create", "--verify",
                says="copied 5,000 .*\nverified 5000 entities, checksum [0-9a-f]{32}\n")
        self.assertEqual(self.ok("export", "Copied", "-c", "there"), self.ok("export", table))
        self.stops(4, "copy", table, "-c", "here", "Copied", "-c", "there",
                   says="PartitionKey '.*': EntityAlreadyExists.*stopped after")
        self.ok("copy", table, "-c", "here", "Part", "-c", "there", "--create", "--verify",
                "--where", "PartitionKey eq 'p0003'", says="copied 1,000 .*\nverified 1000 .*\n")

    def test_a_difference_is_found(self):
        table, other = self.table(), self.table()
        self.ok("import", table, "-", stdin=line(1, A=1) + line(2, B="x"), says="imported 2 .*\n")
        for what, there, says in (
                ("another value", line(2, B="y"), "not of the same content"),
                ("another type", line(2, B=1), "not of the same content"),
                ("another name", line(2, C="x"), "not of the same content"),
                ("one too many", line(3), "2 entities were read, the copy has 3")):
            with self.subTest(what):
                other = self.table()
                self.ok("import", other, "-", stdin=there, says="imported 1 .*\n")
                self.stops(1, "copy", table, other, "--verify", "--on-conflict", "skip", says=says)

    def test_in_a_shell_whatever_happens_the_next_command_works(self):
        table = self.table()
        path = self.file(line(1) + line(2), "shell.ndjson")
        done = self.run_tool("shell", "-c", "there", stdin=(
            f"import Missing {path}\ntable create Shelled\nimport Shelled {path}\n"
            f"copy Shelled Again --create --verify\ncopy Shelled Missing\n"
            f"copy Shelled -c there {table} -c here\nexport Again\n"))
        self.assertEqual(done.stdout.decode(), line(1).replace(" ", "") + line(2).replace(" ", ""),
                         done.stderr)
        self.assertEqual(self.count(table), 2)

    def test_a_copy_that_cannot_be(self):
        table = self.table()
        self.fails(2, "copy", table, table, says="to itself")
        self.stops(3, "copy", "Missing", table, says="TableNotFound")
        self.ok("import", table, "-", stdin=line(1), says="imported 1 .*\n")
        self.stops(3, "copy", table, "Missing", says="TableNotFound.*; --create makes the table")
        self.fails(2, "copy", table, "Other", "--on-conflict", "perhaps", says="fail, skip, merge")
