"""The checker itself: it accepts what can have happened, and finds what cannot."""

import random
import unittest

from cluster import linear, record
from cluster.linear import ABSENT, ANY, EXISTS, MISMATCH, OK, Change, Op


def read(client, called, answered, **rows):
    return Op(client, "read", called, answered, rows)


def scan(client, called, answered, **rows):
    return Op(client, "read", called, answered, rows, is_scan=True)


def change(client, called, answered, result, *changes):
    return Op(client, "change", called, answered, result, changes)


def unknown(client, called, *changes):
    return Op(client, "change", called, changes=changes)


def put(row, token, expect=None):
    return Change("put", row, token, expect)


def insert(row, token):
    return Change("insert", row, token)


def delete(row, expect=None):
    return Change("delete", row, None, expect)


class Accepts(unittest.TestCase):
    def accept(self, *ops):
        self.assertIsNone(linear.check(ops))

    def test_one_after_the_other(self):
        self.accept(change(1, 0, 1, OK, insert("r", "a")), read(2, 2, 3, r="a"),
                    change(1, 4, 5, OK, put("r", "b", "a")), read(2, 6, 7, r="b"),
                    change(1, 8, 9, EXISTS, insert("r", "c")),
                    change(1, 10, 11, MISMATCH, put("r", "c", "a")),
                    change(1, 12, 13, OK, delete("r", ANY)), read(2, 14, 15, r=None),
                    change(1, 16, 17, ABSENT, put("r", "d", ANY)))

    def test_reads_during_a_write_see_either(self):
        self.accept(change(1, 0, 1, OK, put("r", "a")), change(1, 2, 9, OK, put("r", "b")),
                    read(2, 3, 4, r="a"), read(3, 5, 6, r="b"))

    def test_the_order_of_answers_may_differ(self):
        self.accept(change(1, 0, 10, OK, put("r", "a")), change(2, 0, 9, OK, put("r", "b")),
                    read(3, 11, 12, r="b"))

    def test_a_write_without_an_answer_may_happen_late_or_never(self):
        lost = unknown(1, 0, put("r", "x"))
        self.accept(lost, read(2, 5, 6, r=None), read(2, 7, 8, r="x"))
        self.accept(unknown(1, 0, put("r", "x")), read(2, 5, 6, r=None), read(2, 7, 8, r=None))

    def test_a_delete_without_an_answer(self):
        self.accept(change(1, 0, 1, OK, insert("r", "a")), unknown(2, 2, delete("r")),
                    read(1, 3, 4, r="a"), change(1, 5, 6, OK, insert("r", "b")))

    def test_a_scan_is_of_one_instant(self):
        self.accept(change(1, 0, 1, OK, insert("a", 1), insert("b", 1)),
                    change(1, 2, 8, OK, put("a", 2), put("b", 2)),
                    scan(2, 3, 4, a=1, b=1), scan(3, 5, 6, a=2, b=2))

    def test_random_histories_of_a_sound_store(self):
        """Thousands of operations of 12 clients, with lost answers, on a store that is right."""
        for seed in range(8):
            ops = simulate(random.Random(seed), 1500)
            self.assertIsNone(linear.check(ops), f"seed {seed}")


class Finds(unittest.TestCase):
    def find(self, *ops):
        self.assertIsNotNone(linear.check(ops))

    def test_a_lost_write(self):
        self.find(change(1, 0, 1, OK, put("r", "a")), change(1, 2, 3, OK, put("r", "b")),
                  read(2, 4, 5, r="a"))
        self.find(change(1, 0, 1, OK, insert("r", "a")), read(2, 2, 3, r=None))

    def test_a_stale_read(self):
        self.find(change(1, 0, 1, OK, put("r", "a")), change(1, 2, 9, OK, put("r", "b")),
                  read(2, 3, 4, r="b"), read(3, 5, 6, r="a"))

    def test_a_write_that_came_back(self):
        self.find(change(1, 0, 1, OK, put("r", "a")), change(1, 2, 3, OK, delete("r", "a")),
                  read(2, 4, 5, r=None), read(2, 6, 7, r="a"))

    def test_two_inserts_of_one_row(self):
        self.find(change(1, 0, 5, OK, insert("r", "a")), change(2, 0, 5, OK, insert("r", "b")))

    def test_two_updates_of_one_version(self):
        self.find(change(1, 0, 1, OK, put("r", "a")), change(2, 2, 5, OK, put("r", "b", "a")),
                  change(3, 2, 5, OK, put("r", "c", "a")))

    def test_a_refusal_without_a_reason(self):
        self.find(change(1, 0, 1, OK, put("r", "a")), change(2, 2, 3, MISMATCH, put("r", "b", "a")))
        self.find(change(1, 0, 1, EXISTS, insert("r", "a")))

    def test_a_torn_batch(self):
        whole = (insert("a", 1), insert("b", 1))
        self.find(change(1, 0, 9, OK, *whole), scan(2, 1, 2, a=1))
        self.find(unknown(1, 0, *whole), scan(2, 1, 2, b=1))
        self.find(change(1, 0, 9, OK, *whole), read(2, 1, 2, a=1), read(2, 3, 4, b=None))

    def test_a_refused_batch_that_left_something(self):
        self.find(change(1, 0, 1, OK, insert("b", 0)),
                  change(1, 2, 3, EXISTS, insert("a", 1), insert("b", 1)), read(2, 4, 5, a=1))

    def test_a_value_that_nobody_wrote(self):
        self.find(read(1, 0, 1, r="x"))

    def test_an_unknown_write_that_undoes_itself(self):
        self.find(unknown(1, 0, put("r", "x")), read(2, 1, 2, r="x"),
                  change(2, 3, 4, OK, put("r", "y", "x")), read(2, 5, 6, r="x"))

    def test_one_etag_for_two_values(self):
        self.assertTrue(linear.etag_errors([("r", "a", "e1"), ("r", "b", "e1")]))
        self.assertTrue(linear.etag_errors([("r", "a", "e1"), ("r", "a", "e2")]))
        self.assertFalse(linear.etag_errors([("r", "a", "e1"), ("r", "b", "e2"), ("s", "c", "e1")]))

    def test_an_etag_that_is_behind(self):
        behind = record.backward_stamps
        self.assertTrue(behind([(0, 1, 100), (2, 3, 100)]))
        self.assertFalse(behind([(0, 1, 100), (2, 3, 101)]))
        self.assertFalse(behind([(0, 3, 100), (2, 4, 50)]), "at the same time")
        self.assertTrue(behind([(0, 1, 100), (2, 3, 90)], 10))
        self.assertFalse(behind([(0, 1, 100), (2, 3, 91)], 10))

    def test_random_histories_of_a_store_with_one_fault(self):
        """A write that is acknowledged and lost is found wherever it is, if it is read once."""
        for seed in range(8):
            ops = simulate(random.Random(seed), 600, lost_at=300)
            self.assertIsNotNone(linear.check(ops), f"seed {seed}")


def simulate(chance, count, lost_at=None):
    """The history of a store that is right, or that loses one acknowledged write."""
    rows = ["a", "b", "c"]
    state, ops, running, now, serial = {}, [], {}, 0.0, 0
    for number in range(count):
        now += chance.random()
        for client in [client for client, op in running.items() if op.answered <= now]:
            del running[client]
        free = [client for client in range(12) if client not in running]
        if not free:
            now = min(op.answered for op in running.values())
            continue
        serial += 1
        op = random_op(chance, free[0], rows, state, now, serial)
        # Done at once, answered later: any instant between is as good.
        after = linear.apply(Op(0, op.kind, 0, 0, op.result, op.changes, op.is_scan), state)
        is_lost = lost_at is not None and number >= lost_at and op.kind == "change" \
            and op.result == OK and op.changes[0].kind == "put"
        op.answered = now + chance.expovariate(0.5)
        if is_lost:
            lost_at = None
            op.answered = now
            row = op.changes[0].row
            ops.append(op)
            ops.append(Op(99, "read", now + 1e-6, now + 2e-6, {row: state.get(row)}))
            continue
        state = after
        if op.kind == "change" and op.result == OK and chance.random() < 0.02:
            op.answered, op.result = float("inf"), None
            ops.append(op)
            continue
        running[op.client] = op
        ops.append(op)
    return ops


def random_op(chance, client, rows, state, now, serial):
    row = chance.choice(rows)
    kind = chance.random()
    if kind < 0.25:
        return Op(client, "read", now, result={row: state.get(row)})
    if kind < 0.35:
        return Op(client, "read", now, result=dict(state), is_scan=True)
    if kind < 0.5:
        changes = [Change("put", one, serial) for one in chance.sample(rows, 2)]
    elif kind < 0.7:
        changes = [Change("put", row, serial, state.get(row, "gone"))]
    elif kind < 0.85:
        changes = [Change("insert", row, serial)]
    else:
        changes = [Change("delete", row, None, ANY)]
    reasons = [linear.refusal(one, state) for one in changes]
    return Op(client, "change", now, result=next(filter(None, reasons), OK), changes=changes)


if __name__ == "__main__":
    unittest.main()
