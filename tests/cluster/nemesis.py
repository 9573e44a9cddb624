"""Harm to a running cluster: nodes killed and stopped, an OSD and the mon killed, ranges changed.

Each harm is a method of Nemesis that does it, undoes it and returns; `events` has what was done
and when, so that the pauses that clients met can be put beside it.
"""

import json
import os
import pathlib
import random
import signal
import threading
import time
import urllib.error
import urllib.request

from cluster import stand

BLOCKLISTED = 75  # a node's exit code when the others took it for dead


class Nemesis:
    def __init__(self, nodes, record, seed):
        self.nodes, self.record = nodes, record
        self.random = random.Random(f"{seed}/nemesis")
        self.events = []  # (name, began, ended)
        self.forced = {"split": 0, "merge": 0}
        self.refused = 0
        self.problems = []
        self.ended = threading.Event()
        self.busy = threading.Lock()  # over starting and stopping nodes

    def event(self, name, did):
        began = self.record.now()
        did()
        self.events.append((name, began, self.record.now()))

    def rest(self, seconds):
        self.ended.wait(seconds)

    # --- nodes

    def kill_node(self, number):
        def harm():
            with self.busy:
                self.nodes[number].kill()
            self.rest(self.random.uniform(0.5, 2))
            with self.busy:
                self.nodes[number].start(wait_s=stand.START_S)
        self.event(f"kill -9 of node {number}", harm)

    def stop_node(self, number, seconds):
        """SIGSTOP: to the others it is dead, and then it goes on where it was."""
        def harm():
            pid = self.nodes[number].process.pid
            os.kill(pid, signal.SIGSTOP)
            try:
                self.rest(seconds)
            finally:
                os.kill(pid, signal.SIGCONT)
        self.event(f"SIGSTOP of node {number} for {seconds} s", harm)

    def watch(self):
        """What a supervisor does: start a node again that was shut out and ended."""
        while not self.ended.wait(0.1):
            with self.busy:
                for number, server in enumerate(self.nodes.servers):
                    code = server.process.poll()
                    if code is None:
                        continue
                    if code != BLOCKLISTED:
                        self.problems.append(f"node {number} ended by itself with {code}: "
                                             f"{server.log()[-2000:]}")
                    server.start(wait_s=stand.START_S)

    # --- Ceph

    def kill_osd(self, number, seconds):
        self.event(f"kill -9 of osd.{number}", lambda: (
            stand.ceph().kill(f"osd.{number}"), self.rest(seconds)))
        self.event(f"return of osd.{number}", lambda: (
            stand.ceph().spawn(f"osd.{number}"), self.rest(seconds)))

    def restart_mon(self):
        self.event("restart of the mon", lambda: (
            stand.ceph().kill("mon.a"), self.rest(1), stand.ceph().spawn("mon.a")))

    # --- ranges

    def force_ranges(self):
        """Split and merge all the time, at partitions that are in use, through any node."""
        while not self.ended.is_set():
            op = self.random.choice(("split", "merge"))
            server = self.random.choice(self.nodes.servers)
            body = {"op": op, "table": "lin", "partition": f"p{self.random.randrange(8)}"}
            try:
                force(server, body)
                self.forced[op] += 1
            except (OSError, urllib.error.HTTPError):
                # There is no such range now, another change is under way, or the node is down.
                self.refused += 1
            self.rest(self.random.uniform(0.2, 1))


def force(server, body, timeout_s=10):
    """POST /cluster/force, with the token that is in the node's data folder."""
    token = pathlib.Path(server.data, "admin.token").read_text(encoding="ascii").strip()
    request = urllib.request.Request(f"{server.admin_url}/cluster/force", method="POST",
                                     data=json.dumps(body).encode(),
                                     headers={"Content-Type": "application/json",
                                              "Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=timeout_s) as reply:
        return json.load(reply)
