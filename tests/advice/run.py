#!/usr/bin/env python3
"""Send the traffic of tests/advice/*.traffic to a real server and compare its advice.

    tests/advice/run.py                 every file
    tests/advice/run.py reads rules     some of them; rules: that every rule has its cases; cures:
                                        that the code of cures does what their texts say

A server for each file: it records everything, and its recorder's clock is moved by the traffic.  Prints
a line for each case that failed and ends with `advice: N passed, N failed`.  README.md describes the
files.
"""

import fnmatch
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
sys.path.insert(0, str(HERE))

import cures  # noqa: E402
import kept  # noqa: E402
import notation  # noqa: E402
import parts  # noqa: E402
import seed  # noqa: E402
import story  # noqa: E402
import suite  # noqa: E402
from server import ACCOUNT, KEY, ROOT, Server  # noqa: E402
from traffic import Traffic  # noqa: E402
from until import until  # noqa: E402

# A request is recorded when its answer has gone out, at the time of the clock.  On one thread that is
# before the next request is answered, so also before one that moves the clock.
FLAGS = ("--watch=all", "--test-points", "--watch-clock=manual", "--threads", "1")

RULES, CURES = "rules", "cures"
OF_ACCOUNTS = ("account-limit",)  # rules whose findings name no table


class Admin:
    """One connection that is kept: the traffic asks for thousands of steps of the clock."""

    def __init__(self, server):
        token = server.admin_token()
        self.headers = {"Authorization": f"Bearer {token}"}
        self.connection = kept.Connection(server.admin_url.split("//")[1], timeout=120)

    def ask(self, method, path, body=None):
        self.connection.request(method, path, None if body is None else json.dumps(body),
                                self.headers)
        reply = self.connection.getresponse()
        text = reply.read()
        assert reply.status < 300, f"{method} {path}: {reply.status} {text.decode()}"
        return json.loads(text)

    def advance(self, ms):
        self.ask("POST", "/clock", {"ms": int(ms)})


def wait_for_sample(admin, account, table):
    """What is known of a large table comes from a sample, which the background takes."""
    path = f"?account={account}&table={table}"

    def is_new():
        facts = admin.ask("GET", f"/facts{path}&parts=keys")
        return facts["sample"]["changesSince"] == 0 and (facts["sample"]["keys"] or
                                                         not facts["entities"])
    if not is_new():
        admin.ask("POST", f"/facts/recount{path}")
        until(is_new, f"{table} is sampled")


def describe(findings):
    return ", ".join(f"{f['severity']} {f['code']}" for f in findings) or "nothing"


def text_of(finding, kind):
    if kind == "notes":
        return "; ".join(finding["cure"]["proposal"]["notes"])
    return finding.get("seen" if kind == "says" else "title", "")


def check(case, admin, account, table):
    """What is wrong, or None."""
    of_table = "" if case.rule in OF_ACCOUNTS else f"&table={table}"
    path = (f"/advice?account={account}{of_table}"
            + (f"&since={case.mark}" if case.mark else ""))
    answer = admin.ask("GET", path)
    found = [f for f in answer["findings"] if f["rule"] == case.rule]
    if case.severity is None and found:
        return f"{case.rule} must not fire, and has: {json.dumps(found[0]['evidence'])}"
    if case.severity and not found:
        return f"{case.rule} does not fire; found: {describe(answer['findings'])}"
    if case.severity and found[0]["severity"] != case.severity:
        return f"{case.rule} is {found[0]['severity']}: {json.dumps(found[0]['evidence'])}"
    if case.price:
        price = found[0]["cure"]["proposal"]["extraWritesPerHour"]
        if not case.price[0] <= price <= case.price[1]:
            return f"{case.rule} has a price of {price} writes an hour, not {case.price}"
    for kind, wanted in case.says:
        text = text_of(found[0], kind)
        if not fnmatch.fnmatchcase(text, f"*{wanted}*"):
            return f"{case.rule} does not say '{wanted}', but: {text}"
    return None


def write_accounts(file, targets):
    """An account for each kind of targets, and one without; returns their names."""
    names = {None: ACCOUNT, **{text: f"limited{n}" for n, text in enumerate(targets)}}
    for text, name in names.items():
        file.write(f"{name}:{KEY} targets={text or 'off'}\n")
    file.flush()
    return names


def run_case(case, admin, server, number, account):
    traffic = Traffic(server, admin, f"N{number}", account)
    try:
        if case.is_run:
            case.mark = admin.ask("POST", "/advice/marks")["mark"]
        traffic.run(case.lines)
        if case.rule not in OF_ACCOUNTS:
            wait_for_sample(admin, account, traffic.table_name(case.table))
        if not case.is_run:
            traffic.wait_ms(90000)  # walks that were left are closed after 60 s; then judged twice
        return check(case, admin, account, traffic.table_name(case.table))
    finally:
        traffic.close()


def check_page():
    """docs/advice.md has what the rules have."""
    done = subprocess.run([ROOT / "tools/advice-docs.py", "--check"], capture_output=True, text=True)
    return done.stdout.strip() or None


# Rules whose cure no code shows, and why.
WITHOUT_CODE = {
    "P08": "which tables get an account of their own is a decision, and then nothing but the connection string changes",
}


# Rules whose code is that of a proposal, or of another rule, that cures.py runs.
SAME_CODE = {"Q02": "inter-partition-secondary-index", "Q07": "log-tail", "P03": "split-counter", "W03": "W04"}


def rules_and_patterns():
    """[(code, the pattern of its cure)]"""
    text = (ROOT / "src/insight/advice/rules.def").read_text()
    return [(found[1], re.findall(r'"((?:[^"\\\\]|\\\\.)*)"', found[2])[6])
            for found in re.finditer(r"^RULE\((\w+),(.*?)\)$", text, re.M | re.S)]


def check_code(rules):
    """Every rule has code that cures.py runs, or is one of those that cannot."""
    patterns = {code: pattern for code, pattern in rules}
    run = {case.pattern for case in cures.CASES}
    run |= {code for code, pattern in rules if pattern in run or SAME_CODE.get(code) in run}
    missing = [code for code in patterns if code not in run and code not in WITHOUT_CODE]
    both = [code for code in WITHOUT_CODE if code in run]
    if missing or both:
        return f"no case of cures.py for the code of {missing}; {both} have code, and a reason for none"
    return None


def check_complete(files):
    """Every rule of the server has a case in which it fires and one in which it does not."""
    text = (ROOT / "src/insight/advice/rules.def").read_text()
    rules = [line.split('"')[1] for line in text.splitlines() if line.startswith("RULE(")]
    cases = [case for path in files for case in notation.read(path)]
    fires = {case.rule for case in cases if case.severity}
    silent = {case.rule for case in cases if not case.severity}
    missing = [rule for rule in rules if rule not in fires & silent]
    unknown = (fires | silent) - set(rules)
    if missing or unknown:
        return f"no case for {missing}, unknown {sorted(unknown)}"
    return None


def run_file(path):
    """How many cases of a file passed and how many failed, on a server of their own."""
    passed = failed = number = 0
    begun = time.monotonic()
    cases = notation.read(path)
    limits = sorted({case.targets for case in cases} - {None})
    with tempfile.NamedTemporaryFile("w", prefix="tavola-accounts-") as file:
        names = write_accounts(file, limits)
        with Server(*FLAGS, "--accounts", file.name) as server:
            admin = Admin(server)
            for case in cases:
                number += 1
                story.begin()
                problem = run_case(case, admin, server, number, names[case.targets])
                passed, failed = passed + (problem is None), failed + (problem is not None)
                if problem:
                    print(f"  {path.name}:{case.line} {case.sign} {case.what}: {problem}\n{story.tell()}")
                    print(f"  {seed.repeat('advice', path.stem)}")
            code = server.stop()
            if code:
                print(f"  the server ended with {code}: {server.log()[-2000:]}")
                failed += 1
    print(f"  {path.stem}: {passed} ok" + (f", {failed} FAILED" if failed else "") +
          f" ({time.monotonic() - begun:.1f} s)")
    return passed, failed


def run_cures(languages=cures.LANGUAGES):
    with tempfile.NamedTemporaryFile("w", prefix="tavola-accounts-") as file:
        accounts = write_accounts(file, sorted({case.targets for case in cures.CASES} - {None}))
        with Server(*FLAGS, "--accounts", file.name) as server:
            admin, made = Admin(server), []

            def traffic(number, account):
                made.append(Traffic(server, admin, f"N{number}", account))
                return made[-1]

            problems = cures.run(server, admin, traffic, wait_for_sample, languages, accounts)
            for one in made:
                one.close()
    for problem in problems:
        print(f"  {problem}")
    print(f"  cures: {len(cures.CASES)} cases in {', '.join(languages)}" +
          (f", {len(problems)} FAILED\n  {seed.repeat('advice', CURES)}" if problems else ""))
    return max(0, len(cures.CASES) - len(problems)), len(problems)


def run_part(part):
    """(passed, failed) of a file of traffic, or of what holds for all files."""
    if part == CURES:
        return run_cures()
    files = sorted(HERE.glob("*.traffic"))
    if part != RULES:
        return run_file(HERE / f"{part}.traffic")
    problems = [check_page(), check_complete(files), check_code(rules_and_patterns())]
    for problem in filter(None, problems):
        print(f"  {problem}")
    return problems.count(None), len(problems) - problems.count(None)


def main(arguments):
    is_list = arguments[:1] == ["--jobs"]
    known = {path.stem: () for path in sorted(HERE.glob("*.traffic"))} | {RULES: (), CURES: ()}
    chosen = parts.choose_or_exit("advice", known, arguments[is_list:])
    if is_list:
        return suite.print_jobs(chosen, needs=lambda part: ["programs"] if part == CURES else [],
                                targets=lambda part: [cures.LIBRARY] if part == CURES else [])
    return suite.close("advice", *suite.run_apart(run_part, [(part,) for part in chosen]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
