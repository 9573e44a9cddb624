#!/usr/bin/python3
"""What programs compiled against include/tavola.h rely on, one fact a line.

    tools/abi.py            print it
    tools/abi.py --record   write it to src/client/tavola.abi

Prototypes, values of enumerators, sizes of structs and offsets of their members.  A test compares it
with the record: a line that is new is recorded on purpose, with the change that brings it; a line that
changes or goes breaks programs that exist.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = ROOT / "include/tavola.h"
RECORD = ROOT / "src/client/tavola.abi"


def declarations():
    """The statements of the header, preprocessed, without attributes, on one line each."""
    text = subprocess.run(["gcc", "-std=c99", "-E", HEADER], check=True, capture_output=True,
                          text=True).stdout
    lines, is_ours = [], False
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            is_ours = marker[1].endswith("/tavola.h")
        elif is_ours:
            lines.append(line)
    text = re.sub(r"__attribute__\(\(.*?\)\)\s*(?=\w)", "", " ".join(lines))
    text = re.sub(r"\s+", " ", text)
    statement, depth = "", 0
    for char in text:
        depth += (char in "{(") - (char in "})")
        if char == ";" and depth == 0:
            yield statement.strip()
            statement = ""
        else:
            statement += char


def members(body):
    """The names of a struct's members; those inside a union by their path."""
    body = re.sub(r"union \{(.*?)\} (\w+);", lambda union: "".join(
        f"int {union[2]}.{name};" for name in members(union[1])) + f"int {union[2]};", body)
    for declaration in filter(None, (part.strip() for part in body.split(";"))):
        pointer = re.search(r"\(\*(\w+)\)", declaration)
        if pointer:
            yield pointer[1]
            continue
        for name in declaration.split(","):
            yield re.search(r"([\w.]+)(\[\w+\])?$", name.strip())[1]


def facts():
    functions, prints = [], []
    for statement in declarations():
        enum = re.match(r"(?:typedef )?enum \w* ?\{(.*)\}", statement)
        struct = re.match(r"typedef struct (\w+) \{(.*)\}", statement)
        if enum:
            names = re.findall(r"(\w+)(?: = \w+)?(?:,|$)", enum[1].strip())
            prints += [f'printf("enum {name} = %d\\n", {name});' for name in names]
        elif struct:
            name = struct[1]
            prints.append(f'printf("struct {name}: %zu bytes\\n", sizeof({name}));')
            prints += [f'printf("struct {name}.{member} at %zu\\n", offsetof({name}, {member}));'
                       for member in members(struct[2])]
        elif statement.startswith("typedef"):
            functions.append(statement)
        elif "(" in statement:
            functions.append("function " + statement)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "facts.c")
        source.write_text("#include <stdio.h>\n#include <tavola.h>\nint main(void) {\n"
                          + "\n".join(prints) + "\nreturn 0; }\n")
        program = source.with_suffix("")
        subprocess.run(["gcc", "-std=c11", f"-I{HEADER.parent}", source, "-o", program], check=True)
        values = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return sorted(functions) + values.splitlines()


def exported_functions():
    """The names of all functions that the header declares."""
    return {re.search(r"(\w+) ?\(", fact)[1] for fact in facts() if fact.startswith("function ")}


if __name__ == "__main__":
    listing = "\n".join(facts()) + "\n"
    if sys.argv[1:] == ["--record"]:
        RECORD.write_text(listing)
    elif sys.argv[1:]:
        sys.exit("usage: tools/abi.py [--record]")
    else:
        print(listing, end="")
