"""How a case of queues is sent, and what it may have left behind."""

from access.credentials import ACCOUNT, KEY1
from access.matrix import Matrix
from access.queue import cases, requests, rules
from access.talk import StorageKey


class Stage(Matrix):
    """One message is in the queue, put with the key; a refused request must leave it as it is."""

    port = "queue_port"
    requests = requests
    master = StorageKey(ACCOUNT, KEY1)
    protocols = staticmethod(cases.protocols)

    def ask(self, name, queue, mark=0, held=("none", "none")):
        return self.own(requests.queue_request(ACCOUNT, name, queue, mark, held))

    def make_queue(self, name):
        self.own(("PUT", f"/{ACCOUNT}/{name}", None), 201, 204)

    def policy_request(self, xml):
        return "PUT", f"/{ACCOUNT}/{cases.POLICIED}?comp=acl", xml

    def furnish(self, is_tls):
        for queue in (cases.QUEUE, cases.OTHER_QUEUE, cases.POLICIED):
            self.make_queue(queue)

    def run_cases(self):
        self.set_policies(cases.STORED)
        for category in cases.CATEGORIES:
            self.run_all(category())
        self.run_all(cases.protocols(False))
        self.set_policies({"other": {}})
        self.run_all(cases.removed_policies())

    def expected(self, case):
        want = rules.expected(case.credential, case.operation, case.place)
        return want, want[1] is None

    def request(self, case, mark, before):
        return requests.queue_request(ACCOUNT, case.operation, case.place, mark,
                                      before or ("none", "none"))

    def before(self, case, mark, is_allowed):
        """The message that the operation could touch, as (id, receipt); else None."""
        if case.operation == "delete queue":
            self.make_queue(f"made{mark}")
        if not case.operation.endswith(("message", "messages")):
            return None
        return requests.held_by(self.ask("put message", case.place))

    def find_change(self, case, mark, before, reply):
        if case.operation in ("create queue", "delete queue"):
            status = self.own(("DELETE", f"/{ACCOUNT}/made{mark}", None)).status
            if status != (404 if case.operation == "create queue" else 204):
                return "refused, but done"
        if before is None:
            return None
        if self.ask("delete message", case.place, held=before).status != 204:
            return "refused, but the message is not as it was"
        count = self.ask("head metadata", case.place).headers["x-ms-approximate-messages-count"]
        return None if count == "0" else f"refused, but there are {count} messages"

    def after(self, case, mark, before, was_done):
        if before is not None and was_done:
            self.ask("clear messages", case.place)
