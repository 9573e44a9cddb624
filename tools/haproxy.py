"""A load balancer in front of tavolad nodes: Debian's haproxy, without its service.

    balancer = Haproxy(folder, fronts, nodes)
    balancer.start()

`fronts` gives the port of each service that clients connect to, `nodes` a dict of the same
services' ports for each node; a node takes part while its /ready says 200.
"""

import os
import signal
import socket
import subprocess
import time

PROGRAM = "/usr/sbin/haproxy"
SERVICES = ("table", "queue", "blob", "admin")
TIMEOUT_S = 2  # a node that takes longer for a connection or an answer to a check is not well

# Requests are balanced one by one.  One that could not be sent goes to another node; one that
# was sent and not answered is the client's to repeat (502), because it may have been done.
# A node that is silent for two checks gets no more requests, and those that wait for it end.
HEAD = """\
global
    maxconn 4000
    nbthread 2
    stats socket {folder}/haproxy.sock mode 600 level admin

defaults
    mode http
    balance roundrobin
    retries 2
    retry-on conn-failure
    option redispatch 1
    option httpchk GET /ready
    default-server inter 1s fastinter 500ms downinter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
    timeout connect {timeout_s}s
    timeout check {timeout_s}s
    timeout client 120s
    timeout server 120s
    timeout http-keep-alive 120s
"""


def configuration(folder, fronts, nodes, host="127.0.0.1", timeout_s=TIMEOUT_S):
    """The text of haproxy.cfg."""
    parts = [HEAD.format(folder=folder, timeout_s=timeout_s)]
    for service in SERVICES:
        lines = [f"listen {service}", f"    bind {host}:{fronts[service]}"]
        lines += [f"    server node{number} 127.0.0.1:{node[service]} check port {node['admin']}"
                  for number, node in enumerate(nodes, 1)]
        if service == "admin":
            # To a node all that comes through here is from its own machine, and might change it.
            lines.insert(2, "    http-request deny unless METH_GET")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


class Haproxy:
    def __init__(self, folder, fronts, nodes, host="127.0.0.1", timeout_s=TIMEOUT_S):
        self.folder, self.fronts = folder, fronts
        self.config = os.path.join(folder, "haproxy.cfg")
        self.log_path = os.path.join(folder, "haproxy.log")
        self.process = None
        with open(self.config, "w", encoding="ascii") as file:
            file.write(configuration(folder, fronts, nodes, host, timeout_s))

    def start(self, wait_s=20, **popen):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([PROGRAM, "-db", "-f", self.config], stdout=log,
                                            stderr=log, stdin=subprocess.DEVNULL, **popen)
        deadline = time.monotonic() + wait_s
        while self.process.poll() is None and time.monotonic() < deadline:
            if all(is_open(port) for port in self.fronts.values()):
                return self
            time.sleep(0.05)
        raise RuntimeError(f"haproxy did not start: {self.log()[-2000:]}")

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def is_open(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0
