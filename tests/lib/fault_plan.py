"""The faults that fault_proxy.py knows, and the lines that plan them.

    FAULT [+ FAULT]... [on N] [match TEXT] [skip N] [times N | always]

    cut_request K [forward] [rst|fin]
                        cut after K bytes of the request; with `forward` those K reach the server
    cut_answer K [rst|fin]
                        the server has done it all, the client gets K bytes of the answer
    cut_body K [rst|fin]
                        the same, counted from the end of the head; Content-Length stays
    delay_request MS    before the server gets it, even when the client has left by then
    delay_answer MS     after the server has done it
    hold_request        before the server gets it, until RELEASE
    drip MS             the answer byte by byte, with MS (may be 0.5) after each
    hang [forward]      no answer until the client leaves; with `forward` the server has done it
    duplicate first|second [delay MS]
                        the server gets it twice, one after the other on two connections; the
                        client gets the first or the second answer
    status CODE [forward] [retry_after S] [error NAME]
                        the proxy answers itself; with `forward` the server has done it
    raw BYTES [forward] [open]
                        the same with these very bytes, then the end unless `open`
    garbage_head BYTES [open]
                        instead of the head; the body follows, then the end unless `open`
    garbage_body BYTES  instead of the body, with a Content-Length that is right
    wrong_length DELTA [open]
                        Content-Length off by DELTA; when it is too large the connection ends
                        after the body, unless `open`
    append BYTES        after the answer, on a connection that stays open
    set_header NAME VALUE, drop_header NAME
                        in the answer

BYTES is text:... (with the escapes of C strings), hex:... or random:COUNT[:SEED], always the
same for the same COUNT and SEED.  A cut is an RST unless `fin` is said.

A plan is for one request unless it says more: `on N` for the request of this number (with
`times T` for N to N+T-1), `match` for those whose "METHOD TARGET" has the text in it, `skip`
lets the first N pass that it would be for, `times` and `always` say how many.  Words with spaces
stand in quotes.  A request gets the first plan that is for it, and no other.
"""

import random
import shlex


def data(text):
    kind, _, rest = text.partition(":")
    if kind == "text":
        return rest.encode("latin-1", "backslashreplace").decode("unicode_escape").encode("latin-1")
    if kind == "hex":
        return bytes.fromhex(rest)
    if kind == "random":
        count, _, seed = rest.partition(":")
        return random.Random(int(seed or 0)).randbytes(int(count))
    raise ValueError(f"no bytes: {text}")


def count(text):
    number = int(text)
    if number < 0:
        raise ValueError(f"negative: {text}")
    return number


def milliseconds(text):
    seconds = float(text) / 1000
    if not 0 <= seconds < 86400:
        raise ValueError(f"no delay: {text}")
    return seconds


def which(text):
    return {"first": 0, "second": 1}[text]


CUT = {"rst": None, "fin": None}
FORWARD = {"forward": None}
OPEN = {"open": None}

# name: (positional values, options); an option without a type is a flag
FAULTS = {
    "cut_request": ({"bytes": count}, {**CUT, **FORWARD}),
    "cut_answer": ({"bytes": count}, CUT),
    "cut_body": ({"bytes": count}, CUT),
    "delay_request": ({"seconds": milliseconds}, {}),
    "delay_answer": ({"seconds": milliseconds}, {}),
    "hold_request": ({}, {}),
    "drip": ({"seconds": milliseconds}, {}),
    "hang": ({}, FORWARD),
    "duplicate": ({"which": which}, {"delay": milliseconds}),
    "status": ({"code": count}, {**FORWARD, "retry_after": str, "error": str}),
    "raw": ({"data": data}, {**FORWARD, **OPEN}),
    "garbage_head": ({"data": data}, OPEN),
    "garbage_body": ({"data": data}, {}),
    "wrong_length": ({"delta": int}, OPEN),
    "append": ({"data": data}, {}),
    "set_header": ({"header": str, "value": str}, {}),
    "drop_header": ({"header": str}, {}),
}
SELECTORS = {"on": count, "match": str, "skip": count, "times": count, "always": None}


class Fault:
    """One fault; its values and options are attributes, options that are not given are None."""

    def __init__(self, name, words):
        if name not in FAULTS:
            raise ValueError(f"no fault: {name}; there are {' '.join(FAULTS)}")
        positional, self.options = FAULTS[name]
        self.name = name
        for option in self.options:
            setattr(self, option, None)
        for value, convert in positional.items():
            setattr(self, value, read(f"{name} {value}", convert, words))

    @property
    def how(self):
        return "fin" if self.fin else "rst"


def read(what, convert, words):
    """The next word as a value."""
    if not words:
        raise ValueError(f"{what}: missing")
    word = words.pop(0)
    try:
        return convert(word)
    except (ValueError, KeyError, UnicodeError):
        raise ValueError(f"{what}: {word}") from None


class Plan:
    def __init__(self, line):
        self.on = self.match = self.times = self.always = None
        self.skip = 0
        words = shlex.split(line)
        self.faults = [Fault(read("fault", str, words), words)]
        while words:
            self.parse_word(words.pop(0), words)
        self.count = float("inf") if self.always else 1 if self.times is None else self.times
        self.left = self.count

    def parse_word(self, word, words):
        last = self.faults[-1]
        if word == "+":
            self.faults.append(Fault(read("fault", str, words), words))
            return
        owner, known = (last, last.options) if word in last.options else (self, SELECTORS)
        if word not in known:
            raise ValueError(f"{last.name} has no {word}")
        setattr(owner, word, read(word, known[word], words) if known[word] else True)

    def take(self, number, head):
        """Whether the plan is for this request; then it has one less to come."""
        if not self.left or (self.match is not None and not head.is_like(self.match)):
            return False
        if self.on is not None and not 0 <= number - self.on < self.count:
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.left -= 1
        return True

    def get(self, name):
        """The fault of this name, or None."""
        return next(self.all(name), None)

    def all(self, *names):
        return (fault for fault in self.faults if fault.name in names)

    def __str__(self):
        return "+".join(fault.name for fault in self.faults)


class NoPlan(Plan):
    """What a request has that nothing is planned for."""

    def __init__(self):
        self.faults = []

    def __str__(self):
        return "-"
