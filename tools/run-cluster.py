#!/usr/bin/python3
"""./run cluster: a small Ceph cluster, three tavolad nodes and a load balancer, in one folder.

    tools/run-cluster.py FOLDER TAVOLAD [server flags]

Starts what is not there yet, prints one connection string, and ends all of it with Ctrl-C.  A
second start goes on with the same data.  Nothing stays behind when this program is killed: the
daemons of Ceph watch it, the others get a signal when it dies.
"""

import ctypes
import fcntl
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from haproxy import Haproxy

HERE = pathlib.Path(__file__).resolve().parent
CEPH = HERE / "ceph.sh"
NODES = 3
FIRST_PORT = int(os.environ.get("TAVOLA_CLUSTER_PORT", "10000"))
FRONT = {service: FIRST_PORT + number  # where emulators are, unless told otherwise
         for number, service in enumerate(("blob", "queue", "table", "admin"))}
# The development account; its key is public.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
# A line of JSON for each number: 500 partitions of 240 rows.
ROW = r'{printf "{\"PartitionKey\":\"%03d\",\"RowKey\":\"%06d\"}\n", $1 % 500, $1}'
START_S = 60
STOP_S = 30
AGAIN_S = 1  # before a node that ended is started again


class Failed(Exception):
    """One line for the user."""


def die_with_parent():
    """In a child before exec: SIGTERM when this program is gone, however it went."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


# Sessions of their own, so that Ctrl-C reaches this program alone and it can end them in order.
OWN = {"start_new_session": True, "preexec_fn": die_with_parent}


class Node:
    def __init__(self, number, folder, program, flags):
        self.number = number
        self.ports = {service: port + 100 * number for service, port in FRONT.items()}
        self.data = folder / f"node{number}"
        self.data.mkdir(exist_ok=True)
        self.log_path = self.data / "log"
        self.command = [program, "--data", str(self.data), "--engine", "rados",
                        "--ceph-conf", str(folder / "ceph" / "ceph.conf"), "--ceph-user", "tavola",
                        "--pool", "tavola", *flags]
        for service, port in self.ports.items():
            self.command += [f"--{service}-port", str(port)]
        self.process = None

    def spawn(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, **OWN)

    def is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['admin']}/ready",
                                        timeout=2) as reply:
                return reply.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def wait_until_ready(self):
        deadline = time.monotonic() + START_S
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise Failed(f"node {self.number} did not start: {self.last_line()}")
            time.sleep(0.05)

    def last_line(self):
        lines = self.log_path.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def wait_until_gone(self):
        try:
            return self.process.wait(STOP_S) if self.process else 0
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Cluster:
    def __init__(self, folder, program, flags):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.lock = open(folder / "lock", "w", encoding="ascii")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Failed(f"{folder} is in use by another ./run cluster") from None
        self.program = program
        self.nodes = [Node(number, folder, program, flags) for number in range(1, NODES + 1)]
        self.balancer = Haproxy(str(folder), FRONT, [node.ports for node in self.nodes])

    def check_ports(self):
        for ports in [FRONT] + [node.ports for node in self.nodes]:
            for port in ports.values():
                with socket.socket() as s:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    try:
                        s.bind(("127.0.0.1", port))
                    except OSError:
                        raise Failed(f"port {port} is in use; is another tavolad running, "
                                     "or Azurite?  TAVOLA_CLUSTER_PORT=20000 takes 20000 to 20003 "
                                     "and 20100 to 20303 instead") from None

    def ceph(self, command):
        return [str(CEPH), command, str(self.folder / "ceph")]

    def start(self):
        self.check_ports()
        is_new = not (self.folder / "ceph" / "made").exists()
        print(f"{'Making' if is_new else 'Starting'} a Ceph cluster in {self.folder}/ceph "
              "(mon, mgr, 3 OSDs) ...", flush=True)
        script = subprocess.Popen(self.ceph("start"), stdin=subprocess.DEVNULL,
                                  env={**os.environ, "CEPH_OWNER": str(os.getpid())}, **OWN)
        try:
            code = script.wait()
        except BaseException:
            script.terminate()
            script.wait()
            raise
        if code != 0:
            raise Failed(f"Ceph did not start; its logs are in {self.folder}/ceph/log")
        for node in self.nodes:
            node.spawn()
        for node in self.nodes:
            node.wait_until_ready()
        self.balancer.start(**OWN)

    def print_ready(self):
        url = {service: f"http://127.0.0.1:{FRONT[service]}/{ACCOUNT}"
               for service in ("table", "queue", "blob")}
        tool = os.path.relpath(os.path.join(os.path.dirname(self.program), "tavola"))
        print(f"""
Tavola on Ceph: {NODES} nodes behind a load balancer

  Tables   {url['table']}
  Queues   {url['queue']}
  Blobs    {url['blob']}
  Health   http://127.0.0.1:{FRONT['admin']}/healthz (of any node)""")
        for node in self.nodes:
            print(f"  Node {node.number}   http://127.0.0.1:{node.ports['admin']}/healthz, /metrics, "
                  f"/cluster; log {os.path.relpath(node.log_path)}")
        print(f"""  Data     {os.path.relpath(self.folder)}

Connection string:
{connection_string(url)}
{how_to_use(url)}

Watch a split happen, in a second terminal (a range of more than 50,000 rows is split):
  {tool} table create Watched
  seq 120000 | awk '{ROW}' | {tool} import Watched -
  {tool} cluster status      # nodes and ranges
  {tool} cluster ranges      # rows and load of each range; with --data, a node's folder, where it begins
  {tool} cluster history     # what was split and why, and how long writers paused

Ctrl-C ends it.""", flush=True)

    def watch(self):
        """Start again what ends by itself, until a signal comes."""
        while True:
            time.sleep(AGAIN_S)
            for node in self.nodes:
                code = node.process.poll()
                if code is not None:
                    print(f"node {node.number} ended ({code}) and starts again: "
                          f"{node.last_line()}", flush=True)
                    node.spawn()
            if self.balancer.process.poll() is not None:
                raise Failed(f"haproxy ended; its log is {self.balancer.log_path}")

    def stop(self):
        """The balancer, the nodes, then what they stand on."""
        self.balancer.stop()
        for node in self.nodes:
            node.stop()
        codes = [node.wait_until_gone() for node in self.nodes]
        subprocess.run(self.ceph("stop"), stdin=subprocess.DEVNULL, start_new_session=True,
                       check=False)
        return codes


def connection_string(url):
    return (f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};"
            f"TableEndpoint={url['table']};QueueEndpoint={url['queue']};"
            f"BlobEndpoint={url['blob']};")


def how_to_use(url):
    """What else a client, and the commands below, can be told."""
    if FIRST_PORT == 10000:
        return "or simply: UseDevelopmentStorage=true"
    return (f"For the commands below:\n  export AZURE_STORAGE_CONNECTION_STRING="
            f"'{connection_string(url)}'\n  export TAVOLA_ADMIN=http://127.0.0.1:{FRONT['admin']}")


def interrupted(*_):
    raise KeyboardInterrupt


def main():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    code = 0
    cluster = None
    try:
        cluster = Cluster(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:])
        cluster.start()
        cluster.print_ready()
        cluster.watch()
    except Failed as error:
        print(f"run cluster: {error}", file=sys.stderr)
        code = 1
    except KeyboardInterrupt:
        print("\nStopping ...", flush=True)
    if cluster:
        # A second Ctrl-C must not leave half of it running.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        cluster.stop()
    return code


if __name__ == "__main__":
    sys.exit(main())
