"""What the tests stand on: a Ceph cluster for all of them, and nodes of their own for each.

    with stand.Nodes(3) as nodes:       # on a new pool
        nodes[0].table_port
        stand.ceph().kill("osd.1")

With $TAVOLA_TEST_ENGINE=rocksdb one server stands for all nodes and there is no Ceph, which is
enough to work on the clients and checkers.
"""

import atexit
import concurrent.futures
import contextlib
import functools
import itertools
import json
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
START_S = 120
NO_ANSWER = "the pool does not answer"  # the last line of a start that has waited for one
WAIT_S = 120  # for what must come: on a machine that is busy with other things too


def has_stopped(pid):
    """All threads: SIGSTOP is one thread's to take, and until that one runs the others go on."""
    states = [stat.read_text().rpartition(")")[2].split()[0]
              for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat")]
    return set(states) == {"T"}


class Ceph:
    def __init__(self, folder, is_ours):
        self.folder, self.is_ours = pathlib.Path(folder), is_ours
        self.pools = itertools.count(1)
        self.connections = {}  # by process: none survives a fork

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

    def connection(self):
        """The administrator's own, for what is asked often: the command ceph takes a second to start."""
        if os.getpid() not in self.connections:
            import rados  # of ceph-common, so not where there is no Ceph
            one = rados.Rados(conffile=self.conf)
            one.connect(timeout=WAIT_S)
            self.connections[os.getpid()] = one
        return self.connections[os.getpid()]

    def ask_mon(self, prefix, **arguments):
        code, found, text = self.connection().mon_command(
            json.dumps({"prefix": prefix, **arguments}), b"", timeout=WAIT_S)
        if code != 0:
            raise RuntimeError(f"{prefix} {arguments}: {code} {text}")
        return json.loads(found) if arguments.get("format") == "json" else None

    def osds_up(self):
        return self.ask_mon("osd stat", format="json")["num_up_osds"]

    def new_pool(self):
        name = f"test{os.getpid()}-{next(self.pools)}"
        self.ask_mon("osd pool create", pool=name, pg_num=PGS, pgp_num=PGS, pool_type="replicated")
        self.ask_mon("osd pool application enable", pool=name, app="tavola")
        return name

    def drop_pool(self, name):
        self.ask_mon("osd pool rm", pool=name, pool2=name, yes_i_really_really_mean_it=True)

    def objects(self, pool):
        """The names of all objects in it."""
        with self.connection().open_ioctx(pool) as io:
            return [one.key for one in io.list_objects()]

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
            assert until(lambda: all(map(has_stopped, pids))), "an OSD goes on after SIGSTOP"
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
        self.until_clean()

    def until_clean(self, wait_s=600):
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
    if "CEPH_IS_READY" not in os.environ:
        found.start()
    return found


def rados_flags(pool, conf=None, user="tavola"):
    return ["--ceph-conf", conf or ceph().conf, "--ceph-user", user, "--pool", pool]


class Node(Server):
    def start(self, wait_s=START_S, **options):
        """
        As its supervisor does: again, when the pool has not answered.  OSDs that others have killed
        take their time on a busy machine, and a start gives them half a minute.
        """
        deadline = time.monotonic() + wait_s
        while True:
            try:
                return super().start(max(deadline - time.monotonic(), 1), **options)
            except RuntimeError as error:
                if NO_ANSWER not in str(error) or time.monotonic() > deadline:
                    raise


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
            self.servers = [Node(*rados_flags(self.pool), *flags, engine="rados",
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
        """The first, which makes the store, then all others at once; `unhealthy` are the numbers of
        those that say so of themselves."""
        def start_one(number):
            self.servers[number].start(wait_s=START_S, health=503 if number in unhealthy else 200)
        start_one(0)
        self.at_once(start_one, range(1, len(self.servers)))
        return self

    @staticmethod
    def at_once(do, numbers):
        """Call it for all of them, each on a thread; when all have ended, the first error is raised."""
        if not numbers:
            return []
        with concurrent.futures.ThreadPoolExecutor(len(numbers)) as executor:
            return list(executor.map(do, numbers))

    def balance(self):
        """Put a load balancer before them; returns its ports by service."""
        self.folder = tempfile.mkdtemp(prefix="tavola-haproxy-")
        fronts = dict(zip(("table", "queue", "blob", "admin"), free_ports(4)))
        backs = [{"table": one.table_port, "queue": one.queue_port, "blob": one.blob_port,
                  "admin": one.admin_port} for one in self.servers]
        # A node that a busy machine keeps waiting is no worse for it.
        self.balancer = Haproxy(self.folder, fronts, backs, timeout_s=WAIT_S).start(wait_s=WAIT_S)
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
        codes = self.at_once(lambda number: self.servers[number].stop(wait_s=WAIT_S),
                             range(len(self.servers)))
        return [f"node {number} ended with {code}: {self.servers[number].log()[-3000:]}"
                for number, code in enumerate(codes) if code not in (0, None)]

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


def until(what, wait_s=WAIT_S, pause_s=0.02):
    """Poll until `what` gives something true, and return it; or what it gave last."""
    deadline = time.monotonic() + wait_s
    while True:
        found = what()
        if found or time.monotonic() > deadline:
            return found
        time.sleep(pause_s)
