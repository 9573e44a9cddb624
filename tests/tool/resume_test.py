"""Export and copy, interrupted in the middle: --resume gives what an uninterrupted run gives.

The pages of the table come through a proxy that lets some of them pass and then is silent, so every
run is interrupted at the same place, however fast the machine is.
"""

import pathlib
import re
import signal
import subprocess
import time

import tavola
from fault_proxy import FaultProxy
from transfer_test import Transfer, line

MANY = 7_000
PART = 2_500  # a run writes down how far it has come after this, at the end of a page: after 3
PAGES = 5  # that pass
WAIT_S = 300


class Interrupted(Transfer):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.proxy = cls.enterClassContext(FaultProxy("127.0.0.1", cls.server.table_port))
        through = cls.server.connection_string.replace(
            f":{cls.server.table_port}/", f":{cls.proxy.port}/")
        assert through != cls.server.connection_string
        cls.direct = cls.env
        cls.env = cls.env | {"AZURE_STORAGE_CONNECTION_STRING": through,
                             "TAVOLA_TEST_PART": str(PART)}
        text = "".join(cls.row(i) for i in range(MANY))
        done = subprocess.run([tavola.PROGRAM, "import", "Many", "--create"], input=text.encode(),
                              env=cls.direct, capture_output=True, timeout=WAIT_S)
        assert done.returncode == 0, done.stderr

    @staticmethod
    def row(i):
        """Some have a property that CSV learns of late: before, at and behind the place."""
        late = {name: f'"{i}", ä' for name, at in (("A", 1_500), ("B", 2_900), ("C", 6_000))
                if i >= at and i % 100 == 0}
        return line(i, N=i, S="x" * 40, **late)

    def setUp(self):
        self.proxy.clear()
        self.addCleanup(self.proxy.clear)

    def start(self, *arguments, pages=PAGES):
        """Start a command that gets so many pages, and wait until it has them."""
        self.proxy.clear()
        self.proxy.plan(f"hang match Many skip {pages} always")
        process = subprocess.Popen([tavola.PROGRAM, *arguments], env=self.env, text=True,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.until(lambda: sum("Many" in one["target"] for one in self.proxy.log()) > pages, process)
        return process

    def until(self, condition, process):
        deadline = time.monotonic() + WAIT_S
        while not condition():
            self.assertIsNone(process.poll(), "it ended too soon")
            self.assertLess(time.monotonic(), deadline, "it does not come")
            time.sleep(0.005)

    def interrupt(self, process, how):
        """End it; what it says."""
        process.send_signal(how)
        text = process.communicate(timeout=WAIT_S)[1]
        self.assertEqual(process.returncode, -9 if how == signal.SIGKILL else 128 + how, text)
        self.proxy.clear()
        return text


def value(path, name):
    """A number in the file that says how far a run has come; 0 when there is none."""
    found = re.search(rf"^{name} (\d+)$", path.read_text(), re.MULTILINE) if path.exists() else None
    return int(found[1]) if found else 0


class Export(Interrupted):
    def begin(self, path, *flags, pages=PAGES):
        """Start an export; wait until it has written down how far it has come."""
        process = self.start("export", "Many", str(path), *flags, pages=pages)
        if pages == PAGES:
            self.until(lambda: value(pathlib.Path(f"{path}.export"), "entities"), process)
        return process

    def whole(self, name, *flags):
        """The bytes of an export that nobody interrupts."""
        path = self.folder / f"whole-{name}"
        if not path.exists():
            self.ok("export", "Many", str(path), *flags, says=f"exported {MANY:,} .*\n")
        return path.read_bytes()

    def check(self, path, *flags):
        done = self.ok("export", "Many", str(path), "--resume", *flags,
                       says=rf"exported [\d,]+ entities.*, {MANY} with those before\n")
        self.assertEqual(done, "")
        self.assertEqual(path.read_bytes(), self.whole(path.name, *flags))
        self.assertEqual([p.name for p in self.folder.glob(f"{path.name}*")], [path.name],
                         "nothing else is left")
        path.unlink()

    def test_a_killed_export_is_resumed_to_the_same_bytes(self):
        for name, flags in (("out.ndjson", []), ("out.json", []), ("out.csv", []),
                            ("out.typed.csv", []), ("some.csv", ["--select", "S,A"]),
                            ("times.ndjson", ["--timestamps"])):
            with self.subTest(name):
                path = self.folder / name
                self.interrupt(self.begin(path, *flags), signal.SIGKILL)
                self.assertFalse(path.exists())
                with open(f"{path}.partial", "ab") as partial:
                    partial.write(b"what came later, and not to its end")
                self.check(path, *flags)

    def test_control_c_keeps_all_that_came(self):
        for name in ("stopped.ndjson", "stopped.json", "stopped.typed.csv"):
            with self.subTest(name):
                path = self.folder / name
                text = self.interrupt(self.begin(path), signal.SIGINT)
                self.assertRegex(text, rf"\Astopped after {PAGES},000 entities.*{name}.partial is "
                                       r"not complete, --resume goes on there\n\Z")
                self.assertEqual(value(pathlib.Path(f"{path}.export"), "entities"), PAGES * 1000)
                self.assertFalse(path.exists())
                self.check(path)

    def test_several_times(self):
        path = self.folder / "often.typed.csv"
        self.interrupt(self.begin(path, pages=2), signal.SIGINT)
        self.interrupt(self.start("export", "Many", str(path), "--resume", pages=3), signal.SIGTERM)
        self.interrupt(self.start("export", "Many", str(path), "--resume", pages=1), signal.SIGKILL)
        self.check(path)

    def test_nothing_is_left_when_there_is_nothing_to_resume(self):
        path = self.folder / "early.ndjson"
        text = self.interrupt(self.begin(path, pages=0), signal.SIGINT)
        self.assertRegex(text, r"\Astopped after 0 .*; there is nothing to resume\n\Z")
        self.assertEqual(list(self.folder.glob("early*")), [])
        self.fails(2, "export", "Many", "--resume", says="standard output cannot be resumed")

    def test_resume_before_the_first_part_begins_at_the_beginning(self):
        path = self.folder / "first.ndjson"
        for pages in (0, 2):
            self.interrupt(self.begin(path, pages=pages), signal.SIGKILL)
            self.assertFalse(pathlib.Path(f"{path}.export").exists())
            self.ok("export", "Many", str(path), "--resume",
                    says=rf"nothing was written down to go on from: it starts over\nexported {MANY:,} .*\n")
            self.assertEqual(path.read_bytes(), self.whole(path.name))
            self.fails(2, "export", "Many", str(path), "--resume", says="exists; --overwrite")
            path.unlink()

    def test_what_would_not_be_the_same_is_refused(self):
        path = self.folder / "other.ndjson"
        where = ["--where", "RowKey ge 'r'"]
        self.interrupt(self.begin(path, *where), signal.SIGINT)
        again = ["export", "Many", str(path)]
        self.fails(2, *again, *where, says="has stopped; --resume goes on there, --overwrite")
        for flags, differs in (([], "--where"), (["--where", "RowKey ge 's'"], "--where"),
                               ([*where, "--select", "N"], "--select"),
                               ([*where, "--timestamps"], "--timestamps"),
                               ([*where, "-o", "json"], "format")):
            self.fails(2, *again, "--resume", *flags, says=f"had another {differs}; with that")
        self.fails(2, "export", "Other", str(path), "--resume", *where, says="had another table")
        self.check(path, *where)

    def test_a_partial_file_that_was_changed_is_refused(self):
        path = self.folder / "changed.ndjson"
        partial, mark = (pathlib.Path(f"{path}.{ending}") for ending in ("partial", "export"))
        self.interrupt(self.begin(path), signal.SIGINT)
        written, told = partial.read_bytes(), mark.read_text()
        for what, content in (("short", written[:-1]), ("empty", b""),
                              ("other", b"?" + written[1:])):
            with self.subTest(what):
                partial.write_bytes(content)
                self.fails(2, "export", "Many", str(path), "--resume",
                           says="partial is not what the export had written; --overwrite")
        partial.write_bytes(written + b"more")
        for broken in ("", told[:-5], told.replace("bytes ", "bytes x"), "tavola copy 1\n",
                       told.replace("token =", "token =%0")):
            mark.write_text(broken)
            self.fails(2, "export", "Many", str(path), "--resume", says="cannot be read; --overw")
        mark.write_text(told)
        self.check(path)

    def test_begin_anew(self):
        path = self.folder / "again.ndjson"
        self.interrupt(self.begin(path), signal.SIGINT)
        self.ok("export", "Many", str(path), "--overwrite", says=f"exported {MANY:,} .*\n")
        self.assertEqual(path.read_bytes(), self.whole("again.ndjson"))
        self.assertFalse(pathlib.Path(f"{path}.export").exists())

    def test_too_many_columns_for_csv(self):
        rows = (line(i, **{f"P{i}x{k}": 1 for k in range(250)}) for i in range(41))
        self.ok("import", "Wide", "--create", stdin="".join(rows), says="imported 41 .*\n")
        self.stops(1, "export", "Wide", str(self.folder / "wide.csv"), says="more than 10,000 names")
        self.assertEqual(list(self.folder.glob("wide*")), [])


class Copy(Interrupted):
    def marks(self):
        return list((self.home / ".local/state/tavola").glob("copy-*"))

    def begin(self, *arguments, pages=PAGES):
        """Start a copy; wait until a part of it is done for sure."""
        process = self.start("copy", "Many", *arguments, pages=pages)
        if pages >= PAGES:
            self.until(lambda: any(value(mark, "entities") for mark in self.marks()), process)
        return process

    def check(self, table, *flags, count=MANY):
        self.ok("copy", "Many", table, "--resume", "--verify", *flags,
                says=rf"copied [\d,]+ entities.*, {count} with those before\n"
                     rf"(?:\d+ of them existed and were (?:equal|skipped)\n)?"
                     rf"verified {count} entities.*\n")
        self.assertEqual(self.marks(), [], "nothing else is left")

    def setUp(self):
        super().setUp()
        for mark in self.marks():
            mark.unlink()

    def entities(self, table):
        """A service may keep properties in another order."""
        return self.lines("export", table)

    def test_a_killed_copy_is_resumed_without_loss(self):
        for how in ("fail", "skip", "merge", "replace"):
            with self.subTest(how):
                table, flags = self.table(), ["--on-conflict", how]
                self.interrupt(self.begin(table, *flags), signal.SIGKILL)
                done = value(self.marks()[0], "entities")
                self.assertGreaterEqual(self.count(table), done, "what is done is there")
                self.check(table, *flags)
                self.assertEqual(self.entities(table), self.entities("Many"))

    def test_killed_in_its_first_part(self):
        table = self.table()
        process = self.begin(table, pages=2)
        self.until(lambda: self.ok("keys", table, "--limit", "1", says=".*\n|"), process)
        self.interrupt(process, signal.SIGKILL)
        self.check(table)
        self.assertEqual(self.entities(table), self.entities("Many"))

    def kill_after(self, source, table, count):
        """A copy that is killed in its first part, when so many entities are there."""
        process = self.start("copy", source, table, pages=count // 1000)
        self.until(lambda: int(subprocess.run([tavola.PROGRAM, "count", table], env=self.direct,
                                              capture_output=True, timeout=WAIT_S).stdout) == count, process)
        self.interrupt(process, signal.SIGKILL)

    def test_the_first_table_has_grown_meanwhile(self):
        table = self.table()
        self.ok("copy", "Many", "ManyGrown", "--create", "--where", "RowKey lt 'r0004'", says="copied .*\n")
        self.kill_after("ManyGrown", table, 2000)
        text = "".join(line(i, N=i).replace('"p', '"a') for i in range(2_000))
        self.ok("import", "ManyGrown", stdin=text, says="imported 2,000 .*\n")
        self.ok("copy", "ManyGrown", table, "--resume", "--verify",
                says=r"copied .*\n2000 of them existed and were equal\nverified 6000 .*\n")

    def test_a_service_that_goes_away_is_no_conflict(self):
        table = self.table()
        self.kill_after("Many", table, 2000)
        self.proxy.plan(f"status 503 match 'GET /devstoreaccount1/{table}(' always")
        self.stops(6, "copy", "Many", table, "--resume", "--timeout", "3", says="the rest was not written.*--resume goes on there")
        self.proxy.clear()
        self.check(table)

    def test_control_c_says_what_is_done_and_goes_on_there(self):
        table = self.table()
        text = self.interrupt(self.begin(table), signal.SIGINT)
        self.assertRegex(text, rf"\Astopped after {PAGES},000 entities.*the last read was "
                               r"PartitionKey 'p0004', RowKey 'r0004999'; --resume goes on there\n\Z")
        self.assertEqual(self.count(table), PAGES * 1000)
        self.fails(2, "copy", "Many", table, says="has stopped; --resume goes on there")
        self.check(table)
        self.assertEqual(self.entities(table), self.entities("Many"))

    def test_a_difference_is_found_after_a_resume(self):
        table = self.table()
        self.interrupt(self.begin(table), signal.SIGINT)
        self.ok("put", table, "p0001", "r0001000", "N:int32=7", says="")
        self.stops(1, "copy", "Many", table, "--resume", "--verify", says="not of the same content")
        self.assertEqual(self.marks(), [])

    def test_only_with_the_same_filter(self):
        table, where = self.table(), ["--where", "RowKey ge 'r'"]
        self.interrupt(self.begin(table, *where), signal.SIGINT)
        for other in ([], ["--where", "RowKey ge 's'"]):
            self.fails(2, "copy", "Many", table, "--resume", *other, says="had another --where")
        self.check(table, *where)

    def test_an_entity_of_another_is_still_a_conflict(self):
        table = self.table()
        text = self.interrupt(self.begin(table), signal.SIGINT)
        self.assertIn("--resume goes on there", text)
        self.ok("put", table, "p0006", "r0006000", "N:int32=7", says="")
        self.stops(4, "copy", "Many", table, "--resume",
                   says="r0006000': EntityAlreadyExists.*--resume --on-conflict skip")
        self.ok("copy", "Many", table, "--resume", "--on-conflict", "replace", "--verify",
                says=rf"copied [\d,]+ .*\nverified {MANY} .*\n")
        self.assertEqual(self.entities(table), self.entities("Many"))

    def test_a_verification_that_was_interrupted(self):
        table = self.table()
        text = self.interrupt(self.verify_hangs(table), signal.SIGKILL)
        self.assertRegex(text, rf"\Acopied {MANY:,} entities.*\n\Z")
        self.check(table)

    def verify_hangs(self, table):
        """A copy that is complete, while its verification gets no answer."""
        self.proxy.clear()
        self.proxy.plan(f"hang match 'GET /devstoreaccount1/{table}' always")
        process = subprocess.Popen([tavola.PROGRAM, "copy", "Many", table, "--verify"],
                                   env=self.env, text=True, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.until(lambda: any(value(mark, "complete") for mark in self.marks()), process)
        return process

    def test_nothing_to_resume(self):
        table = self.table()
        self.fails(2, "copy", "Many", table, "--resume", says="nothing to resume")
        self.stops(3, "copy", "Many", "Missing", says="TableNotFound.*nothing was copied")
        self.stops(3, "copy", "Missing", table, says="TableNotFound")
        self.assertEqual(self.marks(), [])

    def test_begin_anew(self):
        table = self.table()
        self.interrupt(self.begin(table), signal.SIGINT)
        self.ok("copy", "Many", table, "--on-conflict", "replace", "--verify",
                says=rf"copied {MANY:,} .*\nverified {MANY} .*\n")
        self.assertEqual(self.marks(), [])
