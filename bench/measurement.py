"""What a load costs: requests, seconds, and the CPU time of the server's processes."""

import os
import pathlib
import re

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s(pids):
    """User and system time that these processes have used, in seconds."""
    total = 0
    for pid in pids:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


class Measurement:
    """What one kind of load did to one server, summed over its rounds."""

    def __init__(self):
        self.requests = 0
        self.bytes = 0
        self.seconds = 0.0
        self.cpu_s = 0.0
        self.p50_ms, self.p99_ms = [], []

    @property
    def rate(self):
        return self.requests / self.seconds

    @property
    def cpu_us(self):
        return self.cpu_s * 1e6 / self.requests


def milliseconds(text):
    value, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text).groups()
    return float(value) * {"us": 0.001, "ms": 1, "s": 1000, "m": 60000}[unit]
