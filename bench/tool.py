"""The command tavola: import, export and copy of entities of 245 bytes, with the server beside it.

CPU time is the tool's own, all its threads, and the server's for the same work.  The memory is the
most that the tool held at once.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import time

from measurement import cpu_s
from report import stamp, table
from server import ROOT, Server, peak_memory_kib

PROGRAM = os.environ.get("TAVOLA", str(ROOT / "build" / "tavola"))
TYPES = {bool: "Edm.Boolean", str: "Edm.String", float: "Edm.Double", int: "Edm.Int32"}


def entity(number):
    """245 bytes of JSON when its number has six digits, as nearly all have."""
    return {"PartitionKey": f"p{number // 1000:06}", "RowKey": f"r{number:09}", "Active": True,
            "Email": "ada.lo@example.org", "Name": "Ada Lovelace",
            "Note": "The analytical engine weaves algebraic patterns just as the Jacquard loom "
                    "weaves its flowers.",
            "Rating": 4.5, "Visits": number}


def write_files(scratch, count):
    """The same entities as NDJSON and as typed CSV."""
    ndjson, csv = scratch / "entities.ndjson", scratch / "entities.typed.csv"
    with open(ndjson, "w", encoding="ascii") as lines, \
            open(csv, "w", encoding="ascii", newline="") as rows:
        names = [name for name in entity(0) if not name.endswith("Key")]
        rows.write("PartitionKey,RowKey," + ",".join(f"{n},{n}@type" for n in names) + "\r\n")
        for number in range(count):
            one = entity(number)
            lines.write(json.dumps(one, separators=(",", ":")) + "\n")
            cells = [one["PartitionKey"], one["RowKey"]]
            for name in names:
                value = one[name]
                cells += [str(value).lower() if isinstance(value, bool) else str(value),
                          TYPES[type(value)]]
            rows.write(",".join(cells) + "\r\n")
    return ndjson, csv


def watch(process):
    """Wait for it; what it used, and the most memory it was seen with.

    What the kernel tells at the end (ru_maxrss) counts the memory of this program, too, which the
    other one had before it was started.
    """
    peak_kib, ended = 0, 0
    while not ended:
        with contextlib.suppress(OSError, StopIteration):
            peak_kib = max(peak_kib, peak_memory_kib(process.pid))
        time.sleep(0.01)
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage, peak_kib


class Tool:
    title = "Command line tool"

    def __init__(self, server, count):
        self.server, self.count = server, count
        self.rows = [("load", "entities/s", "tool's CPU us/entity", "server's", "peak MB",
                      "target")]

    def text(self):
        return (f"## {self.title}\n\n{stamp(others=False)} {__doc__.strip()}\n\n"
                f"{self.count:,} entities.\n\n{table(self.rows)}\n")

    def run(self, load, target, *arguments):
        env = {**os.environ, "AZURE_STORAGE_CONNECTION_STRING": self.server.connection_string}
        servers_s, began = cpu_s([self.server.process.pid]), time.monotonic()
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], env=env,
                                   stderr=subprocess.PIPE, text=True)
        usage, peak_kib = watch(process)
        seconds = time.monotonic() - began
        if process.returncode:
            raise RuntimeError(process.stderr.read())
        process.stderr.close()
        servers_s = cpu_s([self.server.process.pid]) - servers_s
        self.rows.append((load, f"{self.count / seconds:,.0f}",
                          f"{(usage.ru_utime + usage.ru_stime) * 1e6 / self.count:.2f}",
                          f"{servers_s * 1e6 / self.count:.2f}", f"{peak_kib / 1024:.0f}",
                          target))
        print(" | ".join(self.rows[-1]), flush=True)


def same(a, b):
    return subprocess.run(["cmp", "-s", a, b]).returncode == 0


def measure(options, scratch):
    count = 1_000_000
    scratch = pathlib.Path(scratch)
    ndjson, csv = write_files(scratch, count)
    with Server(data=str(scratch / "tool-data")) as server:
        tool = Tool(server, count)
        tool.run("import of NDJSON", ">= 100,000/s, < 64 MB", "import", "Lines", ndjson, "--create")
        tool.run("import of typed CSV", ">= 100,000/s, < 64 MB", "import", "Rows", csv, "--create")
        tool.run("export to NDJSON", ">= 300,000/s, < 64 MB", "export", "Rows",
                 scratch / "out.ndjson")
        tool.run("export to typed CSV", ">= 300,000/s, < 64 MB", "export", "Lines",
                 scratch / "out.typed.csv")
        assert same(ndjson, scratch / "out.ndjson") and same(csv, scratch / "out.typed.csv")
        tool.run("copy to another table", "< 64 MB", "copy", "Lines", "Copied", "--create")
    return tool
