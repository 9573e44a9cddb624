"""Starting: bad flags and sick folders get one clear line and exit code 2, good ones work."""

import base64
import contextlib
import hashlib
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

from fault.sick_disk import SickServer
from table_client import Client
from server import ACCOUNT, KEY, Server, binary, free_ports
from until import until

FLAGS = ("--data", "--host", "--table-port", "--queue-port", "--blob-port", "--admin-port",
         "--admin-name", "--max-connections", "--max-per-address", "--threads", "--accounts", "--engine", "--ceph-conf", "--pool", "--ceph-user",
         "--pool-reserve-percent", "--log-level", "--access-log", "--cert", "--key",
         "--disk-reserve-mb", "--allow-dev-account", "--verify", "--health", "--operations", "--help", "--version")


def made_key(name):
    return base64.b64encode(hashlib.sha512(name.encode()).digest()).decode()


def snapshot(folder):
    """The files of a folder and what is in them, except RocksDB's own log and lock."""
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(pathlib.Path(folder).rglob("*"))
            if path.is_file() and not path.name.startswith("LOG") and path.name != "LOCK"}


class Start(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tavola-start-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.data = self.folder / "data"
        self.ports = free_ports(4)

    def port_flags(self):
        names = ("--table-port", "--queue-port", "--blob-port", "--admin-port")
        return [text for name, port in zip(names, self.ports) for text in (name, str(port))]

    def environment(self, **env):
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith("TAVOLA_") and name != "AZURITE_ACCOUNTS"}
        return {**clean, **env}

    def run_to_end(self, *flags, **env):
        return subprocess.run([binary(), *flags], env=self.environment(**env), timeout=60,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace")

    def test_what_is_stored_is_for_the_owner_alone(self):
        mask = os.umask(0)  # the server must not trust it
        self.addCleanup(os.umask, mask)
        with Server(data=str(self.data), engine="rocksdb") as server:
            client = Client(server.table_port)
            self.assertEqual(client.create_table("modes").status, 204)
            client.close()
            open_to_others = {str(path): oct(path.stat().st_mode)
                              for path in [self.data, *self.data.rglob("*")]
                              if path.stat().st_mode & 0o077}
            self.assertEqual(open_to_others, {})
            self.assertNotIn("data_is_open", server.log())

        self.data.chmod(0o755)
        with Server(data=str(self.data), engine="rocksdb") as server:
            server.until_logged("event=data_is_open")
            self.assertIn("mode=0755", server.log())

    def refused(self, *flags, names=(), **env):
        """It must end with exit code 2 and one line on stderr that names the problem."""
        done = self.run_to_end(*flags, **env)
        self.assertEqual(done.returncode, 2, done)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(done.stdout, "")
        for name in names:
            self.assertIn(name, done.stderr)
        return done.stderr

    def server(self, *flags, data=None, **env):
        """A running server with its stderr in self.log; stopped at the end with exit code 0."""
        self.log = self.folder / f"log{time.monotonic_ns()}"
        self.out = self.folder / f"out{time.monotonic_ns()}"
        with open(self.log, "wb") as log, open(self.out, "wb") as out:
            process = subprocess.Popen([binary(), *flags], env=self.environment(**env),
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=log)
        self.addCleanup(self.stop, process)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.ports[3]}/healthz", timeout=2)
                return process
            except (urllib.error.URLError, OSError):
                time.sleep(0.01)
        self.fail(f"the server did not start: {self.log.read_text()}")

    def stop(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 0, "exit code of the server")

    def status(self, account=ACCOUNT, key=KEY, port=None):
        client = Client(port or self.ports[0], account, key)
        try:
            return client.request("GET", "/Tables").status
        finally:
            client.close()

    # --- flags that are wrong

    def test_wrong_flags(self):
        for what, flags, names in (
                ("unknown flag", ["--nope"], ["--nope"]),
                ("stray word", ["nope"], ["nope"]),
                ("missing value", ["--table-port"], ["--table-port"]),
                ("port that is no number", ["--table-port", "abc"], ["--table-port", "abc"]),
                ("number with a tail", ["--table-port", "10002x"], ["--table-port", "10002x"]),
                ("port out of range", ["--admin-port", "70000"], ["--admin-port", "70000"]),
                ("negative port", ["--blob-port", "-1"], ["--blob-port"]),
                ("unknown engine", ["--engine", "sqlite"], ["--engine", "sqlite"]),
                ("a cluster without a pool", ["--engine", "rados", "--ceph-conf", "/nowhere/c"],
                 ["--pool"]),
                ("a cluster with a build that has none",
                 ["--engine", "rados", "--ceph-conf", "/nowhere/c", "--pool", "p"],
                 ["-Drados=enabled"]),
                ("unknown log level", ["--log-level", "loud"], ["--log-level", "loud"]),
                ("threads that are no number", ["--threads", "many"], ["--threads", "many"]),
                ("reserve that is no number", ["--disk-reserve-mb", "x"], ["--disk-reserve-mb"]),
                ("address that is not valid", ["--host", "999.1.1.1"], ["999.1.1.1"]),
                ("missing accounts file", ["--accounts", "/nowhere/at/all"], ["/nowhere/at/all"]),
                ("certificate without key", ["--cert", __file__], ["PKCS#12", "--key"]),
                ("PKCS#12 that is missing", ["--cert", "/nowhere/c.pfx"], ["/nowhere/c.pfx"]),
                ("missing certificate", ["--cert", "/nowhere/c.pem", "--key", "/nowhere/k.pem"],
                 ["/nowhere/"])):
            with self.subTest(what):
                data = self.folder / what
                self.refused("--data", str(data), *flags, names=names)
                self.assertFalse(data.exists(), "it made the data folder")

    def test_wrong_environment(self):
        self.refused("--data", str(self.data), TAVOLA_TABLE_PORT="abc",
                     names=["TAVOLA_TABLE_PORT", "abc"])

    def test_wrong_accounts(self):
        secret = made_key("secret")
        for what, text in (("no key", "alpha"), ("empty key", "alpha:"), ("no name", f":{secret}"),
                           ("no base64", f"alpha:{secret[:-2]}!!"),
                           ("three keys", f"alpha:{secret}:{secret}:{secret}")):
            with self.subTest(what, where="AZURITE_ACCOUNTS"):
                line = self.refused("--data", str(self.data), *self.port_flags(),
                                    AZURITE_ACCOUNTS=text, names=["AZURITE_ACCOUNTS"])
                self.assertNotIn(secret[:20], line)
            with self.subTest(what, where="--accounts"):
                file = self.folder / "accounts"
                file.write_text(f"# comment\n{text}\n")
                line = self.refused("--data", str(self.data), *self.port_flags(),
                                    "--accounts", str(file), names=[str(file)])
                self.assertNotIn(secret[:20], line)

    # --- folders and ports that are not available

    def test_folder_that_cannot_be_made(self):
        file = self.folder / "file"
        file.write_text("I am no folder")
        for path in (file, file / "data", pathlib.Path("/proc/tavola-data")):
            with self.subTest(path.name):
                self.refused("--data", str(path), *self.port_flags(), names=[str(path)])
        self.assertEqual(file.read_text(), "I am no folder")

    def test_port_is_taken_by_another_program(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", self.ports[0]))
            other.listen()
            self.refused("--data", str(self.data), *self.port_flags(),
                         names=[f":{self.ports[0]}: address already in use; choose another port "
                                "with --table-port\n"])

    def test_port_is_taken_by_azurite(self):
        """By what it says of itself; whoever says nothing is not waited for."""
        names = ("--table-port", "--queue-port", "--blob-port", "--admin-port")
        for i, name in enumerate(names):
            with self.subTest(name), contextlib.ExitStack() as stack:
                self.ports = free_ports(4)
                azurite = stack.enter_context(socket.create_server(("127.0.0.1", self.ports[i])))
                answer = b"HTTP/1.1 400 Bad Request\r\nServer: Azurite-Table/3.35.0\r\n\r\n"

                def serve():
                    with azurite.accept()[0] as peer:
                        peer.recv(4096)
                        peer.sendall(answer)

                thread = threading.Thread(target=serve, daemon=True)
                thread.start()
                self.refused("--data", str(self.data), *self.port_flags(),
                             names=[f"in use; Azurite listens there: end it, or choose another "
                                    f"port with {name}\n"])
                thread.join(60)

    def test_port_is_taken_by_another_tavolad(self):
        # Listeners share their port between threads; two servers must not.
        self.server("--data", str(self.data), *self.port_flags())
        taken = self.ports
        for i, port in enumerate(taken):
            self.ports = free_ports(4)
            self.ports[i] = port
            with self.subTest(self.port_flags()[2 * i]):
                self.refused("--data", str(self.folder / "other"), *self.port_flags(),
                             names=[f":{port}: ", "in use; another tavolad listens there: end it, "
                                    f"or choose another port with {self.port_flags()[2 * i]}\n"])

    def test_second_server_on_the_same_folder(self):
        self.server("--data", str(self.data), *self.port_flags())
        first, self.ports = self.ports, free_ports(4)
        self.refused("--data", str(self.data), *self.port_flags(), names=[str(self.data)])
        self.assertEqual(self.status(port=first[0]), 200)

    # --- a database that is damaged

    def damaged(self, damage):
        """Make a database, damage it, and see that it is named and left alone."""
        with Server(data=str(self.data), engine="rocksdb") as server:
            client = Client(server.table_port)
            self.assertEqual(client.create_table("people").status, 204)
            self.assertEqual(client.insert("people", {"PartitionKey": "p", "RowKey": "r"}).status,
                             204)
            client.close()
        (current,) = self.data.rglob("CURRENT")
        damage(current, current.parent / current.read_text().strip())
        before = snapshot(self.data)
        self.refused("--data", str(self.data), *self.port_flags(), names=[str(self.data)])
        self.assertEqual(snapshot(self.data), before)
        # It must not have repaired itself into something empty the second time either.
        self.refused("--data", str(self.data), *self.port_flags(), names=[str(self.data)])

    def test_current_is_garbage(self):
        self.damaged(lambda current, manifest: current.write_bytes(b"\0garbage\xff" * 10))

    def test_current_is_missing(self):
        self.damaged(lambda current, manifest: current.unlink())

    def test_manifest_is_garbage(self):
        self.damaged(lambda current, manifest: manifest.write_bytes(b"\0garbage\xff" * 100))

    def test_manifest_is_missing(self):
        self.damaged(lambda current, manifest: manifest.unlink())

    # --- a system that gives too little

    def test_few_files(self):
        for count in (16, 24, 32):
            with self.subTest(count=count):
                done = subprocess.run(["prlimit", f"--nofile={count}:{count}", binary(), "--data", str(self.data),
                                       *self.port_flags()], env=self.environment(), timeout=60,
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True)
                self.assertEqual(done.returncode, 2, done)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn("ulimit -n", done.stderr)

    def test_fewer_connections_are_a_warning_to_who_asked_for_more(self):
        """Nobody else can do anything about it: the first line is that of the start."""
        limit = ["prlimit", "--nofile=1000:1000", binary(), "--engine", "memory"]
        for flags, events in (([], ["start"]),
                              (["--max-connections", "5000"], ["fewer_connections", "start"])):
            with self.subTest(flags=flags):
                log = self.folder / f"log{len(flags)}"
                with open(log, "wb") as file:
                    process = subprocess.Popen([*limit, *self.port_flags(), *flags], stderr=file,
                                               env=self.environment(), stdin=subprocess.DEVNULL,
                                               stdout=subprocess.DEVNULL)
                self.addCleanup(self.stop, process)
                until(lambda: "event=start" in log.read_text(), "it has started")
                lines = log.read_text().splitlines()
                self.assertEqual([line.split("event=")[1].split()[0] for line in lines], events)
                self.assertRegex(lines[-1], r" connections=\d\d?\d? ")
                self.stop(process)

    def test_a_hangup_before_all_others(self):
        """SIGHUP comes with the first call of the program itself, and again after that."""
        source, shim = self.folder / "early.c", self.folder / "early.so"
        source.write_text("#define _GNU_SOURCE\n#include <signal.h>\n#include <sys/stat.h>\n#include <sys/syscall.h>\n"
                          "#include <unistd.h>\nmode_t umask(mode_t mask)\n{\n    kill(getpid(), SIGHUP);\n"
                          "    return (mode_t)syscall(SYS_umask, mask);\n}\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(shim), str(source)], check=True)
        asan = os.environ.get("ASAN_OPTIONS", "")
        self.server("--data", str(self.data), *self.port_flags(), LD_PRELOAD=str(shim),
                    ASAN_OPTIONS=f"{asan}:verify_asan_link_order=0".lstrip(":"))
        self.assertEqual(self.status(), 200)

    def test_a_write_of_the_start_that_fails(self):
        with SickServer(data=str(self.data)) as server:
            client = Client(server.table_port)
            self.assertEqual(client.create_table("people").status, 204)
            client.close()
        for call, part in (("write", "MANIFEST"), ("write", "OPTIONS"), ("write", ".dbtmp"),
                           ("write", ".log"), ("fdatasync", ".log"), ("fsync", "MANIFEST"),
                           ("fdatasync", "MANIFEST"), ("write", "blobs/boot"), ("fsync", "blobs")):
            for data in (self.data, self.folder / f"new{call}{part.replace('/', '')}"):
                server = SickServer(data=str(data))
                self.addCleanup(server.clean)
                server.fail(call, part, 1000)
                with self.subTest(call=call, part=part, is_new=data != self.data):
                    try:
                        server.start(health=(200, 503))
                    except RuntimeError:
                        self.assertEqual(server.process.wait(60), 2, server.log())
                        self.assertIn("tavolad: ", server.log())
                    else:
                        server.heal()
                        server.kill()
        with Server(data=str(self.data), engine="rocksdb") as server:
            client = Client(server.table_port)
            self.assertEqual(client.request("GET", "/Tables('people')").status, 200)
            client.close()

    # --- what works

    def test_help(self):
        done = self.run_to_end("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for flag in FLAGS:
            self.assertIn(flag, done.stdout)

    def test_version(self):
        done = self.run_to_end("--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^tavolad \d+\.\d+\.\d+\S*\n$")

    def test_operations_are_a_table(self):
        done = self.run_to_end("--operations")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        heading, *rows = [line.split("\t") for line in done.stdout.splitlines()]
        self.assertEqual(heading[:3], ["service", "operation", "path"])
        self.assertEqual({len(row) for row in rows}, {len(heading)})
        self.assertEqual(len({tuple(row[:2]) for row in rows}), len(rows), "a name is used twice")
        self.assertIn(["queue", "PutMessage"], [row[:2] for row in rows])
        self.assertFalse(self.data.exists(), "it started a server")

    def test_connection_string_is_printed(self):
        self.server("--data", str(self.data), *self.port_flags())
        text = self.out.read_text()
        self.assertIn(f"AccountName={ACCOUNT};", text)
        for name, port in zip(("Table", "Queue", "Blob"), self.ports):
            self.assertIn(f"{name}Endpoint=http://127.0.0.1:{port}/{ACCOUNT};", text)

    def test_environment_variables(self):
        table, queue, blob, admin = map(str, self.ports)
        self.server(TAVOLA_DATA=str(self.data), TAVOLA_TABLE_PORT=table, TAVOLA_QUEUE_PORT=queue,
                    TAVOLA_BLOB_PORT=blob, TAVOLA_ADMIN_PORT=admin, TAVOLA_HOST="127.0.0.1",
                    TAVOLA_THREADS="1", TAVOLA_ENGINE="rocksdb", TAVOLA_LOG_LEVEL="info")
        self.assertEqual(self.status(), 200)
        self.assertTrue(any(self.data.rglob("CURRENT")))

    def test_flags_win_over_the_environment(self):
        wrong = str(free_ports(1)[0])
        self.server("--data", str(self.data), *self.port_flags(), "--engine", "rocksdb",
                    TAVOLA_DATA=str(self.folder / "wrong"), TAVOLA_TABLE_PORT=wrong,
                    TAVOLA_ADMIN_PORT=wrong, TAVOLA_ENGINE="memory")
        self.assertEqual(self.status(), 200)
        self.assertTrue(any(self.data.rglob("CURRENT")))
        self.assertFalse((self.folder / "wrong").exists())

    def test_accounts_from_azurites_variable(self):
        one, two, three = map(made_key, ("one", "two", "three"))
        self.server("--data", str(self.data), *self.port_flags(),
                    AZURITE_ACCOUNTS=f"alpha:{one}:{two};beta:{three}")
        for account, key, expected in (("alpha", one, 200), ("alpha", two, 200),
                                       ("beta", three, 200), ("alpha", three, 403),
                                       ("beta", one, 403), ("gamma", one, 403)):
            self.assertEqual(self.status(account, key), expected, (account, expected))
        # As with Azurite, own accounts take the place of the well-known one.
        self.assertEqual(self.status(ACCOUNT, KEY), 403)

    def test_accounts_from_a_file(self):
        one, two, three = map(made_key, ("one", "two", "three"))
        file = self.folder / "accounts"
        file.write_text(f"# our accounts\n\nalpha:{one}:{two}\n  # and another\nbeta:{three}\n")
        self.server("--data", str(self.data), *self.port_flags(), "--accounts", str(file))
        for account, key, expected in (("alpha", one, 200), ("alpha", two, 200),
                                       ("beta", three, 200), ("beta", two, 403)):
            self.assertEqual(self.status(account, key), expected, (account, expected))

    def test_log_holds_no_key_and_no_signature(self):
        key, other = made_key("logged"), made_key("other")
        process = self.server("--data", str(self.data), *self.port_flags(), "--access-log",
                              "--log-level", "debug", AZURITE_ACCOUNTS=f"alpha:{key}:{other}")
        client = Client(self.ports[0], "alpha", key)
        secrets = {key, other}

        def send(method, path, body=None, **headers):
            signed = {**client.headers(path), **headers}
            secrets.add(signed["Authorization"].split(":", 1)[1])
            client.request(method, path, body, **{n.replace("-", "_"): v
                                                 for n, v in signed.items()})

        send("POST", "/Tables", {"TableName": "people"})
        send("POST", "/people", {"PartitionKey": "p", "RowKey": "r"})
        send("GET", "/people()?sv=2019-02-02&sig=c2VjcmV0c2lnbmF0dXJl&sp=r")
        send("GET", "/people()", Authorization="SharedKeyLite alpha:d3JvbmdzaWduYXR1cmU=")
        send("GET", "/people()", Authorization="Bearer:c2VjcmV0dG9rZW4")
        client.close()
        self.stop(process)
        secrets |= {"c2VjcmV0c2lnbmF0dXJl", "d3JvbmdzaWduYXR1cmU", "c2VjcmV0dG9rZW4"}
        log = self.log.read_text()
        self.assertIn("people", log, "the access log is empty")
        for secret in secrets:
            self.assertNotIn(secret, log)

    def test_long_request_cannot_hide_its_outcome_from_the_access_log(self):
        with Server("--access-log", engine="memory") as server:
            with socket.create_connection(("127.0.0.1", server.table_port)) as client:
                client.sendall(f"{'M' * 3000} /{ACCOUNT}/{'a' * 3000} HTTP/1.1\r\nHost: h\r\n\r\n"
                               .encode())
                client.recv(4096)
            server.stop()
            lines = [line for line in server.log().splitlines() if "event=access" in line]
        self.assertEqual(len(lines), 1)
        self.assertIn(" status=401 ", lines[0])
        self.assertIn(" peer=127.0.0.1:", lines[0])

    def test_metrics_tell_each_figure_once_and_all_of_it_together(self):
        with Server(engine="memory") as server:
            for url in (server.table_url, server.queue_url, server.blob_url):
                with contextlib.suppress(urllib.error.HTTPError):
                    urllib.request.urlopen(f"{url}/nothing", timeout=60)
            with urllib.request.urlopen(f"{server.admin_url}/metrics", timeout=60) as reply:
                lines = reply.read().decode().splitlines()
        seen, current = set(), None
        for line in lines:
            if line.startswith("# HELP "):
                current = line.split(" ")[2]
                self.assertNotIn(current, seen, line)
                seen.add(current)
            elif not line.startswith("# TYPE "):
                self.assertRegex(line, rf"^{current}(_bucket|_sum|_count)?[{{ ]")
        for service in ("table", "queue", "blob"):
            self.assertTrue(any(f'service="{service}",' in line for line in lines), service)
