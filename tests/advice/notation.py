"""The form of .traffic files: cases, lines and what stands in braces.  See README.md."""

import datetime
import functools
import pathlib
import random
import re
import shlex
import uuid

SPANS = {"us": 0.001, "ms": 1, "s": 1000, "m": 60000, "h": 3600000, "d": 86400000}
SIZES = {"B": 1, "KiB": 1024}
TICKS_1970 = 621355968000000000
TICKS_MAX = 3155378975999999999


class Case:
    def __init__(self, path, line, text, targets=None):
        match = re.fullmatch(r"(run )?(?:(\+) (error|warning|info)|(-)) ([\w-]+): (.*)", text)
        if not match:
            raise ValueError(f"{path.name}:{line}: a case is '+ SEVERITY RULE: text' or "
                             f"'- RULE: text', not {text!r}")
        self.is_run = bool(match[1])
        self.severity = match[3]
        self.sign = "+" if match[3] else "-"
        self.rule, self.what, self.line = match[5], match[6], line
        self.mark = None
        self.targets = targets  # of the account that sends it, "partition:1"
        self.lines = []
        self.price = None  # writes more an hour, of the proposal: the least and the most
        self.says = []  # what its sentence, its title, its notes must have in it: fnmatch patterns

    @property
    def table(self):
        """The first that a line names."""
        return next(word for line in self.lines for word in shlex.split(line)
                    if word[:1].isupper())


def read(path):
    cases, targets = [], None
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        line = line.strip()
        if line.startswith("targets "):
            targets = line.split()[1]
        elif line.startswith(("+ ", "- ", "run ")):
            cases.append(Case(pathlib.Path(path), number, line, targets))
        elif line.startswith(("says ", "titled ", "notes ")):
            kind, _, wanted = line.partition(" ")
            cases[-1].says.append((kind, wanted))
        elif line.startswith("price "):
            low, _, high = line[6:].partition("..")
            cases[-1].price = float(low), float(high or low)
        elif line and not line.startswith("#"):
            cases[-1].lines.append(line)
    return cases


def span_ms(text):
    match = re.fullmatch(r"([\d.]+)([a-z]+)", text)
    return float(match[1]) * SPANS[match[2]] if text != "0" else 0.0


class Fill:
    """What stands in braces; `now_ms` is the recorder's time since 1970."""

    def __init__(self, seed=1):
        self.random = random.Random(seed)
        self.numbers = {"i": 0, "j": 0, "k": 0, "c": 0}
        self.now_ms = 0.0
        self.serial = 0

    def number(self, name, divisor, width):
        return f"{self.numbers[name] // divisor:0{width}d}"

    def any_below(self, end, width):
        return f"{self.random.randrange(end):0{width}d}"

    def guid(self):
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def time(self, kind, form, shift):
        ms = self.now_ms
        if shift:
            ms += span_ms(shift[1:]) * (-1 if shift[0] == "-" else 1)
        if kind in ("ticks", "inv"):
            self.serial += 1
            ticks = TICKS_1970 + int(ms * 10000) + (0 if shift else self.serial)
            return f"{TICKS_MAX - ticks if kind == 'inv' else ticks:019d}"
        when = datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc)
        if kind == "day":
            when = datetime.datetime(2026, 1, 1) + datetime.timedelta(days=self.numbers["i"])
        form = form or "yyyy-MM-ddTHH:mm:ssZ"
        for name, code in (("yyyy", "%Y"), ("MM", "%m"), ("dd", "%d"), ("HH", "%H"), ("mm", "%M"),
                           ("ss", "%S")):
            form = form.replace(name, code)
        return when.strftime(form)

    def text(self, template):
        return "".join([piece if isinstance(piece, str) else piece[0](self, *piece[1:])
                        for piece in pieces_of(template)])


@functools.cache
def pieces_of(template):
    """Texts, and for what stands in braces (method, arguments...)."""
    return [piece_of(piece) if at % 2 else piece
            for at, piece in enumerate(re.split(r"\{([^{}]+)\}", template)) if piece]


def piece_of(text):
    match = re.fullmatch(r"([ijkc])(?:/(\d+))?(?::0(\d+))?", text)
    if match:
        return Fill.number, match[1], int(match[2] or 1), match[3] or 1
    match = re.fullmatch(r"(rand|pick):(\d+)(?::0(\d+))?", text)
    if match:
        return Fill.any_below, int(match[2]), match[3] or 1
    match = re.fullmatch(r"(\d+)(B|KiB)", text)
    if match:
        return "x" * (int(match[1]) * SIZES[match[2]])
    match = re.fullmatch(r"(ticks|inv|now|day)(?::([\w.:-]+?))?([+-]\d+[a-z]+)?", text)
    if match:
        return Fill.time, match[1], match[2], match[3]
    if text == "guid":
        return (Fill.guid,)
    raise ValueError(f"{{{text}}} is not known")
