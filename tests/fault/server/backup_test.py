"""Online backup: one point in time under load, whole or not there at all."""

import json
import os
import random
import shutil
import subprocess
import time

from blob_client import Client as BlobClient
from blob_client import extent_files, until_no_extents
from fault.server.backup import Admin, Backup, files_of
from fault.server.backup_load import Load
from server import Server, binary
from until import until

BACKUPS = 3
WRITERS = 6
TRIES = 50  # of what must happen while a backup is under way


class Online(Backup):
    def test_under_load_it_is_one_point_in_time(self):
        seed = int(os.environ.get("TAVOLA_SEED", random.randrange(10**6)))
        print(f"  server/backup: seed {seed}", flush=True)
        with Server(program=os.environ.get("TAVOLAD_RELEASE"), engine="rocksdb") as server:
            with Load(server, WRITERS, seed) as load:
                spans = [self.make_under_load(server, load, self.folder / f"copy{number}")
                         for number in range(BACKUPS)]
            self.assertEqual([writer.trouble for writer in load.writers], [[]] * WRITERS)
            self.leave_nothing(server, load)

        for number, (least, most) in enumerate(spans):
            copy = str(self.folder / f"copy{number}")
            verified = subprocess.run([binary(), "--verify", "--data", copy], capture_output=True,
                                      text=True, timeout=300)
            self.assertEqual(verified.returncode, 0, verified)
            with Server(data=copy, engine="rocksdb") as restored:
                counts = load.check(self, restored, least, most)
                self.assertNotIn("extents_missing", restored.log())
                self.assertNotIn("blob_damaged", restored.log())
                self.leave_nothing(restored, load)
            print(f"  server/backup: {least} acknowledged, {counts} in the copy, {most} begun",
                  flush=True)

    def make_under_load(self, server, load, folder):
        """A backup while all have written; returns how many writes were there before and after."""
        for _ in range(TRIES):
            before = load.acknowledged()
            until(lambda: all(now > then + 3 for now, then in zip(load.acknowledged(), before)),
                  load.acknowledged)
            least = load.acknowledged()
            self.make(server, folder)
            most = load.begun()
            if all(high > low + 2 for low, high in zip(least, most)):
                return least, most
            shutil.rmtree(folder)  # nothing was tried
        return self.fail("a backup is always faster than some writer")

    def leave_nothing(self, server, load):
        """What was held back or copied in vain goes: no file outlives the blobs."""
        client = BlobClient(server.blob_port)
        for writer in load.writers:
            self.assertEqual(client.delete_container(writer.container).status, 202)
        client.close()
        until_no_extents(self, server)

    def test_a_copy_is_a_store_of_its_own(self):
        with Server(engine="rocksdb") as server:
            contents = self.fill(server)
            self.assertEqual(Admin(server).status()["state"], "none")
            done = self.make(server, self.folder / "copy")
            names = files_of(self.folder / "copy")
            self.assertEqual((done["id"], done["files"]), (1, len(names - {"blobs/boot"})))
            self.assertGreater(done["bytes"], 600_000)
            self.assertNotIn("admin.token", names)
            self.assertEqual(os.listdir(self.folder), ["copy"])
            self.assertNotIn("backup.rows", os.listdir(server.data))
            modes = {path.stat().st_mode & 0o077 for path in (self.folder / "copy").rglob("*")}
            self.assertEqual(modes, {0})
            linked = [path for path, _ in extent_files(self.folder / "copy")
                      if os.stat(path).st_nlink > 1]
            self.assertEqual(len(linked), 3)

            client = BlobClient(server.blob_port)
            for path in contents:
                self.assertEqual(client.delete(path).status, 202)
            client.close()
            until_no_extents(self, server)
        with Server(data=str(self.folder / "copy"), engine="rocksdb") as restored:
            self.check_blobs(restored, contents)
            self.make(restored, self.folder / 'copy" level=error x="')
            self.assertIn(r'/copy\" level=error x=\"" files=', restored.log())

    def test_known_damage_is_not_backed_up(self):
        with Server(engine="rocksdb") as server:
            contents = self.fill(server)
            admin, client = Admin(server), BlobClient(server.blob_port)
            self.addCleanup(client.close)
            (bad, _), (gone, _) = extent_files(server.data)[:2]
            with open(bad, "r+b") as file:
                first = file.read(1)
                file.seek(0)
                file.write(bytes([first[0] ^ 1]))
            os.unlink(gone)
            broken = [path for path in contents if client.get(path).status == 500]
            self.assertEqual(len(broken), 2)
            self.failed(admin, self.folder / "copy", "cannot be read", "2 files", "blobs/")
            self.assertEqual(os.listdir(self.folder), [])

            # Once the blobs are gone there is a backup again, and it is a good one.
            for path in broken:
                self.assertEqual(client.delete(path).status, 202)
            until(lambda: admin.ask("GET", "/healthz")[0] == 200, lambda: admin.ask("GET", "/healthz"))
            self.make(server, self.folder / "copy")
        self.check_copy(self.folder / "copy", {path: content for path, content in contents.items()
                                               if path not in broken})

    def test_bad_requests_begin_nothing(self):
        with Server(engine="rocksdb") as server:
            admin = Admin(server)
            for body in (None, "", "{}", "[]", "{\"dir\":1}", "{\"dir\":null}", "{\"dir\":\"\"}",
                         "{\"dir\":\"copy\"}", "{\"dir\":\"./copy\"}", "{\"dir\":\"/\"}",
                         "{\"dir\":\"//\"}", "{\"dir\":\"/tmp/..\"}", "{\"dir\":\"/tmp/../x\"}",
                         "{\"dir\":\"/tmp/.\"}", "{\"dir\":\"/tmp/a\\nb\"}",
                         "{\"dir\":\"/tmp/a\\u0000b\"}", "{\"dir\":\"/tmp/x\",\"dir\":\"/tmp/y\"}",
                         "{\"dir\":\"/tmp/x\",\"other\":1}", "{\"dir\":\"/tmp/x\"} more",
                         json.dumps({"dir": "/tmp/" + "x" * 250}),
                         json.dumps({"dir": "/tmp" + "/x" * 2000})):
                with self.subTest(body=body):
                    status, text = admin.ask("POST", body=body)
                    self.assertEqual(status, 400, text)
                    self.assertEqual(len(text.splitlines()), 1)
            self.assertEqual(admin.ask("POST", body="x" * 100_000)[0], 413)
            self.assertEqual(admin.status(), {"id": 0, "state": "none", "files": 0, "bytes": 0,
                                              "written": 0, "ms": 0})

    def test_what_is_there_is_left_alone(self):
        with Server(engine="rocksdb") as server:
            admin = Admin(server)
            (self.folder / "folder").mkdir()
            (self.folder / "file").write_text("mine")
            os.symlink("nowhere", self.folder / "dangling")
            os.symlink(self.folder / "folder", self.folder / "link")
            (self.folder / "cut.partial").mkdir()
            (self.folder / "cut.partial" / "left").write_text("mine")
            os.symlink(self.folder / "folder", self.folder / "trap.partial")
            os.symlink(server.data, self.folder / "data")
            before = sorted(os.listdir(self.folder))
            for name, word in (("folder", "exists"), ("file", "exists"), ("dangling", "exists"),
                               ("link", "exists"), ("cut", "partial"), ("trap", "partial"),
                               ("file/copy", "Not a directory"), ("missing/copy", "No such file")):
                with self.subTest(name=name):
                    self.failed(admin, self.folder / name, word)
            for path in (server.data + "/copy", server.data + "/blobs/00/copy",
                         self.folder / "data" / "copy"):
                with self.subTest(path=path):
                    self.failed(admin, path, "inside the data folder")
            self.failed(admin, "/proc/copy", "cannot make the folder")
            self.assertEqual(sorted(os.listdir(self.folder)), before)
            self.assertEqual(os.listdir(self.folder / "folder"), [])
            self.assertEqual((self.folder / "cut.partial" / "left").read_text(), "mine")
            self.make(server, self.folder / "link" / "copy")  # a link on the way is the operator's

    def test_one_at_a_time(self):
        with Server(engine="rocksdb") as server:
            self.fill(server)
            admin = Admin(server)
            for _ in range(TRIES):
                first, second = admin.begin(self.folder / "a"), admin.begin(self.folder / "b")
                self.assertEqual(first[0], 202, first)
                done = admin.finish()
                self.assertEqual(done["state"], "done")
                if second[0] != 202:
                    break
                for name in ("a", "b"):  # the first was faster than the second request
                    shutil.rmtree(self.folder / name)
            self.assertEqual(second[0], 409, second)
            self.assertEqual(os.listdir(self.folder), ["a"])
            self.assertEqual(self.make(server, self.folder / "b")["id"], done["id"] + 1)

    def test_a_full_disk_leaves_nothing(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk],
                                 capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"a small tmpfs cannot be mounted: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "--lazy", disk], check=True)
        with Server(engine="rocksdb") as server:
            contents = self.fill(server, 8, 2_000_000)
            self.failed(Admin(server), disk / "copy", "No space left")
            self.assertEqual(os.listdir(disk), [])
            self.check_blobs(server, contents)
            self.make(server, self.folder / "copy")

    def cut_short(self, server, end):
        """Begin a backup and end the server; again if the backup was faster."""
        for _ in range(TRIES):
            self.assertEqual(Admin(server).begin(self.folder / "copy")[0], 202)
            end()
            if "copy" not in os.listdir(self.folder):
                return
            shutil.rmtree(self.folder / "copy")
            server.start()
        self.fail("a backup is always faster than the end of the server")

    def test_a_stop_ends_it_without_a_trace(self):
        with Server(engine="rocksdb") as server:
            contents = self.fill(server)
            self.cut_short(server, lambda: self.assertEqual(server.stop(), 0))
            self.assertIn("event=backup_failed", server.log())
            self.assertIn("the server was stopped", server.log())
            self.assertEqual(os.listdir(self.folder), [])
            self.assertNotIn("backup.rows", os.listdir(server.data))
            server.start()
            self.check_blobs(server, contents)

    def test_a_crash_leaves_no_backup_that_seems_whole(self):
        with Server(engine="rocksdb") as server:
            contents = self.fill(server)

            def kill():
                deadline = time.monotonic() + 60
                while not os.listdir(self.folder):  # as soon as it has begun
                    self.assertLess(time.monotonic(), deadline)
                server.kill()

            self.cut_short(server, kill)
            self.assertEqual(os.listdir(self.folder), ["copy.partial"])
            os.makedirs(f"{server.data}/backup.rows.tmp/more", exist_ok=True)
            server.start()
            self.assertFalse({"backup.rows", "backup.rows.tmp"} & set(os.listdir(server.data)))
            self.check_blobs(server, contents)
            self.failed(Admin(server), self.folder / "copy", "cut short; remove it first")
            self.make(server, self.folder / "other")
