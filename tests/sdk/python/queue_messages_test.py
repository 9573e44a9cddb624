"""Messages: send, receive, peek, update, delete, clear; their receipts, counts and times."""

from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue import (BinaryBase64DecodePolicy, BinaryBase64EncodePolicy,
                                 TextBase64DecodePolicy, TextBase64EncodePolicy)

from helpers import needs_clock, pass_time, stored_now
from storage import StorageCase, queue_service, some_bytes

WEEK = 7 * 24 * 3600
OUT_OF_RANGE = (400, "OutOfRangeQueryParameterValue")


class Messages(StorageCase):
    def setUp(self):
        self.queue = self.new_queue()

    def count(self):
        return self.queue.get_queue_properties().approximate_message_count

    def peeked(self):
        return [message.content for message in self.queue.peek_messages(32)]

    def test_send_receive_delete(self):
        began = stored_now().replace(microsecond=0)
        sent = self.queue.send_message("hello")
        self.assertTrue(began <= sent.inserted_on <= stored_now())
        self.assertEqual((sent.expires_on - sent.inserted_on).total_seconds(), WEEK)
        got = self.queue.receive_message()
        self.assertEqual((got.id, got.content, got.dequeue_count), (sent.id, "hello", 1))
        self.assertEqual((got.inserted_on, got.expires_on), (sent.inserted_on, sent.expires_on))
        self.assertTrue(29 <= (got.next_visible_on - began).total_seconds() <= 40)
        self.assertIsNone(self.queue.receive_message())
        self.queue.delete_message(got)
        self.assertEqual(self.count(), 0)

    def test_one_and_many(self):
        sent = [self.queue.send_message(f"message {i}").id for i in range(40)]
        self.assertEqual(self.count(), 40)
        self.assertEqual(self.queue.receive_message().id, sent[0])
        many = next(self.queue.receive_messages(messages_per_page=32).by_page())
        self.assertEqual([m.id for m in many], sent[1:33])
        self.assertEqual(len(list(self.queue.receive_messages(messages_per_page=2))), 7)
        self.assertEqual(self.count(), 40)
        for bad in (0, 33):
            self.refused(*OUT_OF_RANGE, next, self.queue.receive_messages(messages_per_page=bad))

    def test_peek_and_clear(self):
        for text in ("a", "b", "c"):
            self.queue.send_message(text)
        self.assertEqual(self.peeked(), ["a", "b", "c"])
        first = self.queue.peek_messages()
        self.assertEqual([(m.content, m.dequeue_count, m.pop_receipt) for m in first],
                         [("a", 0, None)])
        got = self.queue.receive_message()
        self.assertEqual(self.peeked(), ["b", "c"])
        self.queue.clear_messages()
        self.assertEqual((self.peeked(), self.count()), ([], 0))
        self.refused(404, "MessageNotFound", self.queue.delete_message, got)

    def test_update(self):
        self.queue.send_message("first")
        got = self.queue.receive_message()
        updated = self.queue.update_message(got, content="second", visibility_timeout=0)
        self.assertNotEqual(updated.pop_receipt, got.pop_receipt)
        self.assertEqual((updated.id, updated.content), (got.id, "second"))
        again = self.queue.receive_message()
        self.assertEqual((again.content, again.dequeue_count), ("second", 2))
        kept = self.queue.update_message(again, visibility_timeout=0)
        self.assertNotEqual(kept.pop_receipt, again.pop_receipt)
        third = self.queue.receive_message()
        self.assertEqual((third.content, third.dequeue_count), ("second", 3))
        before = stored_now()
        longer = self.queue.update_message(third, visibility_timeout=60)
        self.assertGreaterEqual((longer.next_visible_on - before).total_seconds(), 59)
        self.assertIsNone(self.queue.receive_message())

    def test_receipts(self):
        sent = self.queue.send_message("text")
        got = self.queue.receive_message()
        wrong = (404, "MessageNotFound")
        self.refused(*wrong, self.queue.delete_message, sent.id, sent.pop_receipt)
        self.refused(*wrong, self.queue.update_message, sent.id, sent.pop_receipt, content="new")
        updated = self.queue.update_message(got, visibility_timeout=0)
        self.refused(*wrong, self.queue.delete_message, got)
        self.refused(400, "InvalidQueryParameterValue", self.queue.delete_message, sent.id,
                     "this is no receipt")
        self.queue.delete_message(updated)
        self.refused(404, "MessageNotFound", self.queue.delete_message, updated)
        self.refused(404, "MessageNotFound", self.queue.delete_message,
                     "00000000-0000-4000-8000-000000000000", sent.pop_receipt)

    def test_receipt_of_sending_is_good_for_an_unread_message(self):
        self.queue.delete_message(self.queue.send_message("one"))
        self.queue.update_message(self.queue.send_message("two"), content="zwei",
                                  visibility_timeout=0)
        self.assertEqual(self.peeked(), ["zwei"])

    @needs_clock
    def test_times(self):
        """All times in one test, so that they pass together."""
        expiring, hidden, waiting = self.new_queue(), self.new_queue(), self.new_queue()
        expiring.send_message("short", time_to_live=600)
        expiring.send_message("long", time_to_live=6000)
        hidden.send_message("text")
        first = hidden.receive_message(visibility_timeout=600)
        waiting.send_message("later", visibility_timeout=600)
        self.assertEqual(len(expiring.peek_messages(5)), 2)
        self.assertIsNone(hidden.receive_message())
        self.assertIsNone(waiting.receive_message())
        pass_time(601)
        self.assertEqual([m.content for m in expiring.receive_messages()], ["long"])
        second = hidden.receive_message(visibility_timeout=60)
        self.assertEqual((second.id, second.dequeue_count), (first.id, 2))
        self.refused(404, "MessageNotFound", hidden.delete_message, first)
        hidden.delete_message(second)
        self.assertEqual(waiting.receive_message().content, "later")

    def test_for_ever(self):
        self.assertEqual(self.queue.send_message("text", time_to_live=-1).expires_on.year, 9999)
        self.assertEqual(self.queue.receive_message().expires_on.year, 9999)

    def test_times_outside_their_limits(self):
        sent = self.queue.send_message("text")
        self.refused(*OUT_OF_RANGE, self.queue.send_message, "t", visibility_timeout=WEEK + 1)
        self.refused(*OUT_OF_RANGE, self.queue.receive_message, visibility_timeout=WEEK + 1)
        self.refused(*OUT_OF_RANGE, self.queue.receive_message, visibility_timeout=0)
        self.refused(*OUT_OF_RANGE, self.queue.update_message, sent, visibility_timeout=WEEK + 1)

    def test_texts(self):
        for text in ("<a b=\"c\">&amp; 'd' ]]> &#65;</a>", "żółw 龜 Schildkröte", "🐢𝒯",
                     "  spaces around  ", "\ta\n\nb\n", " ", "\n"):
            with self.subTest(repr(text)):
                self.queue.send_message(text)
                self.assertEqual(self.peeked(), [text])
                got = self.queue.receive_message()
                self.assertEqual(got.content, text)
                self.queue.delete_message(got)

    def test_empty_text(self):
        # The SDK cannot tell an empty element from a missing one.
        self.queue.send_message("")
        self.assertIn(self.queue.receive_message().content, ("", None))

    def test_characters_that_xml_does_not_have(self):
        self.refused(400, "InvalidXmlDocument", self.queue.send_message, "a\x01b")

    def test_largest_message(self):
        largest = "x" * 65536
        self.queue.send_message(largest)
        got = self.queue.receive_message()
        self.assertEqual(got.content, largest)
        self.refused(413, "RequestBodyTooLarge", self.queue.send_message, largest + "x")
        self.refused(413, "RequestBodyTooLarge", self.queue.update_message, got,
                     content=largest + "x")

    def with_policies(self, encode, decode):
        return queue_service().get_queue_client(
            self.queue.queue_name, message_encode_policy=encode, message_decode_policy=decode)

    def test_base64_policies(self):
        binary = self.with_policies(BinaryBase64EncodePolicy(), BinaryBase64DecodePolicy())
        data = some_bytes(48 * 1024)
        binary.send_message(data)
        got = binary.receive_message()
        self.assertEqual(got.content, data)
        updated = binary.update_message(got, content=b"\0\xff", visibility_timeout=0)
        self.assertEqual(updated.content, b"\0\xff")
        self.assertEqual([m.content for m in binary.peek_messages()], [b"\0\xff"])
        self.refused(413, "RequestBodyTooLarge", binary.send_message, data + b"x")
        self.queue.clear_messages()
        text = self.with_policies(TextBase64EncodePolicy(), TextBase64DecodePolicy())
        text.send_message("a\x01b ü")
        self.assertEqual(self.peeked(), ["YQFiIMO8"])
        self.assertEqual(text.receive_message().content, "a\x01b ü")

    def test_messages_of_no_queue(self):
        queue = queue_service().get_queue_client("there-is-no-such-queue")
        self.refused(404, "QueueNotFound", queue.delete_message, "id", "AgAAAAMAAAAAAAAA",
                     kind=ResourceNotFoundError)
