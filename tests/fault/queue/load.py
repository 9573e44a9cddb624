"""Producers and consumers of messages, and a ledger of what the server promised them.

Every message has a text of its own.  After a stop of any kind:

  (1) a put that was acknowledged is there, once, unless it was deleted;
  (2) a deletion that was acknowledged lasts;
  (3) a receipt that was superseded opens nothing;
  (4) a message counts every get that was acknowledged;
  (5) the queue's count is the number of its messages.

And at all times a message that was got is given to no other client until its time has come or its
holder releases it.

A request that broke off is in doubt: its effect may be there or not.  `check`
looks, and from then on what it saw must stay.

The server has the flag --test-points: `check` lets the time of all gets pass, instead of waiting.
"""

import random
import threading
import time

from queue_client import BROKEN, QueueClient
from until import until

QUEUES = ("load-a", "load-b")
PRODUCERS, CONSUMERS = 4, 4
TIMEOUT_S = 1           # of a get: then those that were given up can be seen again


class Entry:
    """What is known of one message."""

    def __init__(self, queue):
        self.queue = queue
        self.is_put = False         # acknowledged
        self.is_deleted = False     # acknowledged
        self.in_doubt = {}          # client -> "put" or "delete": under way, or broke off
        self.gets = 0               # acknowledged
        self.holds = {}             # DequeueCount -> Hold: the gets of this round


class Hold:
    """A get of a message: it was made after `sent` and before `got`."""

    def __init__(self, sent, got):
        self.sent, self.got = sent, got
        self.is_released = False    # its holder has made it visible, or may have

    def overlaps(self, later):
        """The message was given to another client for certain before its time had come."""
        return not self.is_released and later.got < self.sent + TIMEOUT_S


class Load:
    def __init__(self, server, seed):
        self.server, self.port, self.seed, self.round = server, server.queue_port, seed, 0
        self.lock = threading.Lock()
        self.entries = {}           # by text
        self.superseded = []        # (queue, id, receipt)
        self.lost_gets = 0
        self.acknowledged = 0
        self.trouble = []
        self.ended = threading.Event()
        self.threads = []

    # --- the clients

    def start(self):
        self.round += 1
        self.ended.clear()
        for entry in self.entries.values():
            entry.holds = {}        # `check` has let their time pass
        self.threads = [threading.Thread(target=self.run, args=(kind, number))
                        for kind, count in ((self.produce, PRODUCERS), (self.consume, CONSUMERS))
                        for number in range(count)]
        for thread in self.threads:
            thread.start()

    def until_acknowledged(self, count):
        """Until so many requests more have been acknowledged, or the server has died."""
        wanted = self.acknowledged + count
        until(lambda: self.acknowledged >= wanted or self.server.process.poll() is not None,
              lambda: f"{wanted} acknowledged requests; there are {self.acknowledged}")

    def join(self):
        self.ended.set()
        for thread in self.threads:
            thread.join()

    def run(self, act, number):
        client = QueueClient(self.port)
        choice = random.Random(f"{self.seed}/{self.round}/{act.__name__}/{number}")
        serial = 0
        try:
            while not self.ended.is_set():
                serial += 1
                act(client, choice, f"{self.round}-{number}-{serial}")
        except BROKEN:
            pass
        client.close()

    def settle(self, reply, *expected):
        with self.lock:
            if reply.status in expected:
                self.acknowledged += 1
                return True
            self.trouble.append(f"{reply}")
            return False

    def produce(self, client, choice, text):
        entry = Entry(choice.choice(QUEUES))
        entry.in_doubt[client] = "put"
        with self.lock:
            self.entries[text] = entry
        reply = client.put(entry.queue, text + "x" * choice.choice((0, 10, 3000)))
        del entry.in_doubt[client]
        entry.is_put = self.settle(reply, 201)

    def consume(self, client, choice, _):
        queue = choice.choice(QUEUES)
        with self.lock:
            self.lost_gets += 1     # until the answer is here
        sent = time.monotonic()
        reply = client.get(queue, numofmessages=8, visibilitytimeout=TIMEOUT_S)
        with self.lock:
            self.lost_gets -= 1
        if not self.settle(reply, 200):
            return
        messages = reply.messages
        if not messages:
            time.sleep(0.01)
        got = time.monotonic()
        with self.lock:             # first of all: these have been got
            for message in messages:
                self.note_get(message, Hold(sent, got))
        for message in messages:
            self.process(client, choice, queue, message)

    def note_get(self, message, hold):
        """The server's count says which of two gets was first, however late a client is told."""
        entry, count = self.entry_of(message), int(message.DequeueCount)
        entry.gets += 1
        before, after = entry.holds.get(count - 1), entry.holds.get(count + 1)
        if count in entry.holds or before and before.overlaps(hold) or after and hold.overlaps(after):
            self.trouble.append(f"{message.MessageText} was given to two at a time")
        entry.holds[count] = hold

    def entry_of(self, message):
        return self.entries[message.MessageText.rstrip("x")]

    def process(self, client, choice, queue, message):
        held = (message.MessageId, message.PopReceipt)
        entry = self.entry_of(message)
        what = choice.random()
        if what < 0.2:
            return                  # given up
        if what < 0.5:
            entry.holds[int(message.DequeueCount)].is_released = True
            reply = client.update(queue, *held, choice.choice((0, TIMEOUT_S)))
            if reply.status in (400, 404):
                return              # it took too long, and somebody else has it
            if not self.settle(reply, 204):
                return
            self.superseded.append((queue, *held))
            held = (held[0], reply.headers["x-ms-popreceipt"])
        entry.in_doubt[client] = "delete"
        reply = client.delete(queue, *held)
        del entry.in_doubt[client]
        if reply.status not in (400, 404) and self.settle(reply, 204):
            if entry.is_deleted:
                self.trouble.append(f"{message.MessageText} was deleted twice")
            entry.is_deleted = True

    # --- looking

    def check(self, test, lost_answers_are_faults=False):
        wrong, self.trouble = self.trouble, []
        client = QueueClient(self.port)
        wrong += self.try_superseded(client)
        self.server.pass_time(10 * TIMEOUT_S)  # what was given up is visible, and long has been
        found, deleted = {}, []
        for queue in QUEUES:
            wrong += self.drain(client, queue, found, deleted)
        for text, entry in self.entries.items():
            wrong += self.compare(text, entry, found.pop(text, None), lost_answers_are_faults)
        wrong += [f"no client has put {text}" for text in found]
        for text in deleted:
            self.entries[text].is_deleted = True
        client.close()
        if wrong:
            test.fail("\n".join([f"{len(wrong)} faults", *wrong[:20]]))

    def try_superseded(self, client):
        sample, self.superseded = self.superseded[-200:], []
        for queue, message_id, receipt in sample:
            reply = client.delete(queue, message_id, receipt)
            if (reply.status, reply.code) != (404, "MessageNotFound"):
                yield f"a superseded receipt was answered with {reply}"

    def drain(self, client, queue, found, deleted):
        """Get every message; give the odd ones back and delete the others."""
        count = client.count(queue)
        messages = []
        while got := client.get(queue, numofmessages=32, visibilitytimeout=3600).messages:
            messages += got
        if len(messages) != count:
            yield f"{queue} has {len(messages)} messages, and counts {count}"
        for i, message in enumerate(messages):
            text = message.MessageText.rstrip("x")
            if text in found:
                yield f"{text} is there twice"
            found[text] = message
            if text not in self.entries:
                continue
            if self.entries[text].queue != queue:
                yield f"{text} is in {queue}"
            held = (message.MessageId, message.PopReceipt)
            if i % 2 == 0:
                status = client.delete(queue, *held).status
                deleted.append(text)
            else:
                status = client.update(queue, *held, 0).status
            if status != 204:
                yield f"the last receipt of {text} was answered with {status}"

    def compare(self, text, entry, message, lost_answers_are_faults):
        doubt, entry.in_doubt = set(entry.in_doubt.values()), {}
        must_be = entry.is_put and not entry.is_deleted and "delete" not in doubt
        may_be = must_be or bool(doubt) and not entry.is_deleted
        if message is None:
            if must_be:
                yield f"{text} was put, and is missing"
            if "delete" in doubt and not entry.is_deleted and lost_answers_are_faults:
                yield f"{text}: no answer to its deletion, but it is gone"
            entry.is_put, entry.is_deleted = True, True
            return
        if not may_be:
            yield f"{text} is {'back' if entry.is_deleted else 'there, and was never put'}"
        if "put" in doubt and lost_answers_are_faults:
            yield f"{text}: no answer to its put, but it is there"
        entry.is_put = True
        entry.gets += 1             # by the drain
        count = int(message.DequeueCount)
        if not entry.gets <= count <= entry.gets + self.lost_gets:
            yield f"{text} was got {entry.gets} times, and counts {count}"
        entry.gets = count
