#!/usr/bin/env python3
"""Test the runner itself: the matcher on tables, and whole dialogues with a scripted server."""

import contextlib
import io
import pathlib
import socket
import tempfile
import threading
import unittest

import match
import run
import sign
import talk


class Matcher(unittest.TestCase):
    def test_texts(self):
        rows = [
            ("a literal matches itself", "a.b", "a.b", True),
            ("a point is a point", "a.b", "axb", False),
            ("all of the text must match", "a", "ab", False),
            ("a star is anything in a line", "a*c", "abbc", True),
            ("a star does not cross lines", "a*c", "a\r\nc", False),
            ("an escaped star is a star", r"a\*", "a*", True),
            ("an escaped star is only a star", r"a\*", "ab", False),
            ("a variable", "{t}!", "people!", True),
            ("a variable that differs", "{t}!", "others!", False),
            ("a guid", "{guid}", "6f9619ff-8b86-d011-b42d-00c04fc964ff", True),
            ("a guid in upper case", "{guid}", "6F9619FF-8B86-D011-B42D-00C04FC964FF", False),
            ("a time without fraction", "{time}", "2026-01-02T03:04:05Z", True),
            ("a trimmed time", "{time}", "2026-01-02T03:04:05.12Z", True),
            ("a time that is not trimmed", "{time}", "2026-01-02T03:04:05.120Z", False),
            ("seven digits", "{time7}", "2026-01-02T03:04:05.1200000Z", True),
            ("six digits", "{time7}", "2026-01-02T03:04:05.120000Z", False),
            ("a capture is used in the same text", "{x=*}-{x}", "ab-ab", True),
            ("and must be the same", "{x=*}-{x}", "ab-ac", False),
            ("a repetition", "{repeat ab 3}", "ababab", True),
            ("a loop", "{for 1..3}<{i}>{end}", "<1><2><3>", True),
        ]
        for what, wanted, got, matches in rows:
            with self.subTest(what):
                self.assertEqual(match.match_text(wanted, got, {"t": "people"}), matches)

    def test_captures_become_variables(self):
        variables = {}
        self.assertTrue(match.match_text('W/"{e=*}"', 'W/"abc"', variables))
        self.assertEqual(variables, {"e": "abc"})

    def test_unknown_names(self):
        with self.assertRaises(match.NoVariable):
            match.match_text("{nothing}", "x", {})
        with self.assertRaises(match.NoVariable):
            match.fill("{nothing}", {})
        with self.assertRaises(match.BadTest):
            match.match_text("{x=nothing}", "x", {})

    def test_lines(self):
        rows = [
            ("lines are joined by CRLF", ["a", "b"], "a\r\nb", True),
            ("not by LF", ["a", "b"], "a\nb", False),
            ("a last empty line is a line end", ["a", ""], "a\r\n", True),
            ("which must be there", ["a", ""], "a", False),
            ("three points are any lines", ["a", "...", "d"], "a\r\nb\r\nc\r\nd", True),
            ("or none", ["a", "...", "d"], "a\r\nd", True),
            ("at the end they are the rest", ["a", "..."], "a\r\nb", True),
            ("a capture is used in a later line", ["{x=*}", "{x}"], "q\r\nq", True),
            ("and must be the same", ["{x=*}", "{x}"], "q\r\nr", False),
        ]
        for what, wanted, got, matches in rows:
            with self.subTest(what):
                self.assertEqual(match.match_lines(wanted, got, {}), matches)

    def test_json(self):
        rows = [
            ("members that are not wanted may be there", '{"a":1}', '{"a":1,"b":2}', True),
            ("those that are wanted must", '{"a":1,"b":2}', '{"a":1}', False),
            ("those wanted absent may not", '{"a":"(absent)"}', '{"a":1}', False),
            ("absent is absent", '{"a":"(absent)"}', '{}', True),
            ("numbers are compared by text", '{"a":5}', '{"a":5.0}', False),
            ("a number is not its text", '{"a":5}', '{"a":"5"}', False),
            ("nor the other way round", '{"a":"5"}', '{"a":5}', False),
            ("true is true", '{"a":true}', '{"a":true}', True),
            ("true is not 1", '{"a":true}', '{"a":1}', False),
            ("null is null", '{"a":null}', '{"a":null}', True),
            ("lists have one length", '[1]', '[1,2]', False),
            ("and one order", '[1,2]', '[2,1]', False),
            ("strings have patterns", '{"a":"x*"}', '{"a":"xyz"}', True),
            ("which cross lines", '{"a":"x*"}', '{"a":"x\\ny"}', True),
            ("an object is not a list", '{}', '[]', False),
        ]
        for what, wanted, got, matches in rows:
            with self.subTest(what):
                difference = match.match_json(match.parse_json(wanted), match.parse_json(got), {})
                self.assertEqual(difference is None, matches, difference)


class Files(unittest.TestCase):
    def test_bad_files_are_refused(self):
        for what, text in [
            ("a line of no kind", "hello\n"),
            ("a reply before a request", "< 200\n"),
            ("bytes before a request", ">> a\n"),
            ("a header before a request", "> Accept: x\n"),
            ("a header after the reply", "> GET /\n< 200\n> Accept: x\n"),
            ("a wanted header without colon", "> GET /\n< 200\n< nonsense\n"),
        ]:
            with self.subTest(what), self.assertRaises(match.BadTest):
                talk.Parser(text)

    def test_a_request_line_has_method_path_and_body(self):
        for text, parts in [
            ("GET /t", ("GET", "/t", None)),
            ('POST /t {"a": 1}', ("POST", "/t", '{"a": 1}')),
            ("PUT /t('{repeat r 9}') {}", ("PUT", "/t('{repeat r 9}')", "{}")),
        ]:
            with self.subTest(text):
                request = talk.Request(text)
                self.assertEqual((request.method, request.target, request.body), parts)

    def test_bytes(self):
        step = talk.Parser("raw\n>> a\n>- b\\n\\0\\x80\n>>\n< 400\n").steps[0]
        self.assertEqual(step.sent.encode("utf-8", "surrogateescape"), b"a\r\nb\n\0\x80\r\n")


class Signing(unittest.TestCase):
    def test_canonical_resource(self):
        for target, resource in [
            ("/acct/Tables", "/acct/acct/Tables"),
            ("/acct/Tables?$top=1", "/acct/acct/Tables"),
            ("/acct/?restype=service&comp=properties", "/acct/acct/?comp=properties"),
            ("/t(PartitionKey='%27')", "/acct/t(PartitionKey='%27')"),
            ("", "/acct/"),
        ]:
            with self.subTest(target):
                self.assertEqual(sign.canonical_resource("acct", target), resource)


class ScriptedServer:
    """Answers the n-th request (its bytes are kept) with the n-th reply, whatever was requested."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.requests = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while self.replies:
            connection, _ = self.listener.accept()
            with connection:
                while self.replies:
                    data = connection.recv(1 << 16)
                    if not data:
                        break
                    self.requests.append(data)
                    reply = self.replies.pop(0)
                    connection.sendall(reply)
                    if b"Connection: close" in reply:
                        break
        self.listener.close()


def reply(status, body="", *headers):
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body.encode())}", *headers]
    return ("\r\n".join(head) + "\r\n\r\n" + body).encode("utf-8")


class Talks(unittest.TestCase):
    def run_talk(self, text, *replies, pass_time=None):
        """(passed, failed, printed, the requests as sent)"""
        server = ScriptedServer(*replies)
        with tempfile.NamedTemporaryFile("w", suffix=".test", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                one = run.Talk(pathlib.Path(file.name),
                               {"table": server.port, "queue": server.port, "blob": None},
                               pass_time)
                one.run()
        return one.passed, one.failed, printed.getvalue(), server.requests

    def test_a_request_is_complete_and_signed(self):
        passed, failed, printed, requests = self.run_talk(
            '> POST /t {"a":1}\n> Prefer: x\n> Accept:\n< 201 {"a":1}\n',
            reply("201 Created", '{"a":1}'))
        self.assertEqual((passed, failed), (1, 0), printed)
        head, body = requests[0].split(b"\r\n\r\n")
        self.assertEqual(body, b'{"a":1}')
        for part in (b"POST /devstoreaccount1/t HTTP/1.1\r\n", b"\r\nPrefer: x",
                     b"\r\nContent-Length: 7\r\n", b"\r\nContent-Type: application/json\r\n",
                     b"\r\nAuthorization: SharedKeyLite devstoreaccount1:",
                     b"\r\nx-ms-version: 2019-02-02\r\n"):
            self.assertIn(part, head)
        self.assertNotIn(b"Accept:", head)

    def test_host_style_has_no_account_in_the_path(self):
        _, _, _, requests = self.run_talk("> GET /t()\n> (host style)\n< 200\n", reply("200 OK"))
        self.assertTrue(requests[0].startswith(
            b"GET /t() HTTP/1.1\r\nHost: devstoreaccount1.table.localhost:"))

    def test_what_differs_is_told(self):
        error = ('{"odata.error":{"code":"X","message":{"lang":"en-US","value":"No.\\nRequestId:'
                 '6f9619ff-8b86-d011-b42d-00c04fc964ff\\nTime:2026-01-02T03:04:05.1234567Z"}}}')
        error_type = f"Content-Type: {run.ERROR_TYPE}"
        xml = ('<?xml version="1.0" encoding="utf-8"?><m:error xmlns:m="http://schemas.microsoft.com/'
               'ado/2007/08/dataservices/metadata"><m:code>X</m:code><m:message xml:lang="en-US">No.'
               '\nRequestId:6f9619ff-8b86-d011-b42d-00c04fc964ff\nTime:2026-01-02T03:04:05.1234567Z'
               '</m:message></m:error>')
        xml_type = "Content-Type: application/xml"
        rows = [
            ("< 404 <X> No.", reply("404 N", xml, xml_type), None),
            ("< 404 <Y>", reply("404 N", xml, xml_type), "wanted the error <Y>"),
            ("< 404 X", reply("404 N", xml, xml_type), "Content-Type"),
            ("< 404 <X>", reply("404 N", error, xml_type), "wanted the error <X>"),
            ("< 200", reply("201 Created"), "wanted status 200"),
            ("< 200|201", reply("201 Created"), None),
            ("< HTTP/1.1 201 Created", reply("201 Created"), None),
            ("< HTTP/1.1 201 Created", reply("201 OK"), "wanted HTTP/1.1 201 Created"),
            ("< 200\n< A: b*", reply("200 OK", "", "A: bc"), None),
            ("< 200\n< A: b", reply("200 OK", "", "A: c"), "wanted A: b, got c"),
            ("< 200\n< A: b", reply("200 OK"), "wanted A: b, got None"),
            ("< 200\n< A: (absent)", reply("200 OK", "", "a: c"), "wanted no A, got c"),
            ("< 200\n<= abc", reply("200 OK", "abc"), None),
            ("< 200\n<= abc", reply("200 OK", "abcd"), "wanted the body abc"),
            ("< 200\n<~ b", reply("200 OK", "a\nb\nc"), None),
            ("< 200\n<~ d", reply("200 OK", "a\nb\nc"), "wanted d in the body"),
            ('< 200 {"a":1}', reply("200 OK", "none"), "wanted a JSON body"),
            ("< 404 X No.", reply("404 N", error, error_type), None),
            ("< 404 X", reply("404 N", error, error_type), None),
            ("< 404 Y", reply("404 N", error, error_type), "wanted the error Y"),
            ("< 404 X Yes.", reply("404 N", error, error_type), "wanted the error X Yes."),
            ("< 404 X No.", reply("404 N", error, "Content-Type: text/plain"), "Content-Type"),
            ("< 404 X\n< Content-Type: a/b", reply("404 N", error, "Content-Type: a/b"), None),
        ]
        for wanted, got, trouble in rows:
            with self.subTest(wanted):
                _, failed, printed, _ = self.run_talk(f"# It.\n> GET /t\n{wanted}\n", got)
                self.assertEqual(failed, 1 if trouble else 0, printed)
                self.assertIn(f"It.: {trouble}" if trouble and "Type" not in trouble
                              else trouble or "", printed)

    def test_errors_of_queues_are_xml_with_their_code_in_a_header(self):
        xml = ('\ufeff<?xml version="1.0" encoding="utf-8"?><Error><Code>X</Code><Message>No.\n'
               'RequestId:6f9619ff-8b86-d011-b42d-00c04fc964ff\nTime:2026-01-02T03:04:05.1234567Z'
               '</Message>{}</Error>')
        plain, detailed = xml.format(""), xml.format("<A>1</A>")
        both = ("Content-Type: application/xml", "x-ms-error-code: X")
        rows = [
            ("GET", "< 404 X No.", reply("404 N", plain, *both), None),
            ("GET", "< 404 X Yes.", reply("404 N", plain, *both), "wanted the error X Yes."),
            ("GET", "< 404 X", reply("404 N", plain, both[0]), "wanted x-ms-error-code: X"),
            ("GET", "< 404 X", reply("404 N", plain, both[1]), "wanted Content-Type"),
            ("GET", "< 404 X", reply("404 N", plain[1:], *both), "wanted the error X"),
            ("GET", "< 404 X", reply("404 N", detailed, *both), "wanted the error X"),
            ("GET", "< 404 X\n<+ <A>1</A>", reply("404 N", detailed, *both), None),
            ("GET", "< 404 X\n<+ <A>2</A>", reply("404 N", detailed, *both), "wanted the error"),
            ("HEAD", "< 404 X", reply("404 N", "", both[1]), None),
            ("HEAD", "< 404 X", reply("404 N", ""), "wanted x-ms-error-code: X"),
        ]
        for method, wanted, got, trouble in rows:
            with self.subTest(f"{method} {wanted}"):
                _, failed, printed, _ = self.run_talk(
                    f"service queue\n> {method} /q\n{wanted}\n", got)
                self.assertEqual(failed, 1 if trouble else 0, printed)
                self.assertIn(trouble or "", printed)

    def test_a_queue_is_created_and_asked_with_shared_key(self):
        passed, failed, printed, requests = self.run_talk(
            "service queue\nqueue q\n> PUT /{q}/messages/1?popreceipt={url r} x\n< 204\n"
            "> GET /{q}\n< 200\n< x: {r=receipt}\n> PUT /{q}?popreceipt={url r} x\n< 204\n",
            reply("201 Created"), reply("200 OK", "", "x: a+/="), reply("204 No Content"))
        self.assertEqual((passed, failed), (2, 1), printed)     # the first has no variable
        self.assertRegex(requests[0], rb"^PUT /devstoreaccount1/[a-z0-9]+ HTTP/1.1\r\n")
        self.assertIn(b"\r\nAuthorization: SharedKey devstoreaccount1:", requests[0])
        self.assertNotIn(b"DataServiceVersion", requests[0])
        self.assertIn(b"?popreceipt=a%2B%2F%3D HTTP/1.1", requests[2])

    def test_a_service_that_is_not_there_fails(self):
        self.assertEqual(self.run_talk("service blob\n> GET /\n< 200\n")[:2], (0, 1))

    def test_a_reply_to_head_has_no_body(self):
        passed, failed, printed, _ = self.run_talk(
            "> HEAD /t\n< 200\n< Content-Length: 5\n> GET /t\n< 200\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", reply("200 OK"))
        self.assertEqual((passed, failed), (2, 0), printed)

    def test_a_capture_is_sent_back(self):
        _, failed, printed, requests = self.run_talk(
            "> GET /t\n< 200\n< ETag: {e=*}\n> PUT /t {}\n> If-Match: {e}\n< 204\n",
            reply("200 OK", "", 'ETag: W/"x"'), reply("204 No Content"))
        self.assertEqual(failed, 0, printed)
        self.assertIn(b'\r\nIf-Match: W/"x"\r\n', requests[1])

    def test_a_request_is_sent_again_until_the_answer_is_the_wanted_one(self):
        text = '> GET /t\n> (again)\n< 200 {"a":2}\n'
        replies = [reply("200 OK", '{"a":1}'), reply("200 OK", '{"a":1}'),
                   reply("200 OK", '{"a":2}')]
        passed, failed, printed, requests = self.run_talk(text, *replies)
        self.assertEqual((passed, failed, len(requests)), (1, 0, 3), printed)
        self.assertEqual(self.run_talk(text.replace("> (again)\n", ""), *replies)[:2], (0, 1))

    def test_a_missing_variable_fails_its_exchange_alone(self):
        passed, failed, printed, _ = self.run_talk(
            "> GET /{x}\n< 200\n> GET /t\n< 200\n", reply("200 OK"))
        self.assertEqual((passed, failed), (1, 1))
        self.assertIn("there is no variable {x}", printed)

    def test_chunked_replies_are_read(self):
        chunked = (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                   b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        _, failed, printed, _ = self.run_talk("> GET /t\n< 200\n<= abcde\n", chunked)
        self.assertEqual(failed, 0, printed)

    def test_raw_replies_are_counted_and_the_end_is_seen(self):
        two = reply("200 OK", "a") + reply("400 Bad Request", "b", "Connection: close")
        text = "raw\n>> x\n< 200\n<= a\n< 400\n<= b\n"
        self.assertEqual(self.run_talk(text + "< closed\n", two)[1], 0)
        self.assertEqual(self.run_talk(text + "< open\n", two)[1], 1)
        self.assertEqual(self.run_talk("raw\n>> x\n< 400\n< closed\n",
                                       two + b"more")[1], 1)

    def test_an_open_connection_answers_one_more_request(self):
        """And the reply must be to that: the scripted server does not know its name."""
        _, failed, printed, requests = self.run_talk(
            "raw\n>> x\n< 200\n<= a\n< open\n", reply("200 OK", "a"), reply("401 No"))
        self.assertEqual(failed, 1)
        self.assertIn("more than was wanted", printed)
        self.assertRegex(requests[1], rb"x-ms-client-request-id: \w{16}\r\n")

    def test_time_passes_or_the_rest_is_left_out(self):
        text = "> GET /t\n< 200\n# Later.\npass 600\n> GET /t\n< 200\n"
        replies = reply("200 OK"), reply("200 OK")
        passed = []
        self.assertEqual(self.run_talk(text, *replies, pass_time=passed.append)[:2], (2, 0))
        self.assertEqual(passed, [600])
        passed, failed, printed, _ = self.run_talk(text, *replies)
        self.assertEqual((passed, failed), (1, 0))
        self.assertRegex(printed, "SKIP .*:4 and all after it: Later.: the clock")

    def test_raw_goes_on_after_100(self):
        passed, failed, printed, requests = self.run_talk(
            "raw\n>> head\n>>\n< HTTP/1.1 100 Continue\n>- body\n< 201\n",
            b"HTTP/1.1 100 Continue\r\n\r\n", reply("201 Created"))
        self.assertEqual((passed, failed), (2, 0), printed)
        self.assertEqual(requests, [b"head\r\n\r\n", b"body"])

    def test_a_batch_is_written_from_its_operations(self):
        body = run.batch_body('POST /t {"a":1}\r\nDELETE /t(x)\r\n  If-Match: *\r\n', "http://h")
        self.assertIn('\r\n\r\nPOST http://h/t HTTP/1.1\r\n', body)
        self.assertIn('Content-Length: 7\r\n\r\n{"a":1}\r\n--changeset_c\r\n', body)
        self.assertIn('\r\n\r\nDELETE http://h/t(x) HTTP/1.1\r\nIf-Match: *\r\n', body)
        self.assertTrue(body.endswith("--changeset_c--\r\n\r\n--batch_b--\r\n"))

    def test_times_are_compared(self):
        self.assertLess(run.ticks("W/\"datetime'2026-01-02T03%3A04%3A05.82Z'\""),
                        run.ticks("2026-01-02T03:04:05.8200001Z"))
        self.assertLess(run.ticks("2026-01-02T03:04:05Z"), run.ticks("2026-01-02T03:04:05.1Z"))


class Tree(unittest.TestCase):
    def test_every_test_file_can_be_read(self):
        for path in sorted(run.HERE.glob("*/*.test")):
            with self.subTest(path.name):
                self.assertTrue(talk.read(path))


if __name__ == "__main__":
    unittest.main()
