"""Clients of all three services, what each has done, and what must be there after a crash.

A client owns its table, queue or container and does one thing after the other, so that all that
can be there after a crash is known: what it was after the last thing that was acknowledged, or what
it was after the next, if that had been sent.  A step has the numbers of records in the journal
(recorder.c) at which it was sent and acknowledged.

A client that gets no answer, or an error of the server, is in doubt and does nothing more: what it
wanted is its next step, with ANY where the server would have told it something.
"""

import base64
import bisect
import collections
import copy
import hashlib
import random
import re
import struct
import subprocess
import threading
import traceback
import urllib.error
import urllib.parse
import urllib.request

from blob_client import Client as BlobClient
from crash.recorder import program, server_on
from queue_client import Message, QueueClient
from table_client import BROKEN, Client as TableClient, key_path
from table_model import facts_of
from until import until

Step = collections.namedtuple("Step", "sent acked what state")
NEVER = float("inf")
AT_THE_END = 10**18  # a moment after all that was acknowledged


class Any:
    """Equal to everything."""

    def __eq__(self, other):
        return True

    def __repr__(self):
        return "any"


ANY = Any()


class Doubtful:
    """Stands for an answer that did not come."""

    def __init__(self, status):
        self.status, self.body = status, b""
        self.headers = collections.defaultdict(lambda: ANY)
        self.messages = [Message(ANY, PopReceipt=ANY)]

CRC_TABLE = []
for first in range(256):
    crc = first
    for _ in range(8):
        crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    CRC_TABLE.append(crc)


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xff]
    return crc ^ 0xffffffff


def forged_record(sequence):
    """A record of RocksDB's log with a right checksum, as a client could store it."""
    body = struct.pack("<QIBB", sequence, 1, 3, 16) + bytes(range(1, 17)) + b"\x01\x01k\x01v"
    crc = crc32c(b"\x01" + body)
    masked = ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff
    return struct.pack("<IHB", masked, len(body), 1) + body


# Numbers that can follow, whatever came before: a log of so many bytes could hold so many writes.
FORGED = [forged_record(sequence) for sequence in range(100, 20000, 50)]


def payload(chance, size):
    """Bytes of a client: noise, zeros, or the server's own records."""
    kind = chance.randrange(4)
    if kind == 0:
        return bytes(size)
    if kind == 1:
        some = b"".join(chance.choices(FORGED, k=size // 40 + 1))
        return some[chance.randrange(40):][:size].ljust(size, b"x")
    return chance.randbytes(size)


class Client:
    """Does things, and keeps the history of what it owns."""

    def __init__(self, number, recorder, chance):
        self.name = f"{self.prefix}{number}"
        self.recorder, self.chance = recorder, chance
        self.serial = 0
        self.state = None
        self.steps = [Step(0, 0, "nothing", None)]
        self.is_in_doubt = False
        self.trouble = None

    def twin(self):
        """One that goes on from here by itself."""
        twin = copy.copy(self)
        vars(twin).update({name: dict(value) for name, value in vars(self).items()
                           if isinstance(value, dict)})
        twin.steps, twin.chance = list(self.steps), random.Random(self.chance.random())
        twin.acts = [getattr(twin, act.__name__) for act in self.acts]
        return twin

    def work(self, server, count):
        client = self.connect(server)
        try:
            while count > 0 and not self.is_in_doubt:
                self.do_one(client)
                count -= 1
        except Exception as error:  # of a thread: the test tells it
            self.trouble = error
        finally:
            client.close()

    def do_one(self, client):
        self.serial += 1
        act = self.chance.choice(self.acts) if self.state is not None else self.begin
        sent = self.recorder.records()
        self.state = act(client)
        acked = NEVER if self.is_in_doubt else self.recorder.records()
        self.steps.append(Step(sent, acked, act.__name__, self.state))

    def ask(self, request, *statuses):
        """The answer, which must have one of these statuses unless the server is in trouble."""
        if self.is_in_doubt:
            return Doubtful(statuses[0])
        try:
            reply = request()
        except BROKEN:
            reply = None
        if reply is None or reply.status >= 500:
            self.is_in_doubt = True
            return Doubtful(statuses[0])
        if reply.status not in statuses:
            raise AssertionError(f"{self.name}: {reply} instead of {statuses}")
        return reply

    def allowed(self, moment):
        """The steps whose states can be there after a crash when the journal had `moment` records."""
        last = bisect.bisect_right([step.acked for step in self.steps], moment) - 1
        steps = [self.steps[last]]
        if last + 1 < len(self.steps) and self.steps[last + 1].sent <= moment:
            steps.append(self.steps[last + 1])
        return steps

    def check(self, server, moment):
        """What is wrong after a crash at that moment, or None."""
        client = self.connect(server)
        found = self.look(client)
        client.close()
        allowed = self.allowed(moment)
        if all(found != step.state for step in allowed):
            wanted = " or ".join(f"after {step.what} ({step.sent}..{step.acked}): {step.state}"
                                 for step in allowed)
            return f"{self.name} is\n  {found}\nand should be {wanted}"
        return self.check_more(server, found)

    def check_more(self, server, found):
        return None


class TableWorker(Client):
    """State: None, or {(PartitionKey, RowKey): (Timestamp, what it holds)}."""

    prefix = "table"

    def __init__(self, *args):
        super().__init__(*args)
        self.acts = (self.insert, self.insert, self.replace, self.delete, self.batch, self.batch,
                     self.drop)
        if self.chance.random() < 0.7:
            self.acts = self.acts[:-1]

    def connect(self, server):
        return TableClient(server.table_port)

    def entity(self, key):
        size = self.chance.choice((10, 100, 700, 3000, 20000))
        binary = base64.b64encode(payload(self.chance, size)).decode()
        return {"PartitionKey": key[0], "RowKey": key[1], "N": self.serial, "B": binary,
                "B@odata.type": "Edm.Binary"}

    @staticmethod
    def holds(entity):
        return entity["N"], hashlib.md5(entity["B"].encode()).hexdigest()

    def new_key(self, partition=None):
        return partition or f"p{self.chance.randrange(3)}", f"r{self.chance.randrange(40):02}"

    @staticmethod
    def stamp(etag):
        return ANY if etag is ANY else urllib.parse.unquote(etag).partition("'")[2].rpartition("'")[0]

    def put(self, state, entity, etag):
        return {**state, (entity["PartitionKey"], entity["RowKey"]):
                (self.stamp(etag), self.holds(entity))}

    def begin(self, client):
        self.ask(lambda: client.create_table(self.name), 204)
        return {}

    def drop(self, client):
        self.ask(lambda: client.request("DELETE", f"/Tables('{self.name}')"), 204)

    def insert(self, client):
        entity = self.entity(self.new_key())
        reply = self.ask(lambda: client.insert(self.name, entity), 204, 409)
        return self.put(self.state, entity, reply.headers["ETag"]) if reply.status == 204 \
            else self.state

    def replace(self, client):
        entity = self.entity(self.new_key())
        reply = self.ask(lambda: client.replace(self.name, entity), 204)
        return self.put(self.state, entity, reply.headers["ETag"])

    def delete(self, client):
        key = self.new_key()
        self.ask(lambda: client.delete(self.name, *key), 204, 404)
        return {one: value for one, value in self.state.items() if one != key}

    def batch(self, client):
        """Of puts and deletes in one partition: all of it, or nothing."""
        partition, changes, state = f"p{self.chance.randrange(3)}", [], dict(self.state)
        keys = {self.new_key(partition) for _ in range(self.chance.randint(2, 12))}
        for key in sorted(keys):
            path = key_path(self.name, *key)
            if key in state and self.chance.random() < 0.4:
                changes.append(("DELETE", path, None, {"If-Match": "*"}))
                del state[key]
            else:
                changes.append(("PUT", path, self.entity(key), {}))
        reply = self.ask(lambda: client.batch_of(changes), 202)
        etags = iter(re.findall(rb"ETag: (.*?)\r\n", reply.body))
        for method, _, entity, _ in changes:
            if method == "PUT":
                etag = next(etags, None)
                state = self.put(state, entity, etag.decode() if etag else ANY)
        return state

    def look(self, client):
        if client.request("GET", f"/{self.name}()?$top=1").status == 404:
            return None
        return {(entity["PartitionKey"], entity["RowKey"]):
                (entity["Timestamp"], self.holds(entity)) for entity in client.scan(self.name)}

    def check_more(self, server, found):
        if found is None:
            return None
        # A store of the format before is counted in the background.
        until(lambda: facts_of(server, self.name)["exact"], f"{self.name} is counted")
        count = facts_of(server, self.name)["entities"]
        return f"{self.name} has {len(found)} entities, and its count is {count}" \
            if count != len(found) else None


class QueueWorker(Client):
    """State: None, or ((id, text) of the messages that can be had, in order; number of all)."""

    prefix = "queue"

    def __init__(self, *args):
        super().__init__(*args)
        self.receipts = {}
        self.acts = (self.put, self.put, self.put, self.delete, self.delete, self.hide, self.clear)

    def connect(self, server):
        return QueueClient(server.queue_port)

    def begin(self, client):
        self.ask(lambda: client.create(self.name), 201)
        return (), 0

    def put(self, client):
        messages, count = self.state
        if len(messages) >= 30:
            return self.clear(client)
        size = self.chance.choice((5, 300, 20000))
        text = f"{self.serial} " + base64.b64encode(payload(self.chance, size)).decode()
        held = self.ask(lambda: client.put(self.name, text), 201).messages[0]
        if not self.is_in_doubt:
            self.receipts[held.MessageId] = held.PopReceipt
        return (*messages, (held.MessageId, text)), count + 1

    def delete(self, client):
        messages, count = self.state
        if not messages:
            return self.put(client)
        gone = self.chance.choice(messages)
        self.ask(lambda: client.delete(self.name, gone[0], self.receipts[gone[0]]), 204)
        return tuple(one for one in messages if one != gone), count - 1

    def hide(self, client):
        """Get a message, which hides it for longer than any test lasts."""
        messages, count = self.state
        got = self.ask(lambda: client.get(self.name, visibilitytimeout=86400), 200).messages
        if not self.is_in_doubt and [one.MessageId for one in got] != [one[0] for one in messages[:1]]:
            raise AssertionError(f"{self.name}: got {got}, not the first of {messages}")
        return messages[1:], count

    def clear(self, client):
        self.ask(lambda: client.clear(self.name), 204)
        return (), 0

    def look(self, client):
        peeked = client.peek(self.name)
        if peeked.status == 404:
            return None
        return (tuple((one.MessageId, one.MessageText) for one in peeked.messages),
                client.count(self.name))


class BlobWorker(Client):
    """State: None, or {(name, snapshot): (ETag, length, digest)}."""

    prefix = "container"
    SIZES = (1, 3000, 60000, 70000, 150000, 400000)

    def __init__(self, *args):
        super().__init__(*args)
        self.acts = (self.put, self.put, self.blocks, self.append, self.delete, self.snapshot)

    def connect(self, server):
        return BlobClient(server.blob_port)

    def path(self, name):
        return f"{self.name}/{name}"

    def kept(self, reply, content):
        return reply.headers["ETag"], len(content), hashlib.md5(content).hexdigest()

    def content(self):
        return payload(self.chance, self.chance.choice(self.SIZES))

    def begin(self, client):
        self.ask(lambda: client.create_container(self.name), 201)
        self.appended = {}
        return {}

    def put(self, client):
        name, content = f"b{self.chance.randrange(6)}", self.content()
        reply = self.ask(lambda: client.put(self.path(name), content), 201)
        return {**self.state, (name, None): self.kept(reply, content)}

    def blocks(self, client):
        """Blocks are no blob until there is a list of them."""
        name, parts = f"b{self.chance.randrange(6)}", [self.content() for _ in range(3)]
        for number, part in enumerate(parts):
            self.ask(lambda: client.put_block(self.path(name), number, part), 201)
        reply = self.ask(lambda: client.put_blocks(self.path(name), range(3)), 201)
        return {**self.state, (name, None): self.kept(reply, b"".join(parts))}

    def append(self, client):
        name = f"a{self.chance.randrange(2)}"
        if (name, None) not in self.state:
            self.appended[name] = b""
            reply = self.ask(lambda: client.put_append(self.path(name)), 201)
        else:
            content = self.content()
            reply = self.ask(lambda: client.append(self.path(name), content), 201)
            self.appended[name] += content
        return {**self.state, (name, None): self.kept(reply, self.appended[name])}

    def delete(self, client):
        names = sorted({name for name, _ in self.state})
        if not names:
            return self.put(client)
        name = self.chance.choice(names)
        self.ask(lambda: client.delete(self.path(name)), 202)
        return {one: value for one, value in self.state.items() if one[0] != name}

    def snapshot(self, client):
        names = sorted(name for name, snapshot in self.state if snapshot is None)
        if not names:
            return self.put(client)
        name = self.chance.choice(names)
        reply = self.ask(lambda: client.snapshot(self.path(name)), 201)
        if self.is_in_doubt:
            raise AssertionError("a snapshot whose name nobody knows: leave them out")
        return {**self.state, (name, reply.headers["x-ms-snapshot"]): self.state[name, None]}

    def look(self, client):
        if client.request("GET", f"{self.name}?restype=container").status == 404:
            return None
        found = {}
        for one in client.list(self.name):
            reply = client.get(self.path(one.name), one.snapshot)
            if reply.status != 200:
                return f"{one.name} of {one.snapshot} is listed, and {reply}"
            found[one.name, one.snapshot] = self.kept(reply, reply.body)
        return found


KINDS = (TableWorker, TableWorker, QueueWorker, BlobWorker, BlobWorker)


def work_together(clients, server, count):
    """Each does `count` things in a thread of its own."""
    threads = [threading.Thread(target=client.work, args=(server, count)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for client in clients:
        if client.trouble:
            raise client.trouble


def end(server):
    if server.process and server.process.poll() is None:
        server.kill()
    server.clean()


def health(server):
    try:
        with urllib.request.urlopen(server.admin_url + "/healthz", timeout=60) as reply:
            return reply.status
    except urllib.error.HTTPError as error:
        return error.code


def check_store(folder, clients, moment):
    """Start on the folder, compare with what must be there, and verify; what is wrong, or None."""
    server = server_on(folder)
    try:
        server.start(health=(200, 503))
        for client in clients:
            if trouble := client.check(server, moment):
                return f"{trouble}\n{server.log()[-2000:]}"
        if health(server) != 200:
            return f"it says that it is not well\n{server.log()[-2000:]}"
    except Exception:  # it does not start, or an answer is not what a client can read
        return (f"{traceback.format_exc()}its exit code: {server.process.poll()}\n"
                f"{server.log()[-2000:]}")
    finally:
        end(server)
    verified = subprocess.run([program(), "--verify", "--data", folder], capture_output=True,
                              text=True)
    if verified.returncode:
        return f"--verify: {verified.returncode}\n{verified.stdout}{verified.stderr}"
    return None
