"""A server whose every change to its files is noted, or one of whose calls fails (recorder.c)."""

import os
import pathlib
import shlex
import shutil
import signal
import struct
import subprocess
import tempfile

from crash.disk import read_journal
from server import ROOT, Server, memory_folder

SOURCE = pathlib.Path(__file__).resolve().parent / "recorder.c"
RECORDS, CALLS, IS_BUSY = 0, 8, 16  # where the numbers are in the file of counts


def program():
    """The release build: it is what people run, and thousands of starts are quick with it."""
    return os.environ.get("CRASH_SERVER") or os.environ.get("TAVOLAD_RELEASE",
                                                            str(ROOT / "build" / "tavolad"))


def folder_in_memory():
    return tempfile.mkdtemp(prefix="tavola-crash-", dir=memory_folder())


def keep(folder):
    """Move the folder of a failure to where it stays; its new name."""
    kept = tempfile.mkdtemp(prefix="tavola-crash-failed-", dir="/var/tmp")
    return shutil.move(folder, os.path.join(kept, "data"))


class Recorder:
    """The library and its files, for one server."""

    def __init__(self):
        self.folder = folder_in_memory()
        self.library = os.path.join(self.folder, "recorder.so")
        self.journal = os.path.join(self.folder, "journal")
        self.counts = os.path.join(self.folder, "counts")
        pathlib.Path(self.counts).write_bytes(bytes(24))
        subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-shared", "-fPIC", "-O1", "-o",
                        self.library, str(SOURCE), "-pthread"], check=True)
        self.count_fd = os.open(self.counts, os.O_RDONLY)

    def env(self, root, fail_at=None, error=None):
        """The environment of a server whose data lies in `root`."""
        env = {"LD_PRELOAD": self.library, "RECORDER_ROOT": root, "RECORDER_COUNT": self.counts}
        if fail_at is None:
            return env | {"RECORDER_FILE": self.journal}
        return env | {"RECORDER_FAIL": f"{fail_at} {error}"}

    def forget(self):
        """Count from 0 again."""
        pathlib.Path(self.counts).write_bytes(bytes(24))

    def number(self, at):
        return struct.unpack("<Q", os.pread(self.count_fd, 8, at))[0]

    def records(self):
        return self.number(RECORDS)

    def calls(self):
        return self.number(CALLS)

    def kill(self, server):
        """When no change is under way: a process that dies behind one has not noted it."""
        while True:
            server.process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, server.process.pid, os.WSTOPPED)
            if not self.number(IS_BUSY):
                return server.kill()
            server.process.send_signal(signal.SIGCONT)

    def settle(self):
        """After a kill: drop a record that was cut off, and count those that were not."""
        records, end = read_journal(pathlib.Path(self.journal).read_bytes())
        os.truncate(self.journal, end)
        with open(self.counts, "r+b") as counts:
            counts.write(struct.pack("<Q", len(records)))
        return records

    def clean(self):
        os.close(self.count_fd)
        shutil.rmtree(self.folder)


def server_on(data, *flags, env=None):
    """A server of the release build on this folder.

    Small buffers: it makes table files often.  It waits for clients that a busy machine holds up.
    """
    return Server("--test-points", "--test-values", "buffer-kb=64,silence-ms=600000", *flags,
                  data=data, env=env, engine="rocksdb", program=program())
