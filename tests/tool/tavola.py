"""Run the real program, with a pipe or on a real terminal.

    class Some(TavolaTest):             # a server for the class, $HOME of its own
        def test_it(self):
            self.ok("table", "create", "People")
            self.fails(4, "table", "create", "People", says="TableAlreadyExists")
"""

import errno
import fcntl
import json
import os
import pathlib
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

from azurite import AzuriteServer
from server import ROOT, Server

PROGRAM = os.environ.get("TAVOLA", str(ROOT / "build" / "tavola"))
TIMEOUT_S = 300  # of a command, for one that never ends: some move a lot of data, on a busy machine
IS_AZURITE = os.environ.get("CLIENT_SERVER") == "azurite"
ERASED = re.compile(r"[^\n]*\r\x1b\[K")  # by what follows on the line
# What a developer has set must not change the tests.
OURS = re.compile("AZURE_|TAVOLA_MESSAGE_|XDG_|NO_COLOR|COLUMNS|TERM$|HOME$|.*_proxy$",
                  re.IGNORECASE)


def take_terminal():
    """Make it the controlling one, so that Ctrl-C reaches the program, whatever its parents ignore."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """The program on a terminal of its own; what it shows, and what is typed."""

    def __init__(self, command, env, width=80):
        self.fd, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True,
            preexec_fn=take_terminal)
        os.close(slave)
        self.shown = b""

    def read_until(self, text=None, seconds=TIMEOUT_S):
        """Read until the text is shown, or to the end."""
        deadline = time.monotonic() + seconds
        while text is None or text.encode() not in self.shown:
            if not select.select([self.fd], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"{text!r} does not come: {self.shown!r}")
            try:
                more = os.read(self.fd, 65536)
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                more = b""
            if not more:
                if text is None:
                    break
                raise AssertionError(f"it ended without {text!r}: {self.shown!r}")
            self.shown += more
        return self.shown.decode()

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        """(exit code, all that was shown and not erased again: a slow machine sees progress)."""
        self.read_until()
        os.close(self.fd)
        shown = self.shown.decode().replace("\r\n", "\n")
        return self.process.wait(TIMEOUT_S), ERASED.sub("", shown)


def new_server():
    """A server for tables, queues and blobs: what the suite is run against."""
    return AzuriteServer() if IS_AZURITE else Server()


def needs_tavolad(why):
    """A test, or a class of tests, that makes no sense with Azurite or that it cannot pass."""
    return unittest.skipIf(IS_AZURITE, f"Azurite: {why}")


def wait_for_input(process):
    """Until it has read all of its standard input, and waits for more of it.

    Then it is in read(0, ...) or poll(): system calls 0, 7 and 271 of x86-64.
    """
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        unread = struct.unpack("i", fcntl.ioctl(process.stdin, termios.FIONREAD, b"\0" * 4))
        if unread == (0,) and pathlib.Path(
                f"/proc/{process.pid}/syscall").read_text().startswith(("0 0x0 ", "7 ", "271 ")):
            return
        time.sleep(0.005)
    raise AssertionError("it does not wait for its standard input")


def wait_for_signal(process):
    """Until it has heard of the signals that were sent to it."""
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        if not any(int(pending, 16) for pending in re.findall(r"(?:Sig|Shd)Pnd:\s+(\w+)", status)):
            return
        time.sleep(0.001)
    raise AssertionError("it does not hear its signal")


class TavolaTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(new_server())
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="tavola-home-"))
        cls.addClassCleanup(shutil.rmtree, cls.home)
        cls.env = {name: value for name, value in os.environ.items() if not OURS.match(name)}
        cls.env |= {"HOME": str(cls.home),
                    "AZURE_STORAGE_CONNECTION_STRING": cls.server.connection_string}

    def run_tool(self, *arguments, stdin=b"", env=None):
        stdin = stdin.encode() if isinstance(stdin, str) else stdin
        return subprocess.run([PROGRAM, *arguments], input=stdin, capture_output=True,
                              env=self.env if env is None else env, timeout=TIMEOUT_S)

    def ok(self, *arguments, stdin=b"", env=None, says=""):
        """What it prints; stderr must be just what `says` is a pattern of, or empty."""
        done = self.run_tool(*arguments, stdin=stdin, env=env)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr.decode()}")
        self.assertRegex(done.stderr.decode(), rf"\A(?:{says})\Z")
        return done.stdout.decode()

    def fails(self, code, *arguments, says, stdin=b"", env=None, prints=b""):
        """It ends with this code and one line on stderr, in which `says` is found."""
        done = self.run_tool(*arguments, stdin=stdin, env=env)
        text = done.stderr.decode()
        self.assertEqual(done.returncode, code, f"{arguments}: {text}")
        self.assertRegex(text, says)
        self.assertRegex(text, r"\Atavola: [^\n]+\n\Z", "it is one line")
        self.assertEqual(done.stdout, prints)
        return text

    def lines(self, *arguments, **named):
        """What it prints, as one value of JSON per line."""
        return [json.loads(line) for line in self.ok(*arguments, **named).splitlines()]

    def terminal(self, *arguments, width=80, env=None):
        env = self.env | {"TERM": "xterm"} | (env or {})
        return Terminal([PROGRAM, *arguments], env, width)
