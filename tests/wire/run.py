#!/usr/bin/env python3
"""Run the request and response texts of tests/wire against a real server.

    tests/wire/run.py                       every tests/wire/*/*.test
    tests/wire/run.py table/insert queue    some of them: files, folders
    tests/wire/run.py --port 10002 --queue-port 10001 --blob-port 10000 ...
                                            against a server that already runs; what lets time
                                            pass needs --admin-url and $TAVOLA_ADMIN_TOKEN, too

Prints a line for each exchange that failed and ends with `wire: N passed, N failed`.  The form of
the files is described in tests/wire/README.md.
"""

import argparse
import base64
import collections
import datetime
import email.utils
import functools
import json
import os
import pathlib
import re
import secrets
import sys
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import client                                                                        # noqa: E402
import match                                                                         # noqa: E402
import parts                                                                         # noqa: E402
import sas                                                                           # noqa: E402
import sign                                                                          # noqa: E402
import seed                                                                          # noqa: E402
import slow                                                                          # noqa: E402
import story                                                                         # noqa: E402
import suite                                                                         # noqa: E402
import talk                                                                          # noqa: E402
from match import BadTest, NoVariable                                                # noqa: E402
from server import ACCOUNT, KEY, Server, pass_time                                              # noqa: E402
from until import POLL_S, WAIT_S                                                      # noqa: E402

WRONG_KEY = base64.b64encode(b"not the key of any account at all").decode("ascii")
# The second account starts empty in every run and has two keys.
SECOND = "secondaccount"
SECOND_KEYS = [base64.b64encode(bytes([n]) * 64).decode("ascii") for n in (1, 2)]
ACCOUNTS = f"{ACCOUNT}:{KEY};{SECOND}:{':'.join(SECOND_KEYS)}"

# What a file takes for granted about the service it talks to: headers of every request, the
# type of a body, the signature unless an option names one, and how `table t` and the like
# make one.
Service = collections.namedtuple("Service", "headers content_type scheme create")
VERSION = ("x-ms-version", "2019-02-02")
SERVICES = {
    "table": Service([VERSION, ("DataServiceVersion", "3.0"),
                      ("Accept", "application/json;odata=minimalmetadata")],
                     "application/json", "SharedKeyLite",
                     ("table", 'POST /Tables {{"TableName":"{}"}}')),
    "queue": Service([VERSION], "application/xml", "SharedKey", ("queue", "PUT /{}")),
    "blob": Service([("x-ms-version", "2021-12-02")], None, "SharedKey",
                    ("container", "PUT /{}?restype=container")),
}
ERROR_TYPE = "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"
ERROR_BODY = ('{"odata.error":{"code":"CODE","message":{"lang":"en-US",'
              '"value":"TEXT\\nRequestId:{guid}\\nTime:{time7}"}}DETAILS}')
XML_ERROR_BODY = ('<?xml version="1.0" encoding="utf-8"?><m:error xmlns:m="http://schemas.microsoft.com'
                  '/ado/2007/08/dataservices/metadata"><m:code>CODE</m:code><m:message '
                  'xml:lang="en-US">TEXT{newline}RequestId:{guid}{newline}Time:{time7}</m:message>'
                  'DETAILS</m:error>')
# Of queues and blobs.
ERROR_DOCUMENT = ('\ufeff<?xml version="1.0" encoding="utf-8"?><Error><Code>CODE</Code><Message>TEXT\n'
                  'RequestId:{guid}\nTime:{time7}</Message>DETAILS</Error>')
RUNNER = "runner"  # the part that tests this program
SIGNED = re.compile(r"\{(lite|wronglite) (\S+)\}")


class NoClock(Exception):
    """The file lets time pass, and the server is not known to have a clock for that."""

    def __init__(self, step):
        super().__init__(step.name)
        self.line, self.name = step.line, step.name


def http_date(minutes=0):
    return email.utils.formatdate(time.time() + 60 * minutes, usegmt=True)


def sign_lite(kind, target):
    key = KEY if kind == "lite" else WRONG_KEY
    return sign.shared_key_lite(ACCOUNT, key, http_date(), target)


def batch_body(lines, base):
    """Write a batch from lines `METHOD /path [body]`, each followed by its indented headers."""
    operations = []
    for line in lines.split("\r\n"):
        if line.startswith(" "):
            operations[-1][1].append(line.strip())
        elif line:
            operations.append((line.split(" ", 2), []))
    out = ["--batch_b", "Content-Type: multipart/mixed; boundary=changeset_c", ""]
    for (method, path, *body), headers in operations:
        body = body[0] if body else ""
        out += ["--changeset_c", "Content-Type: application/http",
                "Content-Transfer-Encoding: binary", "",
                f"{method} {base}{path} HTTP/1.1", *headers,
                "Accept: application/json;odata=minimalmetadata",
                "Content-Type: application/json",
                f"Content-Length: {len(body.encode('utf-8'))}", "", body]
    return "\r\n".join(out + ["--changeset_c--", "", "--batch_b--", ""])


class Talk:
    """Runs the steps of one file."""

    def __init__(self, path, ports, pass_time=None):
        self.path = path
        self.ports = ports              # by the name of the service
        self.pass_time = pass_time      # a function of seconds, if the server's clock can be moved
        self.shown = path.relative_to(HERE.parent.parent) if HERE in path.parents else path
        self.connection = None          # of ordinary requests
        self.raw = None                 # of raw ones
        self.sent = b""                 # the last request
        self.passed = self.failed = self.skipped = 0
        self.variables = {"account": ACCOUNT, "secondaccount": SECOND}
        self.talk_to(path.parent.name if path.parent.name in ports else "table")

    def talk_to(self, name):
        """From here on the file talks to this service."""
        if self.ports.get(name) is None:
            raise BadTest(f"there is no {name} service")
        if self.connection:
            self.connection.close()
            self.connection = None
        self.service, self.port = name, self.ports[name]
        host = f"127.0.0.1:{self.port}"
        host_style = f"{ACCOUNT}.{name}.localhost:{self.port}"
        token = sas.account_sas(KEY, ACCOUNT, ss=name[0], srt="sco", sp="rwdlacup",
                                se="2099-01-01")
        self.variables.update({
            "host": host, "base": f"http://{host}/{ACCOUNT}", "hoststyle": host_style,
            "hostbase": f"http://{host_style}", "sas": token,
        })

    def run(self):
        try:
            for step in talk.read(self.path):
                self.run_step(step)
        except BadTest as error:
            self.fail(None, "", f"the rest of this file was not run: {error}")
        except NoClock as error:
            self.skipped += 1
            print(f"  SKIP {self.shown}:{error.line} and all after it: {error.name}: "
                  f"the clock of this server cannot be moved")
        for connection in (self.connection, self.raw):
            if connection:
                connection.close()

    def fail(self, line, name, text):
        self.failed += 1
        where = f"{self.shown}:{line}" if line else f"{self.shown}"
        print(f"{where}: {name + ': ' if name else ''}{text}")
        part = str(self.shown).removeprefix("tests/wire/").removesuffix(".test")
        print(f"--- sent\n{story.shown(self.sent)}\n{story.tell()}\n  {seed.repeat('wire', part)}")

    def run_step(self, step):
        story.begin()
        if step.kind == "service":
            self.talk_to(step.value)
            return
        if step.kind == "pass":
            if self.pass_time is None:
                raise NoClock(step)
            self.pass_time(float(step.value))
            return
        if step.kind in talk.NAMERS:
            self.name(step)
            return
        try:
            trouble = self.check(step.value) if step.kind == "check" else self.exchange(step)
        except NoVariable as error:
            trouble = str(error)
        except (client.BadReply, OSError) as error:
            trouble = str(error)
            self.connection = None
        if trouble:
            self.fail(step.line, step.name, trouble)
        else:
            self.passed += 1

    def name(self, step):
        """A new name for the variable and, unless it is `name`, what it is the name of."""
        stem = re.sub(r"[^A-Za-z0-9]", "", self.path.stem)[:20]
        name = f"{stem}{step.value}{secrets.token_hex(4)}"
        if self.service != "table":
            name = name.lower()
        self.variables[step.value] = name
        if step.kind == "name":
            return
        kind, form = SERVICES[self.service].create
        if step.kind != kind:
            raise BadTest(f"{step.line}: the {self.service} service has no {step.kind}")
        try:
            reply = self.send_request(talk.Request(form.format(name)), "")
        except (client.BadReply, OSError) as error:
            raise BadTest(f"{step.line}: no {kind}: {error}") from None
        if reply.status not in (201, 204):
            raise BadTest(f"{step.line}: no {kind}: {show_reply(reply)}")

    def check(self, text):
        text = self.fill(text)
        for relation, holds in (("differs from", lambda a, b: a != b),
                                ("is before", lambda a, b: ticks(a) < ticks(b))):
            left, found, right = text.partition(f" {relation} ")
            if found:
                return None if holds(left, right) else f"wanted {text}"
        raise BadTest(f"not understood: ? {text}")

    def fill(self, text):
        self.variables["date"] = http_date()
        text = match.fill(text, self.variables)
        return SIGNED.sub(lambda found: sign_lite(found[1], found[2]), text)

    def exchange(self, step):
        """Send what the step sends and compare the replies; None or what was wrong."""
        if step.kind == "request":
            deadline = time.monotonic() + WAIT_S
            while True:
                reply = self.send_request(step.value, step.sent)
                trouble = self.compare(step.wanted[0], reply, step.value.method != "HEAD")
                is_late = time.monotonic() > deadline
                if not trouble or is_late or "again" not in step.value.options:
                    return trouble
                time.sleep(POLL_S)
        if step.kind == "raw":
            if self.raw:
                self.raw.close()
            self.raw = client.Connection(self.port)
        self.sent = self.fill(step.sent).encode("utf-8", "surrogateescape")
        self.raw.send(self.sent)
        for wanted in step.wanted:
            trouble = self.compare(wanted, self.raw.read_reply())
            if trouble:
                return trouble
            if wanted.closed and not self.raw.is_closed():
                return "wanted the connection closed"
            if wanted.closed is False:
                return self.check_open()
        return None

    def check_open(self):
        """One more request on the raw connection: the next thing to come is the reply to it."""
        name = secrets.token_hex(8)
        self.raw.send(f"GET /{ACCOUNT}/Tables HTTP/1.1\r\nHost: {self.variables['host']}\r\n"
                      f"x-ms-client-request-id: {name}\r\n\r\n".encode("ascii"))
        try:
            reply = self.raw.read_reply()
        except client.BadReply as error:
            return f"wanted the connection left open: {error}"
        if reply.header("x-ms-client-request-id") != name:
            return f"the server sent more than was wanted: {show_reply(reply)}"
        return None

    def send_request(self, request, sent):
        data = self.sent = self.request_bytes(request, sent)
        for attempt in (1, 2):
            fresh = self.connection is None
            if fresh:
                self.connection = client.Connection(self.port)
            self.connection.send(data)
            try:
                reply = self.connection.read_reply(request.method != "HEAD")
                break
            except client.BadReply as error:
                # A server may close a kept connection between two requests.
                self.connection.close()
                self.connection = None
                if fresh or attempt == 2 or "closed" not in str(error):
                    raise
        if (reply.header("Connection") or "").lower() == "close":
            self.connection.close()
            self.connection = None
        return reply

    def request_bytes(self, request, sent):
        options = set(request.options)
        account = SECOND if "second account" in options else ACCOUNT
        keys = [KEY, KEY] if account == ACCOUNT else SECOND_KEYS
        target = self.fill(request.target)
        if "host style" in options:
            host = self.variables["hoststyle"]
        else:
            host = self.variables["host"]
            target = f"/{account}{target}"

        for option in options:
            if option.startswith("SAS "):
                target += ("&" if "?" in target else "?") + self.token(option[4:], account, keys)
        body = None if request.body is None and not sent else self.fill(request.body or sent)
        service = SERVICES[self.service]
        headers = [("Host", host), *service.headers]
        if "batch" in options:
            body = batch_body(body, self.variables["base"])
            headers.append(("Content-Type", "multipart/mixed; boundary=batch_b"))
        elif body is not None and service.content_type:
            headers.append(("Content-Type", service.content_type))
        data = b"" if body is None else body.encode("utf-8", "surrogateescape")
        if "chunked" in options:
            headers.append(("Transfer-Encoding", "chunked"))
            half = len(data) // 2
            data = b"".join(b"%x\r\n%s\r\n" % (len(part), part)
                            for part in (data[:half], data[half:], b""))
        elif body is not None or request.method in ("POST", "PUT", "MERGE", "PATCH"):
            headers.append(("Content-Length", str(len(data))))
        headers = self.sign(request, options, account, keys, target, headers)

        head = [f"{request.method} {target} HTTP/1.1", *(f"{n}: {v}" for n, v in headers)]
        return ("\r\n".join(head) + "\r\n\r\n").encode("utf-8") + data

    def token(self, parameters, account, keys):
        """An account SAS for all of the service, with these parameters."""
        return sas.account_sas(keys[0], account, ss=self.service[0], srt="sco",
                               **dict(urllib.parse.parse_qsl(self.fill(parameters))))

    def sign(self, request, options, account, keys, target, headers):
        """Add date, authorization and the headers of the test file, which win."""
        minutes, signed_target, signer = 0, target, account
        for option in options:
            if found := re.fullmatch(r"(\d+) minutes (ago|ahead)", option):
                minutes = int(found[1]) * (-1 if found[2] == "ago" else 1)
            elif found := re.fullmatch(r"signed as (\S+)", option):
                signed_target = self.fill(found[1])
            elif found := re.fullmatch(r"signed by (\S+)", option):
                signer = found[1]
            elif option not in KNOWN_OPTIONS and not option.startswith("SAS "):
                raise BadTest(f"no such option: ({option})")
        date = http_date(minutes)
        headers = [*headers, ("Date" if "Date only" in options else "x-ms-date", date)]

        own = [(name, self.fill(value)) for name, value in request.headers]
        own_names = {name.lower() for name, _ in own}
        headers = [(n, v) for n, v in headers if n.lower() not in own_names]
        headers += [(n, v) for n, v in own if v]

        is_unsigned = any(o == "no authorization" or o.startswith("SAS ") for o in options)
        if not is_unsigned and "authorization" not in own_names:
            key = WRONG_KEY if "wrong key" in options else keys["second key" in options]
            scheme = next((name for name in ("SharedKey", "SharedKeyLite") if name in options),
                          SERVICES[self.service].scheme)
            headers.append(("Authorization", self.authorization(
                scheme, signer, key, date, signed_target, request.method, headers)))
        return headers

    def authorization(self, scheme, signer, key, date, target, method, headers):
        if self.service != "table":
            return sign.storage_shared_key(signer, key, method, target, headers,
                                           lite=scheme == "SharedKeyLite")
        if scheme == "SharedKeyLite":
            return sign.shared_key_lite(signer, key, date, target)
        content = {n.lower(): v for n, v in headers}
        return sign.shared_key(signer, key, date, target, method, content.get("content-type", ""),
                               content.get("content-md5", ""))

    def compare(self, wanted, reply, has_body=True):
        """None, or everything that differs."""
        troubles = []
        if wanted.status.startswith("HTTP"):
            if reply.status_line != wanted.status:
                troubles.append(f"wanted {wanted.status}")
        elif str(reply.status) not in wanted.status.split("|"):
            troubles.append(f"wanted status {wanted.status}")
        headers = list(wanted.headers)
        is_error = wanted.rest and wanted.rest[0] not in "{["
        if is_error and self.service != "table":
            headers.append(("x-ms-error-code", wanted.rest.split(" ")[0].strip("<>")))
        if not has_body:
            is_error = False
        if is_error and not any(name.lower() == "content-type" for name, _ in headers):
            is_xml = wanted.rest[0] == "<" or self.service != "table"
            headers.append(("Content-Type", "application/xml" if is_xml else ERROR_TYPE))
        for name, value in headers:
            got = reply.header(name)
            if value == "(absent)":
                if got is not None:
                    troubles.append(f"wanted no {name}, got {got}")
            elif got is None or not match.match_text(value, got, self.variables):
                troubles.append(f"wanted {name}: {value}, got {got}")
        try:
            trouble = self.compare_body(wanted, reply, is_error) if has_body else None
        except NoVariable as error:
            trouble = str(error)
        if trouble:
            troubles.append(trouble)
        if not troubles:
            return None
        return f"{'; '.join(map(shorten, troubles))}; the reply was {show_reply(reply)}"

    def compare_body(self, wanted, reply, is_error):
        if is_error:
            code, _, text = wanted.rest.partition(" ")
            form = ERROR_BODY if self.service == "table" else ERROR_DOCUMENT
            if code.startswith("<") and self.service == "table":
                form = XML_ERROR_BODY
            elif code.startswith("<"):
                form = form.replace("DETAILS", "{any}")
            code = code.strip("<>")
            body = form.replace("CODE", code).replace("TEXT", text or "*")
            body = body.replace("DETAILS", wanted.details)
            if not match.match_text(body, reply.text(), self.variables):
                return f"wanted the error {wanted.rest}"
        elif wanted.rest:
            try:
                got = match.parse_json(reply.text())
            except ValueError:
                return "wanted a JSON body"
            return match.match_json(match.parse_json(match.write_out(wanted.rest)), got,
                                    self.variables)
        if wanted.lines is not None and not match.match_lines(wanted.lines, reply.text(),
                                                             self.variables):
            return f"wanted the body {' / '.join(wanted.lines)}"
        for text in wanted.parts:
            if not match.match_text(f"{{any}}{text}{{any}}", reply.text(), self.variables):
                return f"wanted {text} in the body"
        return None


KNOWN_OPTIONS = {"again", "SharedKey", "SharedKeyLite", "wrong key", "second key", "no authorization",
                 "second account", "host style", "Date only", "batch", "chunked"}


def ticks(text):
    """The time in a Timestamp or an ETag, in units of 100 ns."""
    found = re.search(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,7}))?Z",
                      text.replace("%3A", ":"))
    if not found:
        raise NoVariable(f"there is no time in {text}")
    second = datetime.datetime.fromisoformat(found[1] + "+00:00").timestamp()
    return int(second) * 10**7 + int((found[2] or "").ljust(7, "0"))


def shorten(text, length=600):
    return text if len(text) <= length else f"{text[:length]}... ({len(text)} characters)"


def show_reply(reply):
    return f"{reply.status} {shorten(repr(reply.text()))}"


def run_own_tests():
    """The tests of this runner, which judge the judge."""
    import runner_test
    return suite.run([runner_test], part=RUNNER)


def run_file(path, ports, pass_time=None):
    """How many exchanges of a file passed and how many failed."""
    began = time.monotonic()
    one = Talk(path, ports, pass_time)
    one.run()
    slow.note(one.shown, time.monotonic() - began)
    suite.skipped += one.skipped
    return one.passed, one.failed


def run_files(files, ports, pass_time=None):
    counts = [run_file(path, ports, pass_time) for path in files]
    return sum(passed for passed, _ in counts), sum(failed for _, failed in counts)


def run_with_server(files):
    """The same on a server of their own."""
    with Server("--test-points", env={"AZURITE_ACCOUNTS": ACCOUNTS}) as server:
        ports = {"table": server.table_port, "queue": server.queue_port, "blob": server.blob_port}
        return run_files(files, ports, server.pass_time)


def run_part(part):
    return run_with_server([HERE / f"{part}.test"])


def known_parts():
    """{part: ()}; a file of exchanges, or what tests this runner."""
    return {str(path.relative_to(HERE)).removesuffix(".test"): ()
            for path in sorted(HERE.glob("*/*.test"))} | {RUNNER: ()}


def choose(words):
    """The files that the words name; a word may be a file anywhere."""
    own = [pathlib.Path(word).resolve() for word in words if pathlib.Path(word).is_file()]
    words = [word for word in words if not pathlib.Path(word).is_file()]
    if own and not words:
        return own
    chosen = parts.choose_or_exit("wire", known_parts(), words)
    return own + [HERE / f"{part}.test" for part in chosen]


def print_jobs(words):
    """A folder is a job: its files share a server."""
    folders = {}
    for part in parts.choose_or_exit("wire", known_parts(), words):
        folders.setdefault(part.partition("/")[0], []).append(part)
    for folder, its_parts in folders.items():
        print(json.dumps({"part": folder, "words": its_parts, "needs": [], "targets": []}))
    return 0


def main():
    arguments = argparse.ArgumentParser(description="Run the wire tests.")
    arguments.add_argument("--port", type=int, help="a table service that already runs")
    arguments.add_argument("--queue-port", type=int, help="its queue service")
    arguments.add_argument("--blob-port", type=int, help="its blob service")
    arguments.add_argument("--admin-url", help="its admin address, if it has --test-points")
    arguments.add_argument("--jobs", action="store_true", help="only say what could run by itself")
    arguments.add_argument("parts", nargs="*")
    given = arguments.parse_args()
    if given.jobs:
        return print_jobs(given.parts)
    files = choose(given.parts)
    own = HERE / f"{RUNNER}.test"
    passed, failed = run_own_tests() if own in files else (0, 0)
    files = [path for path in files if path != own]
    if given.port:
        token = os.environ.get("TAVOLA_ADMIN_TOKEN")
        clock = functools.partial(pass_time, given.admin_url, token) if given.admin_url else None
        ports = {"table": given.port, "queue": given.queue_port, "blob": given.blob_port}
        more_passed, more_failed = run_files(files, ports, clock)
    else:
        more_passed, more_failed = run_with_server(files) if files else (0, 0)
    return suite.close("wire", passed + more_passed, failed + more_failed)


if __name__ == "__main__":
    sys.exit(main())
