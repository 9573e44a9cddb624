"""Start and stop a real tavolad for a test.

    with Server() as server:            # free ports, a temporary data folder; in_memory=True for
                                        # tests that are not about the disk, and should not wait for it
        server.table_url                # http://127.0.0.1:PORT/devstoreaccount1
        server.kill()                   # kill -9
        server.start()                  # again, on the same ports and data

The binary is $TAVOLAD, else build/tavolad of this repository.
"""

import fcntl
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import story
from until import until

ROOT = pathlib.Path(__file__).resolve().parents[2]
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
DEFAULT_PORTS = (10002, 10001, 10000, 10003)  # table, queue, blob, admin
MEMORY_FOLDER_BYTES = 4 * 2**30  # free, for tests that may run side by side


def binary():
    return os.environ.get("TAVOLAD", str(ROOT / "build" / "tavolad"))


PORTS = range(20000, 32000)  # below those that the kernel gives to clients
chance = random.SystemRandom()  # not by the seed: many tests run at the same time
LOCKS = f"/tmp/tavola-test-ports-{os.getuid()}"  # one folder for all runs, whatever their $TMPDIR
taken = {}  # locked files, by the ports of this process


def take(port):
    """Whether no other test has the port; then it is ours until it is given back."""
    os.makedirs(LOCKS, exist_ok=True)
    file = open(os.path.join(LOCKS, str(port)), "w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return False
    taken[port] = file
    return True


def give_back(ports):
    for port in ports:
        taken.pop(port).close()


def is_free(port):
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(count):
    """Ports that nothing listens on, and that no other test takes while this one runs.

    A port of the kernel's range could be some client's own by the time the server binds it, or
    while a killed server is down.
    """
    ports = []
    for port in chance.sample(PORTS, len(PORTS)):
        if not take(port):
            continue
        if not is_free(port):
            give_back([port])
            continue
        ports.append(port)
        if len(ports) == count:
            return ports
    raise RuntimeError(f"tests hold the ports from {PORTS[0]} to {PORTS[-1]}: none is left")


def memory_folder():
    """A folder whose files are memory, or None for the usual one."""
    folder = "/dev/shm"
    has_room = os.path.isdir(folder) and shutil.disk_usage(folder).free > MEMORY_FOLDER_BYTES
    return folder if has_room else None


def peak_memory_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


def pass_time(admin_url, token, seconds):
    """Let so much time pass for what is stored; the Unix time of the server after that, in ms."""
    request = urllib.request.Request(
        admin_url + "/clock", method="POST", data=json.dumps({"ms": int(seconds * 1000)}).encode(),
        headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)["unixMs"]


class Server:
    def __init__(self, *flags, data=None, env=None, engine=None, program=None,
                 default_ports=False, in_memory=False):
        self.program = program or binary()
        self.flags = list(flags)
        # What a developer has set for other programs must not change the tests.
        self.env = {name: value for name, value in os.environ.items()
                    if name != "AZURITE_ACCOUNTS"}
        self.env.update(env or {})
        self.engine = engine or os.environ.get("TAVOLA_TEST_ENGINE", "rocksdb")
        self.own_data = data is None
        self.data = data or tempfile.mkdtemp(prefix="tavola-test-",
                                             dir=memory_folder() if in_memory else None)
        self.default_ports = default_ports
        self.own_ports = [] if default_ports else free_ports(4)
        self.table_port, self.queue_port, self.blob_port, self.admin_port = (
            self.own_ports or DEFAULT_PORTS)
        self.process = None
        self.log_path = os.path.join(tempfile.gettempdir(), f"tavolad-{self.table_port}.log")
        story.follow(self.log_path)

    @property
    def table_url(self):
        return f"http://127.0.0.1:{self.table_port}/{ACCOUNT}"

    @property
    def queue_url(self):
        return f"http://127.0.0.1:{self.queue_port}/{ACCOUNT}"

    @property
    def blob_url(self):
        return f"http://127.0.0.1:{self.blob_port}/{ACCOUNT}"

    @property
    def admin_url(self):
        return f"http://127.0.0.1:{self.admin_port}"

    @property
    def connection_string(self):
        return (f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};"
                f"TableEndpoint={self.table_url};QueueEndpoint={self.queue_url};"
                f"BlobEndpoint={self.blob_url};")

    def command(self):
        ports = [] if self.default_ports else [
            "--table-port", str(self.table_port), "--queue-port", str(self.queue_port),
            "--blob-port", str(self.blob_port), "--admin-port", str(self.admin_port)]
        return [self.program, "--data", self.data, "--engine", self.engine, "--host", "127.0.0.1",
                *ports, *self.flags]

    def start(self, wait_s=60, health=200):
        """Until /healthz answers with this status, or with one of these."""
        wanted = (health,) if isinstance(health, int) else health
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, env=self.env)
        deadline = time.monotonic() + wait_s
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(self.admin_url + "/healthz", timeout=2) as reply:
                    status = reply.status
            except urllib.error.HTTPError as error:
                status = error.code
            except (urllib.error.URLError, OSError):
                status = None
            if status in wanted:
                return self
            time.sleep(0.01)
        raise RuntimeError(f"tavolad did not start: {self.log()[-2000:]}")

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def until_logged(self, text, start=0):
        """Until the log has the text after its first `start` bytes; a thread of its own writes it."""
        until(lambda: text in self.log()[start:],
              lambda: f"the log has '{text}'; it has:\n{self.log()[start:][-4000:]}")

    def admin_token(self):
        return (pathlib.Path(self.data) / "admin.token").read_text(encoding="ascii").strip()

    def pass_time(self, seconds):
        """Let so much time pass for what is stored; needs the flag --test-points."""
        return pass_time(self.admin_url, self.admin_token(), seconds)

    def peak_memory_kib(self):
        """The most memory the server ever held at once (VmHWM)."""
        return peak_memory_kib(self.process.pid)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self, wait_s=60):
        """End it with SIGTERM and return its exit code."""
        if self.process is None or self.process.poll() is not None:
            return self.process.returncode if self.process else None
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(wait_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def clean(self):
        """Remove the log and, when it is ours, the data folder; give the ports back."""
        if os.path.exists(self.log_path):
            story.keep(self.log_path)
            os.unlink(self.log_path)
        if self.own_data:
            shutil.rmtree(self.data, ignore_errors=True)
        give_back(self.own_ports)
        self.own_ports = []

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, value, trace):
        code = self.process.returncode
        try:
            code = self.stop()
        finally:
            log = self.log()
            self.clean()
        # A leak or a sanitizer's finding shows in the exit code.
        if kind is None and code not in (0, -signal.SIGKILL):
            raise RuntimeError(f"tavolad ended with exit code {code}: {log[-4000:]}")
