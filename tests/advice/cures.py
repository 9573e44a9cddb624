"""The code of cures does what the texts of their findings promise.

For each case of CASES traffic is sent to a real server, the code of the finding is taken from its
answer, written to a file as it stands, and called with the real SDKs: the functions of each
language do the same steps, on a table of their own.  What must become of each step, and which rows
are there in the end, is in the case, by what the texts say.  And the code that stands first is in the
language of the SDK whose requests the finding is about.
"""

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
LIBRARY = "src/client/libtavola.so.1.0.0"  # what ninja has to build

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
    """`steps` are (function, entities, what becomes of it); `rows` what is there in the end."""

    def __init__(self, what, traffic, pattern, steps, rows, promises=(), c=()):
        self.what, self.traffic, self.pattern = what, traffic, pattern
        self.steps, self.rows, self.promises, self.c = steps, rows, promises, c


ANN = entity("p", "1", Email="ann@x", Name="Ann")
BOB = entity("p", "2", Email="bob@x", Name="Bob")


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
          ("find", [entity("p", "", Email="new@x")], "404")],
         [("p", "2", "Rob"), ("p", "3", None), ("p", "email_bob@x", "Rob"), ("q", "1", None),
          ("q", "email_ann@x", None)],
         ["a second entity with the same Email in a partition is refused (409)",
          "both copies change in one entity group transaction"], ["LIBRARY"]),
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
         ["a negative number has no place among these keys"], ["UPTO"]),
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
          ("delete", [BOB], "ok")],
         [("email_new@x", "email", "Ann"), ("p", "1", "Ann")],
         ["the copy is stored first: a second entity with the same Email is refused (409)",
          "the entity follows its copy a moment later"], ["POINT"]),
    Case("a Guid and a number of 64 bits, which are unique together",
         ["load People 10x100 Name=n{i}",
          "5@1s query People \"Id eq guid'00000000-0000-0000-0000-000000000001' and Big eq 5L\""],
         "inter-partition-secondary-index",
         [("insert", [entity("p", "1", Big="12345678901", Id="0f8fad5b-d9cb-469f-a165-70867728950e")], "ok"),
          ("insert", [entity("p", "2", Big="12345678901", Id="0f8fad5b-d9cb-469f-a165-70867728950e")], "409"),
          ("find", [entity("", "", Big="12345678901", Id="0f8fad5b-d9cb-469f-a165-70867728950e")], ["1"])],
         [("big_00000000012345678901_0f8fad5bd9cb469fa16570867728950e", "big", None), ("p", "1", None)],
         ["the copy is stored first: a second entity with the same Big and Id is refused (409)"], ["POINT"]),
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
          ("delete", [entity("q", "2", City="y")], "ok")],
         [("city_x", "p_1", None), ("city_y", "q_1", "moved"), ("p", "1", None), ("q", "1", "moved")],
         ["the copy follows its entity a moment later"]),
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
]


# --- running

def take_code(case, admin, traffic, wait_for_sample):
    """The proposal of the finding and {language: code}, as the server has them."""
    mark = admin.ask("POST", "/advice/marks")["mark"]
    traffic.run(case.traffic)
    name = traffic.table_name("People")
    wait_for_sample(admin, ACCOUNT, name)
    answer = admin.ask("GET", f"/advice?account={ACCOUNT}&table={name}&since={mark}")
    for finding in answer["findings"]:
        cure = finding["cure"]
        if cure.get("proposal", {}).get("pattern") == case.pattern:
            return cure["proposal"], {code["language"]: code["text"] for code in cure["code"]}
    raise AssertionError(f"no {case.pattern} is proposed: {answer['findings']}")


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
        jobs.append({"file": str(file), "table": f"Steps{suffix}{n}", "steps": steps_of(case)})
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
    """With all warnings, linked with the library as it was just built."""
    library = (BUILD / LIBRARY).parent
    return subprocess.Popen(
        ["gcc", "-std=c17", "-Wall", "-Werror", "-fsanitize=address,undefined", "-no-pie",
         *[f"-D{name}" for name in defines], f"-I{ROOT}/include", source, "-o", program,
         f"-L{library}", "-ltavola", f"-Wl,-rpath,{library}"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_compiler(compiler):
    said = compiler.communicate()[0]
    if compiler.returncode:
        raise AssertionError(f"{' '.join(map(str, compiler.args))}: {said}")


def run_c(folder, cases, codes, connection):
    """A program for each."""
    results, compilers = [], []
    for n, case in enumerate(cases):
        (folder / f"cure{n}.c").write_text(codes[n]["C"] + "\n")
        compilers.append(compile_c(DRIVERS / "driver.c", folder / f"cure{n}", *case.c,
                                   f'CURE="{folder}/cure{n}.c"'))
    for n, (case, compiler) in enumerate(zip(cases, compilers)):
        wait_compiler(compiler)
        words = [word if isinstance(word, str) else json.dumps(word)
                 for step in steps_of(case) for word in step]
        results.append(json.loads(output(folder / f"cure{n}", connection, f"Stepsc{n}", *words)))
    return results


def rows_of(client, table):
    """(PartitionKey, RowKey, Name) of all there is."""
    reply = client.request("GET", f"/{table}()")
    assert reply.status == 200, reply
    return sorted((e["PartitionKey"], e["RowKey"], e.get("Name")) for e in reply.json["value"])


LANGUAGES = {"Python": (run_python, "py"), "JavaScript": (run_javascript, "mjs"), "C": (run_c, "c")}


def check_language(language, cases, codes, server, folder):
    """What is wrong, by lines."""
    run, suffix = LANGUAGES[language]
    client = Client(server.table_port)
    problems = []
    for n, (case, told) in enumerate(zip(cases, run(folder, cases, codes, server.connection_string))):
        for (function, arguments, wanted), got in zip(case.steps, told, strict=True):
            if got != wanted:
                problems.append(f"{language}, {case.what}: {function} {json.dumps(arguments)} "
                                f"gives {got}, not {wanted}")
        rows = rows_of(client, f"Steps{suffix}{n}")
        if rows != sorted(case.rows):
            problems.append(f"{language}, {case.what}: there is {rows}, not {sorted(case.rows)}")
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
        traffic = make_traffic(len(CASES) + n)
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
            for verb in ("advise", name), ("lint",):
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


def run(server, admin, make_traffic, wait_for_sample):
    """What is wrong, by lines."""
    problems, codes = [], []
    for n, case in enumerate(CASES):
        proposal, code = take_code(case, admin, make_traffic(n), wait_for_sample)
        problems += check_texts(case, proposal, code)
        codes.append(code)
    with tempfile.TemporaryDirectory(prefix="tavola-cures-") as name:
        for language in LANGUAGES:
            problems += check_language(language, CASES, codes, server, pathlib.Path(name))
        problems += check_order(admin, server, make_traffic, pathlib.Path(name))
    return problems
