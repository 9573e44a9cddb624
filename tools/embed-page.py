#!/usr/bin/env python3
"""Write the page's files as a C source: embed-page.py OUT.c FILE...

Each is compressed here, once.  In index.html the text @VERSION@ becomes the
digest of all files, under which browsers may keep them for ever.  The style
sheets are one file there, page.css: first the file of this name, then those of
the views, by their names.
"""

import gzip
import hashlib
import os
import sys

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}


def c_bytes(data):
    lines = []
    for at in range(0, len(data), 24):
        lines.append("".join("\\%03o" % byte for byte in data[at : at + 24]))
    return "\n".join('    "%s"' % line for line in lines) or '    ""'


def main():
    out, paths = sys.argv[1], sorted(sys.argv[2:])
    files = {os.path.basename(path): open(path, "rb").read() for path in paths}
    sheets = sorted((name for name in files if name.endswith(".css")), key=lambda name: (name != "page.css", name))
    files["page.css"] = b"\n".join([files.pop(name) for name in sheets])
    digest = hashlib.sha256()
    for name, data in files.items():
        digest.update(b"%s %d\n" % (name.encode(), len(data)) + data)
    version = digest.hexdigest()[:16]

    text = ['/* Made by tools/embed-page.py. */\n#include "server/explorer/assets.h"\n']
    text.append('const char tv_assets_version[] = "%s";\n' % version)
    text.append("const tv_asset tv_assets[] = {")
    for name, data in files.items():
        if name == "index.html":
            data = data.replace(b"@VERSION@", version.encode())
        packed = gzip.compress(data, 9, mtime=0)
        text.append(
            '{"%s", "%s", {(const char *)\n%s,\n%d}, %d},'
            % (
                "" if name == "index.html" else name,
                TYPES[os.path.splitext(name)[1]],
                c_bytes(packed),
                len(packed),
                len(data),
            )
        )
    text.append("};\nconst size_t tv_asset_count = %d;\n" % len(files))
    with open(out, "w") as file:
        file.write("\n".join(text))


main()
