"""Requests to the table service with any credential."""

import json
import urllib.parse

from access.talk import POLICIES, PROPERTIES

JSON = "application/json;odata=nometadata"


def quoted(key):
    return urllib.parse.quote(key.replace("'", "''"), safe="'")


def entity_path(account, table, keys):
    return f"/{account}/{table}(PartitionKey='{quoted(keys[0])}',RowKey='{quoted(keys[1])}')"


def entity(keys, mark):
    return json.dumps({"PartitionKey": keys[0], "RowKey": keys[1], "Mark": mark}).encode()


def entity_request(account, name, table, keys, mark):
    """(method, path, headers, body) of an operation on entities."""
    path = entity_path(account, table, keys)
    change = {"Accept": JSON, "Content-Type": "application/json"}
    return {
        "query entities": ("GET", f"/{account}/{table}()", {"Accept": JSON}, None),
        "point read": ("GET", path, {"Accept": JSON}, None),
        "insert": ("POST", f"/{account}/{table}", change, entity(keys, mark)),
        "update": ("PUT", path, {**change, "If-Match": "*"}, entity(keys, mark)),
        "merge": ("MERGE", path, {**change, "If-Match": "*"}, entity(keys, mark)),
        "insert or replace": ("PUT", path, change, entity(keys, mark)),
        "insert or merge": ("MERGE", path, change, entity(keys, mark)),
        "delete entity": ("DELETE", path, {"Accept": JSON, "If-Match": "*"}, None),
    }[name]


def service_request(account, name, table, mark):
    json_type = {"Accept": JSON, "Content-Type": "application/json"}
    xml = {"Content-Type": "application/xml"}
    properties = f"/{account}/?restype=service&comp=properties"
    return {
        "query tables": ("GET", f"/{account}/Tables", {"Accept": JSON}, None),
        "get table": ("GET", f"/{account}/Tables('{table}')", {"Accept": JSON}, None),
        "create table": ("POST", f"/{account}/Tables", json_type,
                         json.dumps({"TableName": f"made{mark}"}).encode()),
        "delete table": ("DELETE", f"/{account}/Tables('made{mark}')", {"Accept": JSON}, None),
        "get properties": ("GET", properties, {}, None),
        "set properties": ("PUT", properties, xml, PROPERTIES),
        "get stats": ("GET", f"/{account}-secondary/?restype=service&comp=stats", {}, None),
        "get acl": ("GET", f"/{account}/{table}?comp=acl", {}, None),
        "set acl": ("PUT", f"/{account}/{table}?comp=acl", xml, POLICIES),
    }[name]


def part_text(url, request, content_id=1):
    """A request as a part of a batch, without the boundary."""
    method, path, headers, body = request
    lines = ["Content-Type: application/http", "Content-Transfer-Encoding: binary", "",
             f"{method} {url}{path} HTTP/1.1", f"Content-ID: {content_id}",
             *(f"{name}: {value}" for name, value in headers.items())]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", (body or b"").decode()])


def batch_request(account, url, requests, is_query=False):
    """(method, path, headers, body) of a batch of requests."""
    parts = [part_text(url, request, i + 1) for i, request in enumerate(requests)]
    if is_query:
        text = f"--b\r\n{parts[0]}\r\n--b--\r\n"
    else:
        inside = "".join(f"--c\r\n{part}\r\n" for part in parts)
        text = f"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{inside}--c--\r\n--b--\r\n"
    return ("POST", f"/{account}/$batch",
            {"Content-Type": "multipart/mixed; boundary=b", "Accept": JSON}, text.encode())


def request_of(account, url, operation, table, keys, mark):
    """(method, path, headers, body) of any operation of the matrix."""
    part = operation.removeprefix("batch: ")
    if part != operation:
        inner = entity_request(account, part, table, keys, mark)
        return batch_request(account, url, [inner], part == "point read")
    if "table" in part or "properties" in part or "stats" in part or "acl" in part:
        return service_request(account, part, table, mark)
    return entity_request(account, part, table, keys, mark)


def prepare(credential, request):
    """What Talk.ask takes."""
    method, path, headers, body = request
    headers = {"x-ms-version": "2019-02-02", "DataServiceVersion": "3.0", **headers}
    path, headers = credential.apply(method, path, headers)
    return method, path, body, headers


def understand(reply):
    return reply


def send(talk, credential, request):
    return talk.ask(*prepare(credential, request))
