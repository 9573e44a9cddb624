#!/usr/bin/python3
"""Fault proxies before all services of an account, with one count of requests.

    python3 tests/lib/fault_proxies.py CONNECTION_STRING

prints the control port and, on the next line, the connection string that goes through the proxies,
and serves until its stdin is closed.  The control port takes the commands of fault_proxy.py;
STOP_AFTER and the numbers of the log are over all services together.
"""

import re
import sys
import threading
import urllib.parse

import fault_proxy
from fault_exchange import Round
from fault_proxy import ControlServer, ControlTalk, FaultProxy

ENDPOINT = re.compile(r"(?:Table|Queue|Blob)Endpoint=(http://[^;]+)")


class FaultProxies:
    """Several proxies in one round; what their control port can do, but for REFUSE and DROP."""

    def __init__(self, connection_string):
        self.connection_string = connection_string
        self.proxies = []
        self.begin(Round(0))

    def begin(self, new):
        self.round = new
        for proxy in self.proxies:
            proxy.round = new

    def start(self):
        self.connection_string = ENDPOINT.sub(self.put_before, self.connection_string)
        self.begin(self.round)
        self.control = ControlServer(("127.0.0.1", 0), ControlTalk)
        self.control.proxy = self
        threading.Thread(target=self.control.serve_forever, daemon=True).start()
        return self

    def put_before(self, found):
        url = urllib.parse.urlsplit(found.group(1))
        proxy = FaultProxy(url.hostname, url.port).start()
        self.proxies.append(proxy)
        return found.group(0).replace(url.netloc, f"127.0.0.1:{proxy.port}")

    def plan(self, line):
        self.proxies[0].plan(line)

    def clear(self):
        last = self.round
        self.begin(Round(0))
        last.over.set()
        return last.settle(fault_proxy.SETTLE_S)

    def log_lines(self):
        return self.proxies[0].log_lines()

    def stats(self):
        return self.proxies[0].stats()

    def stop_after(self, count, is_quiet=False):
        self.proxies[0].stop_after(count, is_quiet)

    def held(self, count=1):
        return self.proxies[0].held(count)

    def release(self):
        self.proxies[0].release()

    def settle(self, milliseconds=fault_proxy.SETTLE_S * 1000):
        return self.round.settle(milliseconds / 1000)


if __name__ == "__main__":
    proxies = FaultProxies(sys.argv[1]).start()
    print(proxies.control.server_address[1], proxies.connection_string, sep="\n", flush=True)
    sys.stdin.buffer.read()
