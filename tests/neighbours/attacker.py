"""An attacker: many connections that do one thing again and again.

    with Attack(connections, crowd(port, request)): ...

An attack runs in processes of its own, which get only what the server and the
other client leave of the cores: an attacker has a machine for itself.  It ends when the block is left.
"""

import multiprocessing
import os
import threading
import time

from neighbour import Connection

PROCESSES = 2
AGAIN_S = 0.05  # after a refusal or a closed connection


def again_and_again(port, requests):
    """Send the requests in turn and read their answers, whatever they are."""
    def act(number, is_over):
        connection = None
        while not is_over.is_set():
            try:
                connection = connection or Connection(port)
                status = connection.ask(requests[number % len(requests)])
                if status >= 500:
                    time.sleep(AGAIN_S)
            except OSError:
                connection = None
                time.sleep(AGAIN_S)
            number += 1
    return act


def send_and_stall(port, data, trickle=b"", pause_s=1.0):
    """Send the data, then `trickle` a byte a time, read nothing, and start over when closed."""
    def act(number, is_over):
        while not is_over.is_set():
            try:
                connection = Connection(port)
                connection.socket.settimeout(5)
                connection.socket.sendall(data)
                while not is_over.wait(pause_s):
                    if trickle:
                        connection.socket.sendall(trickle)
            except OSError:
                time.sleep(AGAIN_S)
    return act


def crowd(act, first, count, is_over):
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    threads = [threading.Thread(target=act, args=(first + i, is_over), daemon=True)
               for i in range(count)]
    for thread in threads:
        thread.start()
    is_over.wait()


class Attack:
    def __init__(self, connections, act, warm_up_s=1.0):
        self.warm_up_s = warm_up_s
        self.is_over = multiprocessing.Event()
        share = -(-connections // PROCESSES)
        self.processes = [
            multiprocessing.Process(target=crowd, daemon=True,
                                    args=(act, first, min(share, connections - first),
                                          self.is_over))
            for first in range(0, connections, share)]

    def __enter__(self):
        for process in self.processes:
            process.start()
        time.sleep(self.warm_up_s)
        return self

    def __exit__(self, *_):
        self.is_over.set()
        for process in self.processes:
            process.join(3)
            process.kill()
