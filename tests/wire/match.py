"""Compare what the server sent with what a test file wants.

A wanted text is literal, except for

    *            any characters of one line (\\* is a star)
    {guid}       one of the named patterns in PATTERNS
    {x}          the variable x
    {x=guid}     a named pattern (or *) whose text becomes the variable x
    {url x}      in a request: the variable x, percent-encoded

and these are written out first, in requests as well:

    {repeat a 100}              `a` a hundred times
    {for 1..3}"p{i}":{i},{end}  the text once per number; {nl} inside it starts a new line
"""

import json
import re
import urllib.parse

DAY = r"\d{4}-\d\d-\d\d"
SECONDS = r"\d\d(?:\.\d{0,6}[1-9])?"            # trailing zeros of the fraction are trimmed

PATTERNS = {
    "any": r"(?s:.*?)",                              # over lines, too
    "guid": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "day": DAY,
    "nn": r"\d\d",
    "seconds": SECONDS,
    "time": rf"{DAY}T\d\d:\d\d:{SECONDS}Z",          # Timestamp
    "etagtime": rf"{DAY}T\d\d%3A\d\d%3A{SECONDS}Z",  # the same inside an ETag
    "time7": rf"{DAY}T\d\d:\d\d:\d\d\.\d{{7}}Z",     # always seven digits: errors
    "blobetag": r"0x[0-9A-F]{15}",                   # of containers and blobs
    "newline": r"\r?\n",
    "receipt": r"[A-Za-z0-9+/]+={0,2}",              # of a message
    "httpdate": r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT",
}

TOKEN = re.compile(r"\\\*|\*|\{([a-z][a-z0-9_]*)(?:=([a-z0-9]+|\*))?\}")
ENCODED = re.compile(r"\{url ([a-z][a-z0-9_]*)\}")
FOR = re.compile(r"\{for (\d+)\.\.(\d+)\}(.*?)\{end\}", re.DOTALL)
REPEAT = re.compile(r"\{repeat (\S+?) (\d+)\}")


class BadTest(Exception):
    """The test file itself is wrong."""


class NoVariable(Exception):
    """A variable that no earlier exchange has set, mostly because that one failed."""


class Number(str):
    """A JSON number, compared by its text: 5 is not 5.0."""


def write_out(text):
    """Replace {for}, {repeat} and {nl} by what they stand for."""
    def loop(match):
        first, last, body = int(match[1]), int(match[2]), match[3]
        return "".join(body.replace("{i}", str(i)) for i in range(first, last + 1))

    text = FOR.sub(loop, text)
    text = REPEAT.sub(lambda match: match[1] * int(match[2]), text)
    return text.replace("{nl}", "\r\n")


def fill(text, variables):
    """A request's text with its variables filled in."""
    def value(match):
        if match[1] is None:
            return match[0]
        if match[1] not in variables:
            raise NoVariable(f"there is no variable {match[0]}")
        return variables[match[1]]

    def encoded(match):
        return urllib.parse.quote(value(match), safe="")

    return TOKEN.sub(value, ENCODED.sub(encoded, write_out(text)))


def to_regex(wanted, variables, captured=None, star=r"[^\r\n]*?"):
    """`captured` holds the names captured earlier in the same expression."""
    parts, at = [], 0
    captured = set() if captured is None else captured
    for match in TOKEN.finditer(wanted):
        parts.append(re.escape(wanted[at:match.start()]))
        at = match.end()
        name, pattern = match[1], match[2]
        if match[0] == "\\*":
            parts.append(r"\*")
        elif match[0] == "*":
            parts.append(star)
        elif pattern:
            if pattern != "*" and pattern not in PATTERNS:
                raise BadTest(f"there is no pattern {pattern}")
            parts.append(f"(?P<{name}>{star if pattern == '*' else PATTERNS[pattern]})")
            captured.add(name)
        elif name in captured:
            parts.append(f"(?P={name})")
        elif name in variables:
            parts.append(re.escape(variables[name]))
        elif name in PATTERNS:
            parts.append(PATTERNS[name])
        else:
            raise NoVariable(f"there is no variable {match[0]}")
    parts.append(re.escape(wanted[at:]))
    return "".join(parts)


def match_regex(regex, got, variables):
    """Whether all of `got` matches; its captures become variables."""
    match = re.fullmatch(regex, got)
    if match:
        variables.update(match.groupdict())
    return match is not None


def match_text(wanted, got, variables, star=r"[^\r\n]*?"):
    return match_regex(to_regex(write_out(wanted), variables, star=star), got, variables)


def match_lines(wanted, got, variables):
    """Lines joined by CRLF; a wanted line `...` stands for any number of lines."""
    regex, captured = "", set()
    for number, line in enumerate(wanted):
        last = number == len(wanted) - 1
        if line == "...":
            regex += r"(?s:.*)" if last else r"(?:[^\r\n]*\r\n)*?"
        else:
            regex += to_regex(write_out(line), variables, captured) + ("" if last else r"\r\n")
    return match_regex(regex, got, variables)


def parse_json(text):
    return json.loads(text, parse_int=Number, parse_float=Number)


def match_json(wanted, got, variables, where="body"):
    """None if `got` has everything that `wanted` has, else the first difference.

    Members that are not wanted may be there; a member wanted as "(absent)" may not.  Lists have
    the same length.
    """
    if isinstance(wanted, dict):
        if not isinstance(got, dict):
            return f"{where}: wanted an object, got {json.dumps(got)}"
        for name, value in wanted.items():
            if value == "(absent)":
                if name in got:
                    return f"{where}.{name}: wanted it absent, got {json.dumps(got[name])}"
                continue
            if name not in got:
                return f"{where}.{name}: wanted {json.dumps(value)}, got no such member"
            difference = match_json(value, got[name], variables, f"{where}.{name}")
            if difference:
                return difference
        return None
    if isinstance(wanted, list):
        if not isinstance(got, list) or len(got) != len(wanted):
            count = f"{len(got)} elements" if isinstance(got, list) else json.dumps(got)
            return f"{where}: wanted {len(wanted)} elements, got {count}"
        for i, pair in enumerate(zip(wanted, got)):
            difference = match_json(*pair, variables, f"{where}[{i}]")
            if difference:
                return difference
        return None
    both_text = type(wanted) is str and type(got) is str
    if both_text and match_text(wanted, got, variables, star=r"(?s:.*?)"):
        return None
    if not both_text and type(wanted) is type(got) and wanted == got:
        return None
    return f"{where}: wanted {show_json(wanted)}, got {show_json(got)}"


def show_json(value):
    return str(value) if isinstance(value, Number) else json.dumps(value)
