"""The one engine of the matrices: every operation with every kind of credential, against the rules.

A service has three files for it: `rules.py` says what is expected, `cases.py` has the
rows, and `stage.py` derives from Matrix how a case is sent and what it leaves behind.
"""

import collections
import itertools

Case = collections.namedtuple("Case", "category what credential door operation place more",
                              defaults=(None,))
Case.__doc__ = """One request: `door` knows how to show the credential, `place` is the table, queue or
container that it is about, and `more` is the service's own."""


class Matrix:
    """Runs cases over one connection and counts them by their category.

    A service gives these, `mark` being a number that no other case has:

    master                      the door of a key, to prepare and to look
    requests                    its module of that name
    furnish(is_tls)             make what the cases need
    policy_request(xml)         set the stored policies of the place that has some
    expected(case)              what `outcome` of the reply should be, and whether that is allowed
    request(case, mark, before) the request of the case; `before` as below
    before(case, mark, is_allowed)
                                make what this case needs; what it returns goes to the next two
    looks(case, mark)           requests that show what a refused change could have changed
    seen(case, replies)         what they show: they are sent before and after the case
    find_change(case, mark, before, reply)
                                what was done although it was refused, as a text; else None
    after(case, mark, before, was_done)
                                restore things as the next case expects to find them
    run_cases()                 run all of them, with run_all() and set_policies()
    """

    def __init__(self, talk):
        self.talk = talk
        self.marks = itertools.count(1)
        self.passed = collections.Counter()
        self.failed = collections.Counter()
        self.allowed = collections.Counter()

    def outcome(self, reply):
        return reply.status, reply.code

    def looks(self, case, mark):
        return []

    def seen(self, case, replies):
        return replies

    def after(self, case, mark, before, was_done):
        pass

    def send(self, door, request):
        (reply,) = self.exchange([self.requests.prepare(door, request)])
        return reply

    def exchange(self, prepared):
        """The replies to requests that are sent together, and done one after the other."""
        return [self.requests.understand(reply) for reply in self.talk.ask_all(prepared)]

    def own(self, request, *statuses):
        """A request with the key, to prepare or to look."""
        reply = self.send(self.master, request)
        if statuses and reply.status not in statuses:
            raise AssertionError(f"{request}: {reply}")
        return reply

    def set_policies(self, stored):
        inside = "".join(
            f"<SignedIdentifier><Id>{name}</Id><AccessPolicy>" +
            "".join(f"<{field}>{value}</{field}>" for field, value in fields.items()) +
            "</AccessPolicy></SignedIdentifier>" for name, fields in stored.items())
        self.own(self.policy_request(f"<SignedIdentifiers>{inside}</SignedIdentifiers>".encode()),
                 200, 204)

    def run(self, case):
        mark = next(self.marks)
        want, is_allowed = self.expected(case)
        before = self.before(case, mark, is_allowed)
        looks = [] if is_allowed else [self.requests.prepare(self.master, look)
                                       for look in self.looks(case, mark)]
        request = self.requests.prepare(case.door, self.request(case, mark, before))
        replies = self.exchange([*looks, request, *looks])
        reply = replies[len(looks)]
        trouble = None
        if self.outcome(reply) != want:
            trouble = f"got {self.outcome(reply)}, want {want}: {reply}"
        elif not is_allowed:
            was = self.seen(case, replies[:len(looks)])
            now = self.seen(case, replies[len(looks) + 1:])
            trouble = (f"refused, but done: it was {was} and is {now}" if was != now else
                       self.find_change(case, mark, before, reply))
        self.after(case, mark, before, is_allowed or trouble is not None)
        self.allowed[case.category] += is_allowed and trouble is None
        self.count(case.category, f"{case.what}: {case.operation}", trouble)

    def run_all(self, cases):
        for case in cases:
            self.run(case)

    def count(self, category, what, trouble):
        if trouble is None:
            self.passed[category] += 1
            return
        self.failed[category] += 1
        if self.failed[category] <= 5:
            print(f"    FAILED {category}: {what}\n      {trouble}", flush=True)


def run(stage, talk, secure_talk):
    """Run all cases of a service, and those about protocols once more over TLS.

    Returns the counters of (passed, failed, allowed).
    """
    matrix = stage(talk)
    matrix.furnish(is_tls=False)
    matrix.run_cases()
    secure = stage(secure_talk)
    secure.furnish(is_tls=True)
    secure.run_all(secure.protocols(True))
    return (matrix.passed + secure.passed, matrix.failed + secure.failed,
            matrix.allowed + secure.allowed)
