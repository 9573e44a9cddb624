"""The image that tools/image.py makes: its parts agree, and what is in it runs with nothing else around it.

It is the release build's ($TAVOLAD_RELEASE) where there is one.  A changed root stands for the container.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest

from azure.data.tables import TableServiceClient
from server import ACCOUNT, KEY, ROOT, binary, free_ports, give_back
from until import WAIT_S, until

RELEASE = os.environ.get("TAVOLAD_RELEASE", binary())
IS_RELEASE = "TAVOLAD_RELEASE" in os.environ
BYTES_MAX = 60e6
NAMES = ("TAVOLA_TABLE_PORT", "TAVOLA_QUEUE_PORT", "TAVOLA_BLOB_PORT", "TAVOLA_ADMIN_PORT")


class Made(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tavola-image-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.file = cls.make("image.tar")
        cls.layout = cls.folder / "layout"
        with tarfile.open(cls.file) as tar:
            tar.extractall(cls.layout)

    @classmethod
    def make(cls, name):
        output = cls.folder / name
        subprocess.run([sys.executable, str(ROOT / "tools/image.py"), str(output),
                        os.path.dirname(RELEASE)], check=True, stdout=subprocess.DEVNULL)
        return output

    def blob(self, descriptor):
        """What it names, which must have its digest and size."""
        data = (self.layout / "blobs/sha256" / descriptor["digest"][7:]).read_bytes()
        self.assertEqual("sha256:" + hashlib.sha256(data).hexdigest(), descriptor["digest"])
        self.assertEqual(len(data), descriptor["size"])
        return data

    def manifest(self):
        index = json.loads((self.layout / "index.json").read_bytes())
        return json.loads(self.blob(index["manifests"][0]))

    def settings(self):
        return json.loads(self.blob(self.manifest()["config"]))["config"]


class Image(Made):
    def test_the_same_build_gives_the_same_bytes(self):
        self.assertEqual(self.make("again.tar").read_bytes(), self.file.read_bytes())

    def test_its_parts_agree(self):
        manifest = self.manifest()
        image = json.loads(self.blob(manifest["config"]))
        self.blob(manifest["layers"][0])
        with tarfile.open(self.layout / "blobs/sha256" / manifest["layers"][0]["digest"][7:]) as tar:
            size = sum(member.size for member in tar)
            names = tar.getnames()
        if IS_RELEASE:
            self.assertLess(size, BYTES_MAX)
        self.assertNotIn("usr/bin/sh", names)
        self.assertRegex(image["config"]["User"], r"^[1-9]\d*$")
        self.assertEqual(image["config"]["Healthcheck"]["Test"], ["CMD", "tavolad", "--health"])
        self.assertNotIn("Entrypoint", image["config"])
        older = json.loads((self.layout / "manifest.json").read_bytes())[0]
        for path in (older["Config"], *older["Layers"]):
            self.assertTrue((self.layout / path).exists(), path)

    def test_the_licence_of_each_library_is_in_it(self):
        layer = self.layout / "blobs/sha256" / self.manifest()["layers"][0]["digest"][7:]
        with tarfile.open(layer) as tar:
            names = set(tar.getnames())
            lines = tar.extractfile("usr/share/doc/tavola/packages").read().decode().splitlines()
        self.assertGreater(len(lines), 5)
        for line in lines:
            self.assertIn(f"usr/share/doc/{line.split()[0]}/copyright", names)


@unittest.skipUnless(os.geteuid() == 0, "only root can change the root")
class Container(Made):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="root-", dir=self.folder))
        layer = self.layout / "blobs/sha256" / self.manifest()["layers"][0]["digest"][7:]
        with tarfile.open(layer) as tar:
            tar.extractall(self.root, numeric_owner=True)
        self.root.chmod(0o755)
        self.ports = free_ports(4)
        self.addCleanup(give_back, self.ports)
        self.env = dict(pair.split("=", 1) for pair in self.settings()["Env"])
        self.env.update(zip(NAMES, map(str, self.ports)))

    def command(self, *words):
        user = self.settings()["User"]
        return ["/usr/sbin/chroot", f"--userspec={user}:{user}", str(self.root), *words]

    def start(self, *words):
        out = open(self.folder / "out", "w+b")
        self.addCleanup(out.close)
        process = subprocess.Popen(self.command(*words), env=self.env, stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=subprocess.STDOUT)
        self.addCleanup(process.wait, WAIT_S)
        self.addCleanup(process.kill)
        process.said = lambda: os.pread(out.fileno(), 1 << 20, 0).decode()
        return process

    def health(self):
        return subprocess.run(self.command("tavolad", "--health"), env=self.env, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode

    def tables(self, port):
        url = f"http://127.0.0.1:{port}/{ACCOUNT}"
        return TableServiceClient.from_connection_string(
            f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};"
            f"TableEndpoint={url};")

    def stop(self, process):
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(WAIT_S), 0, process.said())

    def until_healthy(self, process):
        until(lambda: process.poll() is not None or self.health() == 0, process.said)
        self.assertIsNone(process.poll(), process.said())

    def test_it_starts_serves_keeps_and_stops(self):
        command = self.settings()["Cmd"]
        self.assertEqual(self.health(), 1)
        process = self.start(*command)
        self.until_healthy(process)
        people = self.tables(self.ports[0]).create_table("People")
        people.create_entity({"PartitionKey": "Sales", "RowKey": "121", "Name": "Ada"})
        self.stop(process)
        self.assertEqual(self.health(), 1)
        process = self.start(*command)
        self.until_healthy(process)
        people = self.tables(self.ports[0]).get_table_client("People")
        self.assertEqual(people.get_entity("Sales", "121")["Name"], "Ada")
        self.stop(process)

    def test_azurite_is_a_command_of_it(self):
        hosts = [word for one in ("blob", "queue", "table")
                 for word in (f"--{one}Host", "0.0.0.0", f"--{one}Port", "0")]
        process = self.start("azurite", "-l", "/data", *hosts, "--skipApiVersionCheck")
        line = r"Azurite Table service is successfully listening at http://0.0.0.0:(\d+)"
        found = until(lambda: process.poll() is not None or re.search(line, process.said()),
                      process.said)
        self.assertIsNone(process.poll(), process.said())
        self.tables(int(found[1])).create_table("People")
        self.until_healthy(process)
        self.stop(process)
        self.assertEqual([path.name for path in (self.root / "data").iterdir()], ["tavola"])

    def test_a_volume_of_roots_is_one_line(self):
        os.chown(self.root / "data", 0, 0)
        (self.root / "data").chmod(0o755)
        for words, line in ((["tavolad"], r"^tavolad: .*/data.*ermission denied.*\n$"),
                            (["azurite", "-l", "/data"], r"^Exit due to unhandled error: user \d+ "
                                                         r"cannot write to /data .*\n$")):
            process = self.start(*words)
            self.assertNotEqual(process.wait(WAIT_S), 0)
            self.assertRegex(process.said(), line)


if __name__ == "__main__":
    unittest.main()
