"""Which parts of a suite are asked for: a folder, a file or a test, by any name they have.

    chosen = parts.choose("wire", {"table/insert": (), "blob/copy": ()}, ["insert"])

A part is known by its path in the suite, without the ending of its file, and has the names of
its tests.  A word asks for

    blob/store          the parts under a folder, else under all folders of that name
    lease, lease_test.c one part, whatever folder it is in; the ending may be there or not
    test_it_stops       one test of a part, with or without its "test_"
    lease/test_it_stops the same, of the part with just this path
    tests/unit/blob     the same as the shell completes it

and when there is no such thing, for every part that has the word in its path.
"""

import re
import sys

ENDING = re.compile(r"(_test\.(c|py)|_fuzz\.c|\.test|\.test\.mjs)$")


class NoSuchPart(Exception):
    pass


def find(known, word):
    """{part: names of tests, or None for all of them} that one word asks for."""
    path = ENDING.sub("", word)
    for is_meant in (lambda part: part == path,
                     lambda part: part.startswith(f"{path}/"),
                     lambda part: f"/{path}/" in f"/{part}/"):
        chosen = {part: None for part in known if is_meant(part)}
        if chosen:
            return chosen
    folder, _, last = word.rpartition("/")
    if folder in known and last in known[folder]:
        return {folder: {last}}
    for part, tests in known.items():
        names = {name for name in tests if word in (name, name.removeprefix("test_"))}
        if names:
            chosen[part] = names
    return chosen or {part: None for part in known if path in part}


def shown(known):
    """The folders of the parts, the parts where there are none, or the tests of the only one."""
    if len(known) == 1:
        (tests,) = known.values()
        return " ".join(name.removeprefix("test_") for name in tests)
    return " ".join(dict.fromkeys(part.partition("/")[0] for part in known))


def complain(suite, known, word):
    folder = word.rpartition("/")[0]
    under = [part.removeprefix(folder + "/") for part in known if part.startswith(folder + "/")]
    if folder and under:
        return f"there is no '{word}' in {suite}; in {folder} there are: {' '.join(under)}"
    return f"there is no '{word}' in {suite}; its parts are: {shown(known)}"


def choose(suite, known, words):
    """{part: names of tests, or None for all of them}, in the order of `known`; all without words."""
    if not words:
        return dict.fromkeys(known)
    chosen = {}
    for word in words:
        word = re.sub(rf"^(\./)?(tests/{suite}/)?", "", word).rstrip("/")
        found = find(known, word) if word else {}
        if not found:
            raise NoSuchPart(complain(suite, known, word))
        for part, tests in found.items():
            is_all = tests is None or chosen.get(part, ()) is None
            chosen[part] = None if is_all else tests | chosen.get(part, set())
    return {part: chosen[part] for part in known if part in chosen}


def choose_or_exit(suite, known, words):
    """The same for a program's main."""
    try:
        return choose(suite, known, words)
    except NoSuchPart as error:
        print(f"check: {error}", file=sys.stderr)
        sys.exit(2)
