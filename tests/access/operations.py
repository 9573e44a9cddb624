"""The server's own tables of operations, in the terms of the rules.

The rules of a service (`rules.py`) are written from its documentation, and the rows of the server
(`tavolad --operations`) by the author of the operation.  operations_test.py compares the two.
"""

import collections
import subprocess

from server import binary

Needs = collections.namedtuple("Needs", "kinds type words public")
Needs.__doc__ = """What an operation needs of a credential.

kinds    of SAS that may do it: "account", "container" (of a table, a queue or a container), "blob"
type     the resource type that an account SAS needs: "s", "c", "o"; "" when it is for keys alone
words    of permissions: all letters of any of these are enough
public   whether everybody may do it where the "object" or the "listing" is public, else None
"""

BY_PARTS = "what its parts need"  # in place of Needs: a batch


def needs(kinds, type, words, public=None):
    """Those of a rule; without kinds it is for keys alone."""
    kinds = frozenset(kinds)
    return Needs(kinds, type if kinds else "", frozenset(map(frozenset, words if kinds else ())),
                 public)


def needs_of_row(row):
    kinds, all_of, any_of, flags = (() if row[name] == "-" else row[name].split(",")
                                    for name in ("sas", "all_of", "any_of", "flags"))
    if "by-parts" in flags:
        return BY_PARTS
    always = "".join(all_of)
    public = [flag.removeprefix("public-") for flag in flags if flag.startswith("public-")]
    return needs(kinds, row["srt"], [always + letter for letter in "".join(any_of) or [""]],
                 public[0] if public else None)


def read():
    """{service: {operation: its row as a dict}} of the server."""
    output = subprocess.run([binary(), "--operations"], check=True, capture_output=True,
                            text=True).stdout
    heading, *rows = [line.split("\t") for line in output.splitlines()]
    found = {}
    for row in rows:
        row = dict(zip(heading, row, strict=True))
        found.setdefault(row["service"], {})[row["operation"]] = row
    return found


def unknown_to_rules(rules, rows):
    """Operations of the server for which no case is in the matrix."""
    return sorted(set(rows) - set(rules.LOGGED.values()))


def differences(rules, rows):
    """A text for each case whose rule and whose row in the server do not agree.

    Where they may not, rules.EXCEPTIONS has the case with (fields, why): one that agrees after all
    is reported, too.
    """
    for case in rules.OPERATIONS:
        row = rows.get(rules.LOGGED[case])
        if row is None:
            yield f"{case}: the server has no operation {rules.LOGGED[case]}"
            continue
        rule, own = rules.needs_of(case), needs_of_row(row)
        if BY_PARTS in (rule, own):
            if rule != own:
                yield f"{case}: {rule} by the rules, {own} in {rules.LOGGED[case]}"
            continue
        excepted = rules.EXCEPTIONS.get(case, ((), ""))[0]
        for field in Needs._fields:
            wanted, found = getattr(rule, field), getattr(own, field)
            if (wanted != found) != (field in excepted):
                yield (f"{case}: {field} is {shown(wanted)} by the rules, {shown(found)} in the row "
                       f"{rules.LOGGED[case]}" + (", but EXCEPTIONS say that they differ"
                                                  if field in excepted else ""))


def shown(value):
    """Sets in an order, words as they are written."""
    if isinstance(value, frozenset):
        return sorted("".join(sorted(word)) if isinstance(word, frozenset) else word
                      for word in value)
    return repr(value)
