"""A server whose system refuses memory, and those who ask it for much."""

import base64
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from blob_client import Client as BlobClient
from queue_client import QueueClient
from server import Server
from table_client import Client as TableClient

HERE = pathlib.Path(__file__).resolve().parent
LARGE = "x" * 30000
ESCAPED = "\n\"" * 15000
KEYS = {name: base64.b64encode(name.encode() * 8).decode() for name in ("greedy", "modest")}
AT_A_TIME = 8


class Shim:
    """Lets large allocations of servers that have `env` fail."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="tavola-malloc-")
        self.path = os.path.join(self.folder, "chance")
        shim = os.path.join(self.folder, "malloc_shim.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, str(HERE / "malloc_shim.c")],
                       check=True)
        pathlib.Path(self.path).write_bytes(bytes(2))
        self.env = {"LD_PRELOAD": shim, "TAVOLA_TEST_MALLOC": self.path}

    def fail(self, chance):
        """In 256ths.  In place: the server has the file mapped."""
        file = os.open(self.path, os.O_WRONLY)
        os.pwrite(file, bytes([chance]), 0)
        os.close(file)

    def has_failed(self):
        return pathlib.Path(self.path).read_bytes()[1] == 1

    def clean(self):
        shutil.rmtree(self.folder)


def program():
    """A sanitizer has a malloc of its own, and wants more addresses than a limit leaves."""
    return os.environ.get("TAVOLAD_RELEASE", str(HERE.parents[2] / "build" / "tavolad"))


def batch_head(client):
    """The beginning of a large batch."""
    return (f"POST /{client.account}/$batch HTTP/1.1\r\nHost: localhost\r\n"
            "Content-Length: 4000000\r\nContent-Type: multipart/mixed; boundary=b\r\n" + "".join(
                f"{name}: {value}\r\n" for name, value in client.headers("/$batch").items())
            + "\r\n--b").encode()


class Malloc(unittest.TestCase):
    """Subclasses have the tests."""

    flags = ()

    def setUp(self):
        if not os.path.exists(program()):
            self.skipTest("needs a build without sanitizers: ./run --no-start")
        accounts = tempfile.NamedTemporaryFile("w", suffix=".accounts")
        self.addCleanup(accounts.close)
        accounts.write("".join(f"{name}:{key}\n" for name, key in KEYS.items()))
        accounts.flush()
        self.shim = Shim()
        self.addCleanup(self.shim.clean)
        self.server = Server("--accounts", accounts.name, "--memory-mb", "512", "--test-points",
                             "--test-values", "silence-ms=600000,history-ms=20", *self.flags,
                             program=program(), engine="rocksdb", env=self.shim.env,
                             in_memory=True)
        self.addCleanup(self.server.clean)
        self.server.start()
        self.addCleanup(self.stop)

    def stop(self):
        self.shim.fail(0)
        # All charges must have come back: the server asserts it when it stops.
        self.assertEqual(self.server.stop(60), 0, self.server.log()[-4000:])

    def clients(self, account):
        all_of = [kind(port, account, KEYS[account]) for kind, port in (
            (TableClient, self.server.table_port), (QueueClient, self.server.queue_port),
            (BlobClient, self.server.blob_port))]
        for client in all_of:
            self.addCleanup(client.close)
        return all_of

    def create_tables(self):
        for account in KEYS:
            self.assertEqual(self.clients(account)[0].create_table("Rows").status, 204)

    def send_all(self, send, count):
        """send(blob client, number) for so many numbers, some at a time, to be acknowledged."""
        def send_some(first):
            client = BlobClient(self.server.blob_port, "greedy", KEYS["greedy"])
            try:
                return {send(client, number).status for number in range(first, count, AT_A_TIME)}
            finally:
                client.close()

        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            self.assertEqual(set().union(*pool.map(send_some, range(AT_A_TIME))), {201})
