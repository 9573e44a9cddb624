"""Send what the lines of a case say, on as many connections as they ask for."""

import base64
import email.utils
import hashlib
import hmac
import json
import re
import shlex
import socket
import time
import urllib.parse

from notation import Fill, span_ms
from server import ACCOUNT, KEY

STEP_MS = 100        # what is closer together than this is sent at one instant
PIPELINE_MAX = 50    # requests on their way on one connection
SECRET = base64.b64decode(KEY)


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.input = self.socket.makefile("rb")
        self.etag = None

    def close(self):
        self.input.close()
        self.socket.close()

    def read(self):
        status = int(self.input.readline().split()[1])
        headers = {}
        while (line := self.input.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(self.input.readline(), 16):
                body += self.input.read(size)
                self.input.readline()
            self.input.readline()
        else:
            body = self.input.read(int(headers.get("content-length", 0)))
        return Reply(status, headers, body)

    def send(self, requests):
        replies = []
        for at in range(0, len(requests), PIPELINE_MAX):
            part = requests[at:at + PIPELINE_MAX]
            self.socket.sendall(b"".join(part))
            replies += [self.read() for _ in part]
        return replies


def quoted(key):
    return urllib.parse.quote(key.replace("'", "''"), safe="")


def properties_of(words, fill):
    """Age={i} is an Int32, Age={i}L an Int64, Age=1.5D a Double, everything else a String."""
    entity = {}
    for word in words:
        name, _, value = word.partition("=")
        value = fill.text(value)
        if re.fullmatch(r"\d{1,9}", value):
            entity[name] = int(value)
        elif re.fullmatch(r"\d+\.\d+D", value):
            entity[name] = float(value[:-1])
        elif re.fullmatch(r"\d+L", value):
            entity[name] = value[:-1]
            entity[f"{name}@odata.type"] = "Edm.Int64"
        else:
            entity[name] = value
    return entity


class Traffic:
    def __init__(self, server, admin, prefix, account=ACCOUNT):
        self.server, self.admin, self.prefix = server, admin, prefix
        self.account = account
        self.fill = Fill()
        self.fill.now_ms = self.begin_minute()
        self.connections, self.made, self.serial = [], set(), 0
        self.pending = []      # (connection, request): of one instant
        self.stubborn = []     # the same: sent again while they are refused
        self.pending_ms = 0.0

    def close(self):
        for connection in self.connections:
            connection.close()

    def begin_minute(self):
        """Cases begin with a minute of the recorder, which counts retries by its minutes."""
        now_ms = self.admin.ask("POST", "/clock", {"ms": 0})["unixMs"]
        return self.admin.ask("POST", "/clock", {"ms": 60000 - now_ms % 60000})["unixMs"]

    def table_name(self, name):
        return f"{name}{self.prefix}"

    # --- time and connections ---

    def connection(self, number):
        while len(self.connections) <= number:
            self.connections.append(Connection(self.server.table_port))
        return self.connections[number]

    def flush(self):
        """Send what waits, each connection's in order, and return the replies."""
        replies = []
        pending, self.pending = self.pending, []
        for connection in {id(c): c for c, _ in pending}.values():
            replies += connection.send([request for c, request in pending if c is connection])
        if self.pending_ms >= 1:
            whole = int(self.pending_ms)
            self.pending_ms -= whole
            self.fill.now_ms += whole
            self.admin.advance(whole)
        return replies

    def wait_ms(self, ms):
        self.pending_ms += ms
        if self.pending_ms >= STEP_MS or len(self.pending) >= 1000:
            self.flush()

    # --- requests ---

    def request(self, method, target, body=b"", headers=()):
        path = f"/{self.account}/{target}"
        date = email.utils.formatdate(usegmt=True)
        text = f"{date}\n/{self.account}{path.partition('?')[0]}"
        sign = base64.b64encode(hmac.new(SECRET, text.encode(), hashlib.sha256).digest()).decode()
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"x-ms-date: {date}",
                 "x-ms-version: 2019-02-02", "User-Agent: traffic/1",
                 "Accept: application/json;odata=nometadata",
                 f"Authorization: SharedKeyLite {self.account}:{sign}", f"Content-Length: {len(body)}",
                 *headers]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    def now(self, connection, *request, **named):
        """Send one at once and return its reply."""
        self.flush()
        return connection.send([self.request(*request, **named)])[0]

    def later(self, connection, *request, **named):
        self.pending.append((connection, self.request(*request, **named)))

    def make(self, name):
        name = self.table_name(name)
        if name not in self.made:
            self.made.add(name)
            deadline = time.monotonic() + 60
            while True:
                reply = self.now(self.connection(0), "POST", "Tables",
                                 json.dumps({"TableName": name}).encode(),
                                 ["Content-Type: application/json", "Prefer: return-no-content"])
                # An account with targets may have to rest from the case before.
                if reply.status != 503 or time.monotonic() > deadline:
                    break
                time.sleep(0.05)
            assert reply.status == 204, reply.body
        return name

    def batch(self, connection, table, changes):
        """changes: [(method, pk, rk, entity or None)]"""
        parts = []
        for number, (method, pk, rk, entity) in enumerate(changes, 1):
            target, head, body = table, "", ""
            if method == "DELETE":
                target += f"(PartitionKey='{quoted(pk)}',RowKey='{quoted(rk)}')"
                head = "If-Match: *\r\n"
            else:
                body = json.dumps(entity)
            parts.append("--c\r\nContent-Type: application/http\r\n"
                         "Content-Transfer-Encoding: binary\r\n\r\n"
                         f"{method} http://127.0.0.1:{self.server.table_port}/{self.account}/{target} "
                         f"HTTP/1.1\r\nContent-ID: {number}\r\nAccept: application/json\r\n"
                         f"Content-Type: application/json\r\nPrefer: return-no-content\r\n{head}"
                         f"Content-Length: {len(body)}\r\n\r\n{body}\r\n")
        text = ("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n" + "".join(parts)
                + "--c--\r\n--b--\r\n")
        self.later(connection, "POST", "$batch", text.encode(),
                   headers=["Content-Type: multipart/mixed; boundary=b"])

    # --- operations ---

    def op_load(self, c, table, size, *words):
        name = self.make(table)
        partitions, rows = map(int, size.split("x"))
        keys = {"pk": "p{k:03}", "rk": "r{j:05}"}
        keys.update(word.split("=", 1) for word in words if word[:3] in ("pk=", "rk="))
        words = [word for word in words if word[:3] not in ("pk=", "rk=")]
        number = 0
        for p in range(partitions):
            changes = []
            for r in range(rows):
                self.fill.numbers.update(i=number, k=p, j=r)
                number += 1
                pk, rk = self.fill.text(keys["pk"]), self.fill.text(keys["rk"])
                changes.append(("POST", pk, rk, {"PartitionKey": pk, "RowKey": rk,
                                                 **properties_of(words, self.fill)}))
            for at in range(0, rows, 100):
                self.batch(c, name, changes[at:at + 100])
                if len(self.pending) >= 20:
                    self.check_batches(self.flush())
        self.check_batches(self.flush())

    def check_batches(self, replies):
        for reply in replies:
            assert reply.status == 202 and b"HTTP/1.1 4" not in reply.body, reply.body[:500]

    def query_target(self, table, words):
        options = {"$filter": "", "$top": "", "$select": ""}
        for word in words:
            if word.startswith("$"):
                name, _, value = word.partition("=")
                options[name] = value
            else:
                options["$filter"] = self.fill.text(word)
        text = "&".join(f"{name}={urllib.parse.quote(value)}" for name, value in options.items()
                        if value)
        return f"{self.table_name(table)}()" + (f"?{text}" if text else "")

    def op_query(self, c, table, *words):
        self.later(c, "GET", self.query_target(table, words))

    def pages(self, c, table, words, most):
        """Replies of one page after another."""
        target = self.query_target(table, words)
        token = ""
        for _ in range(most):
            reply = self.now(c, "GET", target + token)
            assert reply.status == 200, reply.body
            yield reply
            pk = reply.headers.get("x-ms-continuation-nextpartitionkey")
            if pk is None:
                return
            rk = reply.headers.get("x-ms-continuation-nextrowkey", "")
            token = (("&" if "?" in target else "?") + f"NextPartitionKey={urllib.parse.quote(pk)}"
                     f"&NextRowKey={urllib.parse.quote(rk)}")
            self.wait_ms(10)

    def op_walk(self, c, table, *words):
        for _ in self.pages(c, table, words, 10000):
            pass

    def op_pages(self, c, count, table, *words):
        for _ in self.pages(c, table, words, int(count)):
            pass

    def op_sweep(self, c, table, *words):
        """Walk, and delete what each page has, one by one."""
        for reply in self.pages(c, table, words, 10000):
            for row in reply.json()["value"]:
                self.delete(c, table, row["PartitionKey"], row["RowKey"])
                self.wait_ms(5)

    def entity(self, table, pk, rk):
        return f"{self.table_name(table)}(PartitionKey='{quoted(pk)}',RowKey='{quoted(rk)}')"

    def op_get(self, c, table, pk, rk):
        self.later(c, "GET", self.entity(table, self.fill.text(pk), self.fill.text(rk)))

    def op_read(self, c, table, pk, rk):
        """A get whose ETag the connection's next merge has."""
        reply = self.now(c, "GET", self.entity(table, self.fill.text(pk), self.fill.text(rk)))
        c.etag = reply.headers["etag"]

    def op_merge(self, c, table, pk, rk, *words):
        self.later(c, "MERGE", self.entity(table, self.fill.text(pk), self.fill.text(rk)),
                   json.dumps(properties_of(words, self.fill)).encode(),
                   ["Content-Type: application/json", f"If-Match: {c.etag}"])
        self.flush()

    def op_insert(self, c, table, pk, rk, *words):
        entity = {"PartitionKey": self.fill.text(pk), "RowKey": self.fill.text(rk),
                  **properties_of(words, self.fill)}
        self.later(c, "POST", self.make(table), json.dumps(entity).encode(),
                   ["Content-Type: application/json", "Prefer: return-no-content"])

    def op_wide(self, c, table, pk, rk, count):
        """An entity of so many properties."""
        entity = {"PartitionKey": pk, "RowKey": rk, **{f"P{n}": n for n in range(int(count))}}
        self.later(c, "POST", self.make(table), json.dumps(entity).encode(),
                   ["Content-Type: application/json", "Prefer: return-no-content"])

    def delete(self, c, table, pk, rk):
        self.later(c, "DELETE", self.entity(table, pk, rk), headers=["If-Match: *"])

    def op_delete(self, c, table, pk, rk):
        self.delete(c, table, self.fill.text(pk), self.fill.text(rk))

    def op_batch(self, c, table, kind, count, pk, rk, *words):
        """`count` changes of one partition, or with {j} in its key of several."""
        name, changes = self.make(table), []
        for j in range(int(count)):
            self.fill.numbers["j"] = j
            key = self.fill.text(pk), self.fill.text(rk)
            entity = {"PartitionKey": key[0], "RowKey": key[1], **properties_of(words, self.fill)}
            changes.append(("DELETE", *key, None) if kind == "delete" else ("POST", *key, entity))
        self.batch(c, name, changes)

    def op_many(self, c, table, pk, count):
        """A query for so many RowKeys, joined by or."""
        parts = " or ".join(f"RowKey eq 'r{n:05}'" for n in range(int(count)))
        self.op_query(c, table, f"PartitionKey eq '{pk}' and ({parts})")

    def op_again(self, c, times, gap, op, *words):
        """One that is sent again under the same id while it is refused; see `insist`."""
        getattr(self, f"op_{op}")(c, *words)
        connection, request = self.pending.pop()
        self.serial += 1
        head = f"\r\nx-ms-client-request-id: {self.prefix}-{self.serial}\r\n\r\n".encode()
        self.stubborn.append((connection, request.replace(b"\r\n\r\n", head, 1)))
        self.insistence = int(times), *gap.partition("*")[::2]

    def insist(self):
        """Send all that `again` has gathered, and after each gap those once more that got 503."""
        (times, gap, growth), waiting = self.insistence, self.stubborn
        gap_ms, self.stubborn = span_ms(gap), []
        while waiting and times >= 0:
            # Replies come connection by connection.
            waiting.sort(key=lambda one: self.connections.index(one[0]))
            self.flush()
            self.pending = list(waiting)
            self.pending_ms += gap_ms
            replies = self.flush()
            waiting = [one for one, reply in zip(waiting, replies) if reply.status == 503]
            gap_ms *= float(growth or 1)
            times -= 1

    def op_wait(self, c, span):
        self.flush()
        self.wait_ms(span_ms(span))

    # --- lines ---

    def run(self, lines):
        self.run_lines([line for line in lines])
        self.flush()

    def run_lines(self, lines):
        at = 0
        while at < len(lines):
            if lines[at].endswith("{"):
                end = self.close_of(lines, at)
                count, gap = self.times(lines[at].split()[0])
                for k in range(count):
                    self.fill.numbers["k"] = k
                    self.run_lines(lines[at + 1:end])
                    self.wait_ms(gap)
                at = end + 1
            else:
                self.run_line(lines[at])
                at += 1

    @staticmethod
    def close_of(lines, at):
        depth = 0
        for number in range(at, len(lines)):
            depth += lines[number].endswith("{") - (lines[number] == "}")
            if depth == 0:
                return number
        raise ValueError("a block does not end")

    @staticmethod
    def times(word):
        count, _, gap = word.partition("@")
        return int(count), span_ms(gap)

    def run_line(self, line):
        words = shlex.split(line)
        clients = 0
        if re.fullmatch(r"c\d+:", words[0]):
            clients = int(words.pop(0)[1:-1])
        count, gap = clients or 1, 0.0
        if re.fullmatch(r"\d+@\S+", words[0]):
            count, gap = self.times(words.pop(0))
        run = getattr(self, f"op_{words[0]}")
        for n in range(count):
            self.fill.numbers["c"] = n % (clients or 1)
            if words[0] != "load":
                self.fill.numbers.update(i=n, j=n)
            run(self.connection(n % (clients or 1)), *words[1:])
            if gap:
                self.wait_ms(gap)
        if self.stubborn:
            self.insist()
