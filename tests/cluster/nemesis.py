"""Harm to a running cluster: nodes killed and stopped, an OSD and the mon killed, ranges changed.

Each harm is a method of Nemesis that does it, undoes it and returns; `events` has what was done
and when, so that the pauses that clients met can be put beside it.  What lies between two harms is
no time but work: clients must get on, or that is a problem.
"""

import collections
import random
import re
import signal
import threading

from cluster import admin, stand

RANGES_MAX = 12
BLOCKLISTED = 75  # a node's exit code when the others took it for dead
WAIT_S = 180
ANSWER_S = 5  # a stopped node does not answer; then others are asked


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

    def wait_for(self, what, condition):
        """The first thing that does not come is a problem, and what follows need not be waited for."""
        if not stand.until(condition, 1 if self.problems else WAIT_S, 0.05):
            self.problems.append(f"{self.record.now():.1f} s: never: {what}\n{self.nodes.logs()}")

    def work(self, answers):
        """Until the clients have got so many answers."""
        enough = self.record.done + answers
        self.wait_for(f"{answers} answers to the clients", lambda: self.record.done >= enough)

    def recover(self):
        """Until everything has been written, after now."""
        now = self.record.now()
        self.wait_for("a write to every partition and queue", lambda: self.record.are_written(now))

    # --- nodes

    def kill_node(self, number):
        def harm():
            with self.busy:
                self.down.add(number)
                self.nodes[number].kill()
            if not stand.IS_ALONE:  # else there is nobody to answer
                self.work(self.random.randrange(50, 200))
            with self.busy:
                self.nodes[number].start(wait_s=stand.START_S)
                self.down.discard(number)
        self.event(f"kill -9 of node {number}", harm)

    def stop_node(self, number, until, what):
        """SIGSTOP: it does not answer, and then it goes on where it was."""
        def harm():
            process = self.nodes[number].process
            process.send_signal(signal.SIGSTOP)
            try:
                until()
            finally:
                process.send_signal(signal.SIGCONT)
        self.event(f"SIGSTOP of node {number} {what}", harm)

    def pause_node(self, number, answers):
        """Until the clients of the others have so many answers."""
        self.stop_node(number, lambda: self.work(answers), "for a while")

    def silence_node(self, number, goes_on):
        """Until the others have taken it for dead and shut it out, and then until `goes_on`."""
        name = admin.cluster(self.nodes[number])["self"]
        line = re.compile(rf"event=dead_node incarnation={name} ")

        def until():
            self.wait_for(f"the death of node {number}, incarnation {name}",
                          lambda: any(line.search(node.log()) for node in self.nodes))
            goes_on.wait(WAIT_S)
        self.stop_node(number, until, "until it is dead to the others")

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

    def kill_osd(self, number, answers):
        up = stand.ceph().osds_up()
        self.event(f"kill -9 of osd.{number}", lambda: (
            stand.ceph().kill(f"osd.{number}"), self.recover(), self.work(answers)))
        self.event(f"return of osd.{number}", lambda: (
            stand.ceph().spawn(f"osd.{number}"),
            self.wait_for("all OSDs are up", lambda: stand.ceph().osds_up() == up),
            self.recover(), self.work(answers)))

    def restart_mon(self, answers):
        self.event("restart of the mon", lambda: (
            stand.ceph().kill("mon.a"), self.work(answers), stand.ceph().spawn("mon.a")))

    # --- ranges

    def force_ranges(self):
        """Split and merge all the time, through any node."""
        while not self.ended.is_set():
            server = self.random.choice(self.nodes.servers)
            try:
                ranges = admin.cluster(server, ANSWER_S)["ranges"]
                op = "split" if len(ranges) < self.random.randint(2, RANGES_MAX) else "merge"
                error = admin.force(server, op, self.random.choice(ranges)["key"],
                                    timeout_s=ANSWER_S)
            except admin.FAILED as failed:
                error = type(failed).__name__  # the node is down, or has a job already
            except LookupError:
                error = "no ranges"
            self.forced[op if not error else error] += 1
            self.ended.wait(self.random.uniform(0.1, 0.5))
