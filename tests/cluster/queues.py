"""Clients of a queue on many nodes, and the ledger of what each message met."""

import bisect
import collections
import itertools
import math
import random
import threading
import time

from queue_client import BROKEN, QueueClient

HIDDEN_S = 3600  # longer than any run: what was given out once must not be seen again
TIMEOUT_S = 120
PAUSE_S = 0.05
AT_ONCE = 4


class Ledger:
    """Of one queue; any thread.  Texts are unique, so they name the messages."""

    def __init__(self):
        self.lock = threading.Lock()
        self.put = {}              # text -> True when acknowledged, False without an answer
        self.put_at = {}           # text -> [when its put began, and when it was acknowledged]
        self.given = collections.Counter()  # text -> how often it was given out
        self.given_at = {}         # text -> when the get began that was given it, and when it ended
        self.deleted = {}          # likewise
        self.gets_lost = 0         # gets without an answer
        self.trouble = []

    def note(self, what, text, is_sure):
        with self.lock:
            getattr(self, what)[text] = is_sure
            if what == "put":
                self.put_at.setdefault(text, []).append(time.monotonic())

    def give(self, text, began):
        with self.lock:
            self.given[text] += 1
            self.given_at[text] = (began, time.monotonic())

    def lose_get(self):
        with self.lock:
            self.gets_lost += 1

    def complain(self, text):
        with self.lock:
            self.trouble.append(text)

    def missing(self, left):
        """Messages that were put and that nobody has seen since, more than can have been lost."""
        found = [text for text, is_sure in self.put.items()
                 if is_sure and text not in self.given and text not in left]
        return found if len(found) > self.gets_lost * AT_ONCE else []

    def overtaken(self, left):
        """Messages that were given out although one was there that had been put before: pairs."""
        begun = {text: began for text, (began, _) in self.given_at.items()}
        begun.update((text, math.inf) for text in left)
        acked = sorted((times[1], begun[text], text) for text, times in self.put_at.items()
                       if len(times) == 2 and text in begun)
        # For each of them: the one that was given out last of it and those before.
        latest = list(itertools.accumulate(((began, text) for _, began, text in acked), max))
        found = []
        for text, (_, ended) in self.given_at.items():
            before = bisect.bisect_left(acked, (self.put_at.get(text, [-math.inf])[0],))
            if before and latest[before - 1][0] > ended:
                found.append((latest[before - 1][1], text))
        return found

    def problems(self, left, count):
        """What is wrong, when `left` are the texts that were still to be had at the end and
        `count` is what the queue says it holds."""
        found = list(self.trouble)
        found += [f"'{text}' was given out {times} times"
                  for text, times in self.given.items() if times > 1]
        found += [f"'{text}' was given out and nobody put it"
                  for text in self.given if text not in self.put]
        found += [f"'{text}' was given out, and is there for others"
                  for text in left if text in self.given]
        sure = [text for text, is_sure in self.put.items() if is_sure]
        found += [f"'{later}' was given out before '{earlier}', which had been acknowledged when its "
                  f"put began" for earlier, later in self.overtaken(left)]
        missing = self.missing(left)
        if missing:
            found.append(f"{len(missing)} messages are gone and {self.gets_lost} gets were "
                         f"without an answer: {missing[:5]}")
        deleted = sum(self.deleted.values())
        lowest = len(sure) - len(self.deleted)
        highest = len(self.put) - deleted
        if not lowest <= count <= highest:
            found.append(f"the queue holds {count} messages, not {lowest} to {highest}")
        return found


class Worker:
    """Puts, gets and deletes through any node."""

    def __init__(self, number, queue, ports, ledger, record, seed, timeout_s=TIMEOUT_S):
        self.number, self.queue, self.ports, self.timeout_s = number, queue, ports, timeout_s
        self.ledger, self.record = ledger, record
        self.random = random.Random(f"{seed}/queue/{number}")
        self.at = number
        self.client = None
        self.serial = 0
        self.held = []

    def run(self, ended):
        while not ended.is_set():
            kind = self.random.random()
            if self.held and kind < 0.4:
                self.delete()
            elif kind < 0.7:
                self.put()
            else:
                self.get()
            time.sleep(self.random.uniform(0, 0.02))
            if self.random.random() < 0.01:
                # Else all would be with the node that was harmed last.
                self.leave()
                self.at = self.random.randrange(len(self.ports))
        self.leave()

    def leave(self):
        if self.client:
            self.client.close()
            self.client = None

    def send(self, request):
        if self.client is None:
            self.client = QueueClient(self.ports[self.at % len(self.ports)], timeout_s=self.timeout_s)
        try:
            reply = request(self.client)
            if reply.status < 500:
                return reply
            self.record.lost(f"{reply.status} {reply.code}")
        except BROKEN as error:
            self.record.lost(type(error).__name__)
        self.leave()
        self.at += 1
        time.sleep(PAUSE_S)
        return None

    def put(self):
        self.serial += 1
        text = f"{self.number}-{self.serial}-" + "x" * self.random.choice((0, 100, 6000))
        self.ledger.note("put", text, False)
        reply = self.send(lambda client: client.put(self.queue, text))
        if reply is None:
            return
        if reply.status == 201:
            self.ledger.note("put", text, True)
            self.record.answer(self.queue)
        else:
            self.ledger.complain(f"put: {reply}")

    def get(self):
        began = time.monotonic()
        reply = self.send(lambda client: client.get(self.queue, visibilitytimeout=HIDDEN_S,
                                                    numofmessages=AT_ONCE))
        if reply is None:
            self.ledger.lose_get()
        elif reply.status != 200:
            self.ledger.complain(f"get: {reply}")
        else:
            for message in reply.messages:
                self.ledger.give(message.MessageText, began)
                self.held.append(message)
            if reply.messages:
                self.record.answer(self.queue)

    def delete(self):
        message = self.held.pop(0)
        text = message.MessageText
        self.ledger.note("deleted", text, False)
        reply = self.send(lambda client: client.delete(self.queue, message.MessageId,
                                                       message.PopReceipt))
        if reply is None:
            return
        if reply.status == 204:
            self.ledger.note("deleted", text, True)
            self.record.answer(self.queue)
        else:
            self.ledger.complain(f"delete of '{text[:20]}', which this client holds: {reply}")


def drain(queue, port, ledger, wait_s=60):
    """(texts that are still to be had, count of all): until there are no more, and none is missing
    or it has been waited for."""
    client = QueueClient(port, timeout_s=TIMEOUT_S)
    left, deadline = [], time.monotonic() + wait_s
    count = client.count(queue)
    while True:
        found = client.get(queue, visibilitytimeout=HIDDEN_S, numofmessages=32).messages
        left += [message.MessageText for message in found]
        if not found and (not ledger.missing(left) or time.monotonic() > deadline):
            break
        if not found:
            time.sleep(0.2)
    client.close()
    return left, count
