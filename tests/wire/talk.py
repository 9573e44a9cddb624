"""Read a test file into steps.  tests/wire/README.md describes the form."""

import re

from match import BadTest

REQUEST = re.compile(r"([A-Z]+) ([/*](?:\{(?:repeat|for|url) [^}]*\}|\S)*)(?: (.*))?")
STATUS = re.compile(r"(HTTP/1\.1 )?\d{3}(\|\d{3})*\b")
# Words that make up a name, and make what it names unless it is `name`.
NAMERS = ("table", "queue", "container", "name")
ESCAPES = {r"\r": "\r", r"\n": "\n", r"\t": "\t", r"\0": "\0", r"\\": "\\"}


class Request:
    """What `>` lines describe; the body is text whose variables are not yet filled in."""

    def __init__(self, text):
        self.method, self.target, self.body = REQUEST.fullmatch(text).groups()
        self.headers = []               # pairs; an empty value removes a default header
        self.options = []

    def add(self, text):
        if text.startswith("("):
            self.options += [option.strip() for option in text[1:text.rindex(")")].split(",")]
        else:
            name, colon, value = text.partition(":")
            if not colon:
                raise BadTest(f"not a header: {text}")
            self.headers.append((name, value.strip()))


class Wanted:
    """One reply that `<` lines describe."""

    def __init__(self, text, line):
        self.line = line
        self.status = STATUS.match(text)[0]
        self.rest = text[len(self.status):].strip()     # JSON, or a code and its message
        if self.status.startswith("HTTP"):              # a status line in full
            self.status, self.rest = text, ""
        self.headers = []
        self.lines = None                               # the exact body
        self.details = ""                               # elements after an error's message
        self.parts = []                                 # texts that are somewhere in the body
        self.closed = None


class Step:
    """kind is one of NAMERS, service, pass, request, raw, send (more bytes on the raw connection)
    or check."""

    def __init__(self, kind, line, name, value=None):
        self.kind, self.line, self.name, self.value = kind, line, name, value
        self.sent = ""
        self.wanted = []

    def takes_bytes(self):
        return self.kind in ("request", "raw", "send") and not self.wanted


def unescape(text):
    """\\xNN stands for the byte, which need not be UTF-8 (see PEP 383)."""
    def byte(digits):
        return bytes([int(digits, 16)]).decode("utf-8", "surrogateescape")

    return re.sub(r"\\[rnt0\\]|\\x[0-9a-f]{2}",
                  lambda found: ESCAPES.get(found[0]) or byte(found[0][2:]), text)


class Parser:
    def __init__(self, text):
        self.steps = []
        self.name = ""
        self.in_comment = False
        for number, line in enumerate(text.split("\n"), 1):
            try:
                self.parse_line(number, line)
            except (BadTest, TypeError, IndexError, ValueError) as error:
                raise BadTest(f"{number}: {error or line}") from None

    def step(self, kind, number, value=None):
        self.steps.append(Step(kind, number, self.name, value))

    def parse_line(self, number, line):
        word, _, rest = line.partition(" ")
        if word == "#":
            self.name = f"{self.name} {rest}" if self.in_comment else rest
        elif word in (*NAMERS, "service", "pass", "raw"):
            self.step(word, number, rest)
        elif word == "?":
            self.step("check", number, rest)
        elif word == ">":
            self.parse_request(number, rest)
        elif word in (">>", ">-"):
            self.parse_bytes(number, rest + "\r\n" if word == ">>" else unescape(rest))
        elif word == "<":
            self.parse_wanted(number, rest)
        elif word == "<=":
            wanted = self.steps[-1].wanted[-1]
            wanted.lines = (wanted.lines or []) + [rest]
        elif word == "<+":
            self.steps[-1].wanted[-1].details += rest
        elif word == "<~":
            self.steps[-1].wanted[-1].parts.append(rest)
        elif line:
            raise BadTest(f"not understood: {line}")
        self.in_comment = word == "#"

    def parse_request(self, number, text):
        if REQUEST.fullmatch(text):
            self.step("request", number, Request(text))
        else:
            step = self.steps[-1]
            if step.kind != "request" or step.wanted or step.sent:
                raise BadTest("this line belongs to no request")
            step.value.add(text)

    def parse_bytes(self, number, text):
        if self.steps[-1].kind in ("raw", "send") and self.steps[-1].wanted:
            self.step("send", number)
        if not self.steps[-1].takes_bytes():
            raise BadTest("these bytes belong to no request")
        self.steps[-1].sent += text

    def parse_wanted(self, number, text):
        step = self.steps[-1]
        if text in ("closed", "open"):
            step.wanted[-1].closed = text == "closed"
        elif STATUS.match(text):
            step.wanted.append(Wanted(text, number))
        else:
            name, colon, value = text.partition(":")
            if not colon:
                raise BadTest(f"not a header: {text}")
            step.wanted[-1].headers.append((name, value.strip()))


def read(path):
    steps = Parser(path.read_text(encoding="utf-8")).steps
    for step in steps:
        if step.kind in ("request", "raw", "send") and not step.wanted:
            raise BadTest(f"{step.line}: no reply is wanted")
    return steps
