"""How the cost of each operation grows with the number of rows: no cliff may come back unseen.

bench/growth/growth.c fills a store and measures it at each size, below HTTP, where a read that
goes wrong shows most.
"""

import json
import pathlib
import subprocess

from report import stamp, table

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "build" / "bench" / "growth" / "growth"
SIZES, LARGE_SIZES = (10_000, 1_000_000, 5_000_000), (20_000_000,)
KEYS = {"sensor": "arriving in order from 1,000 devices", "random": "arriving anywhere"}
COLUMNS = ("rows", "read", "read of nothing", "conditional write", "row of a page", "load",
           "load, rows/s", "resident MiB")


class Growth:
    """The part of the page."""

    title = "Growth"

    def __init__(self, curves):
        self.curves = curves

    def text(self):
        parts = [f"## {self.title}\n\n{stamp(others=False)} Microseconds of CPU of the whole process for each "
                 "operation of the engine, compactions included; in brackets the ratio to the "
                 "smallest size. Default options. Conditional writes in groups of 64, durable.\n"]
        for keys, curve in self.curves.items():
            rows = [COLUMNS, *[self.line(point, curve[0]) for point in curve]]
            parts.append(f"Rows {KEYS[keys]}:\n\n{table(rows)}\n")
        return "\n".join(parts)

    def line(self, point, first):
        def cost(name):
            return f"{point[name]:.2f} ({point[name] / first[name]:.1f})"

        return (f"{point['rows']:,}", cost("read_us"), cost("absent_us"), cost("update_us"),
                cost("page_us"), cost("load_us"), f"{point['load_rows_per_s']:,.0f}",
                f"{point['resident_mib']:.0f}")


def measure(options, scratch):
    sizes = SIZES + (LARGE_SIZES if options.large else ())
    curves = {}
    for keys in KEYS:
        folder = scratch / f"growth-{keys}"
        command = [str(PROGRAM), str(folder), keys, "0", *map(str, sizes)]
        curves[keys] = []
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                curves[keys].append(json.loads(line))
                print(f"{keys}: {line.strip()}", flush=True)
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
        subprocess.run(["rm", "-rf", str(folder)], check=True)
    return Growth(curves)
