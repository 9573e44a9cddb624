#!/usr/bin/python3
"""Keep the tables of docs/advice.md equal to the rules and thresholds of src/insight/advice.

    tools/advice-docs.py          write them again
    tools/advice-docs.py --check  only say whether they are; exit code 1 when they are not
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/advice.md"
GUIDE = "https://learn.microsoft.com/azure/storage/tables/table-storage-design-guide#"


def rules():
    """[(code, name, title, seen, chapter, anchor, text, pattern, cure, functions)]"""
    text = (ROOT / "src/insight/advice/rules.def").read_text()
    found = []
    for match in re.finditer(r"^RULE\((\w+),(.*?)\)$", text, re.M | re.S):
        strings = re.findall(r'"((?:[^"\\]|\\.)*)"', match[2])
        assert len(strings) == 9, match[0]
        found.append((match[1], *strings))
    return found


def number(text):
    value = float(text)
    if value >= 1024 ** 3 and value % 1024 ** 3 == 0:
        return f"{int(value // 1024 ** 3)} GiB"
    return f"{value:,.10g}"


def thresholds():
    """{code: [(name, live, run, is_fixed)]}"""
    text = (ROOT / "src/insight/advice/params.def").read_text()
    found = {}
    for code, name, live, run, fixed in re.findall(
            r"^P\((\w+), (\w+), ([\d.]+), ([\d.]+), (\w+)\)", text, re.M):
        found.setdefault(code, []).append((name, number(live), number(run), fixed == "true"))
    return found


def table_of_rules():
    lines = ["| rule | finds | chapter of the guide | cure | functions |", "|---|---|---|---|---|"]
    for code, name, title, _, chapter, anchor, _, _, cure, functions in rules():
        where = f"[{chapter}]({GUIDE}{anchor})" if anchor else chapter
        calls = ", ".join(f"`{function}`" for function in functions.split(","))
        lines.append(f"| {code} `{name}` | {title} | {where} | {cure} | {calls} |")
    return "\n".join(lines) + "\n"


def table_of_thresholds():
    names = {rule[0]: rule[1] for rule in rules()} | {"ALL": "all"}
    lines = ["| rule | threshold = live (run, where it differs) |", "|---|---|"]
    for code, rows in thresholds().items():
        texts = [f"{name} {live}" + (f" ({run})" if run != live else "") + ("*" if fixed else "")
                 for name, live, run, fixed in rows]
        lines.append(f"| `{names[code]}` | {'; '.join(texts)} |")
    return "\n".join(lines) + "\n"


def replace(text, name, table):
    begin, end = f"<!-- {name}: made by tools/advice-docs.py -->\n", f"<!-- end of {name} -->\n"
    before, rest = text.split(begin)
    return before + begin + table + end + rest.split(end)[1]


def main():
    old = PAGE.read_text()
    new = replace(old, "rules", table_of_rules())
    new = replace(new, "thresholds", table_of_thresholds())
    if "--check" in sys.argv[1:]:
        if new != old:
            print("docs/advice.md is not what the rules are: run tools/advice-docs.py")
        return new != old
    PAGE.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
