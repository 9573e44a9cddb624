#!/usr/bin/python3
"""Write the tables of docs/permissions.md from what `tavolad --operations` says.

    tools/permissions.py            write them
    tools/permissions.py --check    complain if they are not what the server says

The server is $TAVOLAD, else build/tavolad.
"""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "permissions.md"
TYPES = {"s": "`s` service", "c": "`c` container", "o": "`o` object", "-": ""}


def read_rows():
    program = os.environ.get("TAVOLAD", ROOT / "build" / "tavolad")
    text = subprocess.run([program, "--operations"], check=True, capture_output=True,
                          text=True).stdout
    heading, *rows = [line.split("\t") for line in text.splitlines()]
    return [dict(zip(heading, row, strict=True)) for row in rows]


def request_of(row):
    """GET, HEAD `/queue?comp=metadata`"""
    if row["path"] == "-":
        return ""
    comp = "" if row["comp"] == "-" else ("&" if "?" in row["path"] else "?") + f"comp={row['comp']}"
    return f"{row['method'].replace(',', ', ')} `{row['path']}{comp}`"


def permissions_of(row):
    """`a` and `u`; `c` or `w`"""
    sides = [word.join(f"`{letter}`" for letter in row[name]) for name, word in
             (("all_of", " and "), ("any_of", " or ")) if row[name] != "-"]
    return " and one of ".join(sides) or "any"


def line_of(row):
    flags = row["flags"].split(",")
    if "by-parts" in flags:
        needs = ["any", "", "what its parts need"]
    elif row["sas"] == "-":
        needs = ["none: keys alone", "", ""]
    else:
        needs = [row["sas"].replace(",", ", "), TYPES[row["srt"]], permissions_of(row)]
    public = next((flag.removeprefix("public-") for flag in flags if flag.startswith("public-")), "")
    return "| " + " | ".join([row["operation"], request_of(row), *needs, public]) + " |"


def table_of(service, rows):
    return "\n".join(["| operation | request | SAS | `srt` | `sp` | public |",
                      "|---|---|---|---|---|---|",
                      *(line_of(row) for row in rows if row["service"] == service)])


def rewrite(text, rows):
    """The document with its tables made again: each is under the heading of its service."""
    for service in dict.fromkeys(row["service"] for row in rows):
        head = f"## {service.capitalize()}s\n\n"
        if head not in text:
            raise SystemExit(f"{DOCUMENT.name} has no heading {head.strip()!r}")
        before, _, after = text.partition(head)
        after = re.sub(r"\A(\|.*\n)*", lambda _: table_of(service, rows) + "\n", after)
        text = before + head + after
    return text


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    old = DOCUMENT.read_text()
    new = rewrite(old, read_rows())
    if arguments and new != old:
        wrong = [line for line in new.splitlines() if line not in old.splitlines()]
        sys.exit("docs/permissions.md is not what tavolad --operations says; run "
                 "tools/permissions.py\n" + "\n".join(wrong[:10]))
    if not arguments:
        DOCUMENT.write_text(new)


if __name__ == "__main__":
    main(sys.argv[1:])
