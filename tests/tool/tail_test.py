"""The newest entities of a log, whatever its keys are; the model knows in which order they came."""

import datetime
import json
import random
import re
import shlex
import unittest
import uuid

from tavola import TavolaTest

TICKS_MAX = 3155378975999999999
DAY = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)


def ticks_of(number):
    return 639028224000000000 + 70000001 * number


def time_of(number):
    return DAY + datetime.timedelta(seconds=7 * number, milliseconds=number % 1000)


RANDOM = random.Random(7)
WORDS = "h\u00e9", "zoo", "~"
KEYS = {
    "log-tail": lambda i: f"{TICKS_MAX - ticks_of(i):019}_{i:08}",
    "ticks": lambda i: f"{ticks_of(i):019}",
    "ticks-of-18": lambda i: f"{ticks_of(i)}",
    "date": lambda i: time_of(i).isoformat().replace("+00:00", "Z"),
    "counter": lambda i: f"entry-{i:06}",
    "hexadecimal": lambda i: f"{i * 40503:010x}",
    "words-behind": lambda i: f"{time_of(i):%Y%m%d%H%M%S%f}-{RANDOM.choice(WORDS)}-{i}",
    "greek": lambda i: "\u03b1\u03b2" + "".join(chr(0x3b1 + int(c)) for c in f"{i:05}"),
    "falling": lambda i: f"x{999999 - i}",
    "random": lambda i: str(uuid.UUID(int=RANDOM.getrandbits(128))),
}


class Tail(TavolaTest):
    def fill(self, table, kinds, size=1300):
        """A table with a partition for each kind of key, written in order of time: their rows."""
        self.ok("table", "create", table)
        kept = {kind: [KEYS[kind](i) for i in range(size)] for kind in kinds}
        for kind, rows in kept.items():
            self.ok("import", table, "-", "--parallel", "1", says="imported .*\n", stdin="".join(
                json.dumps({"PartitionKey": kind, "RowKey": row}) + "\n" for row in rows))
        return kept

    def tail(self, table, partition, count):
        done = self.run_tool("tail", table, partition, "-n", str(count), "--select", "RowKey",
                             "-o", "value")
        return done.returncode, done.stdout.decode().splitlines(), done.stderr.decode()

    def test_it_follows_what_is_added(self):
        self.ok("table", "create", "Followed")
        for kind in ("log-tail", "counter", "few"):
            key, size = KEYS.get(kind, KEYS["counter"]), 2 if kind == "few" else 300
            with self.subTest(kind):
                self.ok("import", "Followed", "-", "--parallel", "1", says="imported .*\n", stdin="".join(
                    json.dumps({"PartitionKey": kind, "RowKey": key(i)}) + "\n" for i in range(size)))
                terminal = self.terminal("tail", "Followed", kind, "-f", "-n", "2", "-o", "ndjson", width=400)
                terminal.read_until(key(size - 1))
                for i in range(size, size + 3):
                    self.ok("insert", "Followed", kind, key(i))
                terminal.read_until(key(size + 2))
                terminal.type("\x03")
                code, shown = terminal.end()
                self.assertEqual(code, 130)
                self.assertEqual(re.findall(r'"RowKey":"([^"]*)"', shown), [key(i) for i in range(size - 2, size + 3)])

    def test_partitions_that_are_read(self):
        """A few entities are sorted by when they were written, whatever their keys are."""
        self.ok("table", "create", "Small")
        for kind, key in KEYS.items():
            rows = [key(i) for i in range(7)]
            for row in rows:
                self.ok("insert", "Small", kind, row)
            for count in (1, 3, 7, 10):
                with self.subTest(kind, count=count):
                    self.assertEqual(self.tail("Small", kind, count), (0, rows[::-1][:count], ""))
        self.assertEqual(self.tail("Small", "nobody", 3), (
            0, [], "no entity of table Small has the PartitionKey 'nobody'\n"))

    def test_long_logs(self):
        """The end is found; and keys that do not sort by time are said to be so."""
        for kind, rows in self.fill("Long", KEYS).items():
            for count in (1, 300):
                with self.subTest(kind, count=count):
                    code, shown, said = self.tail("Long", kind, count)
                    if kind == "random":
                        self.assertEqual((code, shown), (1, []))
                        self.assertRegex(said, "do not sort by time .* log tail pattern, inverted")
                        continue
                    self.assertEqual((code, shown), (0, rows[::-1][:count]), said)
                    if kind in ("log-tail", "falling"):
                        self.assertEqual(said, "")
                        continue
                    asked = re.search(r"ascend with time, .* it took (\d+) requests", said)
                    self.assertLess(int(asked[1]), 150)

    def test_what_was_written_at_once(self):
        """One batch has one time: then rising numbers and dates tell, and nothing else does."""
        self.ok("table", "create", "Once")
        for kind, key in KEYS.items():
            rows = [key(i) for i in range(50)]
            if kind == "falling":
                continue
            self.ok("import", "Once", "-", says="imported .*\n", stdin="".join(
                json.dumps({"PartitionKey": kind, "RowKey": row}) + "\n" for row in rows))
            with self.subTest(kind):
                code, shown, said = self.tail("Once", kind, 3)
                if kind in ("random", "words-behind", "greek", "hexadecimal"):
                    self.assertEqual((code, shown), (1, []))
                    said = re.search("all written at once.*: 'tavola (.*)' lists them by key", said)
                    self.assertEqual(len(self.lines(*shlex.split(said[1]))), 50)
                else:
                    self.assertEqual((code, shown, said), (0, rows[::-1][:3], ""))

    def test_an_entity_that_was_changed_since(self):
        rows = self.fill("Changed", ["date"])["date"]
        for row in rows[::200] + rows[-3:-1]:
            self.ok("merge", "Changed", "date", row, "Note=late")
        code, shown, _ = self.tail("Changed", "date", 5)
        self.assertEqual((code, shown), (0, rows[::-1][:5]))

    def test_a_log_that_grows_is_seen_as_it_is(self):
        """However long it is: what is asked grows with the keys, not with the log."""
        rows = self.fill("Grows", ["counter"], 20000)["counter"]
        self.ok("insert", "Grows", "counter", "entry-020000")
        code, shown, said = self.tail("Grows", "counter", 2)
        self.assertEqual((code, shown), (0, ["entry-020000", rows[-1]]))
        self.assertLess(int(re.search(r"took (\d+) requests", said)[1]), 150)


if __name__ == "__main__":
    unittest.main()
