"""How a case of blobs is sent, and what it may have left behind."""

from access.blob import cases, requests, rules
from access.blob.requests import (BLOCKY, CONTENT, DOOMED, FRESH, HELD, LEASE, LENT, LOG, SHOT,
                                  WHOLE, target)
from access.blob.rules import ON_SNAPSHOT
from access.credentials import ACCOUNT, BETA_KEY, KEY1, OTHER_ACCOUNT
from access.matrix import Matrix
from access.talk import StorageKey


class Stage(Matrix):
    """What a refused change could have changed is looked at before and after it."""

    port = "blob_port"
    requests = requests
    master = StorageKey(ACCOUNT, KEY1)
    protocols = staticmethod(cases.protocols)

    def __init__(self, talk):
        super().__init__(talk)
        self.snapshot_of = {}

    def ask(self, name, container, *statuses):
        return self.own(requests.request_of(ACCOUNT, name, container, 0, self.snapshot_of.get(container),
                                   self.public_source()), *statuses)

    def public_source(self):
        return f"{self.talk.url}/{ACCOUNT}/{cases.OPEN}/{WHOLE}"

    def put(self, container, blob, kind="BlockBlob", account=ACCOUNT, door=None):
        reply = self.send(door or self.master,
                     ("PUT", f"/{account}/{container}/{blob}",
                      CONTENT if kind == "BlockBlob" else b"", {"x-ms-blob-type": kind}))
        assert reply.status == 201, reply

    def make_container(self, name, account=ACCOUNT, door=None):
        public = {"x-ms-blob-public-access": cases.PUBLIC[name]} if name in cases.PUBLIC else {}
        reply = self.send(door or self.master,
                     ("PUT", f"/{account}/{name}?restype=container", b"", public))
        assert reply.status == 201, reply

    def furnish_container(self, container):
        """Everything that operations need, each in a blob of its own."""
        self.make_container(container)
        for blob in (WHOLE, BLOCKY, LENT, HELD, SHOT, DOOMED):
            self.put(container, blob)
        self.put(container, LOG, "AppendBlob")
        self.hold(container)
        self.shoot(container)

    def hold(self, container):
        method, path, body, headers = requests.request_of(ACCOUNT, "lease blob", container)
        self.own((method, path.replace(LENT, HELD), body, headers), 201)

    def shoot(self, container):
        reply = self.ask("snapshot", container, 201)
        self.snapshot_of[container] = reply.headers["x-ms-snapshot"]

    def furnish_stranger(self):
        """Another account, with a private and a public container."""
        door = StorageKey(OTHER_ACCOUNT, BETA_KEY)
        for container in (cases.FILMS, cases.OPEN):
            self.make_container(container, OTHER_ACCOUNT, door)
            self.put(container, WHOLE, account=OTHER_ACCOUNT, door=door)

    def policy_request(self, xml):
        return "PUT", f"/{ACCOUNT}/{cases.POLICIED}?restype=container&comp=acl", xml

    def furnish(self, is_tls):
        for container in cases.CONTAINERS:
            self.furnish_container(container)
        if not is_tls:
            self.furnish_stranger()

    def run_cases(self):
        self.run_all(cases.copies(self.talk.url))
        self.set_policies(cases.STORED)
        for category in cases.CATEGORIES:
            self.run_all(category())
        self.run_all(cases.protocols(False))
        self.set_policies({"other": {}})
        self.run_all(cases.removed_policies())
        self.run_all(cases.snapshots(lambda: self.snapshot_of[cases.FILMS]))

    def expected(self, case):
        if case.more:
            want = case.more[1]
            return want, want[1] is None
        public = cases.PUBLIC.get(case.place)
        return (rules.expected(case.credential, case.operation, public),
                rules.is_allowed(case.credential, case.operation, public))

    def request(self, case, mark, before):
        source = case.more[0] if case.more else self.public_source()
        return requests.request_of(ACCOUNT, case.operation, case.place, mark,
                                   self.snapshot_of[case.place], source)

    def before(self, case, mark, is_allowed):
        if case.operation == "delete container":
            self.make_container(f"made{mark}")
        elif case.operation.endswith("container lease") and is_allowed:
            self.ask("lease container", case.place, 201)

    def find_change(self, case, mark, before, reply):
        return "refused, but the content is in the answer" if CONTENT in reply.body else None

    def looks(self, case, mark):
        path = f"/{ACCOUNT}/{case.place}"
        blob = target(case.operation)
        if case.operation.startswith(("get", "head", "list", "account", "abort")):
            return []
        if case.operation == "set properties":
            return [requests.request_of(ACCOUNT, "get properties", case.place)]
        if case.operation in ("create container", "delete container"):
            return [("HEAD", f"/{ACCOUNT}/made{mark}?restype=container")]
        if "container" in case.operation or "acl" in case.operation:
            return [requests.request_of(ACCOUNT, "head container", case.place)]
        if case.operation in ("put block", "snapshot"):
            return [("GET", f"{path}?restype=container&comp=list&prefix={blob}&include="
                            "snapshots,uncommittedblobs"),
                    ("GET", f"{path}/{blob}?comp=blocklist&blocklisttype=all")]
        more = f"?snapshot={self.snapshot_of[case.place]}" if case.operation in ON_SNAPSHOT else ""
        return [("HEAD", f"{path}/{blob}{more}")]

    def seen(self, case, replies):
        if case.operation in ("put block", "snapshot"):
            blobs, blocks = replies
            assert blobs.status == blocks.status == 200, replies
            return blobs.body.count(b"<Blob>"), blocks.body
        return [(reply.status, reply.headers["ETag"], reply.headers["x-ms-lease-state"], reply.body)
                for reply in replies]

    def after(self, case, mark, before, was_done):
        """Restore things as the next one expects to find them."""
        container, blob = case.place, target(case.operation)
        path = f"/{ACCOUNT}/{container}/{blob}"
        if case.operation in ("create container", "delete container"):
            self.own(("DELETE", f"/{ACCOUNT}/made{mark}?restype=container"), 202, 404)
        elif not was_done:
            return
        elif case.operation == "set acl":
            self.own(("PUT", f"/{ACCOUNT}/{container}?restype=container&comp=acl", b"",
                      {"x-ms-blob-public-access": cases.PUBLIC[container]}
                      if container in cases.PUBLIC else {}), 200)
        elif case.operation == "lease container" or case.operation.endswith("container lease"):
            self.ask("break container lease", container)
        elif blob == FRESH:
            self.own(("DELETE", path), 202, 404)
        elif blob in (DOOMED, BLOCKY) or case.operation.startswith(("put block", "copy")):
            self.put(container, blob)
        elif case.operation == "lease blob":
            self.own(("PUT", f"{path}?comp=lease", b"", {"x-ms-lease-action": "release",
                                                        "x-ms-lease-id": LEASE}))
        elif case.operation.endswith("blob lease"):
            self.ask("break blob lease", container)
            self.hold(container)
        elif case.operation in ("snapshot", "delete snapshot"):
            self.own(("DELETE", path, None, {"x-ms-delete-snapshots": "only"}), 202, 404)
            self.shoot(container)
