"""What attacks on any service begin and end with: a server that logs all, and that ends well."""

import contextlib
import os
import unittest

from access.credentials import ACCOUNTS, ENGINE
from access.talk import Talk
from server import Server


class AttackCase(unittest.TestCase):
    """A service's case names its port, and has its own `send` and `master`, the owner's key."""

    port = None    # the attribute of Server, e.g. "queue_port"
    send = None    # a staticmethod: (talk, credential, request)
    master = None

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--access-log", "--log-level", "debug", engine=ENGINE,
                            env={"AZURITE_ACCOUNTS": ACCOUNTS})
        cls.server.start()
        cls.talk = Talk(getattr(cls.server, cls.port))
        cls.url = cls.talk.url

    @classmethod
    def tearDownClass(cls):
        cls.talk.close()
        code = cls.server.stop()
        log = cls.server.log()
        cls.server.clean()
        if code != 0:
            raise AssertionError(f"tavolad ended with {code}: {log[-4000:]}")

    def cost(self):
        """The processor time that the server has used, in s, and the most memory it held, in MiB."""
        with open(f"/proc/{self.server.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK"), self.server.peak_memory_kib() / 1024

    @contextlib.contextmanager
    def cheaply(self):
        """What a client asks for meanwhile must not cost the server much, however busy others are."""
        cpu_s, memory_mib = self.cost()
        yield
        more_cpu_s, more_memory_mib = self.cost()
        self.assertLess(more_cpu_s - cpu_s, 5, "the server has worked for long")
        self.assertLess(more_memory_mib - memory_mib, 256, "the server has taken much memory")

    @classmethod
    def own(cls, request):
        """Done by the owner, so it must work."""
        reply = cls.send(cls.talk, cls.master, request)
        assert reply.status < 300, reply
        return reply
