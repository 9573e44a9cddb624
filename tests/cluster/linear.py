"""Whether what clients saw of a partition can have happened in some order: linearizability.

A history is a list of Ops on the rows of one partition.  It is linearizable if every operation
can be given an instant between its call and its answer so that, one after the other in the
order of these instants, all of them give the answers that were seen.  An operation without an
answer (a killed node, a broken connection) may have happened at any time after its call, or
never.

    error = linear.check(ops)           # None, or a text that shows where no order exists

Every write writes a value of its own (its token), so a read tells which write it saw.  A write
that was conditional on an ETag is one on the token that its client had read with that ETag.

The search is that of Wing and Gong with the states remembered that led nowhere (Lowe), and

  - an operation that changes nothing and gives its answer in the present state is taken at
    once: if any order exists, one exists with it here;
  - a state is left when somebody has yet to see a value that was overwritten already: no
    value comes twice;
  - the version of a row that an answer held, the instant in its ETag, is a hint for what to
    try first.  It never decides;
  - operations without an answer are left out at first, but for those whose value was seen: an
    order without them is an order too.
"""

import collections
import math

# An element of a change: what is done to one row.  `expect` is the token that the row must
# have; ANY, if it must only be there; None, if the change is unconditional.
Change = collections.namedtuple("Change", "kind row token expect", defaults=(None, None))
ANY = "*"

#: Steps of the search after which it gives up; a sound history needs a few for each operation.
STEPS_MAX = 300_000


class Op:
    """One operation: `kind` is read (rows: {row: token or None}), or change (a list of Changes).

    `result` is what the client saw: for a read {row: token or None}, of a whole partition if
    `is_scan`; for a change OK, or the reason of its refusal; None when there was no answer.
    """

    __slots__ = ("client", "kind", "changes", "is_scan", "result", "called", "answered", "hint")

    def __init__(self, client, kind, called, answered=math.inf, result=None, changes=(),
                 is_scan=False, hint=None):
        self.client, self.kind, self.called, self.answered = client, kind, called, answered
        self.result, self.changes, self.is_scan, self.hint = result, changes, is_scan, hint

    @property
    def is_unknown(self):
        return self.result is None

    def __repr__(self):
        what = (" ".join(f"{c.kind}({c.row}{'' if c.token is None else ', ' + str(c.token)}"
                         f"{'' if c.expect is None else f' if {c.expect}'})" for c in self.changes)
                if self.kind == "change" else "scan" if self.is_scan else "read")
        until = "?" if self.answered == math.inf else f"{self.answered:.4f}"
        return f"{self.client} {self.called:.4f}-{until} {what} -> {self.result}"


OK, EXISTS, ABSENT, MISMATCH = "ok", "exists", "absent", "mismatch"


def refusal(change, state):
    """Why this element is refused in this state; None if it is not."""
    there = state.get(change.row)
    if change.kind == "insert":
        return EXISTS if there is not None else None
    if change.expect is None:
        return None
    if there is None:
        return ABSENT
    return None if change.expect in (ANY, there) else MISMATCH


def apply(op, state):
    """The state after the operation, or None if it cannot give its answer in this one."""
    if op.kind == "read":
        if op.is_scan:
            return state if op.result == state else None
        return state if all(state.get(row) == token for row, token in op.result.items()) else None
    reasons = {refusal(change, state) for change in op.changes} - {None}
    if op.result != OK and not op.is_unknown:
        return state if op.result in reasons else None
    if reasons:
        # Without an answer it was refused, which is as good as never.
        return None
    after = dict(state)
    for change in op.changes:
        if change.kind == "delete":
            after.pop(change.row, None)
        else:
            after[change.row] = change.token
    return after


def needs(op):
    """The (row, token) that must be there when the operation happens."""
    if op.kind == "read":
        return [(row, token) for row, token in op.result.items() if token is not None]
    if op.result != OK:
        return []
    return [(change.row, change.expect) for change in op.changes
            if change.expect not in (None, ANY)]


class Undecided(Exception):
    """The search took too long."""


def hint_of(op):
    return op.hint if op.hint is not None else op.answered


class Search:
    """Depth first over the orders that the calls and answers allow.

    A node of the search is (first, ahead, lost): all answered operations before `first` are
    done, those of the mask `ahead` behind it, and of those without an answer the mask `lost`.
    """

    def __init__(self, ops, unknown, state):
        self.ops = sorted(ops, key=lambda op: op.called)
        self.unknown = sorted(unknown, key=lambda op: op.called)
        self.needs = [needs(op) for op in self.ops]
        self.writer = {(change.row, change.token): index for index, op in enumerate(self.ops)
                       for change in op.changes if change.token is not None}
        self.state = state
        self.seen = set()
        self.best = (0, state, [])

    def candidates(self, first, ahead, lost):
        """Operations that may be next: called before any that is left was answered."""
        before = math.inf
        found = []
        for index in range(first, len(self.ops)):
            op = self.ops[index]
            if op.called > before:
                break
            if not ahead >> index - first & 1:
                found.append((op, index))
                before = min(before, op.answered)
        found.sort(key=lambda one: hint_of(one[0]))
        # Those without an answer last: they are only needed to explain what others saw.
        for index, op in enumerate(self.unknown):
            if op.called > before:
                break
            if not lost >> index & 1:
                found.append((op, index))
        return found

    def is_hopeless(self, first, ahead, state, waiting):
        """Whether somebody waits for a value that was overwritten."""
        for op, index in waiting:
            if op.is_unknown:
                break
            for row, token in self.needs[index]:
                if state.get(row) != token:
                    writer = self.writer.get((row, token), math.inf)
                    if writer < first or (writer != math.inf and ahead >> writer - first & 1):
                        return True
        return False

    def settle(self, first, ahead, lost, state):
        """Take all that changes nothing: (first, ahead, the candidates after that)."""
        while True:
            waiting = self.candidates(first, ahead, lost)
            taken = [index for op, index in waiting
                     if not op.is_unknown and apply(op, state) is state]
            if not taken:
                return first, ahead, waiting
            for index in taken:
                ahead |= 1 << index - first
            while ahead & 1:
                ahead >>= 1
                first += 1

    def enter(self, first, ahead, lost, state):
        """A node of the search, or None if it leads nowhere."""
        first, ahead, waiting = self.settle(first, ahead, lost, state)
        reached = first + bin(ahead).count("1")
        if reached > self.best[0]:
            self.best = (reached, state, [op for op, _ in waiting])
        key = (first, ahead, lost, frozenset(state.items()))
        if key in self.seen:
            return None
        self.seen.add(key)
        if self.is_hopeless(first, ahead, state, waiting):
            return None
        return first, ahead, lost, state, iter(waiting)

    def run(self):
        steps = 0
        stack = [self.enter(0, 0, 0, self.state)]
        while stack and stack[-1]:
            first, ahead, lost, state, choices = stack[-1]
            if first == len(self.ops):
                return True
            steps += 1
            if steps > STEPS_MAX:
                raise Undecided(f"no order found in {steps} steps")
            op, index = next(choices, (None, 0))
            if op is None:
                stack.pop()
                continue
            after = apply(op, state)
            if after is None:
                continue
            if op.is_unknown:
                node = self.enter(first, ahead, lost | 1 << index, after)
            else:
                ahead |= 1 << index - first
                while ahead & 1:
                    ahead >>= 1
                    first += 1
                node = self.enter(first, ahead, lost, after)
            if node:
                stack.append(node)
        return False


def etag_errors(observed):
    """Tokens that were seen with two ETags, or an ETag with two tokens: [(row, token, etag)]."""
    by_token, by_etag, errors = {}, {}, []
    for row, token, etag in observed:
        if by_token.setdefault((row, token), etag) != etag:
            errors.append(f"{token} in row {row} has the ETags {by_token[row, token]} and {etag}")
        if by_etag.setdefault((row, etag), token) != token:
            errors.append(f"ETag {etag} of row {row} has the values {by_etag[row, etag]} "
                          f"and {token}")
    return errors


def unanswered(ops):
    """The changes without an answer in three parts: those whose values were seen, the other
    deletes, all others."""
    seen = {need for op in ops if not op.is_unknown for need in needs(op)}
    parts = [], [], []
    for op in ops:
        # A read without an answer tells nothing.
        if op.is_unknown and op.kind == "change":
            is_seen = any((change.row, change.token) in seen for change in op.changes)
            is_delete = any(change.kind == "delete" for change in op.changes)
            parts[0 if is_seen else 1 if is_delete else 2].append(op)
    return parts


def check(ops, state=None):
    """None if the history is linearizable, else what to look at."""
    answered = [op for op in ops if not op.is_unknown]
    unknown, best = [], (-1, None)
    for more in unanswered(ops):
        if best[0] >= 0 and not more:
            continue
        unknown = unknown + more
        search = Search(answered, unknown, dict(state or {}))
        try:
            if search.run():
                return None
            problem = "no order of these operations explains what was seen"
        except Undecided as error:
            problem = str(error)
        if search.best[0] > best[0]:
            best = search.best[0], search.best
    reached, state, waiting = best[1]
    lines = [f"{problem}; after {reached} of {len(answered)} operations, with the rows {state}, "
             "none of these can be next:"]
    lines += [f"    {op}" for op in waiting if not op.is_unknown]
    lost = [op for op in waiting if op.is_unknown]
    if lost:
        lines += ["  and without an answer:"] + [f"    {op}" for op in lost[:20]]
    return "\n".join(lines)
