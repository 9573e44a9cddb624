"""On a real terminal: width, colour, questions."""

import re
import unicodedata

from tavola import TavolaTest

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def width_of(line):
    return sum(0 if unicodedata.combining(c) else
               2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in COLOUR.sub("", line))


class OnATerminal(TavolaTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        tool = cls()
        tool.ok("table", "create", "People")
        tool.ok("insert", "People", "Sales", "1", "Name=Ada Lovelace", "Age:int32=36",
                "Note=" + "long " * 40, "City=\u6771\u4eac\u90fd", "Mail=ada@example.com")
        tool.ok("insert", "People", "Sales", "2", "Name=Zoe\u0308", "Age:int32=7",
                "Note=\x1b[31mred\x1b[0m\nline", "City=K\u00f6ln", "Mail=z@example.com")

    def shown(self, *arguments, width=80, env=None, code=0):
        ended, text = self.terminal(*arguments, width=width, env=env).end()
        self.assertEqual(ended, code, text)
        return text

    def test_no_line_is_wider_than_the_terminal(self):
        for width in (20, 40, 60, 80, 120, 200, 400):
            with self.subTest(width):
                text = self.shown("query", "People", width=width)
                table = [line for line in text.splitlines() if "more column" not in line]
                self.assertEqual(len(table), 3)
                for line in table:
                    self.assertLessEqual(width_of(line), width, line)
        self.assertIn("\u2026", self.shown("query", "People", width=80), "what is cut is marked")
        self.assertRegex(self.shown("query", "People", width=20), r"\d more columns: make")

    def test_columns_line_up(self):
        text = self.shown("query", "People", "--select", "City,Name,Age", env={"NO_COLOR": "1"})
        self.assertEqual(text, "City    Name          Age\n"
                               "\u6771\u4eac\u90fd  Ada Lovelace   36\n"
                               "K\u00f6ln    Zoe\u0308             7\n")

    def test_an_entity_stands_upright(self):
        text = self.shown("get", "People", "Sales", "2", env={"NO_COLOR": "1"})
        self.assertRegex(text, r"\AProperty      Type      Value\nPartitionKey  string    Sales\n")
        self.assertIn(r"Note          string    \x1b[31mred\x1b[0m\nline" + "\n", text)

    def test_colour_only_where_it_is_wanted(self):
        self.assertRegex(self.shown("query", "People"), r"\A\x1b\[1mPartitionKey.*\x1b\[0m\n")
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertNotIn("\x1b", self.shown("query", "People", env=env))
        self.assertRegex(self.shown("nonsense", code=2), r"\A\x1b\[31mtavola: \x1b\[0mthere is no")
        self.assertNotIn("\x1b", self.shown("nonsense", code=2, env={"NO_COLOR": "1"}))
        self.assertNotIn("\x1b", self.ok("query", "People", "-o", "table",
                                         env=self.env | {"TERM": "xterm"}))

    def test_values_cannot_command_the_terminal(self):
        for name in ("value", "tsv", "table", "csv", "typed-csv", "json", "ndjson"):
            text = self.shown("query", "People", "--select", "Note", "-o", name,
                              env={"NO_COLOR": "1"})
            self.assertNotIn("\x1b", text, name)

        self.ok("queue", "create", "loud", "--if-absent")
        self.ok("message", "put", "loud", "a\u009b31mb\u202e")
        for name in ("value", "tsv", "table", "csv", "json", "ndjson"):
            text = self.shown("message", "peek", "loud", "--select", "Text", "-o", name,
                              env={"NO_COLOR": "1"})
            self.assertNotRegex(text, "[\x1b\u009b\u202e]", name)

    def test_nor_can_what_is_exported_or_downloaded(self):
        self.ok("table", "create", "Loud", "--if-absent")
        self.ok("insert", "Loud", "p", "r", "Note=\x1b[31ma\u009b31mb\u202ec\rd", "City=K\u00f6ln")
        for flags in ((), ("--select", "Note,City")):
            for name in ("csv", "typed-csv", "json", "ndjson"):
                text = self.shown("export", "Loud", "-o", name, *flags, env={"NO_COLOR": "1"})
                with self.subTest(name, flags=flags):
                    self.assertNotRegex(text, "[\x1b\u009b\u202e\r]")
                    self.assertRegex(text, r"31ma.*31mb.*c\\rd")
                    self.assertIn("K\u00f6ln", text)
        self.assertIn("\u009b", self.ok("export", "Loud", "-o", "ndjson"))

        self.ok("container", "create", "loud", "--if-absent")
        self.ok("blob", "upload", "loud", "b", "-", stdin="one\x1b[31m\u009b\ntwo\u202e\n")
        text = self.shown("blob", "download", "loud", "b", "-", env={"NO_COLOR": "1"})
        self.assertEqual(text, "one\\x1b[31m\\x9b\ntwo\\u202e\n")

    def test_many_wide_columns_are_shown(self):
        self.ok("table", "create", "Wide")
        for row in "ab":
            self.ok("insert", "Wide", "p", row, *(f"P{i}=" + "w" * 2000 for i in range(200)))
        self.shown("query", "Wide", width=300)

    def test_keys_are_cut_last(self):
        """They say which entity a line is: other columns are cut, and left out, before them."""
        partition, row = "9f1b6c1e-4a53-4c52-8a3b-0d6f5f1f1a01", "2519065487719999999_" + "7" * 20
        self.ok("table", "create", "Keyed")
        for key in (row, row + "b"):
            self.ok("insert", "Keyed", partition, key, "Level=warning", "Machine=" + "m" * 30,
                    "Text=" + "t" * 300)
        for width, columns in ((200, 5), (120, 5), (97, 4), (85, 2), (79, 2)):
            with self.subTest(width):
                lines = self.shown("query", "Keyed", width=width, env={"NO_COLOR": "1"}).splitlines()
                self.assertEqual(len(lines[0].split()), columns, lines[0])
                for line in lines[1:3]:
                    self.assertTrue(line.startswith(f"{partition}  {row}"), line)
                self.assertEqual(len(lines), 3 + (columns < 5))
        lines = self.shown("query", "Keyed", width=40, env={"NO_COLOR": "1"}).splitlines()
        self.assertRegex(lines[1], r"\A9f1b\S+\u2026  2519\S+\u2026\Z")
        self.assertEqual(lines[3], "3 more columns: make the terminal wider, or --select, or -o json")
        # Wherever they stand.
        text = self.shown("query", "Keyed", "--select", "Text,PartitionKey", width=60)
        self.assertIn(partition, text)

    def test_it_asks_before_it_destroys(self):
        for number, (answer, code) in enumerate((("n\r", 1), ("\r", 1), ("yesterday\r", 1),
                                                 ("\x04", 1), ("y\r", 0), ("yes\r", 0))):
            with self.subTest(answer=answer):
                name = f"Doomed{number}"
                self.ok("table", "create", name)
                terminal = self.terminal("table", "delete", name)
                terminal.read_until(f"Delete table {name} and all that is in it, at "
                                    f"{self.server.table_url}? [y/N] ")
                terminal.type(answer)
                ended, text = terminal.end()
                self.assertEqual(ended, code, text)
                self.assertEqual(self.run_tool("table", "exists", name).returncode,
                                 0 if code else 3)

    def test_a_message_shows_what_deletes_it(self):
        self.ok("queue", "create", "narrow")
        self.ok("message", "put", "narrow", "hello")
        code, shown = self.terminal("message", "get", "narrow", "--hidden", "60", width=80).end()
        self.assertEqual(code, 0)
        found = dict(re.findall(r"^(\w+) +string +(\S+)$", shown, re.MULTILINE))
        self.ok("message", "delete", "narrow", found["MessageId"], found["PopReceipt"])

    def test_what_asks(self):
        self.ok("queue", "create", "asked")
        self.ok("container", "create", "asked")
        self.ok("blob", "upload", "asked", "b", "-", stdin="x")
        self.ok("table", "policy", "set", "People", "pol", "--permissions", "r", "--start",
                "2026-01-01", "--expiry", "+1d")
        for words in (("delete", "People", "Sales", "1"),
                      ("delete", "People", "--where", "Age gt 0"),
                      ("table", "delete", "People"), ("queue", "delete", "asked"),
                      ("queue", "clear", "asked"), ("container", "delete", "asked"),
                      ("blob", "delete", "asked", "b"),
                      ("table", "policy", "delete", "People", "pol")):
            with self.subTest(words):
                terminal = self.terminal(*words)
                terminal.read_until("? [y/N] ")
                terminal.type("n\r")
                self.assertEqual(terminal.end()[0], 1)
                self.fails(2, *words, says="give --yes when it is not run on a terminal")
        self.assertEqual(self.ok("count", "People"), "2\n")

    def test_ctrl_c_ends_it(self):
        terminal = self.terminal("table", "delete", "People")
        terminal.read_until("[y/N] ")
        terminal.type("\x03")
        self.assertEqual(terminal.end()[0], 130)
        self.assertEqual(self.ok("table", "exists", "People"), "true\n")
