"""Sign requests with an account key.

Tables sign little.  SharedKeyLite signs the date and the resource; SharedKey adds the verb,
Content-MD5 and Content-Type.  The resource is the account, then the path exactly as it goes over
the wire, then `?comp=` and its value when the query has one, and nothing else of the query.

Queues and blobs sign eleven headers by their place, all `x-ms-` headers by their name, and every
parameter of the query:

    storage_shared_key("acct", key, "PUT", "/acct/c/b?comp=block", {"x-ms-date": date, ...})
"""

import base64
import hashlib
import hmac
import urllib.parse

STANDARD = ("content-encoding", "content-language", "content-length", "content-md5",
            "content-type", "date", "if-modified-since", "if-match", "if-none-match",
            "if-unmodified-since", "range")
STANDARD_LITE = ("content-md5", "content-type", "date")


def canonical_resource(account, target):
    """`target` is the path and query of the request line, still percent-encoded."""
    path, _, query = target.partition("?")
    resource = f"/{account}{path or '/'}"
    for parameter in query.split("&"):
        name, _, value = parameter.partition("=")
        if urllib.parse.unquote(name) == "comp":
            resource += f"?comp={urllib.parse.unquote(value)}"
    return resource


def signature(key, text):
    digest = hmac.new(base64.b64decode(key), text.encode("utf-8"), hashlib.sha256).digest()
    return base64.b64encode(digest).decode("ascii")


def shared_key_lite(account, key, date, target):
    """The value of the Authorization header."""
    text = f"{date}\n{canonical_resource(account, target)}"
    return f"SharedKeyLite {account}:{signature(key, text)}"


def shared_key(account, key, date, target, verb, content_type="", content_md5=""):
    """The value of the Authorization header."""
    text = "\n".join((verb, content_md5, content_type, date, canonical_resource(account, target)))
    return f"SharedKey {account}:{signature(key, text)}"


# --- queues and blobs ---


def grouped(pairs):
    """{name in lower case: [value, ...]}, values in the order of the pairs."""
    groups = {}
    for name, value in pairs:
        groups.setdefault(name.lower(), []).append(value)
    return groups


def canonical_headers(groups, version):
    lines = []
    for name in sorted(name for name in groups if name.startswith("x-ms-")):
        values = [value for value in groups[name] if value or version >= "2016-05-31"]
        if values:
            lines.append(f"{name}:{','.join(values)}\n")
    return "".join(lines)


def canonical_query(query):
    groups = grouped(urllib.parse.parse_qsl(query, keep_blank_values=True))
    return "".join(f"\n{name}:{','.join(sorted(groups[name]))}" for name in sorted(groups))


def storage_text(account, verb, target, headers, lite=False):
    """`headers` is a dict or a list of pairs: all that the request will have."""
    groups = grouped(headers.items() if isinstance(headers, dict) else headers)
    version = groups.get("x-ms-version", ["9999-12-31"])[0]
    standard = {name: groups.get(name, [""])[0] for name in STANDARD}
    if standard["content-length"] == "0" and version >= "2015-02-21":
        standard["content-length"] = ""
    if groups.get("x-ms-date", [""])[0]:
        standard["date"] = ""

    text = "".join(f"{line}\n" for line in (verb, *(standard[name] for name in
                                                    (STANDARD_LITE if lite else STANDARD))))
    text += canonical_headers(groups, version)
    if lite:
        return text + canonical_resource(account, target)
    path, _, query = target.partition("?")
    return text + f"/{account}{path or '/'}" + canonical_query(query)


def storage_shared_key(account, key, verb, target, headers, lite=False):
    """The value of the Authorization header for a queue or a blob."""
    scheme = "SharedKeyLite" if lite else "SharedKey"
    return f"{scheme} {account}:{signature(key, storage_text(account, verb, target, headers, lite))}"
