"""The ledger itself: it finds what must not happen to a message."""

import time
import unittest

from cluster.queues import Ledger


def ledger(put=(), given=(), deleted=()):
    found = Ledger()
    for text in put:
        found.note("put", text, False)
        found.note("put", text, True)
    for text in given:
        found.give(text, time.monotonic())
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

    def test_a_message_that_was_overtaken(self):
        self.assertEqual(ledger("abc", "abc").problems([], 3), [])
        self.assertEqual(len(ledger("abc", "acb").problems([], 3)), 1)
        self.assertEqual(len(ledger("abc", "bc").problems(["a"], 3)), 2)

    def test_messages_whose_puts_or_gets_met(self):
        one = Ledger()
        for is_sure in (False, True):
            for text in "ab":
                one.note("put", text, is_sure)
        for text in "ba":
            one.give(text, time.monotonic())
        self.assertEqual(one.problems([], 2), [])
        one, began = ledger("ab"), time.monotonic()
        for text in "ba":
            one.give(text, began)
        self.assertEqual(one.problems([], 2), [])
        one = Ledger()
        one.note("put", "a", False)  # nobody knows when it came
        one.note("put", "b", False)
        for text in "ba":
            one.give(text, time.monotonic())
        self.assertEqual(one.problems([], 2), [])

    def test_a_deleted_message_that_counts(self):
        self.assertTrue(ledger("a", "a", "a").problems([], 1))
