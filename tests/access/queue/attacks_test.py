"""Attacks on queues, each named for what it tries.  None may get further than its first word."""

import base64
import socket
import urllib.parse

from access.attack import AttackCase
from access.credentials import ACCOUNT, BETA_KEY, KEY1, OTHER_ACCOUNT, TOMORROW, YESTERDAY
from access.queue.requests import held_by, message, queue_request, send
from access.talk import Header, Sas, StorageKey
from sas import account_sas, queue_sas

QUEUE, SECRET, SPARE = "open", "secret", "spare"


class QueueAttack(AttackCase):
    port = "queue_port"
    send = staticmethod(send)
    master = StorageKey(ACCOUNT, KEY1)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for queue in (QUEUE, SECRET, SPARE):
            cls.own(("PUT", f"/{ACCOUNT}/{queue}", None))
            cls.own(("POST", f"/{ACCOUNT}/{queue}/messages", message(f"of {queue}")))

    def sas(self, queue=QUEUE, sp="raup", changed=None, **more):
        return Sas(queue_sas(KEY1, ACCOUNT, queue, changed, sp=sp, se=TOMORROW, **more))

    def refused(self, reply, status=403, code="AuthenticationFailed"):
        self.assertEqual((reply.status, reply.code), (status, code), reply)

    def peek(self, queue, account=ACCOUNT):
        return queue_request(account, "peek messages", queue)

    def raw(self, data):
        with socket.create_connection(("127.0.0.1", self.server.queue_port), timeout=60) as s:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            answer = b""
            while chunk := s.recv(65536):
                answer += chunk
            return answer

    # --- tokens

    def test_parameter_given_twice(self):
        """A token parameter twice: neither the first nor the last may be chosen."""
        token = self.sas(sp="r", st=YESTERDAY, sip="127.0.0.1", spr="https,http").token
        for extra in ("sp=raup", f"se={TOMORROW}", f"st={YESTERDAY}",
                      "sip=0.0.0.0-255.255.255.255", "spr=https,http", "sv=2019-02-02", "sig=x",
                      "%73p=raup", "s%70=raup"):
            for both in (f"{token}&{extra}", f"{extra}&{token}"):
                with self.subTest(extra):
                    self.refused(send(self.talk, Sas(both), self.peek(QUEUE)))

    def test_operation_parameters_twice(self):
        """With the right to peek, no spelling of the query gets a message."""
        for query in ("peekonly=true&peekonly=false", "peekonly=false&peekonly=true",
                      "peekonly=true&%70eekonly=false", "peekonly=%66alse", "peekonly=FALSE",
                      "PeekOnly=true", "peekonly="):
            send(self.talk, self.sas(sp="r"), ("GET", f"/{ACCOUNT}/{QUEUE}/messages?{query}",
                                               None))
            reply = self.own(self.peek(QUEUE))
            self.assertIn(b"<DequeueCount>0</DequeueCount>", reply.body, query)

    def test_fields_moved_across_lines(self):
        """The signed text is lines; a value with a line of its own could pass for two fields."""
        token = queue_sas(KEY1, ACCOUNT, QUEUE, sp="r", se=TOMORROW, st=YESTERDAY,
                          changed={"sp": f"r\n{YESTERDAY}", "st": None})
        self.refused(send(self.talk, Sas(token), self.peek(QUEUE)))

    def test_account_token_with_a_part_of_a_service_token(self):
        door = Sas(account_sas(KEY1, ACCOUNT, ss="q", srt="o", sp="r", se=TOMORROW) + "&si=p&tn=x")
        self.assertEqual(send(self.talk, door, self.peek(QUEUE)).status, 200)
        self.refused(send(self.talk, door, queue_request(ACCOUNT, "clear messages", QUEUE)), 403,
                     "AuthorizationPermissionMismatch")

    def test_acl_by_sas(self):
        for door in (self.sas(), Sas(account_sas(KEY1, ACCOUNT, ss="q", srt="sco",
                                                 sp="rwdlacupx", se=TOMORROW))):
            for name in ("get acl", "set acl"):
                self.refused(send(self.talk, door, queue_request(ACCOUNT, name, QUEUE)), 403,
                             "AuthorizationFailure")

    def test_token_of_another_account(self):
        for name in (ACCOUNT, OTHER_ACCOUNT):
            token = queue_sas(BETA_KEY, name, QUEUE, sp="raup", se=TOMORROW)
            self.refused(send(self.talk, Sas(token), self.peek(QUEUE)))

    # --- paths

    def test_path_that_climbs(self):
        for path in (f"/{ACCOUNT}/{QUEUE}/../{SECRET}/messages",
                     f"/{ACCOUNT}/{QUEUE}%2f..%2f{SECRET}/messages",
                     f"/{ACCOUNT}/{QUEUE}/..%2f{SECRET}/messages", f"/{ACCOUNT}//{SECRET}/messages",
                     f"/{OTHER_ACCOUNT}/../{ACCOUNT}/{SECRET}/messages",
                     f"/{ACCOUNT}/%2573ecret/messages", f"/{ACCOUNT}/{SECRET}/messages"):
            with self.subTest(path):
                reply = send(self.talk, self.sas(), ("GET", f"{path}?peekonly=true", None))
                self.assertGreaterEqual(reply.status, 400, reply)
                self.assertNotIn(b"of secret", reply.body)

    def test_slash_that_is_part_of_a_name(self):
        """A path is split before it is decoded: an encoded slash is no slash."""
        for path in (f"{SECRET}%2Fmessages?peekonly=true", f"{SECRET}%2fmessages?peekonly=true",
                     f"{SECRET}/messages%2F00000000-0000-0000-0000-000000000000?popreceipt=x",
                     f"x%2F{SECRET}/messages?peekonly=true", f"{SECRET}%2F?comp=metadata"):
            for door in (self.master, self.sas(SECRET)):
                reply = send(self.talk, door, ("GET", f"/{ACCOUNT}/{path}", None))
                self.assertIn(reply.status, (400, 403, 404, 405), (path, reply))
                self.assertNotIn(b"of secret", reply.body)

    def test_account_that_is_not_there(self):
        """Neither an anonymous request nor a wrong key learns which accounts there are."""
        for door in (lambda a: Header(), lambda a: StorageKey(a, BETA_KEY, signer="nobody"),
                     lambda a: Sas(queue_sas(BETA_KEY, a, QUEUE, sp="r", se=TOMORROW))):
            replies = [send(self.talk, door(account), self.peek(QUEUE, account))
                       for account in (ACCOUNT, "nosuchaccount")]
            self.assertEqual(len({(r.status, r.code) for r in replies}), 1, replies)

    def test_missing_queue_as_an_oracle(self):
        """With a token of one queue, another that exists looks like one that does not."""
        for name in ("peek messages", "get metadata", "put message", "clear messages"):
            replies = [send(self.talk, self.sas(), queue_request(ACCOUNT, name, queue))
                       for queue in (SECRET, "missing")]
            self.assertEqual({(r.status, r.code) for r in replies},
                             {(403, "AuthenticationFailed")})

    def test_unsigned_headers_are_not_trusted(self):
        for name, value in (("X-Forwarded-For", "127.0.0.2"), ("X-Forwarded-Proto", "https"),
                            ("Forwarded", "for=127.0.0.2;proto=https"),
                            ("X-HTTP-Method", "DELETE"), ("X-HTTP-Method-Override", "DELETE")):
            with self.subTest(name):
                self.refused(send(self.talk, Header(), self.peek(QUEUE), **{name: value}), 401,
                             "NoAuthenticationInformation")
                self.refused(send(self.talk, self.sas(sip="127.0.0.2"), self.peek(QUEUE),
                                  **{name: value}), 403, "AuthorizationSourceIPMismatch")
                self.refused(send(self.talk, self.sas(spr="https"), self.peek(QUEUE),
                                  **{name: value}), 403, "AuthorizationProtocolMismatch")
        # This service has no tunnelled verbs: it stays a put.
        reply = send(self.talk, self.sas(sp="a"),
                     ("POST", f"/{ACCOUNT}/{QUEUE}/messages", message("x")),
                     **{"X-HTTP-Method": "DELETE"})
        self.assertEqual(reply.status, 201)
        self.assertIn(b"of open", self.own(self.peek(QUEUE)).body)

    # --- signatures

    def test_signature_of_another_query(self):
        """All of the query is signed: neither peekonly nor a count may change."""
        path = f"/{ACCOUNT}/{QUEUE}/messages"
        door = StorageKey(ACCOUNT, KEY1, path=f"{path}?peekonly=true")
        for query in ("", "?peekonly=false", "?peekonly=true&numofmessages=32",
                      "?peekonly=true&peekonly=false", "?peekonly=TRUE"):
            with self.subTest(query):
                self.refused(send(self.talk, door, ("GET", path + query, None)))

    def test_signature_of_another_body_length(self):
        request = ("POST", f"/{ACCOUNT}/{QUEUE}/messages", message("long enough"))
        method, path, body = request
        path, headers = self.master.apply(method, path, {"Content-Type": "application/xml",
                                                         "Content-Length": "5"})
        headers["Content-Length"] = str(len(body))
        self.refused(self.talk.ask(method, path, body, headers))

    # --- receipts

    def test_receipts_cannot_be_made(self):
        """A receipt with a part of it changed never deletes a message."""
        first = held_by(self.own(("POST", f"/{ACCOUNT}/{SECRET}/messages", message("1"))))
        second = held_by(self.own(("POST", f"/{ACCOUNT}/{SECRET}/messages", message("2"))))
        other = held_by(self.own(("POST", f"/{ACCOUNT}/{QUEUE}/messages", message("3"))))
        forged = [second[1], other[1], first[1][:-1], first[1] + "=", "", "A" * 24]
        for i in range(0, len(first[1]) - 1):
            letter = "B" if first[1][i] != "B" else "C"
            forged.append(first[1][:i] + letter + first[1][i + 1:])
        for receipt in forged:
            reply = send(self.talk, self.master, queue_request(
                ACCOUNT, "delete message", SECRET, held=(first[0], receipt)))
            self.assertIn(reply.status, (400, 404), (receipt, reply))
        for held in (first, second):
            self.own(queue_request(ACCOUNT, "delete message", SECRET, held=held))

    def test_receipt_by_bisection(self):
        """The right to update, without that to process, finds no receipt by trying again and again.

        A client that has put a message knows how receipts are made, and with the right to read the
        ids of all others.  What is left to find must not be closer after a hundred answers."""
        held = held_by(self.own(("POST", f"/{ACCOUNT}/{SECRET}/messages", message("mine"))))
        known = base64.b64decode(held[1])
        self.own(("GET", f"/{ACCOUNT}/{SECRET}/messages?numofmessages=32", None))
        low, high, answers = 0, 2 ** 64 - 1, set()
        while low <= high:
            guess = (low + high) // 2
            receipt = base64.b64encode(known[:-8] + guess.to_bytes(8, "big")).decode()
            reply = send(self.talk, self.sas(SECRET, sp="ru"), queue_request(
                ACCOUNT, "update message", SECRET, held=(held[0], receipt)))
            self.assertNotEqual(reply.status, 204, "a guessed receipt rewrote the message")
            answers.add((reply.status, reply.code))
            if reply.status == 404:
                low = guess + 1
            else:
                high = guess - 1
        self.assertEqual(answers, {(404, "MessageNotFound")})

    def test_receipts_follow_no_rule(self):
        """Receipts given one after the other have nothing in common where it matters."""
        secrets = []
        for i in range(32):
            held = held_by(self.own(("POST", f"/{ACCOUNT}/{SPARE}/messages", message(i))))
            secrets.append(int.from_bytes(base64.b64decode(held[1])[-8:], "big"))
        self.assertEqual(len(set(secrets)), 32)
        for bit in range(64):
            self.assertEqual({secret >> bit & 1 for secret in secrets}, {0, 1}, f"bit {bit}")

    # --- bodies and what comes back

    def test_xml_entity_bombs(self):
        laughs = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
        for bomb in (f'<!DOCTYPE b [<!ENTITY a0 "ha">{laughs}]><QueueMessage><MessageText>&a11;'
                     f'</MessageText></QueueMessage>',
                     '<!DOCTYPE b [<!ENTITY x SYSTEM "file:///etc/passwd">]><QueueMessage>'
                     '<MessageText>&x;</MessageText></QueueMessage>',
                     "<a>" * 20000, "<QueueMessage>" + "<MessageText/>" * 4000 + "</QueueMessage>",
                     "&#x10ffff;" * 6000):
            with self.cheaply():
                reply = send(self.talk, self.master, ("POST", f"/{ACCOUNT}/{QUEUE}/messages",
                                                      bomb.encode()))
            self.refused(reply, 400, "InvalidXmlDocument")

    def test_header_injection_into_responses(self):
        nasty = "a%0d%0aX-Injected:%20yes%0d%0a%0d%0abody"
        token = account_sas(KEY1, ACCOUNT, ss="q", srt="sco", sp="rwdlacup", se=TOMORROW)
        for path in (f"/{ACCOUNT}/{nasty}?comp=metadata", f"/{ACCOUNT}/{SPARE}?comp={nasty}",
                     f"/{ACCOUNT}/?comp=list&prefix={nasty}", f"/{ACCOUNT}/?comp=list&marker={nasty}",
                     f"/{ACCOUNT}/{SPARE}/messages?numofmessages={nasty}",
                     f"/{ACCOUNT}/{SPARE}/messages/{nasty}?popreceipt={nasty}"):
            for method in ("GET", "PUT", "DELETE", "HEAD"):
                answer = self.raw(f"{method} {path}&{token} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                  f"Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
                head = answer.partition(b"\r\n\r\n")[0]
                self.assertNotIn(b"\r\nX-Injected", head, (method, path))
                self.assertEqual(answer.count(b"HTTP/1.1 "), 1, answer)

    # --- last of all, by its name

    def test_zz_secrets_in_logs(self):
        """Neither keys nor signatures nor receipts' texts nor messages are logged."""
        token = self.sas().token
        self.own(("POST", f"/{ACCOUNT}/{QUEUE}/messages", message("VERYSECRETTEXT")))
        send(self.talk, Sas(token), self.peek(QUEUE))
        signature = urllib.parse.parse_qs(token)["sig"][0]
        log = self.server.log()
        self.assertIn("event=access", log)
        for secret in (KEY1, BETA_KEY, signature, urllib.parse.quote(signature, safe=""),
                       "SharedKey", "VERYSECRETTEXT"):
            self.assertNotIn(secret, log)
