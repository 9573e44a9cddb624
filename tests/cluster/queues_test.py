"""The ledger itself: it finds what must not happen to a message."""

import unittest

from cluster.queues import Ledger


def ledger(put=(), given=(), deleted=()):
    found = Ledger()
    for text in put:
        found.note("put", text, True)
    for text in given:
        found.give(text)
    for text in deleted:
        found.note("deleted", text, True)
    return found


class Ledgers(unittest.TestCase):
    def test_a_sound_queue(self):
        self.assertEqual(ledger("abc", "ab", "a").problems(["c"], 2), [])

    def test_what_had_no_answer_may_be_either(self):
        one = ledger("ab", "a", "a")
        one.note("put", "x", False)
        self.assertEqual(one.problems(["b"], 1), [])
        self.assertEqual(one.problems(["b", "x"], 2), [])
        self.assertTrue(one.problems(["b"], 0))
        self.assertTrue(one.problems(["b"], 3))

    def test_a_message_given_out_twice(self):
        self.assertTrue(ledger("a", "aa").problems([], 1))

    def test_a_message_given_out_and_still_there(self):
        self.assertTrue(ledger("a", "a").problems(["a"], 1))

    def test_a_lost_message(self):
        self.assertTrue(ledger("ab", "a").problems([], 2))
        one = ledger("ab", "a")
        one.lose_get()
        self.assertEqual(one.problems([], 2), [], "a get without an answer may have hidden it")

    def test_a_message_that_nobody_put(self):
        self.assertTrue(ledger("a", "ab").problems([], 1))

    def test_a_deleted_message_that_counts(self):
        self.assertTrue(ledger("a", "a", "a").problems([], 1))
