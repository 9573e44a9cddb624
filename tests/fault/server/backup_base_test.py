"""What a backup shares with the store, and with the backup before it."""

import json
import os
import pathlib
import shutil

from blob_client import Client as BlobClient
from blob_client import until_no_extents
from fault.server.backup import Admin, Backup, files_of, shared
from server import Server


class Shared(Backup):
    def test_on_one_file_system_a_backup_writes_only_what_is_new(self):
        with Server(engine="rocksdb") as server:
            contents = self.fill(server, 8, 1_000_000)
            for name in ("first", "second"):
                done = self.make(server, self.folder / name)
                self.assertGreater(done["bytes"], 8_000_000)
                self.assertLess(done["written"], 100_000)
            extents = {name for name in files_of(self.folder / "first") if "-" in name and
                       name.startswith("blobs/")}
            self.assertLessEqual(extents, shared(self.folder / "first", self.folder / "second"))
        self.check_copy(self.folder / "second", contents)

    def test_a_backup_shares_files_with_its_base(self):
        other = self.other_file_system()
        with Server(engine="rocksdb") as server:
            contents = self.fill(server)
            first = self.make(server, other / "first")
            self.assertEqual(first["written"], first["bytes"])
            contents |= self.fill(server, 1, container="more")
            second = self.make(server, other / "second", other / "first")
            self.assertLess(second["written"], second["bytes"] - 600_000)
            both = shared(other / "first", other / "second")
            self.assertEqual(len({name for name in both if name.startswith("blobs/")}), 3)
            self.assertTrue([name for name in both if name.endswith(".sst")])
            self.assertEqual({name for name in both if not name.startswith("blobs/")},
                             {name for name in both if name.endswith(".sst")},
                             "what a server changes in its folder is never shared")
        # Each is a store of its own: neither a server on one nor its removal touches the other.
        self.check_copy(other / "first", {path: contents[path] for path in contents
                                          if path.startswith("photos/")})
        with Server(data=str(other / "first"), engine="rocksdb") as restored:
            client = BlobClient(restored.blob_port)
            self.assertEqual(client.delete_container("photos").status, 202)
            client.close()
            until_no_extents(self, restored)
        shutil.rmtree(other / "first")
        self.check_copy(other / "second", contents)

    def test_a_base_is_not_trusted(self):
        other = self.other_file_system()
        with Server(engine="rocksdb") as server:
            contents = self.fill(server, 6)
            self.make(server, other / "base")
            names = sorted(name for name in files_of(other / "base")
                           if "-" in name and name.startswith("blobs/"))
            self.assertEqual(len(names), 6)
            flipped, short, linked, pipe, writable, whole = (other / "base" / name
                                                             for name in names)
            with open(flipped, "r+b") as file:  # the same size, one bit
                file.seek(100_000)
                byte = file.read(1)[0]
                file.seek(100_000)
                file.write(bytes([byte ^ 1]))
            os.truncate(short, 1000)
            linked.rename(other / "elsewhere")
            linked.symlink_to(other / "elsewhere")
            pipe.unlink()
            os.mkfifo(pipe)
            writable.chmod(0o666)
            tables = [path for path in (other / "base").glob("*.sst")]
            for path in tables:  # a number that another store has used, too
                path.write_bytes(bytes(path.stat().st_size))
            self.make(server, other / "copy", other / "base")
            self.assertEqual(shared(other / "base", other / "copy"),
                             {str(whole.relative_to(other / "base"))})
            self.assertTrue(tables)
        self.check_copy(other / "copy", contents)

    def test_the_backup_of_another_store_is_no_use_and_no_harm(self):
        other = self.other_file_system()
        with Server(engine="rocksdb") as server:
            self.fill(server)
            self.make(server, other / "theirs")
        with Server(engine="rocksdb") as server:
            contents = self.fill(server)
            done = self.make(server, other / "ours", other / "theirs")
            self.assertEqual({name for name in shared(other / "theirs", other / "ours")
                              if name.startswith("blobs/")}, set())
            self.assertGreater(done["written"], 600_000)
        self.check_copy(other / "ours", contents)

    def test_what_is_no_backup_is_no_base(self):
        (self.folder / "empty").mkdir()
        (self.folder / "half" / "blobs").mkdir(parents=True)
        (self.folder / "file").write_text("mine")
        with Server(engine="rocksdb") as server:
            admin = Admin(server)
            for base, words in (("none", "cannot open the base"), ("file", "cannot open the base"),
                                ("empty", "the base is not a backup"),
                                ("half", "the base is not a backup")):
                with self.subTest(base=base):
                    self.failed(admin, self.folder / "copy", words, base=self.folder / base)
                    self.assertEqual(sorted(os.listdir(self.folder)), ["empty", "file", "half"])
            for base in ("", "relative", "/tmp/../x", 1, None):
                with self.subTest(base=base):
                    status, text = admin.ask("POST", body=json.dumps(
                        {"dir": str(self.folder / "copy"), "base": base}))
                    self.assertEqual(status, 400, text)

    def test_another_file_system_gets_copies(self):
        other = self.other_file_system()
        with Server(engine="rocksdb") as server:
            contents = self.fill(server)
            done = self.make(server, f"{other}/copy")
            self.assertEqual({path.stat().st_nlink for path in pathlib.Path(other).rglob("*")
                              if path.is_file()}, {1})
            self.assertEqual(done["bytes"], sum(
                path.stat().st_size for path in pathlib.Path(other).rglob("*")
                if path.is_file() and path.name != "boot"))
            with Server(data=f"{other}/copy", engine="rocksdb") as restored:
                self.check_blobs(restored, contents)
