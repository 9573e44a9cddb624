"""The page of results: a part for each section that was measured, tables in Markdown."""

import datetime
import os
import pathlib
import re
import statistics
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE / "RESULTS.md"
OPENING = ("# Measured\n\nThis page is written by `bench/run --record`; with `--only` it renews "
           "one part. The targets are goals; nothing here passes or fails. What sends the load "
           "shares the cores with the server.\n")


def machine():
    info = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*:\s*(.*)", info)
    memory = re.search(r"MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text())[1]
    return (f"{os.cpu_count()} cores, {model[1] if model else os.uname().machine}, "
            f"{int(memory) / 2**20:.0f} GiB")


def version_of(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found = re.search(r"\d+\.\d+(\.\d+)?", done.stdout)
    return found[0] if found else "?"


def stamp(others=True):
    """When, where and with which versions the numbers were measured."""
    commit = subprocess.run(["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"],
                            stdout=subprocess.PIPE, text=True).stdout.strip()
    here = (f"{datetime.date.today()}, commit {commit}, {machine()}; "
            f"RocksDB {version_of('pkg-config', '--modversion', 'rocksdb')}")
    if not others:
        return here + "."
    return (f"{here}, nginx {version_of('/usr/sbin/nginx', '-v')}, "
            f"wrk {version_of('wrk', '--version')}, node {version_of('node', '--version')}.")


def table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
             for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


class Report:
    """One part of the page: loads, then single facts."""

    COLUMNS = ("load", "requests/s", "entities/s", "p50 ms", "p99 ms", "CPU us/request",
               "nginx CPU us", "ratio", "target")

    def __init__(self, title, about):
        self.title, self.about = title, about
        self.loads = [self.COLUMNS]
        self.facts = [("what", "measured", "target")]

    def load(self, name, size, ours, nginx, target=""):
        self.loads.append((
            name, f"{ours.rate:,.0f}", f"{ours.rate * size:,.0f}",
            f"{statistics.mean(ours.p50_ms):.2f}", f"{statistics.mean(ours.p99_ms):.2f}",
            f"{ours.cpu_us:.1f}", f"{nginx.cpu_us:.1f}" if nginx else "",
            f"{ours.cpu_us / nginx.cpu_us:.2f}" if nginx else "", target))

    def fact(self, what, measured, target=""):
        self.facts.append((what, measured, target))

    def text(self):
        return (f"## {self.title}\n\n{stamp()} {self.about}\n\n{table(self.loads)}\n\n"
                f"{table(self.facts)}\n")


def record(reports):
    """Write the page; parts that were not measured now stay as they are."""
    old = PAGE.read_text() if PAGE.exists() else ""
    parts = {part.split("\n")[0]: f"## {part.rstrip()}\n"
             for part in re.split(r"^## ", old, flags=re.MULTILINE)[1:]}
    parts.update({report.title: report.text() for report in reports})
    PAGE.write_text("\n".join([OPENING, *parts.values()]))
    print(f"written to bench/{PAGE.name}")
