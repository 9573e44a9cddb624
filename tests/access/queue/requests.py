"""Requests to the queue service with any credential."""

import re
import urllib.parse

from access.talk import POLICIES, PROPERTIES

XML = "application/xml"


def message(text):
    return f"<QueueMessage><MessageText>{text}</MessageText></QueueMessage>".encode()


def queue_request(account, name, queue, mark=0, held=("none", "none")):
    """(method, path, body) of an operation; `held` is a message's id and receipt."""
    path = f"/{account}/{queue}"
    one = f"{path}/messages/{held[0]}?popreceipt={urllib.parse.quote(held[1], safe='')}"
    properties = f"/{account}/?restype=service&comp=properties"
    return {
        "list queues": ("GET", f"/{account}/?comp=list", None),
        "get properties": ("GET", properties, None),
        "set properties": ("PUT", properties, PROPERTIES),
        "get stats": ("GET", f"/{account}-secondary/?restype=service&comp=stats", None),
        "create queue": ("PUT", f"/{account}/made{mark}", None),
        "delete queue": ("DELETE", f"/{account}/made{mark}", None),
        "get metadata": ("GET", f"{path}?comp=metadata", None),
        "head metadata": ("HEAD", f"{path}?comp=metadata", None),
        "set metadata": ("PUT", f"{path}?comp=metadata", None),
        "get acl": ("GET", f"{path}?comp=acl", None),
        "set acl": ("PUT", f"{path}?comp=acl", POLICIES),
        "put message": ("POST", f"{path}/messages", message(mark)),
        "get messages": ("GET", f"{path}/messages", None),
        "peek messages": ("GET", f"{path}/messages?peekonly=true", None),
        "update message": ("PUT", f"{one}&visibilitytimeout=0", message(mark)),
        "delete message": ("DELETE", one, None),
        "clear messages": ("DELETE", f"{path}/messages", None),
    }[name]


def held_by(reply):
    """The id and the receipt of the first message in an answer."""
    return tuple(re.search(rf"<{name}>(.*?)</{name}>".encode(), reply.body)[1].decode()
                 for name in ("MessageId", "PopReceipt"))


def prepare(credential, request, **more):
    """What Talk.ask takes; `more` headers."""
    method, path, body = request
    headers = {"x-ms-version": "2019-02-02", **more}
    if body is not None:
        headers.update({"Content-Type": XML, "Content-Length": str(len(body))})
    path, headers = credential.apply(method, path, headers)
    return method, path, body, headers


def understand(reply):
    reply.code = reply.code or reply.headers.get("x-ms-error-code")
    return reply


def send(talk, credential, request, **more):
    return understand(talk.ask(*prepare(credential, request, **more)))
