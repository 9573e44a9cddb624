"""Sign requests to the table service with an account key.

SharedKeyLite signs the date and the resource; SharedKey adds the verb, Content-MD5 and
Content-Type.  The resource is the account, then the path exactly as it goes over the wire, then
`?comp=` and its value when the query has one, and nothing else of the query.
"""

import base64
import hashlib
import hmac
import urllib.parse


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
