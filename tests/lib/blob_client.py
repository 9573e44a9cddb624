"""A bare blob client for tests that must see every byte and every broken connection.

    client = Client(server.blob_port)
    client.put("films/a.mov", b"...").status

One keep-alive connection, SharedKey, no retries: what goes wrong is raised as
OSError or http.client.HTTPException, and the next request connects again.  Use
one client per thread.
"""

import base64
import email.utils
import hashlib
import http.client
import os
import re
import time
import urllib.request

import kept
import sign
from server import ACCOUNT, KEY
from table_client import BROKEN

__all__ = ["BROKEN", "Client", "Listed", "block_id", "extent_files", "numbers", "until_no_extents"]

VERSION = "2023-11-03"


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def code(self):
        return self.headers.get("x-ms-error-code")

    @property
    def digest(self):
        return hashlib.sha256(self.body).hexdigest()

    def __repr__(self):
        return f"<{self.status} {self.code} {self.body[:300]!r}>"


class Listed:
    """A blob or a snapshot of one, as a list shows it."""

    def __init__(self, xml):
        def find(name):
            found = re.search(f"<{name}>(.*?)</{name}>".encode(), xml)
            return found[1].decode() if found else None
        self.name, self.snapshot, self.length = (find("Name"), find("Snapshot"),
                                                 int(find("Content-Length") or 0))


def block_id(number):
    return base64.b64encode(b"%06d" % number).decode()


class Client:
    def __init__(self, port, account=ACCOUNT, key=KEY, timeout_s=60):
        self.account = account
        self.key = key
        self.port = port
        self.connection = kept.Connection("127.0.0.1", port, timeout=timeout_s)

    def signed(self, method, path, headers):
        """All headers of a request for a path below the account."""
        headers = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": VERSION,
                   **headers}
        headers["Authorization"] = sign.storage_shared_key(self.account, self.key, method,
                                                           f"/{self.account}/{path}", headers)
        return headers

    def request(self, method, path, body=None, **headers):
        """Send one request; underscores in the names of headers become dashes."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            headers["Content-Length"] = str(len(body))
        try:
            self.connection.request(method, f"/{self.account}/{path}", body,
                                    self.signed(method, path, headers))
            reply = self.connection.getresponse()
            return Reply(reply.status, reply.headers, reply.read())
        except BaseException:
            self.connection.close()
            raise

    def head_of(self, method, path, length, **headers):
        """The bytes of a request up to its body, to be sent in pieces."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if length is not None:
            headers["Content-Length"] = str(length)
        lines = self.signed(method, path, {**headers, "Host": f"127.0.0.1:{self.port}"})
        return (f"{method} /{self.account}/{path} HTTP/1.1\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in lines.items()) + "\r\n").encode()

    def close(self):
        self.connection.close()

    # --- containers

    def create_container(self, name):
        return self.request("PUT", f"{name}?restype=container", b"")

    def delete_container(self, name):
        return self.request("DELETE", f"{name}?restype=container")

    def list(self, container, include="snapshots"):
        """Every blob and snapshot."""
        marker, found = "", []
        while True:
            reply = self.request("GET", f"{container}?restype=container&comp=list"
                                        f"&include={include}{marker}")
            if reply.status != 200:
                raise AssertionError(f"list of {container}: {reply}")
            found += [Listed(xml) for xml in re.findall(rb"<Blob>(.*?)</Blob>", reply.body)]
            following = re.search(rb"<NextMarker>(.+?)</NextMarker>", reply.body)
            if following is None:
                return found
            marker = f"&marker={following[1].decode()}"

    # --- blobs; a path is container/blob

    def put(self, path, content, **headers):
        return self.request("PUT", path, content, x_ms_blob_type="BlockBlob", **headers)

    def put_append(self, path):
        return self.request("PUT", path, b"", x_ms_blob_type="AppendBlob")

    def append(self, path, content):
        return self.request("PUT", f"{path}?comp=appendblock", content)

    def put_block(self, path, number, content):
        return self.request("PUT", f"{path}?comp=block&blockid={block_id(number)}", content)

    def put_blocks(self, path, numbers):
        latest = "".join(f"<Latest>{block_id(number)}</Latest>" for number in numbers)
        return self.request("PUT", f"{path}?comp=blocklist",
                            f"<BlockList>{latest}</BlockList>".encode())

    def get(self, path, snapshot=None):
        return self.request("GET", path + (f"?snapshot={snapshot}" if snapshot else ""))

    def delete(self, path):
        """With its snapshots."""
        return self.request("DELETE", path, x_ms_delete_snapshots="include")

    def snapshot(self, path):
        return self.request("PUT", f"{path}?comp=snapshot", b"")

    def copy(self, path, source):
        url = f"http://127.0.0.1:{self.port}/{self.account}/{source}"
        return self.request("PUT", path, b"", x_ms_copy_source=url)


# --- what is on the disk

def extent_files(data):
    """The files of large data in a data folder, as (path, bytes)."""
    found = []
    for folder, _, names in os.walk(os.path.join(data, "blobs")):
        for name in names:
            if re.fullmatch(r"[0-9a-f]{16}-[0-9a-f]{16}", name):
                path = os.path.join(folder, name)
                try:
                    found.append((path, os.path.getsize(path)))
                except FileNotFoundError:
                    pass
    return found


def numbers(server):
    """(extents, extent_bytes, extents_to_remove) as the server reports them."""
    with urllib.request.urlopen(server.admin_url + "/metrics", timeout=60) as reply:
        text = reply.read().decode()
    return tuple(int(float(re.search(rf"^tavola_{name} (\S+)$", text, re.M)[1]))
                 for name in ("extents", "extent_bytes", "extents_to_remove"))


def until_no_extents(test, server, wait_s=60):
    """Fail unless all files of large data are removed, and the metrics drop to 0."""
    deadline = time.monotonic() + wait_s
    while extent_files(server.data) or numbers(server) != (0, 0, 0):
        if time.monotonic() > deadline:
            files = extent_files(server.data)
            test.fail(f"{len(files)} files without a blob: {files[:5]}; metrics (extents, bytes, "
                      f"to remove) are {numbers(server)}\n{server.log()[-2000:]}")
        time.sleep(0.02)
