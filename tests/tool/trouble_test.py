"""A server that goes away in the middle: what was done is told, and the rest can be done later."""

import os
import subprocess
import time

from fault_proxy import FaultProxy
from tavola import PROGRAM, TIMEOUT_S, TavolaTest

ROWS = [f"r{i}" for i in range(10)]
ONE_COLUMN = ("--page-size", "2", "--select", "RowKey", "-o", "value")


def go_away(proxy, count):
    """After so many requests: the next one is cut, and from then on it is said to be long.

    So nothing waits for a time-out, and those before have all the time they need.
    """
    proxy.plan(f"cut_body 1 on {count + 1}")
    proxy.plan(f"status 503 retry_after 3600 on {count + 2} always")


class Trouble(TavolaTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.proxy = cls.enterClassContext(FaultProxy("127.0.0.1", cls.server.table_port))
        cls.blob_proxy = cls.enterClassContext(FaultProxy("127.0.0.1", cls.server.blob_port))
        string = cls.server.connection_string
        for service, proxy in (("table", cls.proxy), ("blob", cls.blob_proxy)):
            string = string.replace(f":{getattr(cls.server, service + '_port')}/",
                                    f":{proxy.port}/")
        cls.through = cls.env | {"AZURE_STORAGE_CONNECTION_STRING": string}
        tool = cls()
        tool.ok("table", "create", "Rows")
        for row in ROWS:
            tool.ok("insert", "Rows", "p", row)

    def tearDown(self):
        self.proxy.clear()
        self.blob_proxy.clear()

    def test_a_query_that_breaks_off_says_where_to_go_on(self):
        go_away(self.proxy, 3)
        done = self.run_tool("query", "Rows", *ONE_COLUMN, "--timeout", "50", env=self.through)
        self.assertEqual(done.returncode, 6)
        seen = done.stdout.decode().split()
        self.assertEqual(seen, ROWS[:6])
        lines = done.stderr.decode().splitlines()
        self.assertRegex(lines[0], r"\Anext token: \S+\Z")
        self.assertRegex(lines[1], r"\Atavola: BUSY: .+\Z")
        self.assertEqual(len(lines), 2)
        rest = self.ok("query", "Rows", *ONE_COLUMN, "--token", lines[0].split()[-1])
        self.assertEqual(seen + rest.split(), ROWS)

    def test_a_short_interruption_is_not_noticed(self):
        self.proxy.plan("status 503")
        self.assertEqual(self.ok("query", "Rows", *ONE_COLUMN, env=self.through).split(), ROWS)

    def test_a_write_whose_answer_is_lost_is_settled(self):
        self.proxy.plan('cut_answer 0 match "POST /devstoreaccount1/Rows"')
        self.ok("insert", "Rows", "lost", "1", "A=b", env=self.through)
        self.assertEqual(self.ok("keys", "Rows", "lost", "-o", "value"), "lost\t1\n")

    def test_a_download_that_breaks_off_leaves_the_old_file(self):
        self.ok("container", "create", "big")
        self.ok("blob", "upload", "big", "b", "-", stdin=os.urandom(9 << 20))
        target = self.home / "download"
        target.write_text("old")
        go_away(self.blob_proxy, 2)
        self.fails(6, "blob", "download", "big", "b", str(target), "--timeout", "50",
                   env=self.through, says="BUSY")
        self.assertEqual(target.read_text(), "old")
        self.assertEqual(list(self.home.glob("download*")), [target])

    def test_ctrl_c_in_a_download_leaves_nothing(self):
        self.ok("container", "create", "slow")
        self.ok("blob", "upload", "slow", "b", "-", stdin=os.urandom(9 << 20))
        self.blob_proxy.plan("hang")
        terminal = self.terminal("blob", "download", "slow", "b", str(self.home / "slow"),
                                 env=self.through)
        deadline = time.monotonic() + TIMEOUT_S
        while not (list(self.home.glob("slow*")) and self.blob_proxy.log()):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        terminal.type("\x03")
        self.assertEqual(terminal.end()[0], 130)
        self.assertEqual(list(self.home.glob("slow*")), [])

    def test_a_reader_that_has_enough_ends_it_quietly(self):
        done = subprocess.run(f"{PROGRAM} query Rows -o value --page-size 1 | head -n 1",
                              shell=True, env=self.env, capture_output=True)
        self.assertEqual((done.stderr, done.stdout.count(b"\n")), (b"", 1))
