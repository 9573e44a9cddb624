"""The verbs for those who run a server: status, check, metrics, backup."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.request

import admin_proof
from server import Server, free_ports
from tavola import PROGRAM, TIMEOUT_S, TavolaTest, needs_tavolad
from until import until

HAS_IPV6 = os.path.exists("/proc/net/if_inet6")


class OneAnswer:
    """Something on a port that gives the same bytes to everybody, and keeps what it was sent.

    With a token it can prove that it knows that, as a tavolad does; what it is asked for that is in
    `proofs`.  `relay` is where it gets a proof from that it cannot make itself.
    """

    def __init__(self, answer, token=None, host="127.0.0.1", port=0, relay=None):
        self.answer, self.token, self.relay = answer, token, relay
        self.host, self.port = host, port
        self.asked, self.proofs = [], []

    def __enter__(self):
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self.socket = socket.create_server((self.host, self.port), family=family)
        self.port = self.socket.getsockname()[1]
        self.address = f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
        self.url = f"http://{self.address}"
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def prove(self, nonce):
        if self.relay:
            with urllib.request.urlopen(f"{self.relay}/proof?nonce={nonce}") as reply:
                return http(200, reply.read().decode())
        proof = admin_proof.proof_of(self.token, nonce, self.address)
        return http(200, json.dumps({"proof": proof}, separators=(",", ":")) + "\n")

    def serve(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            with peer:
                asked = peer.recv(65536)
                nonce = re.match(rb"GET /proof\?nonce=([0-9a-f]{64}) ", asked)
                if nonce and (self.token or self.relay):
                    self.proofs.append(asked)
                    peer.sendall(self.prove(nonce[1].decode()))
                    asked = peer.recv(65536)
                if asked:
                    self.asked.append(asked)
                if self.answer is None:
                    peer.recv(1)  # silence, until the other side goes
                elif asked:
                    peer.sendall(self.answer)

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def http(status, body, more=""):
    return (f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{more}\r\n{body}").encode()


class Operators(TavolaTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in [name for name in cls.env if name.startswith("TAVOLA_ADMIN")]:
            del cls.env[name]
        cls.env["TAVOLA_ADMIN"] = cls.server.admin_url
        cls.backups = pathlib.Path(tempfile.mkdtemp(prefix="tavola-backups-"))
        cls.addClassCleanup(shutil.rmtree, cls.backups)

    def at(self, url):
        return self.env | {"TAVOLA_ADMIN": url}

    def token(self):
        return self.server.admin_token()


@needs_tavolad("it has no admin port")
class Looking(Operators):
    def test_the_server_tells_how_to_call_the_tool(self):
        tool = pathlib.Path(self.server.program).resolve().parent / "tavola"
        if not tool.exists():
            self.skipTest("the tool does not lie beside the server")
        deadline = time.monotonic() + TIMEOUT_S  # it answers before it has printed
        while "Ctrl-C ends it.\n" not in self.server.log() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertIn(f"\n\nCommand line: {tool} help\n"
                      f"   by its name: export PATH=\"$PATH:{tool.parent}\"\nCtrl-C ends it.\n",
                      self.server.log())

    def test_by_its_name_where_a_shell_finds_it(self):
        folder = self.home / "found"
        folder.mkdir()
        (folder / "tavola").symlink_to(pathlib.Path(self.server.program).resolve().parent / "tavola")
        if not (folder / "tavola").exists():
            self.skipTest("the tool does not lie beside the server")
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = f"/nowhere::{path}:{folder}"
        with Server() as server:
            until(lambda: "Ctrl-C ends it.\n" in server.log(), "it has printed")
            self.assertIn("\n\nCommand line: tavola help\nCtrl-C ends it.\n", server.log())

    def test_status(self):
        self.ok("table", "create", "Looked")
        status, = self.lines("server", "status")
        self.assertEqual((status["Server"], status["Health"], status["LastBackup"]),
                         (self.server.admin_url, "ok", "none"))
        self.assertRegex(status["Version"], r"\A\d+\.\d+\.\d+\Z")
        self.assertEqual((status["Tables"], status["Queues"], status["ServerErrors"]), (1, 0, 0))
        for name in ("Requests", "MemoryBytes", "DiskFreeBytes"):
            self.assertGreater(status[name], 0, name)
        self.assertLess(status["UptimeSeconds"], 3600)

    def test_status_on_a_terminal(self):
        code, shown = self.terminal("server", "status").end()
        self.assertEqual(code, 0)
        self.assertRegex(shown, r"Health .* ok")
        self.assertRegex(shown, r"Uptime .* 0:\d\d:\d\d")
        self.assertRegex(shown, r"Memory .* \d+\.\d MB")

    def test_metrics(self):
        text = self.ok("server", "metrics")
        self.assertIn("\n# TYPE tavola_uptime_seconds gauge\ntavola_uptime_seconds ", text)
        self.assertTrue(text.endswith("\n"))
        metrics = json.loads(self.ok("server", "metrics", "-o", "json"))
        self.assertIn({"Metric": "tavola_tables", "Labels": ""}, [
            {name: metric[name] for name in ("Metric", "Labels")} for metric in metrics])
        self.fails(2, "server", "metrics", "-o", "yaml", says="no format 'yaml'")

    def test_metrics_of_somebody_else(self):
        text = "a 1\n\x1b[2Jb\t2\n"
        with OneAnswer(http(200, text)) as other:
            self.assertEqual(self.ok("server", "metrics", env=self.at(other.url)), text)
            code, shown = self.terminal("server", "metrics", env=self.at(other.url)).end()
        self.assertEqual((code, shown), (0, "a 1\n\\x1b[2Jb\\t2\n"))

    def test_check(self):
        self.assertEqual(self.ok("server", "check"), "ok\n")
        self.assertEqual(self.ok("server", "check", "--admin", self.server.admin_url + "/",
                                 env=self.at("http://127.0.0.1:1")), "ok\n")
        nobody = f"http://127.0.0.1:{free_ports(1)[0]}"
        for verb in (("check",), ("status",), ("metrics",), ("backup", "/nowhere/new"), ("url",)):
            self.fails(6, "server", *verb, env=self.at(nobody),
                       says=f"no server answers at {nobody}: Connection refused; './run' or 'tavolad'")

    def test_waiting_for_a_server_that_starts(self):
        port = free_ports(1)[0]
        waiting = subprocess.Popen([PROGRAM, "server", "check", "--wait", str(TIMEOUT_S)],
                                   env=self.at(f"http://127.0.0.1:{port}"), stdout=subprocess.PIPE)
        # It has been refused once: a listener that answers nothing useful comes first.
        with OneAnswer(http(503, "unhealthy: it starts\n"), port=port) as starting:
            until(lambda: starting.asked, "it asks")
        with OneAnswer(http(200, "ok\n"), port=port):
            self.assertEqual(waiting.communicate()[0], b"ok\n")
        self.assertEqual(waiting.returncode, 0)
        self.fails(6, "server", "check", "--wait", "1", says="no server answers",
                   env=self.at(f"http://127.0.0.1:{port}"))
        self.fails(2, "server", "check", "--wait", "0", says="--wait takes")

    def test_a_server_that_is_not_well(self):
        answer = http(503, "unhealthy: the disk is \x1b[31mfull\nunhealthy: a blob is damaged\n")
        with OneAnswer(answer) as sick:
            text = self.fails(1, "server", "check", env=self.at(sick.url),
                              says="not well: the disk is .*full; a blob is damaged")
            self.assertNotIn("\x1b", text)

    def test_what_is_no_server(self):
        long = "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n"
        for answer, says in (
                (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "not the admin port"),
                (b"x" * 40000, "not the admin port|reset"),
                (long.encode(), "not the admin port"),
                (b"HTTP/1.1 200 OK\r\n\r\nok\n", "not the admin port"),
                (http(200, "ok\n", "Transfer-Encoding: chunked\r\n"), "not the admin port"),
                (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok\n", "cut short"),
                (b"", "cut short"),
                (None, "no answer in time")):
            with self.subTest(answer=answer and answer[:60]), OneAnswer(answer) as other:
                seconds = 1 if answer is None else TIMEOUT_S
                self.fails(6, "server", "check", "--timeout", str(seconds),
                           env=self.at(other.url), says=says)
        with OneAnswer(http(404, "no\n")) as other:
            self.fails(1, "server", "check", env=self.at(other.url), says="says 404: no")

    def test_addresses(self):
        for url in ("https://127.0.0.1:10003", "127.0.0.1:10003", "http://", "http://a b:1",
                    "http://u:p@127.0.0.1:1", "http://127.0.0.1:0", "http://127.0.0.1:65536",
                    "http://127.0.0.1:1/metrics", "http://[::1:1", "http://h\r\nX: y"):
            with self.subTest(url):
                self.fails(2, "server", "check", "--admin", url, says="is given as http://127")
        self.fails(2, "server", "check", "-c", "UseDevelopmentStorage=true", says="--admin")

    def test_a_name_that_is_not_served(self):
        with OneAnswer(http(403, "this name is not served here\n")) as other:
            self.fails(5, "server", "status", env=self.at(other.url), says="not served here")


@needs_tavolad("it has no admin port")
class BackingUp(Operators):
    def backup(self, name, *flags):
        return ("server", "backup", str(self.backups / name), *flags)

    def test_a_server_starts_from_the_copy(self):
        self.ok("table", "create", "Kept")
        self.ok("insert", "Kept", "p", "r", "Name=Ada")
        done, = self.lines(*self.backup('a "copy" \u00e9', "--data", self.server.data))
        folder = self.backups / 'a "copy" \u00e9'
        self.assertEqual(done["Folder"], str(folder))
        self.assertGreater(done["Files"], 0)
        self.assertGreater(done["Bytes"], 0)
        self.assertEqual(self.lines("server", "status")[0]["LastBackup"], "done")
        with Server(data=str(folder)) as copy:
            env = self.env | {"AZURE_STORAGE_CONNECTION_STRING": copy.connection_string}
            self.assertEqual(self.lines("get", "Kept", "p", "r", env=env)[0]["Name"], "Ada")

    def test_a_base(self):
        data = ("--data", self.server.data)
        self.ok(*self.backup("monday", *data))
        done, = self.lines(*self.backup("tuesday", "--base", str(self.backups / "monday"), *data))
        self.assertLess(done["Written"], done["Bytes"])
        self.assertTrue((self.backups / "tuesday").is_dir())
        self.fails(1, *self.backup("never", "--base", str(self.backups), *data),
                   says="has failed: the base is not a backup")
        self.fails(2, *self.backup("never", "--base", "", *data), says="folder is empty")
        self.assertFalse((self.backups / "never").exists())

    def test_a_path_from_here(self):
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.backups)
        done, = self.lines("server", "backup", "./relative", "--data", self.server.data)
        self.assertEqual(done["Folder"], os.path.realpath(self.backups / "relative"))
        self.assertTrue((self.backups / "relative").is_dir())

    def test_a_folder_that_exists(self):
        (self.backups / "taken").mkdir()
        self.fails(1, *self.backup("taken", "--data", self.server.data), says="exists")
        self.assertEqual(list((self.backups / "taken").iterdir()), [])
        self.fails(1, *self.backup("no/such", "--data", self.server.data), says="has failed: ")
        self.fails(2, *self.backup("../up", "--data", self.server.data), says="400: .*'\\.\\.'")
        self.fails(2, *self.backup("format", "--data", self.server.data, "-o", "nope"),
                   says="no format")
        self.assertFalse((self.backups / "format").exists())

    def test_tokens(self):
        wrong = self.home / "token"
        for text, mode, code, says in (("0" * 64, 0o600, 5, "does not prove that it knows"), ("", 0o600, 2, "not hold"),
                                       ("a\x01b", 0o600, 2, "not hold"),
                                       ("x" * 300, 0o600, 2, "not hold"),
                                       (self.token(), 0o644, 2, "chmod 600")):
            with self.subTest(text=text, mode=oct(mode)):
                wrong.write_text(text)
                wrong.chmod(mode)
                said = self.fails(code, *self.backup("secret", "--token-file", str(wrong)),
                                  says=says)
                self.assertNotIn(self.token(), said)
        self.fails(2, *self.backup("secret", "--data", str(self.home)), says="no token in")
        with OneAnswer(http(404, "an older one\n")) as other:
            self.fails(2, "server", "url", env=self.at(other.url),
                       says="no token in ./data/admin.token")
        self.fails(1, *self.backup("secret", "--token-file", "/"), says="not a file")
        self.assertFalse((self.backups / "secret").exists())
        self.ok(*self.backup("by-environment"), env=self.env | {
            "TAVOLA_ADMIN_TOKEN_FILE": os.path.join(self.server.data, "admin.token")})

    def test_the_server_says_where_its_token_is(self):
        """So it works from any folder; a file that is not ours is not taken."""
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir("/")
        link = self.ok("server", "url")
        self.assertRegex(link, rf"\A{self.server.admin_url}/#/login/[0-9a-f]{{64}}\n\Z")
        with urllib.request.urlopen(f"{self.server.admin_url}/token-file") as reply:
            self.assertEqual(json.loads(reply.read()),
                             {"file": os.path.realpath(f"{self.server.data}/admin.token")})
        (self.home / "strange").mkdir()
        strange = self.home / "strange/admin.token"
        strange.write_text("5" * 64)
        strange.chmod(0o600)
        for path, code, says in (
                (str(strange), 5, "does not prove that it knows the token"),
                ("/nowhere/admin.token", 2, "no token in /nowhere/admin.token"),
                ("admin.token", 1, "answers with something else"),
                ("/etc/passwd", 1, "answers with something else"),
                ("/admin.tokens", 1, "answers with something else")):
            with self.subTest(path), OneAnswer(http(200, json.dumps({"file": path}))) as other:
                self.fails(code, "server", "url", env=self.at(other.url), says=says)
        if os.geteuid() == 0:  # as root: a token that another user has made and knows
            os.chown(strange, 65534, -1)
            answer = http(200, json.dumps({"file": str(strange)}))
            with OneAnswer(answer, token="5" * 64) as other:
                self.fails(5, "server", "url", env=self.at(other.url),
                           says="which belongs to another user: .* --token-file")
                self.assertEqual(len(other.asked), 1)

    def test_the_token_goes_to_a_tavolad_only(self):
        with OneAnswer(http(200, "hello\n")) as other:
            self.fails(1, *self.backup("lost", "--data", self.server.data),
                       env=self.at(other.url), says="as a tavolad does")
            self.assertEqual([asked.split(b"\r\n")[0] for asked in other.asked],
                             [b"GET /backup HTTP/1.1"])
            self.assertNotIn(self.token().encode(), b"".join(other.asked))

    def test_the_token_goes_to_who_has_proven_to_know_it(self):
        data = ("--data", self.server.data)
        port = self.server.admin_port
        for what, other in (("knows nothing", OneAnswer(http(404, "not here\n"))),
                            ("another token", OneAnswer(http(200, "{}"), token="0" * 64)),
                            ("a cut answer", OneAnswer(b"HTTP/1.1 200 OK\r\n\r\n")),
                            ("relays", OneAnswer(http(200, "{}"), relay=self.server.admin_url))):
            with self.subTest(what), other:
                said = self.fails(5, "server", "url", *data, env=self.at(other.url),
                                  says="does not prove that it knows the token")
                self.assertIn(other.url, said)
                self.assertNotIn(self.token().encode(), b"".join(other.asked + other.proofs))
        if not HAS_IPV6:
            self.skipTest("this machine has no ::1")
        # Who has the other loopback address on the port of the server is asked first.
        for other in (OneAnswer(http(201, "{}"), host="::1", port=port, relay=self.server.admin_url),
                      OneAnswer(None, host="::1", port=port)):
            with other:
                link = self.ok("server", "url", *data, env=self.at(f"http://localhost:{port}"))
                self.assertRegex(link, rf"\Ahttp://127\.0\.0\.1:{port}/#/login/[0-9a-f]{{64}}\n\Z")
                self.assertNotIn(self.token().encode(), b"".join(other.asked + other.proofs))

    @unittest.skipUnless(HAS_IPV6, "this machine has no ::1")
    def test_a_server_that_is_told_localhost_has_both_addresses(self):
        with Server("--admin-host", "localhost", "--host", "localhost") as server:
            data = ("--data", server.data)
            for host in ("127.0.0.1", "[::1]"):
                url = f"http://{host}:{server.admin_port}"
                link = self.ok("server", "url", *data, env=self.at(url))
                self.assertTrue(link.startswith(url + "/#/login/"), link)
            link = self.ok("server", "url", *data,
                           env=self.at(f"http://localhost:{server.admin_port}"))
            self.assertRegex(link, r"\Ahttp://(127\.0\.0\.1|\[::1\]):")
            for port in (server.table_port, server.queue_port, server.blob_port):
                for host in ("127.0.0.1", "::1"):
                    socket.create_connection((host, port)).close()

    def test_one_that_fails_on_the_way(self):
        state = ('{"id":1,"state":"failed","files":0,"bytes":0,"written":0,"ms":3,'
                 '"error":"no \\"space\\" left"}\n')
        with OneAnswer(http(200, state), token=self.token()) as other:
            self.fails(1, *self.backup("full", "--data", self.server.data),
                       env=self.at(other.url), says='has failed: no "space" left')

    def test_ctrl_c_while_it_runs(self):
        state = '{"id":1,"state":"running","files":7,"bytes":1200000,"written":0,"ms":2500}\n'
        with OneAnswer(http(200, state), token=self.token()) as other:
            terminal = self.terminal(*self.backup("long", "--data", self.server.data),
                                     env=self.at(other.url))
            terminal.read_until("7 files  1.2 MB  2.5 s")
            terminal.type("\x03")
            code, shown = terminal.end()
        self.assertEqual(code, 130)
        self.assertIn("the backup goes on in the server", shown)

    def test_on_a_terminal(self):
        code, shown = self.terminal(*self.backup("shown", "--data", self.server.data)).end()
        self.assertEqual(code, 0)
        self.assertRegex(shown, "Files")
