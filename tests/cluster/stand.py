"""What the tests stand on: a Ceph cluster for all of them, and nodes of their own for each.

    with stand.Nodes(3) as nodes:       # on a new pool
        nodes[0].table_port
        stand.ceph().kill("osd.1")

With $TAVOLA_TEST_ENGINE=rocksdb one server stands for all nodes and there is no Ceph, which is
enough to work on the clients and checkers.
"""

import atexit
import contextlib
import functools
import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from haproxy import Haproxy
from server import ROOT, Server, free_ports

SCRIPT = ROOT / "tools" / "ceph.sh"
ENGINE = os.environ.get("TAVOLA_TEST_ENGINE", "rados")
IS_ALONE = ENGINE != "rados"
PGS = 8  # of a pool; there are many pools, and each costs the OSDs some memory
START_S = 60


class Ceph:
    def __init__(self, folder, is_ours):
        self.folder, self.is_ours = pathlib.Path(folder), is_ours
        self.pools = itertools.count(1)

    @property
    def conf(self):
        return str(self.folder / "ceph.conf")

    def script(self, command, *words, check=True, **options):
        return subprocess.run([str(SCRIPT), command, str(self.folder), *words], check=check,
                              stdin=subprocess.DEVNULL, text=True, **options)

    def start(self):
        """RuntimeError with a line when it does not start."""
        owner = {"CEPH_OWNER": str(os.getpid())} if self.is_ours else {}
        with tempfile.TemporaryFile("w+") as said:  # no pipe: the daemons would hold it open
            done = self.script("start", env={**os.environ, **owner}, check=False, stdout=said,
                               stderr=said)
            said.seek(0)
            if done.returncode != 0:
                raise RuntimeError(said.read().strip()[-2000:] or
                                   f"{SCRIPT.name} start ended with {done.returncode}")
        # Each test has a pool, and they share a user.
        self.ceph("auth", "caps", "client.tavola", "mon", 'allow r, allow command "osd blocklist"',
                  "osd", "allow rwx", "mgr", "allow r")

    def ceph(self, *words):
        """The output of a command of the administrator."""
        done = self.script("ceph", *words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           check=False)
        if done.returncode != 0:
            raise RuntimeError(f"ceph {' '.join(words)}: {done.stdout}")
        return done.stdout

    def new_pool(self):
        name = f"test{os.getpid()}-{next(self.pools)}"
        self.ceph("osd", "pool", "create", name, str(PGS), str(PGS), "replicated")
        self.ceph("osd", "pool", "application", "enable", name, "tavola")
        return name

    def drop_pool(self, name):
        self.ceph("osd", "pool", "rm", name, name, "--yes-i-really-really-mean-it")

    def kill(self, daemon):
        self.script("kill", daemon)

    def spawn(self, daemon):
        self.script("spawn", daemon)

    @contextlib.contextmanager
    def silence(self):
        """No OSD answers meanwhile."""
        lines = self.script("pids", stdout=subprocess.PIPE).stdout.splitlines()
        pids = [int(line.split()[1]) for line in lines if line.startswith("osd.")]
        try:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
        self.until_clean()

    def until_clean(self, wait_s=120):
        """Wait until all daemons run and all data is in its place."""
        self.script("start", timeout=wait_s)

    def stop(self):
        if self.is_ours:
            self.script("wipe", check=False)


@functools.cache
def ceph():
    """The one cluster of this run."""
    given = os.environ.get("CEPH_DIR")
    # /tmp may be memory, which OSDs cannot write to directly.
    found = Ceph(given or tempfile.mkdtemp(prefix="tavola-ceph-", dir="/var/tmp"), not given)
    atexit.register(found.stop)
    found.start()
    return found


def rados_flags(pool, conf=None, user="tavola"):
    return ["--ceph-conf", conf or ceph().conf, "--ceph-user", user, "--pool", pool]


class Nodes:
    """Servers on one pool: those of a list, in the order of their numbers from 0."""

    def __init__(self, count, *flags, program=None, envs=None, pool=None):
        self.pool = pool
        self.own_pool = pool is None and not IS_ALONE
        if self.own_pool:
            self.pool = ceph().new_pool()
        if IS_ALONE:
            self.servers = [Server(*flags, engine=ENGINE, program=program)]
        else:
            self.servers = [Server(*rados_flags(self.pool), *flags, engine="rados",
                                   program=program, env=(envs or {}).get(number))
                            for number in range(count)]
        self.count = count
        self.balancer = self.folder = None

    def __getitem__(self, number):
        return self.servers[number % len(self.servers)]

    def __iter__(self):
        return (self[number] for number in range(self.count))

    def __len__(self):
        return self.count

    def start(self, unhealthy=()):
        """One after the other; `unhealthy` are the numbers of those that say so of themselves."""
        for number, server in enumerate(self.servers):
            server.start(wait_s=START_S, health=503 if number in unhealthy else 200)
        return self

    def balance(self):
        """Put a load balancer before them; returns its ports by service."""
        self.folder = tempfile.mkdtemp(prefix="tavola-haproxy-")
        fronts = dict(zip(("table", "queue", "blob", "admin"), free_ports(4)))
        backs = [{"table": one.table_port, "queue": one.queue_port, "blob": one.blob_port,
                  "admin": one.admin_port} for one in self.servers]
        self.balancer = Haproxy(self.folder, fronts, backs).start()
        return fronts

    def logs(self):
        """The last events of each."""
        parts = []
        for number, server in enumerate(self.servers):
            events = [line for line in server.log().splitlines() if "level=" in line or "ERROR: " in line]
            parts += [f"--- log of node {number}, port {server.table_port} ---", *events[-15:]]
        return "\n".join(parts)

    def stop(self):
        """End them all, and return what is wrong with how they ended."""
        if self.balancer:
            self.balancer.stop()
            shutil.rmtree(self.folder)
        problems = []
        for number, server in enumerate(self.servers):
            code = server.stop(wait_s=60)
            if code not in (0, None):
                problems.append(f"node {number} ended with {code}: {server.log()[-3000:]}")
        return problems

    def clean(self):
        for server in self.servers:
            if server.process and server.process.poll() is None:
                server.kill()
            server.clean()
        if self.own_pool:
            ceph().drop_pool(self.pool)

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.clean()
            raise

    def __exit__(self, kind, value, trace):
        try:
            problems = self.stop()
            if kind is not None:
                print(self.logs())
            elif problems:
                raise RuntimeError("\n".join(problems))
        finally:
            self.clean()


def until(what, wait_s=30, pause_s=0.02):
    """Poll until `what` gives something true, and return it; or what it gave last."""
    deadline = time.monotonic() + wait_s
    while True:
        found = what()
        if found or time.monotonic() > deadline:
            return found
        time.sleep(pause_s)
