"""Backups, and what tests of them share."""

import http.client
import json
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

from blob_client import Client as BlobClient
from server import Server, binary
from until import until


class Admin:
    """The admin port, with the token of the data folder."""

    def __init__(self, server):
        self.server = server

    def ask(self, method, path="/backup", body=None):
        token = self.server.admin_token()
        connection = http.client.HTTPConnection("127.0.0.1", self.server.admin_port, timeout=60)
        connection.request(method, path, body, {"Authorization": f"Bearer {token}"})
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        return reply.status, text

    def begin(self, folder, base=None):
        body = {"dir": str(folder)} | ({"base": str(base)} if base else {})
        return self.ask("POST", body=json.dumps(body))

    def status(self):
        status, text = self.ask("GET")
        assert status == 200, text
        return json.loads(text)

    def finish(self):
        until(lambda: self.status()["state"] != "running", "the backup ends")
        return self.status()


def files_of(folder):
    return {str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*")
            if path.is_file()}


def shared(folder, other):
    """The names of the files that are the same file in both folders."""
    return {name for name in files_of(folder) & files_of(other)
            if os.path.samefile(f"{folder}/{name}", f"{other}/{name}")}


class Backup(unittest.TestCase):
    """Subclasses have the tests."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tavola-backup-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def make(self, server, folder, base=None):
        admin = Admin(server)
        status, text = admin.begin(folder, base)
        self.assertEqual(status, 202, text)
        done = admin.finish()
        self.assertEqual(done["state"], "done", done)
        return done

    def fill(self, server, count=3, size=200_000, container="photos"):
        """Large blobs; what they hold, by path."""
        client = BlobClient(server.blob_port)
        self.assertEqual(client.create_container(container).status, 201)
        contents = {f"{container}/{number}": random.randbytes(size) for number in range(count)}
        for path, content in contents.items():
            self.assertEqual(client.put(path, content).status, 201)
        client.close()
        return contents

    def check_blobs(self, server, contents):
        client = BlobClient(server.blob_port)
        for path, content in contents.items():
            self.assertEqual(client.get(path).body, content, path)
        client.close()

    def other_file_system(self):
        """A folder that cannot have links to the data of a server."""
        other = tempfile.TemporaryDirectory(prefix="tavola-backup-", dir="/dev/shm")
        self.addCleanup(other.cleanup)
        if os.stat(other.name).st_dev == os.stat(self.folder).st_dev:
            self.skipTest("/dev/shm is the file system of the data folder")
        return pathlib.Path(other.name)

    def check_copy(self, copy, contents):
        """It is whole, and a server starts from it."""
        verified = subprocess.run([binary(), "--verify", "--data", str(copy)], capture_output=True,
                                  text=True, timeout=300)
        self.assertEqual(verified.returncode, 0, verified)
        with Server(data=str(copy), engine="rocksdb") as restored:
            self.check_blobs(restored, contents)

    def failed(self, admin, folder, *words, base=None):
        status, text = admin.begin(folder, base)
        self.assertEqual(status, 202, text)
        done = admin.finish()
        self.assertEqual(done["state"], "failed", done)
        for word in words:
            self.assertIn(word, done["error"])
        self.assertNotIn("backup.rows", os.listdir(admin.server.data))
        return done
