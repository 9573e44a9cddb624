"""The code of cures does what the texts of their findings promise.

For each case of CASES traffic is sent to a real server, the code of the finding is taken from its
answer, written to a file as it stands, and called with the real SDKs: the functions of each
language do the same steps, on a table of their own.  What must become of each step, and which rows
are there in the end, is in the case, by what the texts say.  And the code that stands first is in the
language of the SDK whose requests the finding is about.
"""

import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DRIVERS = HERE / "cures"
MODULES = ROOT / "tests" / "sdk" / "js"
BUILD = pathlib.Path(os.environ.get("TAVOLA_CLIENT_BUILD", ROOT / "build-check"))
TAVOLA = os.environ.get("TAVOLA", BUILD / "tavola")
LIBRARY = "src/client/libtavola.so.0.1.0"  # what ninja has to build

sys.path.insert(0, str(HERE.parent / "lib"))

import javascript  # noqa: E402
from server import ACCOUNT  # noqa: E402
from table_client import Client  # noqa: E402

TYPES = {"Big": "Edm.Int64", "Due": "Edm.DateTime", "Id": "Edm.Guid"}


def entity(partition, row, **properties):
    """As the service writes it; the type of a property goes by its name."""
    typed = {f"{name}@odata.type": TYPES[name] for name in properties if name in TYPES}
    return {"PartitionKey": partition, "RowKey": row, **properties, **typed}


class Case:
    """Of a proposal with `pattern`, or of a rule.  `steps` are (function, arguments, what becomes of it;
    None: anything), `rows` what is there in the end, `c` what driver.c must know of the code, `given` what
    is there before.  Where a function has the name `behind`, the driver deletes the entity by itself."""

    def __init__(self, what, traffic, pattern, steps, rows, promises=(), c="", given=(), targets=None, put_in=None):
        self.put_in = put_in  # a section of cures/ in the place of another
        self.what, self.traffic, self.pattern, self.given, self.targets = what, traffic, pattern, given, targets
        self.steps, self.rows, self.promises, self.c = steps, rows, promises, c


ANN = entity("p", "1", Email="ann@x", Name="Ann")
BOB = entity("p", "2", Email="bob@x", Name="Bob")


def named(row, value):
    """With a Name of any type: of a whole number, Int64 where Int32 has no room."""
    e = entity("p", str(row))
    if isinstance(value, int) and value >= 1 << 31:
        return {**e, "Name": str(value), "Name@odata.type": "Edm.Int64"}
    return e if value is None else {**e, "Name": value}


def in_due(day):
    return f"2026-01-0{day}T00:00:00Z"


CASES = [
    Case("a unique property, in a partition",
         ["load People 2x100 Email=u{i}@x", "5@1s query People \"PartitionKey eq 'p000' and Email eq 'u{i}@x'\""],
         "intra-partition-secondary-index",
         [("insert", [ANN], "ok"),
          ("insert", [entity("p", "9", Email="ann@x")], "409"),
          ("insert", [entity("q", "1", Email="ann@x")], "ok"),
          ("insert", [BOB], "ok"),
          ("insert", [entity("p", "3")], "ok"),
          ("find", [entity("p", "", Email="ann@x")], ["1"]),
          ("change", [ANN, {**ANN, "Email": "bob@x"}], "409"),
          ("change", [ANN, {**ANN, "Email": "new@x"}], "ok"),
          ("find", [entity("p", "", Email="ann@x")], "404"),
          ("find", [entity("p", "", Email="new@x")], ["1"]),
          ("change", [BOB, {**BOB, "Name": "Rob"}], "ok"),
          ("delete", [{**ANN, "Email": "new@x"}], "ok"),
          ("find", [entity("p", "", Email="new@x")], "404"),
          ("find", [entity("p", "", Email="old@x")], "404"), ("fill", [], "0"),
          ("find", [entity("p", "", Email="old@x")], ["0"])],
         [("p", "0", "Old"), ("p", "email_old@x", "Old"), ("p", "2", "Rob"), ("p", "3", None), ("p", "email_bob@x", "Rob"), ("q", "1", None),
          ("q", "email_ann@x", None)],
         ["a second entity with the same Email in a partition is refused (409)",
          "both copies change in one entity group transaction"], "library",
         [entity("p", "0", Email="old@x", Name="Old")]),
    Case("several with a value, in a partition; values hold what separates keys, and what no key may have",
         ["load People 1x1000 City=c{rand:100}", "5@1s query People \"PartitionKey eq 'p000' and City eq 'c{i}'\""],
         "intra-partition-secondary-index",
         [("insert", [entity("p", "1", City="x")], "ok"),
          ("insert", [entity("p", "2", City="x")], "ok"),
          ("insert", [entity("p", "3", City="x_y")], "ok"),
          ("insert", [entity("p", "4", City="a/b\\c#d?e%")], "ok"),
          ("find", [entity("p", "", City="x")], ["1", "2"]),
          ("find", [entity("p", "", City="a/b\\c#d?e%")], ["4"]),
          ("change", [entity("p", "2", City="x"), entity("p", "2", City="x_y")], "ok"),
          ("find", [entity("p", "", City="x")], ["1"]),
          ("find", [entity("p", "", City="x_y")], ["2", "3"]),
          ("delete", [entity("p", "3", City="x_y")], "ok")],
         [("p", "1", None), ("p", "2", None), ("p", "4", None), ("p", "city_a%2Fb%5Cc%23d%3Fe%25_4", None),
          ("p", "city_x%5Fy_2", None), ("p", "city_x_1", None)],
         ["both copies change in one entity group transaction"]),
    Case("a range of numbers, of which both ends are given",
         ["load People 1x1000 City=c{rand:100} Age={rand:90}",
          "5@1s query People \"PartitionKey eq 'p000' and City eq 'c2' and Age gt 20 and Age le 22\""],
         "intra-partition-secondary-index",
         [("insert", [entity("p", str(age), City="x", Age=age)], "ok") for age in (9, 10, 11, 100)] +
         [("insert", [entity("p", "-1", City="x", Age=-1)], "invalid"),
          ("find", [entity("p", "", City="x", Age=9), entity("p", "", Age=100)], ["10", "11", "100"]),
          ("find", [entity("p", "", City="x", Age=10), entity("p", "", Age=99)], ["11"])],
         [("p", "10", None), ("p", "100", None), ("p", "11", None), ("p", "9", None)] +
         [("p", f"city_x_{age:010}_{age}", None) for age in (9, 10, 11, 100)],
         ["a negative number has no place among these keys"], "upto"),
    Case("times, the newest first",
         ["load People 1x1000 Name=n{i}",
          "5@1s query People \"PartitionKey eq 'p000' and Due ge datetime'2026-01-01T00:00:00Z'\" $top=5"],
         "intra-partition-secondary-index",
         [("insert", [entity("p", f"d{day}", Due=in_due(day))], "ok") for day in (1, 2, 3)] +
         [("find", [entity("p", "", Due=in_due(2))], ["d3", "d2"])],
         [("p", f"d{day}", None) for day in (1, 2, 3)] +
         [("p", f"due_{3155378975999999999 - (639028224000000000 + day * 864000000000)}_d{day + 1}", None)
          for day in (2, 1, 0)]),
    Case("a unique property, in any partition, of which queries want some properties",
         ["load People 10x100 Email=u{i}@x Name=n{i}", "5@1s query People \"Email eq 'u{i}@x'\" $select=Name"],
         "inter-partition-secondary-index",
         [("insert", [ANN], "ok"),
          ("insert", [entity("q", "9", Email="ann@x")], "409"),
          ("insert", [{**ANN, "Email": "other@x"}], "409"),
          ("insert", [BOB], "ok"),
          ("find", [entity("", "", Email="ann@x")], ["1"]),
          ("find", [entity("", "", Email="other@x")], "404"),
          ("change", [ANN, {**ANN, "Email": "bob@x"}], "409"),
          ("change", [ANN, {**ANN, "Email": "new@x"}], "ok"),
          ("find", [entity("", "", Email="new@x")], ["1"]),
          ("delete", [BOB], "ok"),
          ("fill", [], "1"), ("find", [entity("", "", Email="old@x")], ["0"])],
         [("email_new@x", "email", "Ann"), ("p", "1", "Ann"),
          ("email_old@x", "email", "Old"), ("q", "0", "Old"), ("q", "00", "Same")],
         ["the copy is stored first: a second entity with the same Email is refused (409)",
          "the entity follows its copy a moment later"], "point",
         [entity("q", "0", Email="old@x", Name="Old"), entity("q", "00", Email="old@x", Name="Same")]),
    Case("a Guid and a number of 64 bits, which are unique together",
         ["load People 10x100 Name=n{i}",
          "5@1s query People \"Id eq guid'00000000-0000-0000-0000-000000000001' and Big eq 5L\""],
         "inter-partition-secondary-index",
         [("insert", [entity("p", "1", Big="12345678901", Id="0f8fad5b-d9cb-469f-a165-70867728950e")], "ok"),
          ("insert", [entity("p", "2", Big="12345678901", Id="0f8fad5b-d9cb-469f-a165-70867728950e")], "409"),
          ("find", [entity("", "", Big="12345678901", Id="0f8fad5b-d9cb-469f-a165-70867728950e")], ["1"])],
         [("big_00000000012345678901_0f8fad5bd9cb469fa16570867728950e", "big", None), ("p", "1", None)],
         ["the copy is stored first: a second entity with the same Big and Id is refused (409)"], "point"),
    Case("several with a value, in any partition",
         ["load People 10x100 City=c{rand:100}", "5@1s query People \"City eq 'c{i}'\""],
         "inter-partition-secondary-index",
         [("insert", [entity("p", "1", City="x")], "ok"),
          ("insert", [entity("q", "1", City="x")], "ok"),
          ("insert", [entity("q", "2", City="y")], "ok"),
          ("find", [entity("", "", City="x")], ["1", "1"]),
          ("change", [entity("q", "1", City="x"), entity("q", "1", City="y", Name="moved")], "ok"),
          ("find", [entity("", "", City="x")], ["1"]),
          ("find", [entity("", "", City="y")], ["1", "2"]),
          ("delete", [entity("q", "2", City="y")], "ok"), ("fill", [], "0"),
          ("find", [entity("", "", City="z")], ["0", "00"])],
         [("p", "0", None), ("p", "00", None), ("city_z", "p_0", None), ("city_z", "p_00", None), ("city_x", "p_1", None), ("city_y", "q_1", "moved"), ("p", "1", None), ("q", "1", "moved")],
         ["the copy follows its entity a moment later"],
         given=[entity("p", "0", City="z"), entity("p", "00", City="z")]),
    Case("a range of numbers, in any partition",
         ["load People 10x100 Age={i}", "5@1s query People \"Age lt 3\""],
         "inter-partition-secondary-index",
         [("insert", [entity("p", str(age), Age=age)], "ok") for age in (9, 10, 11)] +
         [("find", [entity("", "", Age=11)], ["9", "10"])],
         [("age", f"{age:010}_p_{age}", None) for age in (9, 10, 11)] +
         [("p", age, None) for age in ("10", "11", "9")],
         ["all copies are in one partition"]),
    Case("a RowKey without its PartitionKey",
         ["load People 10x100 rk=r{i:05}", "5@1s query People \"RowKey eq 'r00{i:03}'\""],
         "inter-partition-secondary-index",
         [("insert", [entity("p", "1")], "ok"), ("insert", [entity("q", "1")], "ok"),
          ("insert", [entity("q", "2")], "ok"),
          ("find", [entity("", "1")], ["1", "1"]),
          ("delete", [entity("q", "1")], "ok"),
          ("find", [entity("", "1")], ["1"])],
         [("p", "1", None), ("q", "2", None), ("rk_1", "p", None), ("rk_2", "q", None)]),
    Case("the time of an insert, the newest first",
         ["load People 1x100", "5@1s query People \"PartitionKey eq 'p000' and Timestamp ge datetime'{now-60s}'\""],
         "log-tail",
         [("insert", [entity("p", "1", Name="first")], "ok"), ("insert", [entity("p", "2")], "ok"),
          ("insert", [entity("q", "3")], "ok"),
          ("find", [entity("p", ""), {"time": "2020-01-01T00:00:00Z"}], ["2", "1"]),
          ("find", [entity("p", ""), {"time": "2120-01-01T00:00:00Z"}], [])],
         [("p", "1", "first"), ("p", "2", None), ("q", "3", None)],
         ["the time is that of the insert, which an update does not change"], "log"),
    Case("inserts that always go to the end",
         ["40@1s batch People insert 10 a {ticks}"], "spread-partition",
         [("insert", [entity("a", row, Name=f"n{row}")], "ok") for row in "3142"] +
         [("get", [entity("a", "4")], ["4"]), ("get", [entity("a", "5")], "404"),
          ("find", ["a"], ["1", "2", "3", "4"]), ("find", ["b"], [])],
         [("0_a", "2", "n2"), ("1_a", "1", "n1"), ("1_a", "3", "n3"), ("1_a", "4", "n4")],
         ["a query of all reads 2 partitions (tavola_scan_open_spread)"], "spread"),
    Case("the same, of a table whose queries give a property",
         ["40@1s batch People insert 10 a {ticks} Region=g{rand:20}", "5@1s query People \"Region eq 'g1'\""],
         "finer-partition-key",
         [("insert", [entity("a", "1", Region="north")], "ok"), ("insert", [entity("a", "2", Region="n_e")], "ok"),
          ("insert", [entity("b", "3", Region="north")], "ok"),
          ("find", [entity("a", "", Region="north")], ["1"]), ("find", [entity("a", "", Region="n_e")], ["2"])],
         [("n%5Fe_a", "2", None), ("north_a", "1", None), ("north_b", "3", None)], [], "finer"),
    Case("all in one partition", ["load People 1x10000 rk=c{i/100}-{i}"], "finer-partition-key",
         [("insert", [entity("p", "c7-1", Name="one")], "ok"), ("insert", [entity("p", "c7-2_x")], "ok"),
          ("insert", [entity("p", "c8-1")], "ok"), ("insert", [entity("p", "plain")], "ok"),
          ("get", ["c7-2_x"], ["2_x"]), ("get", ["plain"], [""]), ("get", ["c9-1"], "404"),
          ("find", ["c7"], ["1", "2_x"])],
         [("c7", "1", "one"), ("c7", "2_x", None), ("c8", "1", None), ("plain", "", None)], [], "split"),
    Case("numbers in RowKeys",
         ["load People 1x500 rk=n{i}x", "5@1s query People \"PartitionKey eq 'p000' and RowKey ge 'n10' and RowKey lt 'n20'\""],
         "padded-number",
         [("insert", [entity("p", f"n{n}x", Name=str(n))], "ok") for n in (9, 10, 100, 1234567)] +
         [("find", ["p", "n9x", "n100x"], ["n000009x", "n000010x"])],
         [("p", "n000009x", "9"), ("p", "n000010x", "10"), ("p", "n000100x", "100"), ("p", "n1234567x", "1234567")],
         [], "sorted"),
    Case("numbers in PartitionKeys",
         ["load People 300x1 pk={k}", "5@1s query People \"PartitionKey ge '10' and PartitionKey lt '20'\""],
         "padded-number",
         [("insert", [entity(str(n), "r")], "ok") for n in (9, 10, 100)] +
         [("find", ["9", "11"], ["r", "r"])],
         [("000009", "r", None), ("000010", "r", None), ("000100", "r", None)], [], "sorted_partition"),
    Case("a counter that writers collide on",
         ["load People 1x1 Count=1", "5@10ms {", "c8: read People p000 r00000", "c8: merge People p000 r00000 Count={rand:1000}", "}"],
         "split-counter",
         [("add", ["p", "hits", n], "ok") for n in range(1, 31)] +
         [("add", ["p", "hitsmore", 1000], "ok"), ("total", ["p", "hits"], "465"), ("total", ["p", "none"], "0")],
         None, ["add to one of 2 at random, sum them in one range"], "counter"),
    Case("single writes of one partition in a row", ["25@2ms insert People p r{j:05}"], "W04",
         [("write", [[entity("p", f"{n:03}", Name="n") for n in range(105)] + [entity("q", "1")]], "ok"),
          ("write", [[entity("p", "000", Name="again")]], "ok")],
         [("p", "000", "again"), *[("p", f"{n:03}", "n") for n in range(1, 105)], ("q", "1", None)], [], "batch"),
    Case("entities that are deleted one by one", ["load People 1x120", "wait 65m", "120@20ms delete People p000 r{j:05}"], "W01",
         [("delete", ["p"], "ok")], [("q", "1", None)], [], "deletes"),
    Case("neighbours that are read one by one", ["load People 2x24", "2@5s {", "24@5ms get People p{k:03} r{j:05}", "}"], "Q08",
         [("find", ["p", "a_"], ["a_1", "a_2"])], None, [], "range"),
    Case("matches that lie side by side", ["load People 1x1000 rk=o_{i:06} Year={i/20}",
                                           "5@1s query People \"PartitionKey eq 'p000' and Year eq {rand:50}\""], "Q03",
         [("find", ["p", "a_"], ["a_1", "a_2"])], None, [], "range"),
    Case("wide entities", ["load People 1x25 Html={16KiB} A=1 B=2 C=3", "5@1s query People \"PartitionKey eq 'p000'\""], "Q09",
         [("find", ["PartitionKey eq 'p'", ["RowKey", "Name"]], ["a:Name", "a_1:Name", "a_2:Name", "b:Name"])], None, [], "select"),
    Case("walks that are left", ["load People 1x3100", "4@10s pages 3 People \"PartitionKey eq 'p000'\"", "wait 10s"], "C01",
         [("first", ["PartitionKey eq 'p'", 2], ["a", "a_1"]), ("first", ["PartitionKey eq 'p'", 9], ["a", "a_1", "a_2", "b"])],
         None, [], "top"),
    Case("old data that is searched for", ["load People 10x120", "wait 65m", "sweep People \"Timestamp lt datetime'{now-1h}'\""], "W02",
         [("insert", [entity("p", "1"), {"time": "2026-01-05T00:00:00Z"}], "ok"),
          ("insert", [entity("p", "2"), {"time": "2026-01-05T23:59:59Z"}], "ok"),
          ("insert", [entity("p", "2"), {"time": "2026-01-05T23:59:59Z"}], "409"),
          ("insert", [entity("p", "3"), {"time": "2026-01-06T00:00:00Z"}], "ok"),
          ("find", [{"time": "2026-01-05T12:00:00Z"}, "PartitionKey eq 'p'"], ["1", "2"]),
          ("find", [{"time": "2026-01-06T12:00:00Z"}, "PartitionKey eq 'p'"], ["3"]),
          ("drop_before", [{"time": "2026-01-06T12:00:00Z"}], "ok"),
          ("find", [{"time": "2026-01-06T12:00:00Z"}, "PartitionKey eq 'p'"], ["3"]),
          ("insert", [entity("p", "1"), {"time": "2026-01-05T00:00:00Z"}], "ok"),
          ("find", [{"time": "2026-01-05T12:00:00Z"}, "PartitionKey eq 'p'"], ["1"]),
          ("drop_before", [{"time": "2026-01-07T00:00:00Z"}], "ok")],
         [("p", "old", None)], ["one table for each day: {Table}{yyyyMMdd}"], "period", [entity("p", "old")]),
    # Of older data there is a table for each week or month: no traffic is so old, but the text is put in.
    *[Case(f"old data, a table for each {period}", ["load People 10x120", "wait 65m", "sweep People \"Timestamp lt datetime'{now-1h}'\""], "W02",
           [("insert", [entity("p", day), {"time": f"2026-{day}T12:00:00Z"}], "ok") for day in ("01-31", "02-01", "02-02", "02-28", "03-01")] +
           [("find", [{"time": "2026-02-05T00:00:00Z"}, "PartitionKey eq 'p'"], found),
            ("drop_before", [{"time": "2026-02-28T00:00:00Z"}], "ok"),
            ("find", [{"time": "2026-02-26T00:00:00Z"}, "PartitionKey eq 'p'"], left),
            ("drop_before", [{"time": "2027-01-01T00:00:00Z"}], "ok")], None, [], "period", put_in=("period_day", f"period_{period}"))
      for period, found, left in [("week", ["02-02"], ["02-28", "03-01"]), ("month", ["02-01", "02-02", "02-28"], ["02-01", "02-02", "02-28"])]],
    Case("batches over partitions", ["batch People insert 2 p{j:03} a"], "W05",
         [("write", [[entity("p", "1"), entity("q", "1"), entity("p", "2")]], "ok")], [("p", "1", None), ("p", "2", None), ("q", "1", None)],
         [], "batch"),
    Case("RowKeys that are joined by or", ["load People 1x1100", "5@1s many People p000 2"], "Q05",
         [("find", [[["p", "a"], ["p", "none"], ["p", "b"]]], ["a", "b"]), ("find", [[]], []),
          ("find", [[["many", f"{n:04}"] for n in range(40)]], [f"{n:04}" for n in range(40)])], None, [], "points"),
    Case("PartitionKeys that are joined by or", ["load People 10x10", "5@1s query People \"PartitionKey eq 'p001' or PartitionKey eq 'p002'\""],
         "Q05", [("find", [["p", "none", "q"]], ["a", "a_1", "a_2", "b", "c"])], None, [], "partitions"),
    Case("many RowKeys", ["load People 1x100", "many People p000 16"], "Q06",
         [("find", [[["p", "a"], ["p", "none"], ["p", "b"]]], ["a", "b"])], None, [], "points"),
    Case("many comparisons", ["load People 1x100 A={i}", "query People \"PartitionKey eq 'p000' and (" +
                              " or ".join(f"A eq {n}" for n in range(16)) + ")\""], "Q06",
         [("find", ["PartitionKey eq 'many'", [f"RowKey eq '{n:04}'" for n in range(40)]], [f"{n:04}" for n in range(40)]),
          ("find", ["", ["RowKey eq 'a'", "RowKey eq 'c'"]], ["a", "c"])], None, [], "several"),
    Case("a whole table that is read again and again", ["load People 1x20", "3@1m walk People"], "Q10",
         [("find", [600], ["1", "2"]), ("behind", ["p", "1"], "ok"), ("find", [600], ["1", "2"]), ("find", [0], ["2"]),
          ("change", [entity("p", "3", Name="new")], "ok"), ("find", [600], ["2", "3"])],
         [("p", "2", None), ("p", "3", "new")], [], "kept_table", [entity("p", "1"), entity("p", "2")]),
    Case("an entity that is read often", ["load People 4x5 Html={16KiB}", "35@1s {", "4@0 get People p001 r00001", "4@0 get People p{rand:4:03} r{rand:5:05}", "}"],
         "P02", [("get", ["p", "1", 600], ["1"]), ("behind", ["p", "1"], "ok"), ("get", ["p", "1", 600], ["1"]), ("get", ["p", "1", 0], "404"),
                 ("change", [entity("p", "1", Name="new")], "ok"), ("get", ["p", "1", 600], ["1"])],
         [("p", "1", "new"), ("p", "2", None)], [], "kept", [entity("p", "1"), entity("p", "2")]),
    Case("a log", ["6@1s {", "40@5s batch People insert 50 {now:yyyyMMddTHH} {ticks} Message={64B}",
                   "query People \"PartitionKey eq '{now:yyyyMMddTHH}' and RowKey ge '{ticks-120s}'\"", "}"], "P05",
         [("append", [{"time": "2026-01-05T22:59:59Z"}, "one\n"], "ok"), ("append", [{"time": "2026-01-05T23:00:00Z"}, "two\nthree\n"], "ok"),
          ("append", [{"time": "2026-01-05T23:59:59Z"}, "four\n"], "ok"), ("append", [{"time": "2026-01-06T00:00:00Z"}, "five\n"], "ok"),
          ("find", ["2026/01/05/23"], "two\nthree\nfour\n"), ("find", ["2026/01/05/"], "one\ntwo\nthree\nfour\n"),
          ("find", ["2026/"], "one\ntwo\nthree\nfour\nfive\n"), ("find", ["2027/"], "")], None, [], "log_blob"),
    Case("a value near 64 KiB", ["insert People p r Text={31000B}"], "D02",
         [("put", [ANN, "x" * 70000], "ok"), ("get", ["p", "1"], "x" * 70000), ("put", [ANN, "again"], "ok"), ("get", ["p", "1"], "again"),
          ("blobs", [], "1"), ("put", [entity("p", "0", Name="Zoe"), "long"], "ok"), ("get", ["p", "0"], "long"), ("blobs", [], "2"),
          ("delete", ["p", "1"], "ok"), ("get", ["p", "1"], "404"), ("blobs", [], "1")],
         [("p", "0", "Zoe")], [], "large", [entity("p", "0", Text="Old")]),
    *[Case(f"values of which most are {kind}", [f"load People 1x80 Name={most}", f"load People 1x20 rk=r9{{i:04}} Name={other}"], "D03",
           [("rewrite", [], str(left))], [("p", str(n), value) for n, value in enumerate(now)], [], "rewrite", [named(n, value) for n, value in enumerate(was)])
      for kind, most, other, left, was, now in [
          ("Int32", "5", "7L", 1, [5, 7 << 40, "8", None], [5, str(7 << 40), 8, None]),
          ("Int64", "7L", "5", 1, [7 << 40, 5, "six", None], [str(7 << 40), "5", "six", None]),
          ("String", "n5", "5", 0, ["a", 5, 7 << 40], ["a", "5", str(7 << 40)]),
          ("Double", "1.5D", "5", 1, [1.5, 5, "2.25", "x"], [1.5, 5, 2.25, "x"])]],
    Case("dates with the day first", ["load People 1x100 rk={day:dd.MM.yyyy}", "5@1s query People \"PartitionKey eq 'p000' and RowKey ge '01.02.2026' and RowKey lt '01.03.2026'\""],
         "K02", [("insert", [entity("p", row)], "ok") for row in ("31.01.2026", "01.02.2026 a", "28.02.2026", "01.03.2026")] +
         [("find", ["p", "01.02.2026", "01.03.2026"], ["2026-02-01 a", "2026-02-28"])],
         [("p", row, None) for row in ("2026-01-31", "2026-02-01 a", "2026-02-28", "2026-03-01")], [], "sorted"),
    Case("a range of random ids", ["load People 1x100 rk={guid}", "5@1s query People \"PartitionKey eq 'p000' and RowKey ge '8' and RowKey lt 'c'\""],
         "K03", [("insert", [entity("p", "f1"), "2026-01"], "ok"), ("insert", [entity("p", "a2"), "2026-02"], "ok"),
                 ("insert", [entity("p", "c3"), "2026-03"], "ok"), ("find", ["p", "2026-01", "2026-03"], ["2026-01_f1", "2026-02_a2"])],
         [("p", "2026-01_f1", None), ("p", "2026-02_a2", None), ("p", "2026-03_c3", None)], [], "led"),
    Case("RowKeys in two cases", ["load People 1x50 rk=A{i:04}", "load People 1x50 rk=b{i:04}",
                                  "10@1s query People \"PartitionKey eq 'p000' and RowKey ge 'a' and RowKey lt 'c'\""], "K03",
         [("insert", [entity("p", row)], "ok") for row in ("A1", "b2", "C3")] +
         [("find", ["p", "A", "c"], ["a1", "b2"]), ("get", ["p", "B2"], ["b2"])],
         [("p", row, None) for row in ("a1", "b2", "c3")], [], "lowered"),
    Case("a table that is counted again and again", ["load People 1x20", "3@1m walk People $select=PartitionKey,RowKey"], "Q10",
         [("find", [600], ["1"]), ("find", [0], ["1"])], None, [], "kept_table", [entity("p", "1", Name="n")]),
    Case("requests that are repeated at once", ["c5: again 4 5ms insert People p000 r{i}"], "C03",
         [("get", ["p", "a"], ["a"]), ("get", ["p", "none"], "404")], None, [], "backoff", targets="partition:1"),
    Case("entities near a limit", ["wide People p w 240"], "D01",
         [("put", [entity("p", "1", **{f"P{n:03}": n for n in range(500)})], "ok"),
          ("get", ["p", "1"], ["1:" + ",".join(f"P{n:03}" for n in range(500))]),
          ("put", [entity("p", "1", **{f"P{n:03}": n for n in range(150)})], "ok"),
          ("get", ["p", "1"], ["1:" + ",".join(f"P{n:03}" for n in range(150))])], None, [], "wide_select"),
    Case("pages that nobody goes on with", ["load People 1x1100", "6@1m pages 1 People \"PartitionKey eq 'p000'\""], "C02",
         [("find", ["PartitionKey eq 'many'"], [f"{n:04}" for n in range(1005)])], None, [], "pages"),
]

# What is there before the steps, for those of them that only read or delete.
GIVEN = {
    "deletes": [entity("p", f"{n:03}") for n in range(105)] + [entity("q", "1")],
    "pages": [entity("many", f"{n:04}") for n in range(1005)],
    "points": [entity("p", "a"), entity("p", "b"), *[entity("many", f"{n:04}") for n in range(40)]],
    "several": [entity("p", "a"), entity("q", "c"), *[entity("many", f"{n:04}") for n in range(40)]],
    "partitions": [entity("p", "a"), entity("p", "a_1"), entity("p", "a_2"), entity("p", "b"), entity("q", "c")],
    "backoff": [entity("p", "a")],
} | dict.fromkeys(["range", "select", "top"],
                  [entity("p", row, Name="x", Other=1) for row in ("a", "a_1", "a_2", "b")])


# --- running

def take_code(case, admin, traffic, wait_for_sample, account):
    """The proposal of the finding and {language: code}, as the server has them."""
    mark = admin.ask("POST", "/advice/marks")["mark"]
    traffic.run(case.traffic)
    name = traffic.table_name("People")
    wait_for_sample(admin, account, name)
    answer = admin.ask("GET", f"/advice?account={account}&table={name}&since={mark}")
    for finding in answer["findings"]:
        cure = finding["cure"]
        if case.pattern in (finding["code"], cure.get("proposal", {}).get("pattern")):
            return cure.get("proposal", {"notes": []}), {code["language"]: code["text"] for code in cure["code"]}
    raise AssertionError(f"no {case.pattern} is proposed: {answer['findings']}")


def section(language, name):
    """A text of the sources."""
    file = ROOT / "src/insight/advice/cures" / f"{language.lower().replace('#', 'sharp')}.txt"
    return file.read_text().split(f"=== {name}\n")[1].split("\n=== ")[0].strip("\n")


def put_in(code, old, new):
    for language, text in code.items():
        assert section(language, old) in text, (language, old, text)
    return {language: text.replace(section(language, old), section(language, new)) for language, text in code.items()}


def output(*command, **options):
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=300, **options)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, command[:3]))}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def steps_of(case):
    return [[function, *arguments] for function, arguments, _ in case.steps]


def run_jobs(command, folder, cases, codes, language, suffix, connection):
    """All cases in one process; what became of their steps."""
    jobs = []
    for n, case in enumerate(cases):
        file = folder / f"cure{n}.{suffix}"
        file.write_text(codes[n][language] + "\n")
        jobs.append({"file": str(file), "class": f"PeopleN{n}Keys", "table": f"Steps{suffix}{n}", "c": case.c, "steps": steps_of(case)})
    (folder / f"jobs.{suffix}.json").write_text(json.dumps(jobs))
    return json.loads(output(*command, connection, folder / f"jobs.{suffix}.json", cwd=folder))


def run_python(folder, cases, codes, connection):
    return run_jobs(["/usr/bin/python3", DRIVERS / "driver.py"], folder, cases, codes, "Python", "py",
                    connection)


def run_javascript(folder, cases, codes, connection):
    javascript.install(MODULES)
    (folder / "node_modules").symlink_to(MODULES / "node_modules")
    shutil.copy(DRIVERS / "driver.mjs", folder)
    return run_jobs(["node", "driver.mjs"], folder, cases, codes, "JavaScript", "mjs", connection)


def compile_c(source, program, *defines):
    """With all warnings, linked with the library as it was just built; what was compiled before comes
    from the cache, so the file that is defined has no folder of this run in its name."""
    library = (BUILD / LIBRARY).parent
    cache = "ccache" if shutil.which("ccache") else ""
    flags = "-std=c17 -Wall -Werror -fsanitize=address,undefined -no-pie"
    names = " ".join(f"'-D{name}'" for name in defines)
    return subprocess.Popen(
        f"{cache} gcc {flags} {names} -I{ROOT}/include -I. -c {source} -o {program}.o && "
        f"gcc {flags} {program}.o -o {program} -L{library} -ltavola -Wl,-rpath,{library}",
        shell=True, cwd=program.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_compiler(compiler):
    said = compiler.communicate()[0]
    if compiler.returncode:
        raise AssertionError(f"{compiler.args}: {said}")


def flatten(arguments):
    for one in arguments:
        yield from flatten(one) if isinstance(one, list) else [one]


def words_of(function, *arguments):
    """A step for driver.c: lists are arguments of their own, times are texts."""
    flat = list(flatten(arguments))
    texts = [one["time"] if isinstance(one, dict) and "time" in one else
             one if isinstance(one, str) else json.dumps(one) for one in flat]
    return [function, str(len(texts)), *texts]


def run_c(folder, cases, codes, connection):
    """A program for each."""
    results, compilers = [], []
    for n, case in enumerate(cases):
        (folder / f"cure{n}.c").write_text(codes[n]["C"] + "\n")
        fill = ["OFFERS_FILL"] if any(step[0] == "fill" for step in case.steps) else []
        compilers.append(compile_c(DRIVERS / "driver.c", folder / f"cure{n}", f"OFFERS_{case.c or 'scan'}", *fill,
                                   f'CURE="cure{n}.c"'))
    for n, (case, compiler) in enumerate(zip(cases, compilers)):
        wait_compiler(compiler)
        words = [word for step in steps_of(case) for word in words_of(*step)]
        results.append(json.loads(output(folder / f"cure{n}", connection, f"Stepsc{n}", *words)))
    return results


INVERTED = re.compile(r"^\d{19}_(.*)")  # a RowKey with the time of its insert


def without_time(name):
    return INVERTED.sub(r"\1", name)


def rows_of(client, table):
    """(PartitionKey, RowKey, Name) of all there is."""
    reply = client.request("GET", f"/{table}()")
    assert reply.status == 200, reply
    return sorted(((e["PartitionKey"], without_time(e["RowKey"]), e.get("Name"))
                   for e in reply.json["value"]), key=str)


def give(client, table, entities):
    """A table with these, which the steps find."""
    assert client.request("POST", "/Tables", {"TableName": table}).status == 201
    for _, group in itertools.groupby(entities, key=lambda e: e["PartitionKey"]):
        some = list(group)
        for at in range(0, len(some), 100):
            assert client.batch(table, some[at:at + 100]).status == 202


LANGUAGES = {"Python": (run_python, "py"), "JavaScript": (run_javascript, "mjs"), "C": (run_c, "c")}


def check_language(language, cases, codes, server, folder, run, suffix):
    """What is wrong, by lines."""
    client = Client(server.table_port)
    problems = []
    for n, case in enumerate(cases):
        give(client, f"Steps{suffix}{n}", case.given or GIVEN.get(case.c, []))
    for n, (case, told) in enumerate(zip(cases, run(folder, cases, codes, server.connection_string))):
        for (function, arguments, wanted), got in zip(case.steps, told, strict=True):
            got = list(map(without_time, got)) if case.c == "log" and isinstance(got, list) else got
            if wanted is not None and got != wanted:
                problems.append(f"{language}, {case.what}: {function} {json.dumps(arguments)} "
                                f"gives {got}, not {wanted}")
        rows = rows_of(client, f"Steps{suffix}{n}")
        if case.rows is not None and rows != sorted(case.rows, key=str):
            problems.append(f"{language}, {case.what}: there is {rows}, not {sorted(case.rows, key=str)}")
    return problems


# --- which language is first

def scan_c(folder, connection, table):
    wait_compiler(compile_c(DRIVERS / "scan.c", folder / "scan"))
    output(folder / "scan", connection, table)


def scan_python(folder, connection, table):
    output("/usr/bin/python3", DRIVERS / "scan.py", connection, table)


def scan_javascript(folder, connection, table):
    shutil.copy(DRIVERS / "scan.mjs", folder)
    output("node", "scan.mjs", connection, table, cwd=folder)


SCANS = {"C": scan_c, "Python": scan_python, "JavaScript": scan_javascript}
DEFAULT = ["C", "Python", "C#", "JavaScript"]  # of clients that say nothing


def check_order(admin, server, make_traffic, folder):
    """The code in the language of the SDK that the scans came from is first."""
    problems = []
    for n, (language, scan) in enumerate(SCANS.items()):
        traffic = make_traffic(len(CASES) + n, ACCOUNT)
        traffic.run(["load People 1x100 Email=u{i}@x"])
        name = traffic.table_name("People")
        for wanted in ([], [language]):
            mark = admin.ask("POST", "/advice/marks")["mark"]
            if wanted:
                scan(folder, server.connection_string, name)
            else:
                traffic.run(["5@1s query People \"Email eq 'u{i}@x'\""])
            answer = admin.ask("GET", f"/advice?account={ACCOUNT}&table={name}&since={mark}&rule=Q01")
            finding = answer["findings"][0]
            order = [code["language"] for code in finding["cure"]["code"]]
            expected = wanted + [each for each in DEFAULT if each not in wanted]
            if (finding["languages"], order) != (wanted, expected):
                problems.append(f"scans by {wanted or 'nobody that is known'}: languages "
                                f"{finding['languages']}, code in {order}")
            for verb in [("advise", name), ("lint",)] if wanted else []:
                said = subprocess.run([TAVOLA, *verb, "--code", "--since", mark, "--admin", server.admin_url,
                                       "--data", server.data], text=True, stdout=subprocess.PIPE).stdout
                if f"\n  code   {expected[0]}\n{finding['cure']['code'][0]['text']}\n" not in said:
                    problems.append(f"tavola {verb[0]} --code says: {said}")
    return problems


def check_texts(case, proposal, code):
    problems = [f"{case.what}: no text says '{text}': {proposal['notes']}" for text in case.promises
                if text not in proposal["notes"]]
    if set(code) != {"C", "Python", "C#", "JavaScript"}:
        problems.append(f"{case.what}: code in {sorted(code)}")
    problems += [f"{case.what}: <<{name}>> is left" for text in code.values()
                 for name in re.findall(r"<<(\w*)>>", text)]
    return problems


def run(server, admin, make_traffic, wait_for_sample, languages, accounts):
    """What is wrong, by lines; `languages` are {name: (how its code is run, how its files end)}, `accounts`
    {scalability targets: name}."""
    problems, codes = [], []
    for n, case in enumerate(CASES):
        account = accounts[case.targets]
        proposal, code = take_code(case, admin, make_traffic(n, account), wait_for_sample, account)
        problems += check_texts(case, proposal, code)
        codes.append(put_in(code, *case.put_in) if case.put_in else code)
    with tempfile.TemporaryDirectory(prefix="tavola-cures-") as name:
        for language, how in languages.items():
            problems += check_language(language, CASES, codes, server, pathlib.Path(name), *how)
        if languages is LANGUAGES:
            problems += check_order(admin, server, make_traffic, pathlib.Path(name))
    return problems
