"""The laboratory finds what it is there for: servers with one line wrong, each of which it must catch.

Runs when it is named: ./check crash mutants.  Each mutant is built from a copy of this tree.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from crash import power_test
from server import ROOT

STATES = int(os.environ.get("CRASH_MUTANT_STATES") or 400)  # of a mutant, before it counts as missed
STATES_OF_A_RUN = 50

# What it does wrong: (file, text, text in its place); and in what run, if not under load
MUTANTS = {
    "answers before the log is synced": (
        "src/store/engine/rocksdb/options.c", "rocksdb_writeoptions_set_sync(settings->write, 1);",
        "rocksdb_writeoptions_set_sync(settings->write, 0);"),
    "answers before an extent is synced": (
        "src/store/extent/file/write.c", "result = fdatasync(writer->fd);", "result = 0;"),
    "does not sync the folder of an extent": (
        "src/store/extent/file/store.c", "result = fsync(fd);", "result = 0;"),
    "does not sync the number of the start": (
        "src/store/extent/file/boot.c", "return done < 0 ? -1 : fsync(fd);", "return done < 0 ? -1 : 0;"),
    "removes what a change has made, as if it had failed": (
        "src/services/blob/ops/submit.c", "if (call->change.garbage_count)",
        "tv_blob_discard(call); if (call->change.garbage_count)"),
    "keeps counts of entities in memory alone": (
        "src/insight/facts/tally.c",
        "tv_txn_put_aside(txn, (tv_slice){key, key_len}, (tv_slice){value, value_len});", ";"),
    "takes bytes of clients for records of the log": (
        "src/store/engine/rocksdb/wal_scan.c",
        "return has_checksum(&part) && (file->mark.value == 0 || has_mark(file, at));",
        "return has_checksum(&part);"),
    "leaves the torn end of the log": (
        "src/store/engine/rocksdb/wal_recover.c", "err = cut(all, name, file->scan.good_bytes);",
        "err = TV_OK;"),
    "takes a lost sector for damage": (
        "src/store/engine/rocksdb/wal_scan.c",
        "if (!has_lost_sector(bytes, skip_trailer(scan->good_bytes)))", "if (true)"),
    "says that a store is upgraded before its tables are marked": (
        "src/insight/facts/upgrade.c",
        "tv_write_batch_add(&u.batch, (tv_change){TV_CHANGE_PUT, TV_KEY_FORMAT, TV_FORMAT});",
        "tv_write_batch first = {.is_freeing = true};"
        "tv_write_batch_add(&first, (tv_change){TV_CHANGE_PUT, TV_KEY_FORMAT, TV_FORMAT});"
        "err = tv_engine_write(engine, &first);"
        "tv_write_batch_done(&first);", power_test.Upgrade),
    "gives a backup its name before it is synced": (
        "src/server/admin/backup_target.c", "if (fsync(target->fd) != 0) {", "if (false) {", power_test.Backup),
}


class Mutants(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tavola-mutants-"))
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True,
                               capture_output=True).stdout.decode().split("\0")
        for name in filter(None, names):
            if (ROOT / name).is_file():
                (cls.folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, cls.folder / name)
        subprocess.run(["meson", "setup", "build", "--buildtype=release"], cwd=cls.folder,
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.environ["CRASH_SERVER"] = str(cls.folder / "build" / "tavolad")

    @classmethod
    def tearDownClass(cls):
        del os.environ["CRASH_SERVER"]
        shutil.rmtree(cls.folder)

    def build(self):
        built = subprocess.run(["ninja", "-C", "build", "tavolad"], cwd=self.folder,
                               capture_output=True, text=True)
        self.assertEqual(built.returncode, 0, built.stdout[-3000:])

    def states_until_caught(self, most, kind=power_test.Run):
        """How many states it took, or None when the mutant was never caught.

        None is needed for one that gives a client a wrong answer already, or does not start again.
        """
        for number in range(most // STATES_OF_A_RUN):
            try:
                wrong = power_test.check_run(f"mutant {number}", STATES_OF_A_RUN, keeps=False,
                                             kind=kind)
            except (AssertionError, RuntimeError):
                return number * STATES_OF_A_RUN
            if wrong:
                return number * STATES_OF_A_RUN + wrong.number + 1
        return None

    def test_no_fault_is_found_without_a_mutant(self):
        self.build()
        self.assertIsNone(self.states_until_caught(STATES_OF_A_RUN))

    def test_every_mutant_is_caught(self):
        for what, (file, text, instead, *kinds) in MUTANTS.items():
            with self.subTest(what):
                path = self.folder / file
                original = path.read_text()
                self.assertEqual(original.count(text), 1, f"the line of {file} has changed")
                path.write_text(original.replace(text, instead))
                try:
                    self.build()
                    states = self.states_until_caught(STATES, *kinds)
                    self.assertIsNotNone(states, f"not caught by {STATES} states")
                    print(f"    {what}: caught by state {states}", flush=True)
                finally:
                    path.write_text(original)
