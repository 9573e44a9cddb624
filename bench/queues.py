"""Measure queues: cycles of put, get and delete, each alone, and gets among invisible messages."""

import base64
import os

from competitors import Azurite, Nginx, fixed_reply
from measurement import Measurement
from server import Server
from storage import Contender, Section, request, run_load

TEXT_BYTES = 75  # 100 of base64
INVISIBLE = 10000


def message():
    text = base64.b64encode(os.urandom(TEXT_BYTES)).decode()
    return f"<QueueMessage><MessageText>{text}</MessageText></QueueMessage>".encode()


def samples(port):
    """One answer of each kind, for nginx to repeat."""
    request(port, "PUT", "/sample", wanted=201)
    put = request(port, "POST", "/sample/messages", message(), wanted=201)
    get = request(port, "GET", "/sample/messages", wanted=200)
    part = {tag: get.body.split(f"<{tag}>".encode())[1].split(b"<")[0].decode()
            for tag in ("MessageId", "PopReceipt")}
    delete = request(port, "DELETE", f"/sample/messages/{part['MessageId']}?popreceipt="
                     + part["PopReceipt"].replace("+", "%2B").replace("/", "%2F"), wanted=204)
    return {"put": put, "get": get, "delete": delete}


class Queues:
    def __init__(self, options, scratch, section):
        self.options, self.scratch, self.section = options, scratch, section
        self.body = scratch / "message"
        self.body.write_bytes(message())

    def run(self, into, contender, load, queue, **flags):
        """A load by its name, which is the generator's; receipts go from get to delete."""
        flags = {"body": self.body, "connections": self.options.connections, **flags}
        if load in ("get", "delete"):
            flags["receipts"] = self.scratch / f"receipts-{contender.name}"
        return run_load(into, contender, load, load, f"/{queue}", **flags)

    def warm_up(self, contenders):
        """Azurite gets faster while its code is compiled; the others are as they are."""
        for contender in contenders:
            if contender.name == "Azurite":
                request(contender.port("put"), "PUT", "/warm", wanted=201)
                self.run(Measurement(), contender, "cycle", "warm", seconds=self.options.short_s)

    def loads(self, contenders):
        self.warm_up(contenders)
        rows = {load: self.section.row(load, unit, target) for load, unit, target in (
            ("cycle", "cycle", "10 times Azurite"), ("put", "request", ""),
            ("get", "request", ""), ("delete", "request", ""))}
        for number in range(self.options.rounds):
            queue = f"round{number}"
            for contender in contenders:
                if contender.name != "nginx":
                    request(contender.port("put"), "PUT", f"/{queue}", wanted=201)
            for load, row in rows.items():
                for contender in contenders:
                    if contender.port(load):
                        # nginx is a floor that hardly moves, so it gets less time.
                        share = 0.5 if contender.name == "nginx" else 1
                        self.run(row.of(contender), contender, load, queue,
                                 seconds=self.options.short_s * share)
            for contender in contenders:
                if contender.name != "nginx":
                    request(contender.port("put"), "DELETE", f"/{queue}", wanted=204)
        for row in rows.values():
            print(row, flush=True)

    def crowd(self, ours):
        """Gets over one connection, in an empty queue and in one full of invisible messages."""
        port = ours.port("put")
        for queue in ("empty", "crowd"):
            request(port, "PUT", f"/{queue}", wanted=201)
        for load in ("put", "get"):
            self.run(Measurement(), ours, load, "crowd", count=INVISIBLE)
        found = {"empty": [], "crowd": []}
        nothing = {"empty": [], "crowd": []}
        # A disk and a scheduler are sometimes slow, so the two take turns often, and the
        # best of each is what a get costs.
        seconds = self.options.short_s / 8
        for _ in range(3 * self.options.rounds):
            for queue in found:
                cycle = self.run(Measurement(), ours, "cycle", queue, connections=1,
                                 seconds=seconds)
                found[queue].append(cycle["get_p50_ms"])
                poll = self.run(Measurement(), ours, "poll", queue, connections=1,
                                seconds=seconds)
                nothing[queue].append(poll["p50_ms"])
        for what, times in (("a message", found), ("nothing", nothing)):
            empty, crowd = min(times["empty"]), min(times["crowd"])
            self.section.fact(
                f"p50 of a get that finds {what} among {INVISIBLE:,} invisible ones, "
                "relative to one without them", f"{crowd / empty:.2f} ({crowd:.3f} ms)", "<= 1.2")


def measure(options, scratch):
    section = Section("Queues", options,
                      f"{options.connections} connections, messages of 100 bytes. "
                      "A cycle is a put, a get and a delete. Gets and deletes take what the puts "
                      "have left, so they may end early; Azurite's are fewer. Only "
                      "tavolad's messages are durable when the client hears of them.")
    queues = Queues(options, scratch, section)
    workers = options.server_threads or os.cpu_count()
    with Server(data=str(scratch / "queues-data")) as server:
        servers = {name: fixed_reply(reply) for name, reply in samples(server.queue_port).items()}
        ours = Contender("tavolad", server.queue_port, [server.process.pid])
        contenders = [ours]
        with Nginx(servers, workers, scratch) as nginx:
            contenders.append(Contender("nginx", nginx.ports, nginx.pids()))
            if options.azurite:
                with Azurite("queue", scratch) as azurite:
                    contenders.insert(1, Contender("Azurite", azurite.port, azurite.pids()))
                    queues.loads(contenders)
            else:
                queues.loads(contenders)
        queues.crowd(ours)
        section.fact("peak memory", f"{server.peak_memory_kib() / 1024:.0f} MB")
    return section
