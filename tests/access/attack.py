"""What attacks on any service begin and end with: a server that logs all, and that ends well."""

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

    @classmethod
    def own(cls, request):
        """Done by the owner, so it must work."""
        reply = cls.send(cls.talk, cls.master, request)
        assert reply.status < 300, reply
        return reply
