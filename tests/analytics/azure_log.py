"""A reader of Storage Analytics logs, written from Microsoft's description of the format alone.

It is as strict as the readers in the SDKs: a line feed ends every record, times have seven digits,
what is quoted is encoded as in HTML, and a version 1.0 line has 30 fields, one of 2.0 has 38.

    for record in records(blob): record["operation-type"], record["request-url"]
"""

import datetime
import html
import re

FIELDS = """version-number request-start-time operation-type request-status http-status-code
    end-to-end-latency-in-ms server-latency-in-ms authentication-type requester-account-name
    owner-account-name service-type request-url requested-object-key request-id-header
    operation-count requester-ip-address request-version-header request-header-size
    request-packet-size response-header-size response-packet-size request-content-length
    request-md5 server-md5 etag-identifier last-modified-time conditions-used user-agent-header
    referrer-header client-request-id""".split()
FIELDS_2 = """user-object-id tenant-id application-id audience issuer user-principal-name
    reserved-field authorization-detail""".split()
QUOTED = {"request-url", "requested-object-key", "request-md5", "server-md5", "etag-identifier",
          "conditions-used", "user-agent-header", "referrer-header", "client-request-id"}
NUMBERS = {"end-to-end-latency-in-ms", "server-latency-in-ms", "operation-count",
           "request-header-size", "request-packet-size", "response-header-size",
           "response-packet-size", "request-content-length"}
FORMS = {
    "version-number": r"[12]\.0",
    "request-start-time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z",
    "operation-type": r"[A-Z][A-Za-z]+",
    "request-status": r"[A-Z][A-Za-z0-9]+",
    "http-status-code": r"\d{3}|Unknown",
    "authentication-type": r"authenticated|anonymous|sas",
    "requester-account-name": r"[a-z0-9]{0,24}",
    "owner-account-name": r"[a-z0-9]{3,24}",
    "service-type": r"blob|table|queue",
    "request-id-header": r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "requester-ip-address": r"\d+\.\d+\.\d+\.\d+:\d+",
    "request-version-header": r"(\d{4}-\d\d-\d\d)?",
    "last-modified-time": r"([A-Z][a-z]+day, \d\d-[A-Z][a-z]{2}-\d\d \d\d:\d\d:\d\d GMT)?",
}
FIELD = re.compile(r'(?:"([^"]*)"|([^";]*))(;|$)')
ENTITY = re.compile(r"&(?:[a-zA-Z]+|#\d+|#x[0-9a-fA-F]+);")


class Malformed(Exception):
    pass


def split(line):
    """[(text, whether it was quoted)]; text is still encoded."""
    fields, at = [], 0
    while True:
        found = FIELD.match(line, at)
        if not found:
            raise Malformed(f"at {at}: {line}")
        quoted = found[1] is not None
        fields.append((found[1] if quoted else found[2], quoted))
        at = found.end()
        if not found[3]:
            return fields


def decode(name, text, quoted):
    if quoted != (name in QUOTED and text != ""):
        raise Malformed(f"{name} is {'' if quoted else 'not '}quoted: {text!r}")
    if quoted:
        if "&" in ENTITY.sub("", text):
            raise Malformed(f"{name} has a bare &: {text!r}")
        return html.unescape(text)
    if name in NUMBERS:
        if not re.fullmatch(r"\d+", text):
            raise Malformed(f"{name} is not a number: {text!r}")
        return int(text)
    if name in FORMS and not re.fullmatch(FORMS[name], text):
        raise Malformed(f"{name}: {text!r}")
    return text


def parse(line):
    fields = split(line)
    names = FIELDS + (FIELDS_2 if fields[0][0] == "2.0" else [])
    if len(fields) != len(names):
        raise Malformed(f"{len(fields)} fields of {len(names)}: {line}")
    return {name: decode(name, *field) for name, field in zip(names, fields)}


def records(blob):
    """The records of a log blob, given as its bytes."""
    text = blob.decode("utf-8")
    if not text.endswith("\n") or text.startswith("\ufeff"):
        raise Malformed("no line feed at the end, or a byte order mark")
    return [parse(line) for line in text[:-1].split("\n")]


def start_time(record):
    """Of a record, in UTC."""
    text = record["request-start-time"]
    return datetime.datetime.strptime(text[:-2], "%Y-%m-%dT%H:%M:%S.%f").replace(
        tzinfo=datetime.timezone.utc)
