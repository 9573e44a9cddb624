"""The container image: what its Dockerfile sets lets a neighbour in, and names all it needs.

The image itself is not built here, because that takes a daemon; the server is started as the image
starts it.
"""

import os
import pathlib
import re
import subprocess
import unittest

from blob_client import Client as BlobClient
from queue_client import QueueClient
from server import Server, binary
from table_client import Client as TableClient

DOCKERFILE = pathlib.Path(__file__).resolve().parents[3] / "Dockerfile"
BUILT_IN = ("libc.so", "libm.so", "ld-linux", "libasan", "libubsan", "libtavola")


def instructions():
    """(word, rest) of each instruction, lines that go on joined."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(), flags=re.M).replace("\\\n", " ")
    return [line.split(None, 1) for line in text.splitlines() if line.strip()]


def environment():
    pairs = [pair for word, rest in instructions() if word == "ENV" for pair in rest.split()]
    return dict(pair.split("=", 1) for pair in pairs)


class Image(unittest.TestCase):
    def start(self, *flags, env=None):
        server = Server(*flags, env=env, engine="memory")
        server.start()
        self.addCleanup(server.clean)
        self.addCleanup(server.stop)
        return server

    def answers(self, server):
        """Of each service to a neighbour, which calls it by the name of its container."""
        for kind, port, path in ((BlobClient, server.blob_port, "?comp=list"),
                                 (QueueClient, server.queue_port, "/?comp=list"),
                                 (TableClient, server.table_port, "/Tables")):
            client = kind(port)
            self.addCleanup(client.close)
            yield client.request("GET", path, Host=f"azurite:{port}")

    def test_a_neighbour_with_the_well_known_key_is_let_in(self):
        server = self.start(env={name: value for name, value in environment().items()
                                 if name != "TAVOLA_DATA"})
        for reply in self.answers(server):
            self.assertEqual(reply.status, 200, reply.body)

    def test_without_that_the_message_says_what_to_do(self):
        for reply in self.answers(self.start()):
            self.assertEqual(reply.status, 403)
            message = re.search(rb'<Message>(.*?)</Message>|"value":"(.*?)"', reply.body, re.S)
            self.assertIn(b"--allow-dev-account", message[1] or message[2])

    def test_a_server_for_others_says_whom_its_key_is_for(self):
        self.assertIn("--allow-dev-account", self.start("--host", "0.0.0.0").log())
        self.assertNotIn("--allow-dev-account",
                         self.start("--host", "0.0.0.0", "--allow-dev-account").log())
        self.assertNotIn("--allow-dev-account", self.start().log())

    def test_all_interfaces_and_ports_are_served(self):
        self.assertEqual(environment()["TAVOLA_HOST"], "0.0.0.0")
        ports = [rest.split() for word, rest in instructions() if word == "EXPOSE"]
        self.assertEqual(ports, [["10000", "10001", "10002"]])

    def test_its_packages_hold_the_libraries(self):
        installed = " ".join(rest for word, rest in instructions() if word == "RUN")
        tool = os.path.join(os.path.dirname(binary()), "tavola")
        for program in filter(os.path.exists, (binary(), tool)):
            needed = subprocess.run(["readelf", "-d", program], capture_output=True, text=True,
                                    check=True).stdout
            found = subprocess.run(["ldd", program], capture_output=True, text=True,
                                   check=True).stdout
            for name in re.findall(r"NEEDED.*\[(.*)\]", needed):
                if name.startswith(BUILT_IN):
                    continue
                path = os.path.realpath(re.search(rf"{re.escape(name)} => (\S+)", found)[1])
                owners = subprocess.run(["dpkg", "-S", f"*/{os.path.basename(path)}"],
                                        capture_output=True, text=True, check=True).stdout
                packages = {line.split(":")[0] for line in owners.splitlines()}
                self.assertTrue(any(f" {package}" in installed for package in packages),
                                f"{name} is in one of {packages}")


if __name__ == "__main__":
    unittest.main()
