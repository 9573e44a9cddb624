"""Measure blobs: uploads and downloads of 1 MiB and of 4 KiB, and of one that is large."""

import contextlib
import hashlib
import os

from competitors import Azurite, Nginx, files
from measurement import Measurement
from server import ACCOUNT, Server
from storage import Contender, Section, request, run_load

CONTAINER = "bench"
MEDIUM, SMALL = 1 << 20, 4 << 10
BLOCK, BLOCKS = 8 << 20, 36  # 302 MB
NAMES = {"medium": 64, "small": 1000}


def reset_peak(pid):
    """Forget the most memory that a process held so far."""
    with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


class Blobs:
    def __init__(self, options, scratch, section):
        self.options, self.scratch, self.section = options, scratch, section
        self.bodies = {}
        for name, size in (("medium", MEDIUM), ("small", SMALL), ("block", BLOCK)):
            self.bodies[name] = scratch / name
            self.bodies[name].write_bytes(os.urandom(size))

    def files(self):
        """A folder for nginx with what the others get uploaded, under the same paths."""
        folder = self.scratch / "files"
        inside = folder / ACCOUNT / CONTAINER
        inside.mkdir(parents=True)
        for name, count in NAMES.items():
            for number in range(count):
                (inside / f"{name}-{number}").write_bytes(self.bodies[name].read_bytes())
        block = self.bodies["block"].read_bytes()
        with open(inside / "large", "wb") as file:
            for _ in range(BLOCKS):
                file.write(block)
        return folder

    def rounds(self, row, contenders, kind, path, after=None, **flags):
        """Let them take turns.  A {round} in the path makes the blobs of a round new ones."""
        for number in range(self.options.rounds):
            for contender in contenders:
                run_load(row.of(contender), contender, row.name, kind,
                         f"/{CONTAINER}/{path.format(round=number)}", **flags)
                if after:
                    after(contender)
        print(row, flush=True)

    def many(self, contenders, name, what, unit, target):
        """Uploads of new blobs and downloads of a few; nginx only has files to send."""
        storing = [c for c in contenders if c.name != "nginx"]
        flags = {"connections": self.options.blob_connections, "seconds": self.options.short_s}
        self.warm_up(storing, name)
        self.rounds(self.section.row(f"upload of {what}", unit, target), storing, "upload",
                    f"{name}-round{{round}}", body=self.bodies[name], names=10**9, **flags)
        self.rounds(self.section.row(f"download of {what}", unit, target), contenders, "download",
                    name, names=NAMES[name], **flags)

    def warm_up(self, contenders, name):
        """Store what will be downloaded, and let Azurite compile its code."""
        for contender in contenders:
            for kind, limit in (("upload", {"count": NAMES[name]}),
                                ("upload", {"seconds": self.options.short_s / 2}),
                                ("download", {"seconds": self.options.short_s / 2})):
                run_load(Measurement(), contender, "warm-up", kind, f"/{CONTAINER}/{name}",
                         body=self.bodies[name], names=NAMES[name],
                         connections=self.options.blob_connections, **limit)

    def commit(self, contender):
        blocks = "".join(f"<Latest>{number:08}</Latest>" for number in range(BLOCKS))
        request(contender.port("block"), "PUT", f"/{CONTAINER}/large?comp=blocklist",
                f"<BlockList>{blocks}</BlockList>".encode(), wanted=201)

    def check(self, contender):
        """That the blob is the one that was sent."""
        block = self.bodies["block"].read_bytes()
        want = hashlib.sha256()
        for _ in range(BLOCKS):
            want.update(block)
        got = request(contender.port("check"), "GET", f"/{CONTAINER}/large", wanted=200)
        assert hashlib.sha256(got.body).digest() == want.digest(), f"{contender.name} differs"

    def large(self, contenders, server):
        megabytes = BLOCK * BLOCKS / 1e6
        pid = server.process.pid
        reset_peak(pid)
        self.rounds(self.section.row(f"upload of {megabytes:.0f} MB in blocks of 8 MiB, "
                                     "4 connections", "MB"),
                    [c for c in contenders if c.name != "nginx"], "block", "large",
                    after=self.commit, body=self.bodies["block"], count=BLOCKS, connections=4)
        self.section.fact(f"peak memory while {megabytes:.0f} MB are uploaded",
                          f"{server.peak_memory_kib() / 1024:.0f} MB")
        for contender in contenders:
            self.check(contender)
        reset_peak(pid)
        self.rounds(self.section.row(f"download of {megabytes:.0f} MB, 1 connection", "MB",
                                     "0.5 times nginx"),
                    contenders, "download", "large", names=0, connections=1,
                    seconds=self.options.short_s / 2)
        self.section.fact(f"peak memory while {megabytes:.0f} MB are downloaded",
                          f"{server.peak_memory_kib() / 1024:.0f} MB")


def measure(options, scratch):
    section = Section("Blobs", options,
                      f"{options.blob_connections} connections unless told otherwise; "
                      "nginx sends the same bytes from files, with sendfile. Only tavolad's blobs "
                      "are durable when the client hears of them.")
    blobs = Blobs(options, scratch, section)
    workers = options.server_threads or os.cpu_count()
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Server(data=str(scratch / "blobs-data")))
        contenders = [Contender("tavolad", server.blob_port, [server.process.pid])]
        if options.azurite:
            azurite = stack.enter_context(Azurite("blob", scratch))
            contenders.append(Contender("Azurite", azurite.port, azurite.pids()))
        for contender in contenders:
            request(contender.port("container"), "PUT", f"/{CONTAINER}?restype=container",
                    wanted=201)
        nginx = stack.enter_context(Nginx({"files": files(blobs.files())}, workers, scratch))
        contenders.append(Contender("nginx", nginx.ports["files"], nginx.pids()))

        blobs.many(contenders, "medium", "1 MiB", "MB", "5 times Azurite")
        blobs.many(contenders, "small", "4 KiB", "request", "")
        section.fact("peak memory of these", f"{server.peak_memory_kib() / 1024:.0f} MB")
        blobs.large(contenders, server)
    return section
