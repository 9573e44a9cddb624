"""tavolad --verify: a store that is well is 0, each kind of damage is 3 and named, nothing changes."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import old_store
from blob_client import Client as BlobClient
from blob_client import extent_files
from fault.server.backup_load import Load
from queue_client import QueueClient
from server import Server, binary
from table_client import Client as TableClient
from until import until

LARGE = 300_000
LARGER = 320_000


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))


def verify(data, *flags):
    return subprocess.run([binary(), "--verify", "--data", str(data), *flags], timeout=300,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)


def everything(folder):
    """All that a change to a folder would change, except when something was read."""
    return {str(path.relative_to(folder)):
            (path.lstat().st_mode, path.lstat().st_size, path.lstat().st_mtime_ns,
             path.read_bytes() if path.is_file() else None)
            for path in [pathlib.Path(folder), *pathlib.Path(folder).rglob("*")]}


class Verify(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """A store that was closed cleanly; each test has a copy."""
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tavola-verify-"))
        cls.original = cls.folder / "original"
        with Server(data=str(cls.original), engine="rocksdb") as server:
            cls.fill(server)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def fill(cls, server):
        tables, queues = TableClient(server.table_port), QueueClient(server.queue_port)
        blobs = BlobClient(server.blob_port)
        replies = [tables.create_table("People"), queues.create("jobs"),
                   blobs.create_container("photos")]
        replies += [tables.insert("People", {"PartitionKey": f"p{number % 7}", "RowKey": f"{number}",
                                             "Text": os.urandom(400).hex()})
                    for number in range(300)]
        replies += [queues.put("jobs", "x" * size) for size in (1, 2000, 5000, 40000)]
        replies += [blobs.put("photos/small", os.urandom(1000)),
                    blobs.put("photos/trip/ada.jpg", os.urandom(LARGE)),
                    blobs.snapshot("photos/trip/ada.jpg"),
                    blobs.put_block("photos/later", 1, os.urandom(LARGER)),
                    blobs.put_append("photos/log"), blobs.append("photos/log", b"line\n")]
        replies += [blobs.put_block("photos/blocks", number, os.urandom(100_000))
                    for number in range(3)]
        replies += [blobs.put_blocks("photos/blocks", [0, 1, 2] * 100)]
        for client in (tables, queues, blobs):
            client.close()
        assert all(reply.status in (201, 204) for reply in replies), replies

    def setUp(self):
        self.data = self.folder / self._testMethodName
        shutil.copytree(self.original, self.data)

    def check(self, code, *texts):
        """Verify the copy; it must end with this code, say this, and change nothing."""
        before = everything(self.data)
        done = verify(self.data)
        self.assertEqual(everything(self.data), before)
        self.assertEqual(done.returncode, code, done)
        for text in texts:
            self.assertIn(text, done.stdout)
        if code == 3:
            self.assertIn("damaged: ", done.stdout)
        return done

    def extent_of(self, size):
        """The file of the extent whose data has that size."""
        return min((path for path, length in extent_files(self.data) if length >= size),
                   key=os.path.getsize)

    def test_what_is_well_is_well(self):
        self.check(0, "ok: 0 problems in ", "300 entities, 4 messages, 5 blobs and snapshots")

    def test_a_store_that_was_killed_under_load_is_well(self):
        with Server(engine="rocksdb") as server:
            with Load(server, 4, 1) as load:
                until(lambda: min(load.acknowledged()) > 20, load.acknowledged)
                load.ended.set()
                for thread in load.threads:
                    thread.join()
                server.kill()
            shutil.rmtree(self.data)
            shutil.copytree(server.data, self.data)
            self.check(0)
            server.start()

    def test_a_log_with_a_torn_end_is_well_and_stays_torn(self):
        with Server(data=str(self.data), engine="rocksdb") as server:
            client = QueueClient(server.queue_port)
            self.assertEqual(client.put("jobs", "the last").status, 201)
            client.close()
            server.kill()
        log = max(self.data.glob("*.log"))
        log.write_bytes(log.read_bytes()[:-3])
        self.check(0, "4 messages")

    def test_a_flipped_bit_of_an_extent(self):
        path = self.extent_of(LARGE)
        for at in (0, LARGE // 2, LARGE - 1, os.path.getsize(path) - 1):
            with self.subTest(at=at):
                flip(path, at)
                done = self.check(3, "blob trip/ada.jpg of container photos", path)
                self.assertEqual(done.stdout.count(path), 1, done.stdout)
                flip(path, at)

    def test_an_extent_that_is_short(self):
        path = self.extent_of(LARGE)
        os.truncate(path, 1000)
        self.check(3, "blob trip/ada.jpg of container photos", path)

    def test_an_extent_that_is_missing(self):
        path = self.extent_of(LARGE)
        os.unlink(path)
        self.check(3, "blob trip/ada.jpg of container photos", path, "the file is missing")

    def test_an_extent_of_a_block_that_waits_for_its_list(self):
        path = self.extent_of(LARGER)
        os.unlink(path)
        self.check(3, "blob later of container photos", path)

    def test_extents_without_a_row_are_noted(self):
        shutil.copy(self.extent_of(LARGE), self.data / "blobs/00/0000000000000001-0000000000000007")
        self.check(0, "note: 1 extents have no row")

    def test_a_folder_of_extents_that_is_missing(self):
        shutil.rmtree(self.data / "blobs/00")
        self.check(3, "blobs")
        shutil.rmtree(self.data / "blobs")
        self.check(3, "blobs: No such file")

    def test_empty_folders_that_are_missing_are_no_damage(self):
        for folder in (self.data / "blobs").iterdir():
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
        self.check(0)
        with Server(data=str(self.data), engine="rocksdb"):
            pass
        self.check(0)

    def remove_rows(self, blob, kind, count=1):
        """Remove rows of a blob, as a disk that forgets does; of a kind (src/services/blob/store/blob.h)."""
        start = f"{blob}\x01{kind}".encode()

        def change(keys):
            found = [key for key in keys if key[:1] == b"o" and start in key]
            self.assertGreaterEqual(len(found), count, start)
            return {}, found[:count]

        old_store.edit(self.data, change)

    def test_rows_of_blobs_that_are_missing(self):
        for blob, kind, what in (
                ("small", "b", "rows of it that nothing refers to"),
                ("blocks", "b", "rows of it that nothing refers to"),
                ("trip/ada.jpg", "b", "it has snapshots and no head"),
                ("trip/ada.jpg", "a", "it has 0 snapshots instead of 1"),
                ("later", "c", "rows of it that nothing refers to"),  # the first is the ledger
                ("later", "c" + "0", "it has 0 uncommitted blocks instead of 1"),
                ("log", "d", "a chunk of its data is missing"),
                ("blocks", "p", "it has lost some of its pieces")):
            with self.subTest(blob=blob, kind=kind):
                shutil.rmtree(self.data)
                shutil.copytree(self.original, self.data)
                self.remove_rows(blob, kind)
                self.check(3, f"blob {blob} of container photos", what)

    def test_garbage_that_waits_is_no_damage(self):
        """Of contents with more pieces than a change removes by itself; killed at any moment of that."""
        for steps in range(6):
            with Server(data=str(self.data), engine="rocksdb") as server:
                client = BlobClient(server.blob_port)
                numbers = [number % 40 for number in range(5000)]

                def put_list():
                    for number in range(40):
                        self.assertEqual(client.put_block("photos/many", number, b"x" * 900).status, 201)
                    return client.put_blocks("photos/many", numbers)

                for step in (put_list, lambda: client.snapshot("photos/many"), put_list,
                             lambda: client.put("photos/many", b"short"),
                             lambda: client.snapshot("photos/many"), put_list)[:steps + 1]:
                    self.assertEqual(step().status, 201)
                if steps == 5:
                    client.request("DELETE", "photos/many", x_ms_delete_snapshots="include")
                client.close()
                server.kill()
            self.check(0)

    def test_the_time_of_the_store(self):
        for value, code in ((b"1", 3), (b"yesterday", 3), (b"", 3), (b"639100000000000000", 0),
                            (b"1200000000000000000", 0)):  # of the year 3802: a clock was wrong
            with self.subTest(value=value):
                old_store.edit(self.data, lambda keys: ({b"mtime": value}, []))
                self.check(code, "the time of the store" if code else "ok")
                started = Server(data=str(self.data), engine="rocksdb")
                self.addCleanup(started.clean)
                if code:
                    with self.assertRaises(RuntimeError):
                        started.start()
                    self.assertIn("the store's time", started.log())
                else:
                    started.start()
                    client = TableClient(started.table_port)
                    self.assertEqual(client.insert("People", {"PartitionKey": "p", "RowKey": value.decode()}).status, 204)
                    client.close()
                    self.assertEqual(started.stop(), 0)

    def test_a_damaged_boot_file(self):
        (self.data / "blobs/boot").write_text("boot x\n")
        self.check(3, "blobs/boot is damaged")

    def test_a_flipped_bit_in_a_table_file(self):
        for table in sorted(self.data.glob("*.sst")):
            size = table.stat().st_size
            for at in (100, 30_000, size // 3, size // 2):
                with self.subTest(table=table.name, at=at):
                    flip(table, at)
                    try:
                        done = self.check(3, table.name, "problems in ")
                    finally:
                        flip(table, at)
                    # What lies before and behind the damaged block of 8 KiB is looked at.
                    entities = int(re.search(r"(\d+) entities", done.stdout)[1])
                    self.assertIn(entities, range(280, 301), done.stdout)

    def test_a_table_file_that_is_missing(self):
        table = max(self.data.glob("*.sst"), key=os.path.getsize)
        table.unlink()
        self.check(3, table.stem)

    def test_a_damaged_log(self):
        with Server(data=str(self.data), engine="rocksdb") as server:
            client = QueueClient(server.queue_port)
            for _ in range(3):
                self.assertEqual(client.put("jobs", "x" * 500).status, 201)
            client.close()
            server.kill()
        log = max(self.data.glob("*.log"))
        flip(log, 100)
        self.check(3, log.name, "damaged")

    def test_a_lost_current(self):
        (self.data / "CURRENT").unlink()
        self.check(3, "CURRENT is missing")

    def test_what_cannot_be_verified(self):
        empty = self.folder / "empty"
        empty.mkdir(exist_ok=True)
        other = self.folder / "other"
        other.mkdir(exist_ok=True)
        (other / "file").write_text("mine")
        for data, text in ((empty, "holds no Tavola store"), (other, "holds no Tavola store"),
                           (self.folder / "nothing", "No such file")):
            with self.subTest(data=data):
                done = verify(data)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done)
                self.assertRegex(done.stderr, rf"\Atavolad: .*{re.escape(text)}.*\n\Z")
        self.assertEqual((os.listdir(empty), os.listdir(other)), ([], ["file"]))
        self.assertFalse((self.folder / "nothing").exists())
        self.assertEqual(verify(self.data, "--engine", "memory").returncode, 2)
        with Server(data=str(self.data), engine="rocksdb"):
            done = verify(self.data)
            self.assertEqual(done.returncode, 2)
            self.assertIn("in use", done.stderr)
        self.check(0)
