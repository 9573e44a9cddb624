"""The picture in the README, docs/first-minute.svg, shows what a user of the tool sees.

tests/sdk/python/first_minute_test.py looks at the rest of it.
"""

import html
import json
import os
import re
import shlex

from server import ROOT
from tavola import TavolaTest, needs_tavolad

PICTURE = ROOT / "docs" / "first-minute.svg"
COLOUR = re.compile(r"\x1b\[[0-9;]*[mK]|\r")
NO_BREAK = "\u00a0"
# What is another each time: the rate of an import, a time.
VARIES = re.compile(r"in [\d.]+ s \([\d,]+/s\)|datetime'[^']+'")


def picture_lines():
    return [html.unescape(line) for line in
            re.findall(r"<text[^>]*>(.*?)</text>", PICTURE.read_text(encoding="utf-8"))]


def shown_commands():
    """Each command of the tool in the picture, with what it shows."""
    command, answer = None, []
    for line in picture_lines():
        line = line.replace(NO_BREAK, " ")
        if line.startswith(("$ ", "# ")):
            if command:
                yield command, "".join(answer)
            command = line.removeprefix("$ ") if line.startswith("$ tavola ") else None
            answer = []
        else:
            answer.append(line + "\n")
    assert command is None


class FirstMinute(TavolaTest):
    def test_columns_stay_aligned(self):
        """Pages that show a picture may take away all blanks but one, however it asks them not to."""
        for line in picture_lines():
            self.assertNotRegex(line, r"^ |  | $|\t")

    @needs_tavolad("it tells no plan")
    def test_commands_and_what_they_show(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.home)
        (self.home / "people.ndjson").write_text("".join(
            json.dumps({"PartitionKey": f"d{row % 10}", "RowKey": f"{row:03}", "Name": "Bob",
                        "Age": 40}) + "\n" for row in range(1000) if row != 121))
        commands = list(shown_commands())
        self.assertEqual(len(commands), 5)
        for command, answer in commands:
            with self.subTest(command):
                code, shown = self.terminal(*shlex.split(command)[1:]).end()
                self.assertEqual(code, 0)
                shown = COLOUR.sub("", shown)
                self.assertEqual(VARIES.sub("T", shown), VARIES.sub("T", answer))
