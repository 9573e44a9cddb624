#!/usr/bin/env python3
"""Write the texts of cures as a C source: embed-cures.py OUT.c c.txt csharp.txt ...

A file is a language; `=== name` begins a section of it.
"""

import json
import pathlib
import re
import sys


def c_string(text):
    lines = [json.dumps(line, ensure_ascii=True).replace("??", "?\\?")
             for line in text.splitlines(True)]
    return "\n     ".join(lines) or '""'


def main():
    rows = []
    for path in map(pathlib.Path, sys.argv[2:]):
        parts = re.split(r"^=== (\w+)\n", path.read_text(), flags=re.MULTILINE)
        for name, text in zip(parts[1::2], parts[2::2]):
            rows.append(f'    {{TV_LANGUAGE_{path.stem.upper()}, "{name}",\n     {c_string(text)}}},')
    pathlib.Path(sys.argv[1]).write_text(
        '/* Made by tools/embed-cures.py. */\n#include "insight/advice/cure.h"\n\n'
        "const tv_cure_section tv_cure_sections[] = {\n" + "\n".join(rows) + "\n};\n"
        f"const size_t tv_cure_section_count = {len(rows)};\n")


main()
