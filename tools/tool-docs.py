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
    """([(title of a group, [(name, arguments, help)])], [(letter, name, value, help)])"""
    program = os.environ.get("TAVOLA", str(ROOT / "build/tavola"))
    text = subprocess.run([program, "describe"], capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in text.splitlines()]
    groups = []
    for kind, *row in rows:
        if kind == "group":
            groups.append((row[0], []))
        elif kind == "verb":
            groups[-1][1].append(row)
    return groups, [row for kind, *row in rows if kind == "flag"]


def roff(text):
    return text.replace("\\", "\\e").replace("'", "\\(aq").replace('"', "\\(dq")


def sentence(text):
    return text[0].upper() + text[1:] + "."


def manual_of_verbs(groups):
    return "".join(f".Ss {roff(title)}\n.Bl -tag -width 4n\n" + "".join(
        f'.It Li "{roff(" ".join((name, arguments)).strip())}"\n{roff(sentence(help))}\n'
        for name, arguments, help in verbs) + ".El\n" for title, verbs in groups)


def manual_of_flags(flags):
    rows = ""
    for letter, name, value, help in flags:
        rows += ".It " + (f"Fl {letter} , " if letter else "") + f"Fl Fl {name}" + \
            (f' Ar "{value}"' if value else "") + f"\n{roff(sentence(help))}\n"
    return f".Bl -tag -width 4n\n{rows}.El\n"


def manual(text, groups, flags):
    made = iter((manual_of_verbs(groups), manual_of_flags(flags)))
    return re.sub(re.escape(MADE) + r"(?:(?:\.Ss [^\n]*\n)?\.Bl.*?\n\.El\n)*", lambda _: MADE + next(made),
                  text, flags=re.DOTALL)


def guide(text, groups):
    rows = "".join(f"| **{title}** | |\n" + "".join("| `{}` | {} |\n".format(
        " ".join((name, arguments)).strip().replace("|", "\\|"), help)
        for name, arguments, help in verbs) for title, verbs in groups)
    return re.sub(r"(## Commands\n\n).*?\n\n", lambda found: f"{found[1]}| | |\n|---|---|\n{rows}\n",
                  text, flags=re.DOTALL)


def main(arguments):
    groups, flags = describe()
    wrong = []
    for path, text in ((MANUAL, manual(MANUAL.read_text(), groups, flags)),
                       (GUIDE, guide(GUIDE.read_text(), groups))):
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
