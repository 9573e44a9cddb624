#!/usr/bin/python3
"""Which folder of src/ may include which, and one name for one type.

    tools/floors.py         exit 1 with a line for each include that goes up, for each private
                            header that is included from elsewhere, for each type that is defined
                            twice in a program, for each path or link in a document that leads
                            nowhere, and for each file that the README of its folder leaves out
    tools/floors.py --edges the folders that each folder includes

The house is a list: a folder includes itself and what stands before it.  The three services do not
know each other, and the client library and the tool are programs of their own, which include what
is listed for them.
"""

import collections
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(os.environ.get("FLOORS_ROOT") or pathlib.Path(__file__).resolve().parent.parent)
SRC = ROOT / "src"

HOUSE = [
    "base",
    "wire/net", "wire/http",
    "store/pool", "store/engine", "store/commit", "store/extent",
    "model/auth", "model/targets", "model/odata", "model/entity", "model/catalog",
    "insight/advice", "insight/facts", "insight/traffic", "insight/watch", "insight/advisor",
    "insight/whatif",
    "services/service", "services/table", "services/queue", "services/blob",
    "server/cluster", "server/verify", "server/analytics", "server/admin", "server/explorer",
    "server/main",
]
STRANGERS = {"services/table", "services/queue", "services/blob"}
PROGRAMS = {
    "client": {"base", "wire/http", "store/engine", "model/auth", "model/odata"},
    "azurite": set(),
    "tool": {"base", "store/engine", "model/auth", "model/odata", "insight/advice",
             "insight/watch", "insight/whatif"},
}
# Beside every internal.h: headers that only the folder they lie in may include.
PRIVATE = {f"store/engine/rados/{name}.h" for name in ("copy", "merge", "range_work", "samples")}
INCLUDE = re.compile(r'^#include "([^"]+)"')
TYPE = re.compile(r"^(?:typedef )?(?:struct|enum|union) (tv_\w+) \{|^\} (tv_\w+);")
# A path in prose is written from any folder on, as http/conn.c or src/wire/http/conn.c.
MENTION = re.compile(r"(?<![\w/.*<{-])((?:[\w-]+/)+[\w-]+\.(?:c|h|def|py|js))\b")
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)#?([^)\s]*)\)")
DOCUMENTS = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "docs/threads.md",
             "docs/disk-format.md", "docs/cluster*.md", "src/**/README.md"]


def folder_of(path):
    """The folder of the house, or the program, that a path under src/ lies in."""
    parts = path.split("/")
    return parts[0] if parts[0] in ("base", *PROGRAMS) else "/".join(parts[:2])


def may_include(folder, other):
    if folder == other:
        return True
    if folder in PROGRAMS:
        return other in PROGRAMS[folder]
    if other not in HOUSE or folder in STRANGERS and other in STRANGERS:
        return False
    return HOUSE.index(other) < HOUSE.index(folder)


def is_private(path, includer):
    """Whether a header is one that the file that includes it may not see."""
    own = path.rpartition("/")[0]
    return ((path.endswith("/internal.h") or path in PRIVATE)
            and not includer.startswith(f"{own}/"))


def sources():
    for path in sorted(SRC.rglob("*.[ch]")):
        yield path.relative_to(SRC).as_posix(), path.read_text().splitlines()


def includes():
    """(file, number of the line, folder, what is included, its folder) of each include by path."""
    for name, lines in sources():
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if match and (SRC / match[1]).exists() and "/" in match[1]:
                yield name, number, folder_of(name), match[1], folder_of(match[1])


def wrong_includes():
    for name, lines in sources():
        folder = folder_of(name)
        if folder not in HOUSE and folder not in PROGRAMS:
            yield f"src/{name}: the folder {folder} is not part of the house (tools/floors.py)"
    for name, number, folder, path, other in includes():
        if not may_include(folder, other):
            yield f"src/{name}:{number}: {folder} may not include {path}"
        elif is_private(path, name):
            yield f"src/{name}:{number}: {path} is private"


def types_defined_twice():
    """The server is one program; so are the library and the tool, with what they share with it."""
    places = collections.defaultdict(dict)
    for name, lines in sources():
        for number, line in enumerate(lines, 1):
            match = TYPE.match(line)
            if match and folder_of(name) not in PROGRAMS:
                places[match[1] or match[2]].setdefault(name, number)
    for kind, where in places.items():
        if len(where) > 1:
            yield f"{kind} is defined in " + " and ".join(
                f"src/{name}:{number}" for name, number in where.items())


def all_paths():
    """Every path of the tree, and every end of one that begins with a folder."""
    found = set()
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        if not parts[0].startswith((".", "build")) and "node_modules" not in parts:
            found.update("/".join(parts[n:]) for n in range(len(parts)))
    return found


def lost_paths():
    known = all_paths()
    for pattern in DOCUMENTS:
        for document in sorted(ROOT.glob(pattern)):
            for number, line in enumerate(document.read_text().splitlines(), 1):
                for path in MENTION.findall(line):
                    if path not in known:
                        yield f"{document.relative_to(ROOT)}:{number}: there is no {path}"


def headings(text):
    """The anchors that a Markdown text has, as GitHub makes them of its headings."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-")
            for line in re.findall(r"^#+ (.*)$", prose, re.M)}


def dead_links():
    for document in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *SRC.rglob("*.md")]):
        for number, line in enumerate(document.read_text().splitlines(), 1):
            for path, anchor in LINK.findall(line):
                other = document.parent / path if path else document
                if not other.exists() or (anchor and other.suffix == ".md"
                                          and anchor not in headings(other.read_text())):
                    yield (f"{document.relative_to(ROOT)}:{number}: "
                           f"the link leads nowhere: {path}{anchor and '#' + anchor}")


def is_named(name, text):
    """As a word, whatever stands before or behind it: rows.c, ops/rows, `rows`."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)


def files_below(folder):
    """The sources of a folder and of those in it that have no README of their own."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not (path / "README.md").exists():
            yield from files_below(path)
        elif path.suffix in (".c", ".h", ".js"):
            yield path


def unnamed_files():
    """A folder with a README has each of its files there, or the folder below it that has the file."""
    for readme in sorted(SRC.rglob("README.md")):
        text = readme.read_text()
        for path in files_below(readme.parent):
            first, *rest = path.relative_to(readme.parent).parts
            if not is_named(path.stem, text) and not (rest and is_named(first, text)):
                yield f"{readme.relative_to(ROOT)}: it does not name {'/'.join([first, *rest])}"


def print_edges():
    edges = collections.defaultdict(collections.Counter)
    for _, _, folder, _, other in includes():
        if folder != other:
            edges[folder][other] += 1
    for folder in [*HOUSE, *PROGRAMS]:
        print(f"{folder:18}", " ".join(f"{other} ({edges[folder][other]})" for other in HOUSE
                                       if edges[folder][other]))


def main(arguments):
    if arguments == ["--edges"]:
        print_edges()
        return 0
    faults = [*wrong_includes(), *types_defined_twice(), *lost_paths(), *dead_links(),
              *unnamed_files()]
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
