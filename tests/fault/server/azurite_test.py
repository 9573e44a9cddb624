"""The program azurite: the command lines of those who start Azurite, its lines, files and exit codes.

The starters wait for the lines or for the ports, and then talk to the services as a neighbour of the
container does.  Ports are free ones, since a real container has a network of its own.
"""

import contextlib
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import tempfile
import unittest

import certificate
from blob_client import Client as BlobClient
from queue_client import QueueClient
from server import ACCOUNT, KEY, binary, free_ports, give_back
from table_client import Client as TableClient
from until import WAIT_S, until

SERVICES = ("Blob", "Queue", "Table")
CLIENTS = {"Blob": (BlobClient, "?comp=list"), "Queue": (QueueClient, "/?comp=list"),
           "Table": (TableClient, "/Tables")}
HOSTS = ["--blobHost", "0.0.0.0", "--queueHost", "0.0.0.0", "--tableHost", "0.0.0.0"]
FREE = ["--blobPort", "0", "--queuePort", "0", "--tablePort", "0"]
LISTENING = r"Azurite {} service is successfully listening at (https?)://(\S+):(\d+)"
# What they start, as their sources have it; DATA, CERT, KEY and PFX stand for paths.
STARTERS = {
    "Azurite's own image": ["-l", "DATA", *HOSTS],
    ".NET Aspire": ["-l", "DATA", *HOSTS, "--skipApiVersionCheck"],
    "Testcontainers for Java": HOSTS,
    "Testcontainers for Java with a certificate": [*HOSTS, "--cert", "CERT", "--key", "KEY"],
    "Testcontainers for Java with PKCS#12": [*HOSTS, "--cert", "PFX", "--pwd", "sesame"],
    "Testcontainers for .NET": [*HOSTS, "--inMemoryPersistence"],
    "Testcontainers for .NET with a limit": [*HOSTS, "--inMemoryPersistence",
                                             "--extentMemoryLimit", "64"],
    "Testcontainers for Node": [*HOSTS, "--inMemoryPersistence", "--skipApiVersionCheck"],
    "Testcontainers for Node with tokens": [*HOSTS, "--cert", "CERT", "--key", "KEY", "--oauth",
                                            "basic"],
    "Testcontainers for Go": HOSTS,
    "Functions' tools": ["--silent", "--location", "DATA", "--debug", "DATA/debug.log"],
    "a script of npm": ["-s", "-l=DATA", "-L", "--disableTelemetry", "--disableProductStyleUrl"],
}


def program():
    return str(pathlib.Path(binary()).with_name("azurite"))


class Azurite(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tavola-azurite-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.processes = 0

    def popen(self, *arguments, name="azurite", env=None, **options):
        self.processes += 1
        out, err = (open(self.folder / f"{kind}{self.processes}", "w+b") for kind in ("out", "err"))
        self.addCleanup(out.close)
        self.addCleanup(err.close)
        clean = {key: value for key, value in os.environ.items()
                 if not key.startswith("TAVOLA_") and key != "AZURITE_ACCOUNTS"}
        process = subprocess.Popen(
            [name, *arguments], executable=program(), stdin=subprocess.DEVNULL, stdout=out,
            stderr=err, cwd=self.folder, env={**clean, **(env or {})}, **options)
        self.addCleanup(self.end, process)
        process.out, process.err = out, err
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.wait(WAIT_S)

    @staticmethod
    def text(file):
        return os.pread(file.fileno(), 1 << 20, 0).decode()

    def start(self, *arguments, services=SERVICES, **options):
        """{service: (scheme, host, port)} of the lines, once all are there."""
        process = self.popen(*arguments, **options)
        found = {}

        def look():
            self.assertIsNone(process.poll(), self.text(process.err))
            for service in services:
                if match := re.search(LISTENING.format(service), self.text(process.out)):
                    found[service] = (match[1], match[2], int(match[3]))
            return len(found) == len(services)

        until(look, lambda: f"its lines: {self.text(process.out)}{self.text(process.err)}")
        return process, found

    def stop(self, process, number=signal.SIGTERM):
        process.send_signal(number)
        self.assertEqual(process.wait(WAIT_S), 0)

    def client(self, service, port, key=KEY, account=ACCOUNT):
        client = CLIENTS[service][0](port, account, key)
        self.addCleanup(client.close)
        return client

    def asks(self, service, port, host=None, **whom):
        """The status of a list of what there is, for a caller who uses this name."""
        headers = {"Host": host} if host else {}
        return self.client(service, port, **whom).request("GET", CLIENTS[service][1],
                                                          **headers).status

    def refused(self, *arguments, **options):
        """(exit code, what it printed, what it complained about)"""
        process = self.popen(*arguments, **options)
        code = process.wait(WAIT_S)
        return code, self.text(process.out), self.text(process.err)

    def paths(self, arguments):
        cert, key = certificate.make(self.folder)
        pfx = certificate.make_pfx(self.folder, "sesame")
        data = self.folder / "data"
        given = {"DATA": str(data), "CERT": cert, "KEY": key, "PFX": pfx}
        return [re.sub("|".join(given), lambda match: given[match[0]], word) for word in arguments]

    # --- those who start it

    def test_whoever_starts_azurite_finds_it(self):
        for who, arguments in STARTERS.items():
            with self.subTest(who):
                process, found = self.start(*self.paths(arguments), *FREE)
                for service, (scheme, host, port) in found.items():
                    self.assertEqual(scheme, "https" if "--cert" in arguments else "http")
                    self.assertEqual(host, "0.0.0.0" if "--blobHost" in arguments else "127.0.0.1")
                    if scheme == "http":
                        self.assertEqual(self.asks(service, port), 200)
                        # As the container's name, and by a port that is mapped.
                        self.assertEqual(self.asks(service, port, host="azurite:10002"), 200)
                        self.assertEqual(self.asks(service, port, host="localhost:49153"), 200)
                    else:
                        self.speak_tls(port)
                self.stop(process)
                self.assertNotIn("level=error", self.text(process.err))

    def speak_tls(self, port):
        context = ssl.create_default_context(cafile=str(self.folder / "server.crt"))
        with socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as plain:
            with context.wrap_socket(plain, server_hostname="localhost") as secure:
                secure.sendall(b"GET /devstoreaccount1?comp=list HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertRegex(secure.recv(100), rb"HTTP/1.1 40[13] ")
        with socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as plain:
            plain.sendall(b"GET /devstoreaccount1?comp=list HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertRegex(plain.recv(100), rb"HTTP/1.1 400 ")

    def test_its_lines_are_those_of_azurite(self):
        process, found = self.start(*FREE, "-l", "data")
        ports = {service: found[service][2] for service in SERVICES}
        self.stop(process, signal.SIGINT)
        self.assertEqual(self.text(process.out).splitlines(), [
            line for service in SERVICES for line in (
                f"Azurite {service} service is starting at http://127.0.0.1:0",
                f"Azurite {service} service is successfully listening at "
                f"http://127.0.0.1:{ports[service]}")] + [
            f"Azurite {service} service is closing..." for service in SERVICES] + [
            f"Azurite {service} service successfully closed" for service in SERVICES])

    def test_one_service_alone(self):
        for service in SERVICES:
            with self.subTest(service):
                flag = f"--{service.lower()}Port"
                process, found = self.start(flag, "0", "--silent", "--inMemoryPersistence",
                                            name=f"azurite-{service.lower()}", services=[service])
                self.assertEqual(self.asks(service, found[service][2]), 200)
                self.stop(process)
                self.assertEqual({line.split()[1] for line in self.text(process.out).splitlines()},
                                 {service})

    # --- accounts

    def test_accounts_of_the_environment(self):
        process, found = self.start(*FREE, "--inMemoryPersistence",
                                    env={"AZURITE_ACCOUNTS": f"mine:{KEY};other:a2V5:{KEY}"})
        for account in ("mine", "other"):
            for service in SERVICES:
                self.assertEqual(self.asks(service, found[service][2], account=account), 200)
        self.assertEqual(self.asks("Table", found["Table"][2]), 403)
        self.stop(process)

    # --- data

    def test_data_survives_beside_files_of_azurite(self):
        data = self.folder / "data"
        data.mkdir()
        theirs = {"__azurite_db_table__.json": b"{}", "__blobstorage__": None}
        for name, content in theirs.items():
            if content is None:
                (data / name).mkdir()
            else:
                (data / name).write_bytes(content)
        process, found = self.start(*FREE, "-l", str(data))
        self.assertIn("has data of Azurite", self.text(process.err))
        table = self.client("Table", found["Table"][2])
        self.assertEqual(table.create_table("kept").status, 204)
        self.stop(process)
        process, found = self.start(*FREE, "-l", str(data))
        self.assertNotIn("has data of Azurite", self.text(process.err))
        self.assertIn(b"kept", self.client("Table", found["Table"][2]).request("GET",
                                                                              "/Tables").body)
        self.stop(process)
        self.assertEqual(sorted(path.name for path in data.iterdir()), [*sorted(theirs), "tavola"])
        self.assertEqual((data / "__azurite_db_table__.json").read_bytes(), b"{}")

    def test_without_a_location_it_is_the_current_folder(self):
        process, _ = self.start(*FREE)
        self.stop(process)
        self.assertTrue((self.folder / "tavola").is_dir())

    @unittest.skipUnless(os.geteuid() == 0, "only root can make such a folder")
    def test_a_folder_of_somebody_else_is_one_line(self):
        """As in a compose file for Azurite, which ran as root: its volume is root's.

        Here it is the other way round, by a root that has to ask: who else could run this build?
        """
        data = self.folder / "data"
        data.mkdir(mode=0o755)
        os.chown(data, 65534, 65534)
        done = subprocess.run(["setpriv", "--bounding-set", "-dac_override,-dac_read_search",
                               program(), *FREE, "-l", str(data)], text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, rf"^Exit due to unhandled error: user 0 cannot write to "
                                      rf"{data} \(Permission denied\): .*\n$")

    def test_a_debug_log_goes_to_its_file(self):
        process, found = self.start(*FREE, "--inMemoryPersistence", "-d", "debug.log")
        self.assertEqual(self.asks("Table", found["Table"][2]), 200)
        self.stop(process)
        self.assertIn("event=access", (self.folder / "debug.log").read_text())
        self.assertNotIn("event=", self.text(process.err))

    def test_requests_are_shown_unless_it_is_silent(self):
        for flags, is_shown in (([], True), (["--silent"], False)):
            process, found = self.start(*FREE, "--inMemoryPersistence", *flags)
            self.assertEqual(self.asks("Table", found["Table"][2]), 200)
            self.stop(process)
            self.assertEqual("event=access" in self.text(process.err), is_shown, flags)

    def test_the_host_names_no_account_if_that_is_asked_for(self):
        for flags, status in (([], 403), (["--disableProductStyleUrl"], 200)):
            process, found = self.start(*FREE, "--inMemoryPersistence", *flags)
            self.assertEqual(self.asks("Table", found["Table"][2], host="azurite.table.svc:10002"),
                             status, flags)
            self.stop(process)

    # --- mistakes

    def test_what_has_no_effect_is_one_warning(self):
        process, _ = self.start(*FREE, "--silent", "--inMemoryPersistence", "--loose",
                                "--blobKeepAliveTimeout", "5", "--extentMemoryLimit", "9")
        self.stop(process)
        said = [line for line in self.text(process.err).splitlines() if line.startswith("azurite:")]
        self.assertEqual(said, [
            "azurite: no effect here: --blobKeepAliveTimeout, --extentMemoryLimit, --loose"])

    def test_mistakes_end_as_those_of_azurite(self):
        rows = [
            (["-d"], "Must provide a debug log file path for parameter -d or --debug"),
            (["--inMemoryPersistence", "--location", "x"],
             "The --inMemoryPersistence option is not supported when the --location option is set."),
            (["--extentMemoryLimit", "5"], "The --extentMemoryLimit option is only supported when "
                                           "the --inMemoryPersistence option is set."),
            (["--oauth", "full"], "Must provide a valid value for parameter --oauth, only 'basic' is "
                                  "supported."),
            (["--cert", "x.pem"], "--cert needs --key for a PEM certificate, or --pwd for a PKCS#12 "
                                  "file (.pfx)"),
            (["--key", "x.pem"], "--key needs --cert"),
            (["--cert", "absent.pfx", "--pwd", ""], "cannot use certificate absent.pfx: "),
            (["--tablePort", "70000"], "--table-port takes a number from 0 to 65535, not '70000'"),
            (["--tableHost", "no.such.host.invalid"], "getaddrinfo ENOTFOUND no.such.host.invalid"),
        ]
        for arguments, text in rows:
            with self.subTest(arguments=arguments):
                code, out, complaint = self.refused(*arguments)
                self.assertEqual((code, out), (1, ""), complaint)
                self.assertEqual(complaint.count("\n"), 1, complaint)
                self.assertTrue(complaint.startswith("Exit due to unhandled error: " + text),
                                complaint)

    def test_two_of_them_get_on_with_each_other(self):
        ports = [self.start(*FREE, "--inMemoryPersistence", "--silent")[1]["Table"][2]
                 for _ in range(2)]
        for port in ports:
            self.assertEqual(self.asks("Table", port), 200)

    def test_a_port_in_use_is_named(self):
        ports = free_ports(1)
        self.addCleanup(give_back, ports)
        with contextlib.closing(socket.create_server(("127.0.0.1", ports[0]))):
            code, _, complaint = self.refused("--inMemoryPersistence", "--blobPort", str(ports[0]),
                                              "--queuePort", "0", "--tablePort", "0")
        self.assertEqual(code, 1)
        self.assertRegex(complaint, f"Exit due to unhandled error: .*{ports[0]}")

    def test_unknown_flags_get_help_and_end_well(self):
        """As Azurite's do, whatever one thinks of that."""
        for flag in ("--foo", "-x"):
            code, out, complaint = self.refused(flag)
            self.assertEqual((code, complaint), (0, ""))
            self.assertIn(f'The option "{flag.lstrip("-")}" is unknown', out)
            self.assertIn("--tablePort", out)

    def test_help_and_version(self):
        for word in ("--help", "-h", "help"):
            code, out, _ = self.refused(word)
            self.assertEqual(code, 0)
            self.assertIn("--inMemoryPersistence", out)
            self.assertLessEqual(max(map(len, out.splitlines())), 90)
        for word in ("--version", "-v", "version"):
            self.assertRegex(self.refused(word)[1], r"^\d+\.\d+\.\d+ \(Tavola \d+\.\d+\.\d+\)\n$")


if __name__ == "__main__":
    unittest.main()
