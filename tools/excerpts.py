#!/usr/bin/python3
"""Code and output that a page shows are those of the examples.

    tools/excerpts.py PAGE...           write them into the pages
    tools/excerpts.py --check PAGE...   exit code 1 when a page shows something else

A page marks the block that follows:

    <!-- examples/NAME.c: FUNCTION -->          a function with the comment above it, or a table
    <!-- examples/NAME.c: "FROM" to "TO" -->    the lines from the one that has FROM to that with TO
    <!-- examples/expected/NAME.txt -->         what it prints
"""

import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^(<!-- (examples/[\w./]+?)(?:: (.*?))? -->\n)```(\w+)\n.*?^```$",
                   re.MULTILINE | re.DOTALL)


def function(lines, name):
    """From the comment above it to its closing brace."""
    first = next((i for i, line in enumerate(lines)
                  if re.search(rf"\b{re.escape(name)}\b", line) and not line.startswith((" ", "#"))
                  and not line.startswith("/*")), None)
    if first is None:
        raise SystemExit(f"excerpts: there is no '{name}'")
    last = next(i for i in range(first, len(lines)) if lines[i].startswith("}"))
    while first and lines[first - 1].startswith(("/*", " *")):
        first -= 1
    return lines[first:last + 1]


def between(lines, start, end):
    first = next((i for i, line in enumerate(lines) if start in line), None)
    last = None if first is None else next(
        (i for i in range(first, len(lines)) if end in lines[i]), None)
    if last is None:
        raise SystemExit(f"excerpts: there are no lines from '{start}' to '{end}'")
    return lines[first:last + 1]


def excerpt(path, what):
    text = (ROOT / path).read_text()
    if what is None:
        return text.rstrip("\n")
    span = re.fullmatch(r'"(.*)" to "(.*)"', what)
    lines = text.split("\n")
    found = between(lines, *span.groups()) if span else function(lines, what)
    return textwrap.dedent("\n".join(found))


def filled(page):
    return BLOCK.sub(lambda block: f"{block[1]}```{block[4]}\n{excerpt(block[2], block[3])}\n```",
                     page)


def main(words):
    is_check = words[:1] == ["--check"]
    stale = []
    for name in words[is_check:]:
        path = ROOT / name
        page = path.read_text()
        if filled(page) != page:
            stale.append(name)
            if not is_check:
                path.write_text(filled(page))
    if is_check and stale:
        sys.exit(f"excerpts: {', '.join(stale)} shows old code: run tools/excerpts.py on it")


if __name__ == "__main__":
    main(sys.argv[1:])
