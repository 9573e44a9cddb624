"""Whatever lies under `watch`, and whatever the clock said: a server starts, serves and stops."""

import errno
import http.client
import json
import os
import pathlib
import shutil
import time
import unittest

from server import Server
from table_client import Client

from fault.sick_disk import SickServer
from .clock_test import Clock

FLAGS = ("--watch=all", "--watch-clock=manual", "--test-points", "--threads", "1")
DAY = 24 * 3600


def remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def make(path, kind):
    """Put something at `path` that is no file of the server's own."""
    remove(path)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
        (path / "something").write_bytes(b"x")
    elif kind == "link":
        (path.parent.parent / "elsewhere").mkdir(exist_ok=True)
        path.symlink_to(path.parent.parent / "elsewhere" / path.name)
    elif kind == "loop":
        path.symlink_to(path.name)
    else:
        path.write_bytes(b"not what it was")


class Watching(unittest.TestCase):
    def setUp(self):
        self.server = self.make_server()
        self.addCleanup(self.server.clean)
        self.addCleanup(lambda: self.server.process.poll() is None and self.server.kill())
        self.folder = pathlib.Path(self.server.data) / "watch"
        self.client = Client(self.server.table_port)
        self.addCleanup(self.client.close)

    def make_server(self):
        return Server(*FLAGS)

    def admin(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.admin_port, timeout=60)
        try:
            connection.request(method, path, body and json.dumps(body),
                               {"Authorization": f"Bearer {self.server.admin_token()}"})
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def minutes(self, count=1):
        status, body = self.admin("POST", "/clock", {"ms": 60_000 * count})
        self.assertLess(status, 300, body)

    def writes(self):
        status, body = self.admin("GET", "/traffic?table=People&measure=writes")
        self.assertEqual(status, 200, body)
        return sum(sum(slot) for slot in json.loads(body)["cells"])

    def stop(self):
        self.client.close()
        self.assertEqual(self.server.stop(), 0, self.server.log()[-3000:])

    def insert(self):
        reply = self.client.insert("People", {"PartitionKey": "p", "RowKey": str(time.monotonic_ns())})
        self.assertEqual(reply.status, 204)

    def fill(self):
        """A store with files of all kinds."""
        self.server.start()
        self.assertEqual(self.client.create_table("People").status, 204)
        self.insert()
        self.minutes(70)
        self.stop()
        for layer in ("minute", "ten", "hour"):
            self.assertTrue(self.files(layer), layer)

    def files(self, layer):
        return sorted(path for path in self.folder.iterdir() if path.name.startswith(layer))

    def lives(self, what):
        """It starts, serves, lets minutes end, and stops; and complains once in a while at most."""
        start = len(self.server.log())
        self.server.start()
        self.insert()
        self.minutes()
        self.insert()
        self.minutes(2)
        self.stop()
        lines = [line for line in self.server.log()[start:].splitlines() if "problem=" in line]
        self.assertLessEqual(len(lines), 3, (what, lines))
        return lines


class Statistics(Watching):
    def test_files_that_are_none(self):
        self.fill()
        filled = self.folder.with_name("filled")
        shutil.copytree(self.folder, filled)
        for kind in ("fifo", "folder", "link", "loop", "other"):
            for layer in ("minute", "ten", "hour", "findings", "findings.new"):
                shutil.rmtree(self.folder)
                shutil.copytree(filled, self.folder)  # an hour would have to pass for another of its files
                path = self.folder / layer if layer.startswith("findings") else self.files(layer)[-1]
                with self.subTest(kind=kind, file=path.name):
                    make(path, kind)
                    self.lives((kind, path.name))
        self.assertFalse((self.folder.parent / "elsewhere").exists() and
                         list((self.folder.parent / "elsewhere").iterdir()), "links were followed")

    def test_a_folder_that_is_none(self):
        self.fill()
        for kind in ("fifo", "link", "loop", "other"):
            with self.subTest(kind):
                make(self.folder, kind)
                lines = self.lives(kind)
                self.assertTrue(lines, "it must say so")
                remove(self.folder)

    def test_empty_files_of_later_times(self):
        self.fill()
        for layer in ("minute", "ten", "hour"):
            number = int(self.files(layer)[-1].name.partition(".")[2])
            for later in range(100, 110):
                (self.folder / f"{layer}.{number + later}").touch()
        self.lives("later")
        for layer in ("minute", "ten", "hour"):
            self.assertLessEqual(len(self.files(layer)), 8)


class Ahead(Watching):
    def make_server(self):
        self.clock = Clock()
        self.addCleanup(self.clock.clean)
        return Server(*FLAGS, env=self.clock.env)

    def test_a_minute_with_the_clock_ahead(self):
        self.fill()
        before = {layer: {path.name: path.read_bytes() for path in self.files(layer)}
                  for layer in ("minute", "ten", "hour")}
        # Nothing is written at that time, so the store's own time does not follow.
        self.clock.set(40 * DAY)
        self.server.start()
        self.minutes(61)
        self.stop()
        for layer, files in before.items():
            for name, bytes_ in files.items():
                self.assertEqual((self.folder / name).read_bytes()[:len(bytes_)], bytes_, name)

        self.clock.set(0)
        self.server.start()
        self.minutes(80)    # beyond what `fill` has let pass
        self.insert()
        self.minutes()
        # What was recorded before, and what is now.
        self.assertEqual(self.writes(), 2)
        self.stop()


class Sick(Watching):
    def make_server(self):
        return SickServer(*FLAGS)

    def test_files_that_cannot_be_read(self):
        self.fill()
        for part in ("minute.", "ten.", "hour."):
            self.server.fail("pread", "watch/" + part, 1000, errno.EIO)
            lines = self.lives(part)
            self.assertTrue(lines, "it must say so")
            self.server.heal()


if __name__ == "__main__":
    unittest.main()
