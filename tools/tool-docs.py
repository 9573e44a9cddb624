#!/usr/bin/python3
"""Keep the lists of commands and flags in docs/tool.md and docs/man/tavola.1 equal to the tool.

    tools/tool-docs.py          write them again
    tools/tool-docs.py --check  only say whether they are; exit code 1 when they are not

The tool is $TAVOLA, else build/tavola.
"""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
MANUAL = ROOT / "docs/man/tavola.1"
GUIDE = ROOT / "docs/tool.md"
MADE = '.\\" Made by tools/tool-docs.py.\n'


def describe():
    """([(name, arguments, help)], [(letter, name, value, help)])"""
    program = os.environ.get("TAVOLA", str(ROOT / "build/tavola"))
    text = subprocess.run([program, "describe"], capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in text.splitlines()]
    return ([row[1:] for row in rows if row[0] == "verb"],
            [row[1:] for row in rows if row[0] == "flag"])


def roff(text):
    return text.replace("\\", "\\e").replace("'", "\\(aq").replace('"', "\\(dq")


def sentence(text):
    return text[0].upper() + text[1:] + "."


def manual_of_verbs(verbs):
    rows = "".join(f'.It Li "{roff(" ".join((name, arguments)).strip())}"\n{roff(sentence(help))}\n'
                   for name, arguments, help in verbs)
    return f".Bl -tag -width 4n\n{rows}.El\n"


def manual_of_flags(flags):
    rows = ""
    for letter, name, value, help in flags:
        rows += ".It " + (f"Fl {letter} , " if letter else "") + f"Fl Fl {name}" + \
            (f' Ar "{value}"' if value else "") + f"\n{roff(sentence(help))}\n"
    return f".Bl -tag -width 4n\n{rows}.El\n"


def manual(text, verbs, flags):
    made = iter((manual_of_verbs(verbs), manual_of_flags(flags)))
    return re.sub(re.escape(MADE) + r"(?:\.Bl.*?\n\.El\n)?", lambda _: MADE + next(made), text,
                  flags=re.DOTALL)


def guide(text, verbs):
    rows = "".join("| `{}` | {} |\n".format(
        " ".join((name, arguments)).strip().replace("|", "\\|"), help)
        for name, arguments, help in verbs)
    return re.sub(r"(## Commands\n\n).*?\n\n", lambda found: f"{found[1]}| | |\n|---|---|\n{rows}\n",
                  text, flags=re.DOTALL)


def main(arguments):
    verbs, flags = describe()
    wrong = []
    for path, text in ((MANUAL, manual(MANUAL.read_text(), verbs, flags)),
                       (GUIDE, guide(GUIDE.read_text(), verbs))):
        if path.read_text() == text:
            continue
        wrong.append(path.relative_to(ROOT))
        if arguments != ["--check"]:
            path.write_text(text)
    if wrong and arguments == ["--check"]:
        print("not what the tool says; run tools/tool-docs.py:", *wrong)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
