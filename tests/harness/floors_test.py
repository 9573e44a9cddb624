"""The house of src/ (tools/floors.py): this tree keeps its rules, and a breach of each is named."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(root=ROOT):
    done = subprocess.run([sys.executable, ROOT / "tools/floors.py"], text=True,
                          env={**os.environ, "FLOORS_ROOT": str(root)}, stdout=subprocess.PIPE)
    return done.returncode, done.stdout


class House(unittest.TestCase):
    # What the files say, and the line that it is answered with; none: it is allowed.
    CASES = {
        "a folder below": ({"wire/http/a.h": '#include "base/b.h"', "base/b.h": ""}, None),
        "a folder above": ({"base/a.h": "\n#include \"wire/http/b.h\"", "wire/http/b.h": ""},
                           "src/base/a.h:2: base may not include wire/http/b.h"),
        "above on the same floor": (
            {"store/pool/a.c": '#include "store/engine/b.h"', "store/engine/b.h": ""},
            "src/store/pool/a.c:1: store/pool may not include store/engine/b.h"),
        "another service": (
            {"services/blob/a.c": '#include "services/table/b.h"', "services/table/b.h": ""},
            "src/services/blob/a.c:1: services/blob may not include services/table/b.h"),
        "the tool and the server": (
            {"tool/a.c": '#include "server/admin/b.h"', "server/admin/b.h": ""},
            "src/tool/a.c:1: tool may not include server/admin/b.h"),
        "a folder that nobody knows": (
            {"attic/x/a.c": ""},
            "src/attic/x/a.c: the folder attic/x is not part of the house (tools/floors.py)"),
        "a private header": (
            {"server/cluster/a.c": '#include "store/engine/rados/internal.h"',
             "store/engine/rados/internal.h": ""},
            "src/server/cluster/a.c:1: store/engine/rados/internal.h is private"),
        "a private header at home": (
            {"store/engine/rados/a.c": '#include "store/engine/rados/internal.h"',
             "store/engine/rados/internal.h": ""}, None),
        "one name for two types": (
            {"base/a.h": "typedef struct tv_a {\n} tv_a;", "wire/net/b.h": "\nstruct tv_a {\n};"},
            "tv_a is defined in src/base/a.h:1 and src/wire/net/b.h:2"),
        "a file that is gone": ({"base/README.md": "See `base/a.c` and `base/b.c`.", "base/b.c": ""},
                                "src/base/README.md:1: there is no base/a.c"),
        "a file that its README leaves out": (
            {"base/README.md": "`rows.c rows.h` and the list of lists", "base/rows.h": "",
             "base/list.c": "", "base/table.c": ""},
            "src/base/README.md: it does not name table.c"),
        "a file in a folder that its README names": (
            {"tool/README.md": "verbs/ has a file for each group", "tool/verbs/a.c": ""}, None),
        "a file of a folder that nobody names": (
            {"tool/README.md": "the tool", "tool/verbs/a.c": ""},
            "src/tool/README.md: it does not name verbs/a.c"),
        "a link to a page that is gone": (
            {"base/README.md": "[here](a.md)"}, "src/base/README.md:1: the link leads nowhere: a.md"),
        "a link to a section that is gone": (
            {"base/README.md": "# One's *own* part\n[a](#ones-own-part) [b](b.md#there)", "base/b.md": "# Here"},
            "src/base/README.md:2: the link leads nowhere: b.md#there"),
    }

    def test_this_tree_keeps_the_rules(self):
        self.assertEqual(run(), (0, ""))

    def test_each_breach_is_named(self):
        for name, (files, line) in self.CASES.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                for path, text in files.items():
                    file = pathlib.Path(folder, "src", path)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(text + "\n")
                self.assertEqual(run(folder), (1, line + "\n") if line else (0, ""))
