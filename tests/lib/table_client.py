"""A bare table client for tests that must see every byte and every broken connection.

    client = Client(server.table_port)
    client.insert("people", {"PartitionKey": "p", "RowKey": "r"}).status

One keep-alive connection, SharedKeyLite, no retries: what goes wrong is raised
as OSError or http.client.HTTPException, and the next request connects again.
Use one client per thread.
"""

import email.utils
import http.client
import json
import urllib.parse
import uuid

import kept
import sign
from server import ACCOUNT, KEY

BROKEN = (OSError, http.client.HTTPException)


class Reply:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        """The error code of the body, also that of a failed batch; None if there is none."""
        start = self.body.find(b'{"odata.error"')
        if start < 0:
            return None
        error, _ = json.JSONDecoder().raw_decode(self.body[start:].decode())
        return error["odata.error"]["code"]

    def __repr__(self):
        return f"<{self.status} {self.body[:300]!r}>"


def key_path(table, partition_key, row_key):
    def quoted(key):
        return urllib.parse.quote(key.replace("'", "''"), safe="'")
    return f"/{table}(PartitionKey='{quoted(partition_key)}',RowKey='{quoted(row_key)}')"


class Client:
    def __init__(self, port, account=ACCOUNT, key=KEY, timeout_s=60):
        self.account = account
        self.key = key
        self.connection = kept.Connection("127.0.0.1", port, timeout=timeout_s)

    def headers(self, path):
        """The signed headers of a request for a path below the account."""
        date = email.utils.formatdate(usegmt=True)
        authorization = sign.shared_key_lite(self.account, self.key, date,
                                             f"/{self.account}{path}")
        return {"x-ms-date": date, "x-ms-version": "2019-02-02", "Authorization": authorization,
                "DataServiceVersion": "3.0", "Accept": "application/json;odata=nometadata"}

    def request(self, method, path, body=None, **headers):
        """Send one request; underscores in the names of headers become dashes."""
        all_headers = self.headers(path)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            all_headers["Content-Type"] = "application/json"
        all_headers.update({name.replace("_", "-"): value for name, value in headers.items()})
        try:
            self.connection.request(method, f"/{self.account}{path}", body, all_headers)
            reply = self.connection.getresponse()
            return Reply(reply.status, reply.headers, reply.read())
        except BaseException:
            self.connection.close()
            raise

    def close(self):
        self.connection.close()

    def create_table(self, table):
        return self.request("POST", "/Tables", {"TableName": table}, Prefer="return-no-content")

    def insert(self, table, entity):
        return self.request("POST", f"/{table}", entity, Prefer="return-no-content")

    def replace(self, table, entity):
        """Insert or replace."""
        return self.request("PUT", key_path(table, entity["PartitionKey"], entity["RowKey"]),
                            entity)

    def get(self, table, partition_key, row_key):
        return self.request("GET", key_path(table, partition_key, row_key))

    def delete(self, table, partition_key, row_key):
        return self.request("DELETE", key_path(table, partition_key, row_key), If_Match="*")

    def batch(self, table, entities, prefer="return-no-content"):
        """Insert the entities in one transaction; `.status` is that of the transaction."""
        body, boundary = self.batch_body(table, entities, prefer)
        return self.send_batch(body, boundary)

    def batch_of(self, changes):
        """Make the changes (method, path, entity or None, headers) in one transaction."""
        return self.send_batch(*self.changes_body(changes))

    def send_batch(self, body, boundary):
        reply = self.request("POST", "/$batch", body,
                             Content_Type=f"multipart/mixed; boundary={boundary}")
        if reply.status == 202 and reply.code:
            reply.status = int(reply.body.split(b"HTTP/1.1 ", 1)[1][:3])
        return reply

    def batch_body(self, table, entities, prefer="return-no-content"):
        return self.changes_body([("POST", f"/{table}", entity, {"Prefer": prefer})
                                  for entity in entities])

    def changes_body(self, changes):
        batch, changeset = f"batch_{uuid.uuid4()}", f"changeset_{uuid.uuid4()}"
        url = f"http://127.0.0.1:{self.connection.port}/{self.account}"
        lines = [f"--{batch}", f"Content-Type: multipart/mixed; boundary={changeset}", ""]
        for method, path, entity, headers in changes:
            lines += [f"--{changeset}", "Content-Type: application/http",
                      "Content-Transfer-Encoding: binary", "", f"{method} {url}{path} HTTP/1.1",
                      "Accept: application/json;odata=nometadata",
                      "Content-Type: application/json",
                      *(f"{name}: {value}" for name, value in headers.items()), "",
                      "" if entity is None else json.dumps(entity)]
        lines += [f"--{changeset}--", f"--{batch}--", ""]
        return "\r\n".join(lines).encode(), batch

    def scan(self, table):
        """Yield every entity of a table."""
        token = ""
        while True:
            reply = self.request("GET", f"/{table}(){token}")
            if reply.status != 200:
                raise AssertionError(f"scan of {table}: {reply}")
            yield from reply.json["value"]
            following = {name: reply.headers.get(f"x-ms-continuation-{name}")
                         for name in ("NextPartitionKey", "NextRowKey")}
            if following["NextPartitionKey"] is None:
                return
            token = "?" + urllib.parse.urlencode(
                {name: value for name, value in following.items() if value is not None})
