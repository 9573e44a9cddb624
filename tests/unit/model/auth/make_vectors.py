#!/usr/bin/python3
"""Write vectors.h: requests and SAS as the official SDKs sign them.

    tests/unit/model/auth/make_vectors.py [JSON from make_vectors.mjs] >tests/unit/model/auth/vectors.h

Each comes from the Python SDK, or in the JSON from the JavaScript SDK, and is compared with what
tests/lib/sign.py and tests/lib/sas.py make of the same request; a difference ends the script.  The
rows that only the helpers can make (versions that no SDK of today writes) are marked so.
"""

import datetime
import json
import os
import sys
import urllib.parse

from azure.core.pipeline import PipelineContext, PipelineRequest
from azure.core.pipeline.transport import HttpRequest
from azure.storage import blob as blobs
from azure.storage import queue as queues
from azure.storage.blob._shared.authentication import SharedKeyCredentialPolicy

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "lib"))

import sas  # noqa: E402
import sign  # noqa: E402

ACCOUNT, KEY = "acct", "c2VjcmV0IG9uZQ=="
DATE = "Fri, 02 Jan 2026 03:04:05 GMT"
SNAPSHOT = "2026-01-01T00:00:00.1234567Z"
END = datetime.datetime(2026, 1, 3)

BASE = {"x-ms-date": DATE, "x-ms-version": "2021-12-02"}

# What, service, verb, target, headers.  The SDK signs those that have no note in their name.
REQUESTS = [
    ("list containers", "BLOB", "GET", "/?comp=list", BASE),
    ("path style", "BLOB", "GET", "/acct/films?restype=container&comp=list", BASE),
    ("a query in disorder", "BLOB", "GET",
     "/acct/films?restype=container&prefix=a%20b%2Fc&comp=list&maxresults=5"
     "&include=metadata%2Csnapshots", BASE),
    ("an encoded path", "BLOB", "GET", "/acct/films/a%20b/%C3%A9%2Bx", BASE),
    ("a snapshot", "BLOB", "GET",
     "/acct/films/a.mov?snapshot=2026-01-01T00%3A00%3A00.1234567Z",
     {**BASE, "x-ms-range": "bytes=0-33554431", "If-Match": '"0x8D6D4168CB24240"'}),
    ("an upload", "BLOB", "PUT", "/acct/films/a.mov",
     {**BASE, "Content-Length": "11", "Content-Type": "application/octet-stream",
      "Content-MD5": "XrY7u+Ae7tCTyyK7j1rNww==", "x-ms-blob-type": "BlockBlob",
      "x-ms-meta-Title": "The  Title", "x-ms-meta-b": "", "If-None-Match": "*",
      "x-ms-client-request-id": "8d6d4168-0000-0000-0000-000000000001"}),
    ("an empty upload", "BLOB", "PUT", "/acct/films/empty",
     {**BASE, "Content-Length": "0", "x-ms-blob-type": "BlockBlob"}),
    ("metadata that sorts oddly", "BLOB", "PUT", "/acct/films/a.mov?comp=metadata",
     {**BASE, "Content-Length": "0", "x-ms-meta-a1": "1", "x-ms-meta-a_": "2",
      "x-ms-meta-aa": "3"}),
    ("conditions", "BLOB", "DELETE", "/acct/films/a.mov",
     {**BASE, "If-Modified-Since": DATE, "If-Unmodified-Since": DATE,
      "x-ms-delete-snapshots": "include"}),
    ("a message", "QUEUE", "POST", "/acct/jobs/messages?visibilitytimeout=0&messagettl=60",
     {**BASE, "Content-Length": "63", "Content-Type": "application/xml"}),
    ("messages", "QUEUE", "GET", "/acct/jobs/messages?numofmessages=2&timeout=30", BASE),
    ("a message's receipt", "QUEUE", "DELETE",
     "/acct/jobs/messages/1?popreceipt=AgAAAAMAAAAAAAAA%2Fw%3D%3D", BASE),
]

OLD = {"x-ms-date": DATE, "x-ms-version": "2014-02-14"}

# By the helper alone.  The last of each is SharedKeyLite.
BY_HELPER = [
    ("Content-Length before 2015-02-21", "BLOB", "PUT", "/acct/films/empty",
     {**OLD, "Content-Length": "0", "x-ms-blob-type": "BlockBlob"}, False),
    ("empty headers before 2016-05-31", "BLOB", "PUT", "/acct/films/empty",
     {"x-ms-date": DATE, "x-ms-version": "2015-12-11", "Content-Length": "0", "x-ms-meta-a": "",
      "x-ms-meta-b": "x"}, False),
    ("no version", "BLOB", "PUT", "/acct/films/empty",
     {"x-ms-date": DATE, "Content-Length": "0", "x-ms-meta-a": ""}, False),
    ("Date alone", "QUEUE", "GET", "/acct/jobs?comp=metadata",
     {"Date": DATE, "x-ms-version": "2021-12-02"}, False),
    ("repeated parameters", "BLOB", "GET", "/acct/films?include=b&INCLUDE=a&comp=list", BASE,
     False),
    ("every standard header", "BLOB", "PUT", "/acct/films/a.mov",
     {**BASE, "Content-Encoding": "gzip", "Content-Language": "en", "Content-Length": "5",
      "Content-MD5": "bWQ1", "Content-Type": "text/plain", "Date": DATE,
      "If-Modified-Since": "1", "If-Match": "2", "If-None-Match": "3",
      "If-Unmodified-Since": "4", "Range": "bytes=0-"}, False),
    ("lite", "BLOB", "PUT", "/acct/films/a.mov?comp=metadata&timeout=3",
     {**BASE, "Content-Type": "text/plain", "x-ms-meta-m1": "v1"}, True),
    ("lite for a queue", "QUEUE", "GET", "/acct/jobs/messages?numofmessages=2", BASE, True),
]


def by_sdk(verb, target, headers):
    request = HttpRequest(verb, "http://127.0.0.1" + target, headers=dict(headers))
    policy = SharedKeyCredentialPolicy(ACCOUNT, KEY)
    policy.on_request(PipelineRequest(request, PipelineContext(None)))
    return request.headers["Authorization"]


def require(is_so, what):
    if not is_so:
        sys.exit(f"make_vectors: the SDK and the helper differ on {what}")


def requests(more):
    for what, service, verb, target, headers in REQUESTS:
        authorization = by_sdk(verb, target, headers)
        helper = sign.storage_shared_key(ACCOUNT, KEY, verb, target, headers)
        require(helper == authorization or "oddly" in what, what)
        yield f"Python: {what}", service, verb, target, headers, authorization
    for row in more:
        helper = sign.storage_shared_key(ACCOUNT, KEY, row["verb"], row["target"], row["headers"])
        require(helper == row["authorization"] or "oddly" in row["what"], row["what"])
        yield (f"JavaScript: {row['what']}", row["service"], row["verb"], row["target"],
               row["headers"], row["authorization"])
    for what, service, verb, target, headers, lite in BY_HELPER:
        yield (f"helper: {what}", service, verb, target, headers,
               sign.storage_shared_key(ACCOUNT, KEY, verb, target, headers, lite))


def parameters_of(token):
    return dict(urllib.parse.parse_qsl(token, keep_blank_values=True))


def compare_sas(what, token, container, blob, snapshot=None):
    """The helper, given the parameters of a token, must find its signature."""
    given = parameters_of(token)
    signature = given.pop("sig")
    if snapshot:
        given["snapshot"] = snapshot
    if "srt" in given:
        made = sas.account_sas(KEY, ACCOUNT, **given)
    elif "sr" in given:
        made = sas.blob_sas(KEY, ACCOUNT, container, blob, **given)
    else:
        made = sas.queue_sas(KEY, ACCOUNT, container, **given)
    require(parameters_of(made)["sig"] == signature, what)


def tokens(more):
    extra = {"start": END - datetime.timedelta(days=2), "ip": "127.0.0.1",
             "protocol": "https,http"}
    answer = {"cache_control": "no-cache", "content_disposition": 'attachment; filename="a b"',
              "content_encoding": "gzip", "content_language": "de", "content_type": "text/html"}
    made = [
        ("container", "films", "", blobs.generate_container_sas(
            ACCOUNT, "films", KEY, permission="racwdl", expiry=END)),
        ("container, all of it", "films", "", blobs.generate_container_sas(
            ACCOUNT, "films", KEY, permission="rl", expiry=END, policy_id=None, **extra,
            **answer)),
        ("blob", "films", "a/b c.mov", blobs.generate_blob_sas(
            ACCOUNT, "films", "a/b c.mov", account_key=KEY, permission="r", expiry=END)),
        ("blob, all of it", "films", "\u00e9+%", blobs.generate_blob_sas(
            ACCOUNT, "films", "\u00e9+%", account_key=KEY, permission="rw", expiry=END, **extra,
            **answer)),
        ("account", "films", "a", blobs.generate_account_sas(
            ACCOUNT, KEY, "sco", "rwdlac", END)),
    ]
    for what, container, blob, token in made:
        compare_sas(what, token, container, blob or None)
        yield f"Python: {what}", "BLOB", container, blob, token
    token = blobs.generate_blob_sas(ACCOUNT, "films", "a", snapshot=SNAPSHOT, account_key=KEY,
                                    permission="r", expiry=END)
    compare_sas("snapshot", token, "films", "a", SNAPSHOT)
    yield ("Python: snapshot", "BLOB", "films", "a",
           f"{token}&snapshot={urllib.parse.quote(SNAPSHOT, safe='')}")
    for what, token in [
            ("queue", queues.generate_queue_sas(ACCOUNT, "jobs", KEY, permission="raup",
                                                expiry=END)),
            ("queue, all of it", queues.generate_queue_sas(
                ACCOUNT, "jobs", KEY, permission="p", expiry=END, **extra)),
            ("account", queues.generate_account_sas(ACCOUNT, KEY, "sco", "rwdlacup", END))]:
        compare_sas(what, token, "jobs", None)
        yield f"Python: {what}", "QUEUE", "jobs", "", token
    for row in more:
        compare_sas(row["what"], row["token"], row["container"], row["blob"] or None,
                    row.get("snapshot"))
        tail = f"&snapshot={urllib.parse.quote(row['snapshot'], safe='')}" \
            if row.get("snapshot") else ""
        yield (f"JavaScript: {row['what']}", row["service"], row["container"], row["blob"],
               row["token"] + tail)
    for version in ("2012-02-12", "2013-08-15", "2014-02-14", "2015-02-21"):
        given = {"sv": version, "sp": "r", "st": "2026-01-01", "se": "2026-01-03"}
        yield (f"helper: container {version}", "BLOB", "films", "",
               sas.blob_sas(KEY, ACCOUNT, "films", **given, rscc="no-cache", rsct="text/html"))
        yield (f"helper: blob {version}", "BLOB", "films", "a.mov",
               sas.blob_sas(KEY, ACCOUNT, "films", "a.mov", **given, rsce="gzip"))
        yield (f"helper: queue {version}", "QUEUE", "jobs", "",
               sas.queue_sas(KEY, ACCOUNT, "jobs", **given))


def quoted(text):
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    out = "".join(chr(b) if b < 0x80 else f"\\{b:03o}" for b in text.encode("utf-8"))
    return f'"{out}"'


def main():
    more = json.load(open(sys.argv[1], encoding="utf-8")) if len(sys.argv) > 1 else {}
    print("/* Written by make_vectors.py: requests and SAS of the account acct, key KEY1. */")
    print("/* clang-format off */")
    print(f'#define VECTOR_DATE "{DATE}"\n')
    print("static const struct {\n    const char *what;\n    tv_service_kind service;\n"
          "    const char *verb, *target, *headers, *authorization;\n} signed_requests[] = {")
    for what, service, verb, target, headers, authorization in requests(more.get("requests", [])):
        lines = "".join(f"{name}: {value}\n" for name, value in headers.items())
        print(f"    {{{quoted(what)}, TV_SERVICE_{service}, {quoted(verb)}, {quoted(target)},\n"
              f"     {quoted(lines)},\n     {quoted(authorization)}}},")
    print("};\n\nstatic const struct {\n    const char *what;\n    tv_service_kind service;\n"
          "    const char *container, *blob, *query;\n} signed_tokens[] = {")
    for what, service, container, blob, token in tokens(more.get("tokens", [])):
        print(f"    {{{quoted(what)}, TV_SERVICE_{service}, {quoted(container)}, {quoted(blob)},\n"
              f"     {quoted(token)}}},")
    print("};\n/* clang-format on */")


main()
