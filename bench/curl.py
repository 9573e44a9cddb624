"""The CPU time of a point read through libtavola, which speaks HTTP itself, and through libcurl.

Two programs read the same entities from one server, one after the other over one connection, with requests that have the same headers and are
signed by the same functions.  The one with libcurl keeps the answer and looks at its status; libtavola also parses the entity and knows the fate of each
request.  The programs take turns on one core; the numbers are medians of rounds.
"""

import pathlib
import re
import statistics
import types

from clients import TABLE, Clients, measured
from report import stamp, table
from server import ACCOUNT, KEY, Server

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS = 10_000
ROUNDS = 7


class Curl(Clients):
    TITLE = "Client library beside libcurl"

    def text(self):
        version = re.search(r'LIBCURL_VERSION "([\d.]+)"', self.header())[1]
        about = " ".join(__doc__.split())
        return f"## {self.title}\n\n{stamp(others=False)} libcurl {version}. {about}\n\n{table(self.rows)}\n"

    @staticmethod
    def header():
        (path,) = pathlib.Path("/usr/include").glob("**/curl/curlver.h")
        return path.read_text()

    @staticmethod
    def median(results):
        return types.SimpleNamespace(
            rate=statistics.median(r["count"] / r["seconds"] for r in results),
            cpu_us=statistics.median(r["cpu_s"] * 1e6 / r["count"] for r in results),
            peak_kb=max(r["rss_kb"] for r in results))

    def reads(self, server, rows):
        curl = [ROOT / "build/bench/client/curl_bench", f"http://127.0.0.1:{server.table_port}",
                ACCOUNT, KEY, TABLE, rows, self.options.short_s]
        ours, theirs = [], []
        for _ in range(max(ROUNDS, self.options.rounds)):
            ours.append(self.ours(server, "gets", TABLE, rows, self.options.short_s, pinned=0))
            theirs.append(measured(curl, pinned=0))
        ours, theirs = self.median(ours), self.median(theirs)
        self.add("point reads, one at a time", "libtavola", ours,
                 f"{ours.cpu_us / theirs.cpu_us:.2f} of libcurl's CPU", "< 1")
        self.add("", "libcurl", theirs)


def measure(options, scratch):
    curl = Curl(options, scratch)
    with Server(data=str(scratch / "curl-data")) as server:
        curl.ours(server, "fill", TABLE, ROWS)
        curl.reads(server, ROWS)
    return curl
