"""Ctrl-C ends any verb at once, whatever it waits for, and not the shell around it."""

import contextlib
import os
import signal
import socket
import stat
import subprocess
import termios
import threading
import time
import unittest

from fault_proxy import FaultProxy
from server import KEY
from shell_test import HAS_EDITOR
from tavola import PROGRAM, TIMEOUT_S, TavolaTest, wait_for_input

VERBS = [
    "query People", "query People --where Flag", "get People p r", "count People", "keys People --partitions", "tail People p",
    "insert People p r A=b", "merge People p r A=b", "delete People p r --yes", "delete People --where Flag --yes",
    "table list", "table create New", "table delete People --yes", "table stats People", "table stats",
    "export People out.json", "import People rows.ndjson", "import People rows.ndjson --create", "copy People Other",
    "batch People writes.txt", "explain People", "bench --number 10", "ping",
    "queue list", "queue count que", "message put que hello", "message get que",
    "container list", "blob list con", "blob upload con b rows.ndjson", "blob download con b out", "blob show con b",
    "table policy list People",
]
OF_ADMIN = ["server status", "server check --wait 300", "server metrics", "server url", "advise", "heat People", "cluster status"]


class SilentServer(contextlib.AbstractContextManager):
    """It takes connections and requests, and never answers."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.came = threading.Semaphore(0)
        self.connections = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                self.connections.append(self.listener.accept()[0])
                threading.Thread(target=self.listen_to, args=self.connections[-1:], daemon=True).start()

    def listen_to(self, connection):
        with contextlib.suppress(OSError):
            if connection.recv(65536):
                self.came.release()
            while connection.recv(65536):
                pass

    def wait_for_request(self):
        if not self.came.acquire(timeout=TIMEOUT_S):
            raise AssertionError("no request comes")

    def forget(self):
        """Requests that came until now."""
        while self.came.acquire(blocking=False):
            pass

    def __exit__(self, *_):
        self.listener.close()
        for connection in self.connections:
            connection.close()


class Stop(TavolaTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.silent = cls.enterClassContext(SilentServer())
        url = f"http://127.0.0.1:{cls.silent.port}"
        cls.unanswered = cls.env | {"TAVOLA_ADMIN": url, "NO_COLOR": "1", "AZURE_STORAGE_CONNECTION_STRING":
                                    f"AccountName=a;AccountKey={KEY};" + "".join(
                                        f"{service}Endpoint={url}/a;" for service in ("Table", "Queue", "Blob"))}
        (cls.home / "rows.ndjson").write_text("".join(
            f'{{"PartitionKey":"p","RowKey":"{i}"}}\n' for i in range(300)))
        (cls.home / "writes.txt").write_text("insert p r A=b\n")
        cls.before = os.getcwd()
        cls.addClassCleanup(os.chdir, cls.before)
        os.chdir(cls.home)

    def setUp(self):
        self.silent.forget()

    def test_every_verb(self):
        for line in VERBS + OF_ADMIN:
            with self.subTest(line):
                self.silent.forget()
                terminal = self.terminal(*line.split(), env=self.unanswered)
                before = termios.tcgetattr(terminal.fd)
                self.silent.wait_for_request()
                terminal.type("\x03")
                shown = terminal.read_until()
                self.assertEqual(termios.tcgetattr(terminal.fd), before)
                self.assertEqual(terminal.end()[0], 130, shown)
        self.assertEqual([path.name for path in self.home.glob("out*")], [], "nothing is left behind")

    def test_in_the_shell_it_ends_the_verb(self):
        terminal = self.terminal("shell", env=self.unanswered)
        terminal.read_until("tavola> ")
        for line in VERBS + OF_ADMIN:
            with self.subTest(line):
                self.silent.forget()
                terminal.shown = b""
                terminal.type(line + "\r")
                self.silent.wait_for_request()
                terminal.type("\x03")
                terminal.read_until("tavola> ")
        terminal.type("quit\r")
        self.assertEqual(terminal.end()[0], 0)

    def test_a_write_that_was_sent_is_told(self):
        terminal = self.terminal("insert", "People", "p", "r", env=self.unanswered)
        self.silent.wait_for_request()
        terminal.type("\x03")
        code, shown = terminal.end()
        self.assertEqual(code, 130)
        self.assertRegex(shown, "may have been done|not known|look before you repeat it")

    def test_a_script_of_the_shell_ends(self):
        """The lines behind the one that was ended are not run."""
        process = subprocess.Popen([PROGRAM, "shell"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=self.unanswered)
        process.stdin.write(b"count People\nhelp\n")
        process.stdin.close()
        self.silent.wait_for_request()
        process.send_signal(signal.SIGINT)
        self.assertEqual((process.wait(TIMEOUT_S), process.stdout.read(), process.stderr.read()), (130, b"", b""))
        process.stdout.close()
        process.stderr.close()

    def test_while_it_reads_its_input(self):
        for words in (("import", "People", "-"), ("batch", "People", "-"), ("blob", "upload", "con", "b", "-")):
            with self.subTest(words):
                process = subprocess.Popen([PROGRAM, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE, env=self.unanswered)
                wait_for_input(process)
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.wait(TIMEOUT_S), 130, process.stderr.read())
                for pipe in (process.stdin, process.stdout, process.stderr):
                    pipe.close()

    def test_who_ignores_it_goes_on(self):
        """As nohup and a shell's background jobs have it."""
        self.ok("table", "create", "Ignored")
        proxy = self.enterContext(FaultProxy("127.0.0.1", self.server.table_port))
        string = self.server.connection_string.replace(f":{self.server.table_port}/", f":{proxy.port}/")
        proxy.plan("hold_request")
        process = subprocess.Popen([PROGRAM, "table", "exists", "Ignored"], stdout=subprocess.PIPE,
                                   env=self.env | {"AZURE_STORAGE_CONNECTION_STRING": string},
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        self.assertTrue(proxy.held())
        process.send_signal(signal.SIGINT)
        proxy.release()
        self.assertEqual((process.communicate(timeout=TIMEOUT_S)[0], process.returncode), (b"true\n", 0))

    def test_bench_leaves_no_table(self):
        terminal = self.terminal("bench", "--number", "10000000")
        deadline = time.monotonic() + TIMEOUT_S
        while "tavolabench" not in self.ok("table", "list"):
            self.assertLess(time.monotonic(), deadline)
        terminal.type("\x03")
        code, shown = terminal.end()
        self.assertEqual(code, 130, shown)
        self.assertNotIn("tavolabench", self.ok("table", "list"))


@unittest.skipUnless(HAS_EDITOR, "the tool was built without a line editor")
class History(TavolaTest):
    def setUp(self):
        self.history = self.home / ".local/state/tavola/history"
        self.history.unlink(missing_ok=True)

    def test_two_shells_keep_the_lines_of_both(self):
        one, two = self.terminal("shell"), self.terminal("shell")
        for terminal in (one, two):
            terminal.read_until("tavola> ")
        for i, terminal in enumerate((one, two, one)):
            terminal.shown = b""
            terminal.type(f"help # line {i}\r")
            terminal.read_until("tavola> ")
        for terminal in (two, one):
            terminal.type("quit\r")
            self.assertEqual(terminal.end()[0], 0)
        self.assertEqual(stat.S_IMODE(self.history.stat().st_mode), 0o600)
        kept = self.history.read_text().splitlines()
        self.assertEqual(kept[1:], [*(f"help\\040#\\040line\\040{i}" for i in range(3)), "quit", "quit"])

    def test_it_is_bounded(self):
        self.history.parent.mkdir(parents=True, exist_ok=True)
        self.history.write_text("_HiStOrY_V2_\n" + "".join(f"count\\040T{i}\n" for i in range(2500)))
        terminal = self.terminal("shell")
        terminal.read_until("tavola> ")
        terminal.type("\x10")
        terminal.read_until("count T2499")
        terminal.process.kill()
        terminal.end()
        lines = self.history.read_text().splitlines()
        self.assertEqual((len(lines), lines[0], lines[1]), (1001, "_HiStOrY_V2_", "count\\040T1500"))
