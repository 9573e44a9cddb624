"""Whether what clients saw of a partition can have happened in some order: linearizability.

A history is a list of Ops on the rows of one partition.  It is linearizable if every operation
can be given an instant between its call and its answer so that, one after the other in the
order of these instants, all of them give the answers that were seen.  An operation without an
answer (a killed node, a broken connection) may have happened at any time after its call, or
never.

    error = linear.check(ops)           # None, or a text that shows where no order exists

Every write writes a value of its own (its token), so a read tells which write it saw.  A write
that was conditional on an ETag is one on the token that its client had read with that ETag.

The search is that of Wing and Gong with the states remembered that led nowhere (Lowe).  The
version of a row that an answer held, the instant in its ETag, is taken as a hint for what to
try first; it never decides.
"""

import collections
import math

# An element of a change: what is done to one row.  `expect` is the token that the row must
# have; ANY, if it must only be there; None, if the change is unconditional.
Change = collections.namedtuple("Change", "kind row token expect", defaults=(None, None))
ANY = "*"

#: Steps of the search after which it gives up; a sound history needs a few for each operation.
STEPS_MAX = 2_000_000


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


class Undecided(Exception):
    """The search took too long."""


def hint_of(op):
    return op.hint if op.hint is not None else op.answered


class Search:
    """Depth first over the orders that the calls and answers allow.

    A node of the search is (first, ahead, lost): all answered operations before `first` are
    done, those of the mask `ahead` behind it, and of those without an answer the mask `lost`.
    """

    def __init__(self, ops, state):
        ops = sorted(ops, key=lambda op: op.called)
        self.ops = [op for op in ops if not op.is_unknown]
        # A read without an answer tells nothing.
        self.unknown = [op for op in ops if op.is_unknown and op.kind == "change"]
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

    def run(self):
        steps = 0
        stack = [((0, 0, 0), self.state, iter(self.candidates(0, 0, 0)))]
        while stack:
            (first, ahead, lost), state, choices = stack[-1]
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
                lost |= 1 << index
            else:
                ahead |= 1 << index - first
                while ahead & 1:
                    ahead >>= 1
                    first += 1
            key = (first, ahead, lost, frozenset(after.items()))
            if key in self.seen:
                continue
            self.seen.add(key)
            following = self.candidates(first, ahead, lost)
            reached = first + bin(ahead).count("1")
            if reached > self.best[0]:
                self.best = (reached, after, [op for op, _ in following])
            stack.append(((first, ahead, lost), after, iter(following)))
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


def check(ops, state=None):
    """None if the history is linearizable, else what to look at."""
    search = Search(ops, dict(state or {}))
    try:
        if search.run():
            return None
        problem = "no order of these operations explains what was seen"
    except Undecided as error:
        problem = str(error)
    reached, state, waiting = search.best
    lines = [f"{problem}; after {reached} of {len(search.ops)} operations, with the rows {state}, "
             "none of these can be next:"]
    lines += [f"    {op}" for op in waiting if not op.is_unknown]
    unknown = [op for op in waiting if op.is_unknown]
    if unknown:
        lines += ["  and without an answer:"] + [f"    {op}" for op in unknown[:20]]
    return "\n".join(lines)
