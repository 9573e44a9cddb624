"""Harm to a running cluster: nodes killed and stopped, an OSD and the mon killed, ranges changed.

Each harm is a method of Nemesis that does it, undoes it and returns; `events` has what was done
and when, so that the pauses that clients met can be put beside it.
"""

import collections
import os
import random
import signal
import threading

from cluster import admin, stand

RANGES_MAX = 12
BLOCKLISTED = 75  # a node's exit code when the others took it for dead


class Nemesis:
    def __init__(self, nodes, record, seed):
        self.nodes, self.record = nodes, record
        self.random = random.Random(f"{seed}/nemesis")
        self.events = []  # (name, began, ended)
        self.forced = collections.Counter()  # what was done, or why not -> how often
        self.down = set()  # nodes that are down because we want it
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
                self.down.add(number)
                self.nodes[number].kill()
            self.rest(self.random.uniform(0.5, 2))
            with self.busy:
                self.nodes[number].start(wait_s=stand.START_S)
                self.down.discard(number)
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
                    if code is None or number in self.down:
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
        """Split and merge all the time, through any node."""
        while not self.ended.is_set():
            server = self.random.choice(self.nodes.servers)
            try:
                ranges = admin.cluster(server)["ranges"]
                op = "split" if len(ranges) < self.random.randint(2, RANGES_MAX) else "merge"
                error = admin.force(server, op, self.random.choice(ranges)["key"])
            except admin.FAILED as failed:
                error = type(failed).__name__  # the node is down, or has a job already
            except LookupError:
                error = "no ranges"
            self.forced[op if not error else error] += 1
            self.rest(self.random.uniform(0.1, 0.5))
