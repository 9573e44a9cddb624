"""tavola shell, by a pipe and on a terminal, and tavola bench."""

import stat
import subprocess
import unittest

from server import KEY
from tavola import PROGRAM, TavolaTest

HAS_EDITOR = b"libedit" in subprocess.run(["ldd", PROGRAM], capture_output=True).stdout


class Shell(TavolaTest):
    def test_commands_from_a_pipe(self):
        shown = self.ok("shell", stdin="""\
# a comment, an empty line

table create Piped
put Piped 'a b' "c\\"d" Name='it is' Note=x\\ y Age:int32=3
get Piped "a b" 'c"d' --select Name,Note,Age -o value
table list
count Piped
quit
table delete Piped --yes
""")
        self.assertRegex(shown, r'\A{"PartitionKey":"a b",.*}\nit is\tx y\t3\n(?:.*\n)*{"TableName":"Piped"}\n(?:.*\n)*1\n\Z')
        self.assertEqual(self.ok("table", "exists", "Piped"), "true\n", "it ended with quit")

    def test_what_fails_does_not_end_it(self):
        done = self.run_tool("shell", stdin="nonsense\n'open\nshell\nget Nope a b\n"
                                            "table delete Nope\ntable list -o json\nhelp\n")
        self.assertEqual(done.returncode, 2, "that of the last failure")
        lines = done.stderr.decode().splitlines()
        self.assertEqual(len(lines), 5)
        for line, says in zip(lines, ("no command", "quote is not closed", "this is the shell", "NotFound", "give --yes")):
            self.assertIn(says, line)
        self.assertIn("]\nusage: tavola VERB", done.stdout.decode())

    @unittest.skipUnless(HAS_EDITOR, "the tool was built without a line editor")
    def test_a_prompt_with_completion_and_history(self):
        self.ok("table", "create", "Prompted")
        self.ok("insert", "Prompted", "p", "r", "Favourite=x")
        terminal = self.terminal("shell")
        for typed, shown in (("tab\t", "table "), ("exi\t", "table exists "),
                             ("Promp\t\r", "true")):
            terminal.type(typed)
            terminal.read_until(shown.split()[-1][3:] if shown != "true" else "true\r\n")
        terminal.type("table stats Promp\t -o csv\r")
        terminal.read_until("Favourite:string\r\n")
        terminal.type("query Prompted --where \"PartitionKey eq 'p' and Fav\t ne ''\" -o tsv\r")
        terminal.read_until("Favourite\r\np\tr\t")
        terminal.type("get Prompted p r --select Fav\t -o csv\r")
        terminal.read_until("Favourite\r\nx\r\n")
        terminal.type(f"-c AccountName=a;AccountKey={KEY} table list\r")
        terminal.read_until("seen by every user")
        terminal.type("nonsense http://127.0.0.1/?next=a%3Fsig%3Dsecret\r")
        terminal.read_until("there is no")
        terminal.type("quit\r")
        code, _ = terminal.end()
        self.assertEqual(code, 0)
        history = self.home / ".local/state/tavola/history"
        self.assertEqual(stat.S_IMODE(history.stat().st_mode), 0o600)
        self.assertIn("Prompted", history.read_text())
        self.assertNotIn(KEY, history.read_text(), "no key in history")
        self.assertNotIn("secret", history.read_text(), "and no signature")
        terminal = self.terminal("shell")
        terminal.read_until("tavola> ")
        terminal.type("\x10\x10\r")  # the line before quit
        terminal.read_until("Favourite\r\nx\r\n")
        terminal.type("quit\r")
        self.assertEqual(terminal.end()[0], 0)

    @unittest.skipUnless(HAS_EDITOR, "the tool was built without a line editor")
    def test_ctrl_c_takes_a_line_back_and_history_survives(self):
        self.ok("table", "create", "Kept")
        terminal = self.terminal("shell")
        terminal.read_until("tavola> ")
        terminal.type("table exists Kept\r")
        # Before the next prompt the terminal itself echoes, and Ctrl-C takes back nothing.
        terminal.read_until("true\r\ntavola> ")
        terminal.type("table delete Kept --taken-back")
        terminal.read_until("--taken-back")
        terminal.type("\x03")
        terminal.read_until("^C\r\n")
        terminal.type("count Kept\r")
        terminal.read_until("0\r\n")
        terminal.process.kill()
        terminal.end()
        kept = (self.home / ".local/state/tavola/history").read_text()
        self.assertIn("Kept", kept, "whatever ends it")
        self.assertNotIn("taken-back", kept)
        for word in ("exit", "quit"):
            terminal = self.terminal("shell")
            terminal.read_until("tavola> ")
            terminal.type(f"{word}\r")
            self.assertEqual(terminal.end()[0], 0)

    @unittest.skipUnless(HAS_EDITOR, "the tool was built without a line editor")
    def test_what_is_typed_is_utf_8_in_any_locale(self):
        """It was left out without a word: another entity was asked for."""
        self.ok("table", "create", "Spoken")
        key = "Zo\u00eb \u674e\u5c0f\u9f8d \U0001f469"
        self.ok("insert", "Spoken", key, "1", "Name=spoken of")
        for number, env in enumerate(({}, {"LC_ALL": "C"}, {"LC_ALL": "POSIX", "LANG": "C"})):
            with self.subTest(env):
                terminal = self.terminal("shell", env=env)
                terminal.read_until("tavola> ")
                # Typed once, then from the history: behind quit and insert.
                terminal.type("\x10\x10\x10\r" if number else f"get Spoken '{key}' 1 -o csv\r")
                terminal.read_until("spoken of\r\n")
                terminal.type(f"insert Spoken '{key}' new{number}\r")
                terminal.read_until("ETag")
                terminal.type("quit\r")
                self.assertEqual(terminal.end()[0], 0)
        self.assertEqual(self.ok("keys", "Spoken", key, "new", "-o", "value").split("\n")[0], f"{key}\tnew0")

    def test_a_line_as_it_stands_in_a_document(self):
        done = self.run_tool("shell", stdin="tavola table list -o json\nquery Spoken | head\ncount Spoken > x\n")
        self.assertIn("]\n", done.stdout.decode())
        self.assertEqual(done.stderr.decode().count("pipes and redirection are the work of a shell"), 2)

    def test_alone_on_a_terminal_it_is_the_shell(self):
        terminal = self.terminal()
        terminal.read_until(f"at {self.server.table_url}: 'help' lists the commands, 'quit'")
        terminal.read_until("tavola> ")
        terminal.type("quit\r")
        self.assertEqual(terminal.end()[0], 0)
        code, shown = self.terminal(env={"AZURE_STORAGE_CONNECTION_STRING": f"AccountName=a;AccountKey={KEY};"
                                         "TableEndpoint=http://127.0.0.1:1/a"}).end()
        self.assertEqual(code, 6)
        self.assertRegex(shown, "no service answers at http://127.0.0.1:1/a; './run' or 'tavolad' starts .*"
                         "'tavola help' lists the commands")
        done = self.run_tool()
        self.assertEqual((done.returncode, done.stdout), (2, b""), "a script has forgotten something")
        self.assertIn(b"usage: tavola VERB", done.stderr)

    def test_a_terminal_asks_inside_too(self):
        self.ok("table", "create", "Inside")
        terminal = self.terminal("shell")
        terminal.read_until("tavola> ")
        terminal.type("table delete Inside\r")
        terminal.read_until("? [y/N] ")
        terminal.type("y\r")
        terminal.read_until("y\r\ntavola> ")
        terminal.type("table exists Inside\r")
        terminal.read_until("false")
        terminal.type("quit\r")
        self.assertEqual(terminal.end()[0], 0)


class Bench(TavolaTest):
    def test_it_measures_and_leaves_nothing(self):
        rows = self.lines("bench", "--number", "50", "--parallel", "3")
        self.assertEqual([row["Operation"] for row in rows], ["insert", "get", "query", "delete"])
        for row in rows:
            self.assertEqual(row["Count"], 50)
            self.assertGreater(row["PerSecond"], 0)
            self.assertTrue(0 < row["P50ms"] <= row["P95ms"] <= row["P99ms"] <= row["MaxMs"], row)
        self.assertEqual(self.ok("table", "list"), "")

    def test_a_server_that_is_not_there(self):
        self.fails(6, "bench", "--timeout", "1", says="NETWORK|TIMEOUT", env=self.env | {
            "AZURE_STORAGE_CONNECTION_STRING":
                f"AccountName=a;AccountKey={KEY};TableEndpoint=http://127.0.0.1:1/a"})
