"""Clients that read and write rows of a few partitions, through any node, and record it all."""

import json
import random
import re
import time
import uuid

from cluster.linear import ABSENT, ANY, EXISTS, MISMATCH, OK, Change, Op
from server import ACCOUNT
from table_client import BROKEN, Client, key_path

TABLE, FIXED = "lin", "fixed"
PARTITIONS = [f"p{number}" for number in range(8)]
ROWS = [f"r{number}" for number in range(10)]
FIXED_PARTITIONS, FIXED_ROWS = 24, 10
REFUSED = {"EntityAlreadyExists": EXISTS, "ResourceNotFound": ABSENT,
           "UpdateConditionNotSatisfied": MISMATCH}
TIMEOUT_S = 120
PAUSE_S = 0.05


def prepare(port):
    """The tables, and rows that stay as they are."""
    client = Client(port)
    for table in (TABLE, FIXED):
        reply = client.create_table(table)
        assert reply.status == 204, reply
    for partition in range(FIXED_PARTITIONS):
        reply = client.batch(FIXED, [{"PartitionKey": f"p{partition % 8}-{partition}",
                                      "RowKey": f"{row}", "Value": f"{partition}/{row}"}
                                     for row in range(FIXED_ROWS)])
        assert reply.status == 202, reply
    client.close()


class Worker:
    def __init__(self, number, ports, record, seed, timeout_s=TIMEOUT_S):
        self.number, self.ports, self.record, self.timeout_s = number, ports, record, timeout_s
        self.random = random.Random(f"{seed}/{number}")
        self.at = number
        self.client = None
        self.serial = 0
        self.known = {}  # (partition, row) -> (token, etag) as this client saw them last

    def run(self, ended):
        kinds = ([self.read] * 5 + [self.insert] * 3 + [self.update] * 5 + [self.put] * 2 +
                 [self.delete] * 2 + [self.batch] * 4 + [self.scan] * 2)
        while not ended.is_set():
            kind = self.random.choice(kinds)
            if self.random.random() < 0.005:
                kind = self.look_at_fixed
            kind(self.random.choice(PARTITIONS))
            time.sleep(self.random.uniform(0, 0.02))
            if self.random.random() < 0.01:
                # Else all would be with the node that was harmed last.
                self.leave()
                self.at = self.random.randrange(len(self.ports))
        self.leave()

    # --- requests

    def leave(self):
        if self.client:
            self.client.close()
            self.client = None

    def send(self, request):
        """(reply or None, called, answered); without a reply nobody knows what was done, unless
        `called` is None: then nothing was sent."""
        if self.client is None:
            self.client = Client(self.ports[self.at % len(self.ports)], timeout_s=self.timeout_s)
        called = self.record.now()
        try:
            reply = request(self.client)
        except ConnectionRefusedError:
            reply = called = None
        except BROKEN as error:
            self.record.lost(type(error).__name__)
            reply = None
        else:
            if reply.status >= 500:
                self.record.lost(f"{reply.status} {reply.code}")
                reply = None
        if reply is None:
            # Another node may do better.
            self.leave()
            self.at += 1
            time.sleep(PAUSE_S)
        return reply, called, self.record.now()

    def token(self):
        self.serial += 1
        return f"{self.number}-{self.serial}"

    def entity(self, partition, row, token):
        return {"PartitionKey": partition, "RowKey": row, "Token": token,
                "Filling": "x" * self.random.choice((0, 10, 200))}

    def complain(self, what, reply):
        self.record.complain(f"client {self.number} at {self.ports[self.at % len(self.ports)]}: "
                             f"{what}: {reply}")

    # --- reads

    def read(self, partition):
        row = self.random.choice(ROWS)
        reply, called, answered = self.send(lambda client: client.get(TABLE, partition, row))
        if reply is None:
            return
        if reply.status == 404 and reply.code == "ResourceNotFound":
            self.known.pop((partition, row), None)
            self.record.add(partition, Op(self.number, "read", called, answered, {row: None}))
        elif reply.status == 200:
            token, etag = reply.json["Token"], reply.headers["ETag"]
            self.known[partition, row] = token, etag
            self.record.add(partition, Op(self.number, "read", called, answered, {row: token},
                                          hint=self.record.hint(etag)), [(row, token, etag)])
        else:
            self.complain(f"read {partition} {row}", reply)

    def scan(self, partition):
        """A partition is one page, and that is of one instant."""
        path = f"/{TABLE}()?$filter=PartitionKey%20eq%20'{partition}'"
        reply, called, answered = self.send(lambda client: signed_query(client, path))
        if reply is None:
            return
        if reply.status != 200:
            self.complain(f"scan {partition}", reply)
        elif reply.headers.get("x-ms-continuation-NextPartitionKey") is None:
            rows = reply.json["value"]
            seen = {one["RowKey"]: one["Token"] for one in rows}
            self.record.add(partition, Op(self.number, "read", called, answered, seen,
                                          is_scan=True))

    def look_at_fixed(self, _):
        """All of a table that nobody changes, over all ranges: each row once."""
        client = Client(self.ports[self.at % len(self.ports)], timeout_s=self.timeout_s)
        try:
            found = [(one["PartitionKey"], one["RowKey"], one["Value"])
                     for one in client.scan(FIXED)]
        except BROKEN:
            return
        except AssertionError as error:
            if not re.search(r"<5\d\d ", str(error)):
                self.record.complain(str(error))
            return
        finally:
            client.close()
        expected = sorted((f"p{p % 8}-{p}", f"{row}", f"{p}/{row}")
                          for p in range(FIXED_PARTITIONS) for row in range(FIXED_ROWS))
        if sorted(found) != expected:
            missing = set(expected) - set(found)
            self.record.complain(f"a scan of {len(found)} rows: {len(missing)} missing "
                                 f"{sorted(missing)[:5]}, {len(found) - len(set(found))} twice")

    # --- changes

    def change(self, partition, changes, request):
        reply, called, answered = self.send(request)
        op = Op(self.number, "change", called, changes=changes)
        if reply is None:
            if called is not None:
                self.record.add(partition, op)
            return
        op.answered = answered
        written = []
        if reply.status in (202, 204) and reply.code is None:
            op.result = OK
            etags = re.findall(rb"ETag: (.*?)\r\n", reply.body) if reply.status == 202 else \
                [reply.headers.get("ETag", "").encode()]
            puts = [change for change in changes if change.kind != "delete"]
            if len(etags) < len(puts):
                self.complain(f"{len(puts)} rows written, {len(etags)} ETags", reply)
                return
            written = [(change.row, change.token, etag.decode())
                       for change, etag in zip(puts, etags)]
            op.hint = self.record.hint(written[0][2]) if written else None
        elif reply.code in REFUSED:
            op.result = REFUSED[reply.code]
        else:
            self.complain(f"{op}", reply)
            return
        for change in changes:
            self.known.pop((partition, change.row), None)
        for row, token, etag in written:
            self.known[partition, row] = token, etag
        self.record.add(partition, op, written=written)

    def insert(self, partition):
        row, token = self.random.choice(ROWS), self.token()
        self.change(partition, [Change("insert", row, token)],
                    lambda client: client.insert(TABLE, self.entity(partition, row, token)))

    def put(self, partition):
        row, token = self.random.choice(ROWS), self.token()
        self.change(partition, [Change("put", row, token)],
                    lambda client: client.replace(TABLE, self.entity(partition, row, token)))

    def condition(self, partition, row):
        """(expected token, If-Match): of what this client saw last, which may be old by now."""
        token, etag = self.known.get((partition, row), (ANY, "*"))
        return (ANY, "*") if self.random.random() < 0.1 else (token, etag)

    def update(self, partition):
        row, token = self.random.choice(ROWS), self.token()
        expect, etag = self.condition(partition, row)
        self.change(partition, [Change("put", row, token, expect)],
                    lambda client: client.request("PUT", key_path(TABLE, partition, row),
                                                  self.entity(partition, row, token),
                                                  If_Match=etag))

    def delete(self, partition):
        row = self.random.choice(ROWS)
        expect, etag = self.condition(partition, row)
        self.change(partition, [Change("delete", row, None, expect)],
                    lambda client: client.request("DELETE", key_path(TABLE, partition, row),
                                                  If_Match=etag))

    def batch(self, partition):
        """2 to 10 rows in one transaction."""
        token, changes, etags = self.token(), [], []
        for row in self.random.sample(ROWS, self.random.randint(2, 10)):
            kind = self.random.choice(("put", "put", "put", "update", "insert", "delete"))
            expect = etag = None
            if kind in ("update", "delete"):
                if (partition, row) not in self.known:
                    kind = "put"
                else:
                    expect, etag = self.known[partition, row]
            changes.append(Change("put" if kind == "update" else kind, row,
                                  None if kind == "delete" else token, expect))
            etags.append(etag)
        body, boundary = self.batch_body(partition, changes, etags)
        self.change(partition, changes, lambda client: client.request(
            "POST", "/$batch", body, Content_Type=f"multipart/mixed; boundary={boundary}"))

    def batch_body(self, partition, changes, etags):
        batch, changeset = f"batch_{uuid.uuid4()}", f"changeset_{uuid.uuid4()}"
        lines = [f"--{batch}", f"Content-Type: multipart/mixed; boundary={changeset}", ""]
        for change, etag in zip(changes, etags):
            method = {"insert": "POST", "put": "PUT", "delete": "DELETE"}[change.kind]
            path = f"/{TABLE}" if method == "POST" else key_path(TABLE, partition, change.row)
            lines += [f"--{changeset}", "Content-Type: application/http",
                      "Content-Transfer-Encoding: binary", "",
                      f"{method} http://127.0.0.1/{ACCOUNT}{path} HTTP/1.1",
                      "Accept: application/json;odata=nometadata", "DataServiceVersion: 3.0",
                      "Prefer: return-no-content"]
            lines += [f"If-Match: {etag}"] if etag else []
            if method == "DELETE":
                lines += ["", ""]
            else:
                lines += ["Content-Type: application/json", "",
                          json.dumps(self.entity(partition, change.row, change.token))]
        lines += [f"--{changeset}--", f"--{batch}--", ""]
        return "\r\n".join(lines).encode(), batch


def signed_query(client, path):
    """SharedKeyLite leaves the query out of what is signed."""
    headers = client.headers(path.partition("?")[0])
    return client.request("GET", path, **headers)


def read_all(ports, record):
    """The last word: every partition from every node, one after the other."""
    for number, port in enumerate(ports):
        worker = Worker(100 + number, [port], record, 0)
        for partition in PARTITIONS:
            worker.scan(partition)
        worker.look_at_fixed(None)
        worker.leave()
