"""Attacks, each named for what it tries.  None may get further than its first word.

One server runs for all of them, with everything that it can log; what it has
logged by the end is searched for secrets.
"""

import base64
import email.utils
import json
import socket
import unittest
import urllib.parse

import sign
from access.attack import AttackCase
from access.credentials import (ACCOUNT, BETA_KEY, KEY1, KEY2, OTHER_ACCOUNT, TOMORROW,
                                YESTERDAY, made_key)
from access.table.requests import (JSON, batch_request, entity, entity_request, part_text,
                                   send)
from access.talk import Header, Key, Sas, Talk
from sas import account_sas, query, table_sas

TABLE, SECRET = "Open", "Secret"
INSIDE, OUTSIDE = ("c", "1"), ("x", "1")
RANGE = {"spk": "b", "epk": "d"}
XML = {"Content-Type": "application/xml"}


def token_text(text):
    """A continuation token, as the service writes it."""
    coded = base64.b64encode(text.encode()).decode()
    coded = coded.replace("=", "-").replace("/", "_").replace("+", "*")
    return f"1!{len(coded)}!{coded}"


class Attack(AttackCase):
    port = "table_port"
    send = staticmethod(send)
    master = Key(ACCOUNT, KEY1)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for table in (TABLE, SECRET):
            cls.own(("POST", f"/{ACCOUNT}/Tables", {"Content-Type": "application/json"},
                     json.dumps({"TableName": table}).encode()))
            for keys in (INSIDE, OUTSIDE, ("a", "1"), ("b", "1"), ("d", "1"), ("d!", "1")):
                cls.own(entity_request(ACCOUNT, "insert or replace", table, keys, 1))

    def sas(self, table=TABLE, sp="raud", changed=None, **more):
        return Sas(table_sas(KEY1, ACCOUNT, changed, tn=table, sp=sp, se=TOMORROW, **more))

    def refused(self, reply, status=403, code="AuthenticationFailed", inner=None):
        self.assertEqual(reply.outcome, (status, code, inner), reply)

    def read(self, table, keys=INSIDE):
        return entity_request(ACCOUNT, "point read", table, keys, 0)

    def marks(self, table):
        reply = self.own(entity_request(ACCOUNT, "query entities", table, INSIDE, 0))
        return {(e["PartitionKey"], e["RowKey"]): e["Mark"]
                for e in json.loads(reply.body)["value"]}

    def raw(self, data):
        """Send bytes on a connection of their own and read until it closes."""
        with socket.create_connection(("127.0.0.1", self.server.table_port), timeout=60) as s:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            answer = b""
            while chunk := s.recv(65536):
                answer += chunk
            return answer

    # --- signatures

    def test_unsigned_headers_are_not_trusted(self):
        """What proxies and other services believe is no proof of anything here."""
        for name, value in (("X-Forwarded-For", "127.0.0.2"), ("X-Real-IP", "127.0.0.2"),
                            ("Forwarded", "for=127.0.0.2;proto=https"),
                            ("X-Original-URL", f"/{ACCOUNT}/{TABLE}()"),
                            ("x-ms-account", ACCOUNT), ("X-Forwarded-User", ACCOUNT),
                            ("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "localhost")):
            with self.subTest(name):
                method, path, headers, body = self.read(TABLE)
                headers = {**headers, name: value}
                self.refused(send(self.talk, Header(), (method, path, headers, body)), 401,
                             "NoAuthenticationInformation")
                far = self.sas(sip="127.0.0.2")
                self.refused(send(self.talk, far, (method, path, headers, body)), 403,
                             "AuthorizationSourceIPMismatch")
                safe = self.sas(spr="https")
                self.refused(send(self.talk, safe, (method, path, headers, body)), 403,
                             "AuthorizationProtocolMismatch")

    def test_method_tunnel_needs_what_the_tunnelled_verb_needs(self):
        for verb, sp in (("MERGE", "ard"), ("PUT", "ard"), ("DELETE", "rau"), ("PATCH", "ard")):
            method, path, headers, body = entity_request(ACCOUNT, "merge", TABLE, INSIDE, 666)
            headers = {**headers, "X-HTTP-Method": verb}
            with self.subTest(verb):
                reply = send(self.talk, self.sas(sp=sp), ("POST", path, headers, body))
                self.refused(reply, 403, "AuthorizationPermissionMismatch")
        self.assertEqual(self.marks(TABLE)[INSIDE], 1)

    def test_signature_of_another_verb(self):
        for verb in ("GET", "PUT", "MERGE"):
            door = Key(ACCOUNT, KEY1, lite=False, verb=verb)
            request = entity_request(ACCOUNT, "delete entity", TABLE, INSIDE, 0)
            self.refused(send(self.talk, door, request))
        self.assertIn(INSIDE, self.marks(TABLE))

    def test_signature_of_another_content_type(self):
        method, path, headers, body = entity_request(ACCOUNT, "insert", TABLE, ("c", "9"), 666)
        path, headers = Key(ACCOUNT, KEY1, lite=False).apply(method, path, headers)
        headers["Content-Type"] = "application/json;odata=verbose"
        self.refused(self.talk.ask(method, path, body, headers))

    def test_signature_without_comp(self):
        """comp is signed, so a signature for the table does not open its policies."""
        path = f"/{ACCOUNT}/{TABLE}"
        door = Key(ACCOUNT, KEY1, path=path)
        self.assertEqual(send(self.talk, door, ("GET", path, {"Accept": JSON}, None)).status, 200)
        for spelling in ("comp=acl", "%63omp=acl", "x=1&comp=acl", "comp=%61cl"):
            with self.subTest(spelling):
                self.refused(send(self.talk, door, ("GET", f"{path}?{spelling}", {}, None)))

    def test_comp_twice(self):
        """Signed with one value, and the operation must not follow the other."""
        path = f"/{ACCOUNT}/{TABLE}"
        door = Key(ACCOUNT, KEY1, path=f"{path}?comp=x")
        for spelling in ("comp=x&comp=acl", "comp=acl&comp=x", "comp=x&%63omp=acl"):
            reply = send(self.talk, door, ("GET", f"{path}?{spelling}", {}, None))
            self.assertNotIn(b"SignedIdentifiers", reply.body)

    def test_replay_after_15_minutes(self):
        for age_s in (905, 3600, 86400, -905):
            for lite in (True, False):
                self.refused(send(self.talk, Key(ACCOUNT, KEY1, lite, age_s=age_s),
                                  self.read(TABLE)))

    def test_replay_with_a_fresh_date_beside(self):
        """An old x-ms-date is what was signed; a fresh Date does not make it young."""
        method, path, headers, _ = self.read(TABLE)
        path, headers = Key(ACCOUNT, KEY1, age_s=1000).apply(method, path, headers)
        headers["Date"] = email.utils.formatdate(usegmt=True)
        self.refused(self.talk.ask(method, path, None, headers))

    def test_two_authorization_headers(self):
        date = email.utils.formatdate(usegmt=True)
        path = f"/{ACCOUNT}/{TABLE}()"
        good = sign.shared_key_lite(ACCOUNT, KEY1, date, path)
        bad = sign.shared_key_lite(ACCOUNT, BETA_KEY, date, path)
        answers = [self.raw(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-ms-date: {date}\r\n"
                            f"Authorization: {a}\r\nAuthorization: {b}\r\nConnection: close\r\n\r\n"
                            .encode()) for a, b in ((good, bad), (bad, good), (bad, bad))]
        for answer in answers:
            # Whichever counts, no answer may come from a mix of the two.
            self.assertTrue(answer.startswith((b"HTTP/1.1 4", b"HTTP/1.1 200")), answer)
        self.assertTrue(answers[2].startswith(b"HTTP/1.1 403"), answers[2])

    def test_key_in_place_of_signature(self):
        for value in (f"SharedKey {ACCOUNT}:{KEY1}", f"SharedKeyLite {ACCOUNT}:{KEY1}"):
            self.refused(send(self.talk, Header(value), self.read(TABLE)))

    def test_sas_of_another_account(self):
        """Signed correctly, by beta, and sent to alpha."""
        for name in (ACCOUNT, OTHER_ACCOUNT):
            door = Sas(account_sas(BETA_KEY, name, ss="t", srt="sco", sp="rwdlacu", se=TOMORROW))
            self.refused(send(self.talk, door, self.read(TABLE)))

    def test_estimate_of_what_lies_beyond_the_range(self):
        """How a query would be answered may tell what the whole table has: not to all."""
        text = urllib.parse.quote("PartitionKey eq 'b' or PartitionKey eq 'c'")
        request = ("GET", f"/{ACCOUNT}/{TABLE}()?$filter={text}",
                   {"Accept": JSON, "x-tavola-explain": "true"}, None)
        for limits, is_told in ({}, True), (RANGE, False), ({"spk": "a"}, False):
            with self.subTest(limits):
                reply = send(self.talk, self.sas(sp="r", **limits), request)
                self.assertEqual(reply.status, 200, reply)
                self.assertIn(b'"ranges"', reply.body)
                self.assertEqual(b'"estimate"' in reply.body, is_told, reply.body)

    # --- paths

    def test_path_decoded_twice(self):
        """%2554 is the text %54, not the letter T."""
        for path in (f"/{ACCOUNT}/%25{ord(SECRET[0]):x}{SECRET[1:]}()",
                     f"/{ACCOUNT}/{TABLE}%252f..%252f{SECRET}()",
                     f"/{ACCOUNT}/%2554ables"):
            for door in (self.sas(SECRET), self.sas(), self.master):
                reply = send(self.talk, door, ("GET", path, {"Accept": JSON}, None))
                self.assertGreaterEqual(reply.status, 400, (path, reply))
                self.assertNotIn(b'"Mark"', reply.body)

    def test_path_that_climbs(self):
        for path in (f"/{ACCOUNT}/{TABLE}/../{SECRET}()", f"/{ACCOUNT}/{TABLE}/..%2f{SECRET}()",
                     f"/{OTHER_ACCOUNT}/../{ACCOUNT}/{SECRET}()", f"/{ACCOUNT}//{SECRET}()",
                     f"/{ACCOUNT}/./{SECRET}()", f"/{ACCOUNT}%2f{SECRET}()",
                     f"//{ACCOUNT}/{SECRET}()"):
            with self.subTest(path):
                reply = send(self.talk, self.sas(), ("GET", path, {"Accept": JSON}, None))
                self.assertGreaterEqual(reply.status, 400, reply)
                self.assertNotIn(b'"Mark"', reply.body)

    def test_table_name_encoded(self):
        """An encoded spelling of the other table is the other table."""
        encoded = "".join(f"%{ord(c):02x}" for c in SECRET)
        for path in (f"/{ACCOUNT}/{encoded}()", f"/{ACCOUNT}/{SECRET.lower()}()",
                     f"/{ACCOUNT}/{SECRET}/", f"/{ACCOUNT}/{SECRET}/Tables"):
            with self.subTest(path):
                reply = send(self.talk, self.sas(), ("GET", path, {"Accept": JSON}, None))
                self.refused(reply, 403, "AuthorizationFailure")

    def test_absolute_target_naming_another_host(self):
        """The target's host decides, and the signature is for what it names."""
        token = self.sas().token
        for host in (f"{ACCOUNT}.table.localhost", f"{OTHER_ACCOUNT}.table.localhost"):
            answer = self.raw(f"GET http://{host}/{SECRET}()?{token} HTTP/1.1\r\nHost: 127.0.0.1"
                              f"\r\nConnection: close\r\n\r\n".encode())
            self.assertTrue(answer.startswith(b"HTTP/1.1 40"), answer)
            self.assertNotIn(b'"Mark"', answer)

    # --- tokens

    def test_tn_swapped_after_signing(self):
        for changed in ({"tn": SECRET}, {"tn": SECRET.lower()}):
            self.refused(send(self.talk, self.sas(changed=changed), self.read(SECRET)))
            self.refused(send(self.talk, self.sas(changed=changed), self.read(TABLE)))

    def test_parameter_given_twice(self):
        token = self.sas(sp="r", st=YESTERDAY, sip="127.0.0.1", spr="https,http",
                         srk="", **RANGE).token
        for extra in (f"tn={SECRET}", "sp=raud", f"se={TOMORROW}", f"st={YESTERDAY}", "spk=",
                      "epk=zzz", "srk=", "sip=0.0.0.0-255.255.255.255", "spr=https,http",
                      "sv=2019-02-02", "sig=x", f"%74n={SECRET}", f"t%6E={TABLE}"):
            for both in (f"{token}&{extra}", f"{extra}&{token}"):
                with self.subTest(extra):
                    self.refused(send(self.talk, Sas(both), self.read(TABLE)))

    def test_fields_moved_across_lines(self):
        """The signed text is lines; a value with a line of its own could pass for two fields."""
        token = table_sas(KEY1, ACCOUNT, tn=TABLE, sp="r", se=TOMORROW, spk="b", srk="1",
                          epk="d", erk="1",
                          changed={"spk": "b\n1", "srk": "d", "epk": "1", "erk": None})
        self.refused(send(self.talk, Sas(token), self.read(TABLE, OUTSIDE)))

    def test_limits_stripped(self):
        for drop in (("spk",), ("epk",), ("spk", "epk"), ("srk",), ("erk",),
                     ("spk", "srk", "epk", "erk")):
            token = self.sas(srk="1", erk="1", changed={name: None for name in drop}, **RANGE)
            self.refused(send(self.talk, token, self.read(TABLE, OUTSIDE)))

    def test_empty_end_stripped(self):
        """An empty end and none are signed alike; neither may widen the other."""
        for more in ({"epk": ""}, {"epk": "a", "erk": ""}):
            parameters = {"sv": "2019-02-02", "tn": TABLE, "sp": "r", "se": TOMORROW, **more}
            self.refused(send(self.talk, Sas(table_sas(KEY1, ACCOUNT, **parameters)),
                              self.read(TABLE)))

    def test_table_token_as_account_token(self):
        token = self.sas(changed={"ss": "t", "srt": "sco"})
        self.refused(send(self.talk, token, ("GET", f"/{ACCOUNT}/Tables", {}, None)))

    def test_account_token_with_a_table(self):
        """tn, si and key limits are not part of an account SAS: they add nothing."""
        door = Sas(account_sas(KEY1, ACCOUNT, ss="t", srt="c", sp="l", se=TOMORROW) +
                   f"&tn={TABLE}&spk=a&si=p")
        self.refused(send(self.talk, door, self.read(TABLE)), 403,
                     "AuthorizationResourceTypeMismatch")

    def test_acl_by_sas(self):
        """A SAS that may set policies could grant itself the rest."""
        for door in (self.sas(), Sas(account_sas(KEY1, ACCOUNT, ss="t", srt="sco",
                                                 sp="rwdlacupx", se=TOMORROW))):
            for request in (("GET", f"/{ACCOUNT}/{TABLE}?comp=acl", {}, None),
                            ("PUT", f"/{ACCOUNT}/{TABLE}?comp=acl", XML,
                             b"<SignedIdentifiers/>")):
                self.refused(send(self.talk, door, request), 403, "AuthorizationFailure")

    def test_comp_acl_on_an_entity_operation(self):
        """comp chooses the operation; with a SAS it must not turn one check into another."""
        for path in (f"/{ACCOUNT}/{TABLE}(PartitionKey='c',RowKey='1')?comp=acl",
                     f"/{ACCOUNT}/{TABLE}()?comp=acl", f"/{ACCOUNT}/Tables?comp=acl"):
            reply = send(self.talk, self.sas(), ("GET", path, {}, None))
            self.assertGreaterEqual(reply.status, 400, (path, reply))

    def test_policy_taken_back_on_another_connection(self):
        """A token that relies on a policy ends with it, on every connection at once."""
        policy = (b"<SignedIdentifiers><SignedIdentifier><Id>p</Id><AccessPolicy>"
                  b"<Expiry>2099-01-01</Expiry><Permission>r</Permission></AccessPolicy>"
                  b"</SignedIdentifier></SignedIdentifiers>")
        acl = f"/{ACCOUNT}/{TABLE}?comp=acl"
        door = Sas(table_sas(KEY1, ACCOUNT, tn=TABLE, si="p"))
        talks = [Talk(self.server.table_port) for _ in range(8)]
        try:
            for _ in range(5):
                self.own(("PUT", acl, XML, policy))
                for talk in talks:
                    self.assertEqual(send(talk, door, self.read(TABLE)).status, 200)
                self.own(("PUT", acl, XML, b"<SignedIdentifiers/>"))
                for talk in talks:
                    self.refused(send(talk, door, self.read(TABLE)))
        finally:
            for talk in talks:
                talk.close()

    def test_policy_of_a_table_that_was_deleted(self):
        """A new table of the same name does not inherit the policies of the old one."""
        policy = (b"<SignedIdentifiers><SignedIdentifier><Id>p</Id><AccessPolicy>"
                  b"<Expiry>2099-01-01</Expiry><Permission>r</Permission></AccessPolicy>"
                  b"</SignedIdentifier></SignedIdentifiers>")
        create = ("POST", f"/{ACCOUNT}/Tables", {"Content-Type": "application/json"},
                  b'{"TableName":"Reborn"}')
        door = Sas(table_sas(KEY1, ACCOUNT, tn="Reborn", si="p"))
        query_all = ("GET", f"/{ACCOUNT}/Reborn()", {"Accept": JSON}, None)
        self.own(create)
        self.own(("PUT", f"/{ACCOUNT}/Reborn?comp=acl", XML, policy))
        self.assertEqual(send(self.talk, door, query_all).status, 200)
        self.own(("DELETE", f"/{ACCOUNT}/Tables('Reborn')", {}, None))
        self.refused(send(self.talk, door, query_all))
        self.own(create)
        self.refused(send(self.talk, door, query_all))

    # --- batches

    def batch(self, door, *requests, url=None, is_query=False):
        return send(self.talk, door, batch_request(ACCOUNT, url or self.url, requests, is_query))

    def test_batch_that_names_another_table(self):
        mine = entity_request(ACCOUNT, "insert or replace", TABLE, ("c", "7"), 666)
        theirs = entity_request(ACCOUNT, "insert or replace", SECRET, ("c", "8"), 666)
        before = self.marks(SECRET), self.marks(TABLE)
        self.refused(self.batch(self.sas(), theirs), 202, "AuthorizationFailure", 403)
        for requests in ((mine, theirs), (theirs, mine)):
            reply = self.batch(self.sas(), *requests)
            self.assertEqual(reply.status, 202)
            self.assertGreaterEqual(reply.inner, 400, reply)
        self.assertEqual((self.marks(SECRET), self.marks(TABLE)), before)

    def test_batch_that_names_another_account(self):
        for door in (self.sas(), self.master):
            request = entity_request(OTHER_ACCOUNT, "insert or replace", TABLE, ("c", "8"), 666)
            self.refused(self.batch(door, request), 202, "AuthorizationFailure", 403)
            request = (*request[:1], f"/{TABLE}(PartitionKey='c',RowKey='8')", *request[2:])
            reply = self.batch(door, request, url=f"http://{OTHER_ACCOUNT}.table.localhost")
            self.refused(reply, 202, "AuthorizationFailure", 403)

    def test_batch_with_a_token_of_its_own_in_a_part(self):
        """Only the outer request's credential counts."""
        method, path, headers, body = entity_request(ACCOUNT, "insert or replace", TABLE,
                                                     ("c", "8"), 666)
        strong = self.sas().token
        reply = self.batch(self.sas(sp="r"), (method, f"{path}?{strong}", headers, body))
        self.refused(reply, 202, "AuthorizationPermissionMismatch", 403)
        path2, signed = self.master.apply(method, path, headers)
        reply = self.batch(self.sas(sp="r"), (method, path2, signed, body))
        self.refused(reply, 202, "AuthorizationPermissionMismatch", 403)

    def test_batch_with_one_part_too_many(self):
        """One part outside of the permissions or the range spoils the whole, wherever it is."""
        good = [entity_request(ACCOUNT, "insert or merge", TABLE, ("c", f"g{i}"), 666)
                for i in range(20)]
        delete = entity_request(ACCOUNT, "delete entity", TABLE, INSIDE, 0)
        before = self.marks(TABLE)
        for index in (0, 10, 20):
            parts = [*good[:index], delete, *good[index:]]
            self.refused(self.batch(self.sas(sp="au"), *parts), 202,
                         "AuthorizationPermissionMismatch", 403)
            reply = self.batch(self.sas(sp="au", spk="c", srk="g", epk="c", erk="g9"), *parts)
            self.assertEqual((reply.status, reply.inner), (202, 403), reply)
        beyond = [entity_request(ACCOUNT, "insert or merge", TABLE, ("c", row), 666)
                  for row in ("h1", "h2", "z")]
        self.refused(self.batch(self.sas(spk="c", srk="h", epk="c", erk="i"), *beyond), 202,
                     "AuthorizationFailure", 403)
        self.assertEqual(self.marks(TABLE), before)

    def test_batch_read_outside_the_range(self):
        request = entity_request(ACCOUNT, "point read", TABLE, OUTSIDE, 0)
        self.refused(self.batch(self.sas(**RANGE), request, is_query=True), 202,
                     "AuthorizationFailure", 403)

    def test_batch_insert_with_keys_in_the_body_outside(self):
        """The URL of an insert has no keys; those of the body count."""
        path = f"/{ACCOUNT}/{TABLE}"
        request = ("POST", path, {"Content-Type": "application/json", "Accept": JSON},
                   entity(OUTSIDE[:1] + ("new",), 666))
        self.refused(send(self.talk, self.sas(**RANGE), request), 403, "AuthorizationFailure")
        self.refused(self.batch(self.sas(**RANGE), request), 202, "AuthorizationFailure", 403)

    def test_keys_in_the_body_other_than_in_the_url(self):
        """The URL is in the range and the body is not, and the other way round."""
        before = self.marks(TABLE)
        for url_keys, body_keys in ((INSIDE, OUTSIDE), (OUTSIDE, INSIDE)):
            for name in ("update", "merge", "insert or replace", "insert or merge"):
                method, path, headers, _ = entity_request(ACCOUNT, name, TABLE, url_keys, 0)
                reply = send(self.talk, self.sas(**RANGE),
                             (method, path, headers, entity(body_keys, 666)))
                self.assertGreaterEqual(reply.status, 400, reply)
                reply = self.batch(self.sas(**RANGE),
                                   (method, path, headers, entity(body_keys, 666)))
                self.assertGreaterEqual(reply.inner, 400, reply)
        self.assertEqual(self.marks(TABLE), before)

    def test_batch_inside_a_batch(self):
        inner = batch_request(ACCOUNT, self.url, [entity_request(
            ACCOUNT, "insert or replace", SECRET, ("c", "8"), 666)])
        for door in (self.master, self.sas()):
            for is_query in (True, False):
                reply = self.batch(door, inner, is_query=is_query)
                self.assertTrue(reply.status >= 400 or reply.inner >= 400, reply)
        self.assertNotIn(("c", "8"), self.marks(SECRET))

    def test_batch_of_other_operations(self):
        """Tables, policies and properties have no place in a batch."""
        requests = (("POST", f"/{ACCOUNT}/Tables", {"Content-Type": "application/json"},
                     b'{"TableName":"sneaked"}'),
                    ("DELETE", f"/{ACCOUNT}/Tables('{SECRET}')", {}, None),
                    ("GET", f"/{ACCOUNT}/{SECRET}()", {}, None),
                    ("PUT", f"/{ACCOUNT}/{TABLE}?comp=acl", XML, b"<SignedIdentifiers/>"),
                    ("GET", f"/{ACCOUNT}/{SECRET}?comp=acl", {}, None))
        for request in requests:
            for door in (self.sas(), self.master):
                for is_query in (True, False):
                    reply = self.batch(door, request, is_query=is_query)
                    self.assertTrue(reply.status >= 400 or reply.inner >= 400, (request, reply))
        self.own(self.read(SECRET))

    # --- ranges

    def found(self, door, options):
        reply = send(self.talk, door, ("GET", f"/{ACCOUNT}/{TABLE}()?{options}",
                                       {"Accept": JSON}, None))
        self.assertIn(reply.status, (200, 400, 501), reply)
        if reply.status != 200:
            return set()
        return {e["PartitionKey"] for e in json.loads(reply.body)["value"]}

    def test_filter_that_leaves_the_range(self):
        for text in ("PartitionKey eq 'x'", "PartitionKey eq 'x' or PartitionKey eq 'c'",
                     "not (PartitionKey eq 'c')", "not (PartitionKey ge 'b')",
                     "Mark eq 1 or PartitionKey ge ''", "PartitionKey ne 'c'",
                     "PartitionKey eq 'x' and RowKey eq '1'",
                     "(PartitionKey eq 'x' and RowKey eq '1') or "
                     "(PartitionKey eq 'a' and RowKey eq '1')",
                     "not not (PartitionKey eq 'x')", "PartitionKey ge 'e' and true",
                     "true or false", "Mark ge 0"):
            with self.subTest(text):
                found = self.found(self.sas(sp="r", **RANGE),
                                   f"$filter={urllib.parse.quote(text)}")
                self.assertLessEqual(found, {"b", "c", "d"})

    def test_forged_continuation_that_leaves_the_range(self):
        for partition, row in (("a", "1"), ("a", ""), ("", ""), ("d!", "1"), ("x", "1"),
                               ("\U0010ffff", "1"), ("b", "0")):
            with self.subTest(partition):
                options = urllib.parse.urlencode({"NextPartitionKey": token_text(partition),
                                                  "NextRowKey": token_text(row)})
                for more in ("", "&$filter=PartitionKey%20ge%20%27%27", "&$top=1"):
                    found = self.found(self.sas(sp="r", **RANGE), options + more)
                    self.assertLessEqual(found, {"b", "c", "d"})

    def test_continuation_does_not_name_a_row_outside(self):
        """A token names the next row; one that is outside must not be named."""
        reply = send(self.talk, self.sas(sp="r", **RANGE),
                     ("GET", f"/{ACCOUNT}/{TABLE}()?$top=3", {"Accept": JSON}, None))
        self.assertEqual(len(json.loads(reply.body)["value"]), 3)
        self.assertIsNone(reply.headers.get("x-ms-continuation-NextPartitionKey"))

    def test_condition_as_an_oracle(self):
        """404, 409 and 412 reveal nothing about an entity outside."""
        there, missing = OUTSIDE, ("x", "none")
        for name in ("point read", "insert", "update", "merge", "insert or replace",
                     "delete entity"):
            replies = [send(self.talk, self.sas(**RANGE),
                            entity_request(ACCOUNT, name, TABLE, keys, 666)).outcome
                       for keys in (there, missing)]
            self.assertEqual(replies, [(403, "AuthorizationFailure", None)] * 2)

    def test_missing_table_as_an_oracle(self):
        """With a SAS of one table, another that exists looks like one that does not."""
        for name in ("point read", "query entities", "insert", "delete entity"):
            replies = [send(self.talk, self.sas(), entity_request(ACCOUNT, name, table, INSIDE, 0))
                       .outcome for table in (SECRET, "Missing")]
            self.assertEqual(replies, [(403, "AuthorizationFailure", None)] * 2)

    # --- XML

    def xml_targets(self):
        return (f"/{ACCOUNT}/{TABLE}?comp=acl", f"/{ACCOUNT}/?restype=service&comp=properties")

    def test_xml_entity_bombs(self):
        laughs = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
        bombs = (f'<!DOCTYPE b [<!ENTITY a0 "ha">{laughs}]><SignedIdentifiers>'
                 f'<SignedIdentifier><Id>&a11;</Id></SignedIdentifier></SignedIdentifiers>',
                 '<!DOCTYPE b [<!ENTITY x SYSTEM "file:///etc/passwd">]><SignedIdentifiers>'
                 '<SignedIdentifier><Id>&x;</Id></SignedIdentifier></SignedIdentifiers>',
                 '<!DOCTYPE b SYSTEM "http://127.0.0.1:1/x.dtd"><SignedIdentifiers/>',
                 '<!DOCTYPE b [<!ENTITY % p SYSTEM "file:///etc/hostname"> %p;]>'
                 '<SignedIdentifiers/>',
                 f'<!DOCTYPE b [<!ENTITY q "{"A" * 60000}">]><SignedIdentifiers>'
                 f'{"&q;" * 20000}</SignedIdentifiers>')
        for path in self.xml_targets():
            for bomb in bombs:
                bomb = bomb.replace("SignedIdentifiers", "StorageServiceProperties") \
                    if "properties" in path else bomb
                with self.cheaply():
                    reply = send(self.talk, self.master, ("PUT", path, XML, bomb.encode()))
                self.refused(reply, 400, "InvalidXmlDocument")
        self.assertNotIn(b"root:", self.own(("GET", self.xml_targets()[0], {}, None)).body)

    def test_xml_that_is_deep_or_wide(self):
        for path in self.xml_targets():
            for body in (b"<a>" * 100000, b"<a>" * 1000 + b"</a>" * 1000,
                         b"<SignedIdentifiers " + b" ".join(b'a%d="1"' % i for i in range(50000))
                         + b"/>", b"<" * 100000, b"\xff\xfe" * 100, b"\0" * 100,
                         b"<SignedIdentifiers>" + b"<SignedIdentifier/>" * 10000
                         + b"</SignedIdentifiers>"):
                with self.cheaply():
                    reply = send(self.talk, self.master, ("PUT", path, XML, body))
                self.assertEqual(reply.status, 400, reply)

    # --- what comes back

    def test_header_injection_into_responses(self):
        """What the client sends and the server repeats must stay in its line."""
        nasty = "a%0d%0aX-Injected:%20yes%0d%0a%0d%0abody"
        paths = (f"/{ACCOUNT}/Tables('{nasty}')", f"/{ACCOUNT}/{nasty}()",
                 f"/{ACCOUNT}/{TABLE}(PartitionKey='{nasty}',RowKey='{nasty}')",
                 f"/{nasty}/Tables", f"/{ACCOUNT}/{TABLE}()?$filter={nasty}",
                 f"/{ACCOUNT}/{TABLE}()?NextPartitionKey={nasty}",
                 f"/{ACCOUNT}/{TABLE}?comp={nasty}")
        for path in paths:
            for method in ("GET", "PUT", "DELETE", "OPTIONS"):
                date = email.utils.formatdate(usegmt=True)
                value = sign.shared_key_lite(ACCOUNT, KEY1, date, path)
                answer = self.raw(f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                  f"x-ms-date: {date}\r\nAuthorization: {value}\r\n"
                                  f"Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
                head = answer.partition(b"\r\n\r\n")[0]
                self.assertNotIn(b"\r\nX-Injected", head, (method, path))
                self.assertEqual(answer.count(b"HTTP/1.1 "), 1, answer)

    def test_header_injection_by_headers(self):
        for name, value in (("x-ms-client-request-id", "a\rX-Injected: yes"),
                            ("x-ms-client-request-id", "a\x0bX-Injected: yes"),
                            ("x-ms-client-request-id", "x" * 5000),
                            ("Origin", "http://a\rX-Injected: yes"),
                            ("Host", "127.0.0.1\rX-Injected: yes"),
                            ("Prefer", "return-content\rX-Injected: yes")):
            lines = {"Host": "127.0.0.1", "Connection": "close", name: value}
            answer = self.raw((f"GET /{ACCOUNT}/Tables HTTP/1.1\r\n" + "".join(
                f"{n}: {v}\r\n" for n, v in lines.items()) + "\r\n").encode())
            head = answer.partition(b"\r\n\r\n")[0]
            self.assertNotRegex(head, rb"[\r\n\x0b]X-Injected", (name, value))

    def test_header_injection_by_an_inserted_key(self):
        """Location and DataServiceId repeat the keys of what was inserted."""
        for text in ("a\r\nX-Injected: yes", "a\nb", "\r", "é\u0085x", "a b\"'<>"):
            request = entity_request(ACCOUNT, "insert", TABLE, ("c", text), 1)
            reply = send(self.talk, self.master, request)
            self.assertIsNone(reply.headers.get("X-Injected"))
            if reply.status == 201:
                self.assertTrue(reply.headers["Location"].isascii())
                self.own(entity_request(ACCOUNT, "delete entity", TABLE, ("c", text), 0))

    # --- last of all, by its name

    def test_zz_secrets_in_logs(self):
        """Whatever went wrong above, the log has no key, no signature and no token."""
        self.own(self.read(TABLE))
        odd = self.sas().token
        date = email.utils.formatdate(usegmt=True)
        # Tokens in places where they do not belong.
        for path in (f"/{ACCOUNT}/{TABLE}()?{odd}", f"/{ACCOUNT}/{odd}", f"/{odd}/x?{odd}",
                     f"/{ACCOUNT}/{TABLE}(sig={odd})", f"*?{odd}"):
            self.raw(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nReferer: http://x/?{odd}\r\n"
                     f"x-ms-date: {date}\r\nx-ms-client-request-id: {KEY1}\r\n"
                     f"Connection: close\r\n\r\n".encode())
        self.raw(f"GET http://127.0.0.1/{ACCOUNT}/{TABLE}()?{odd} HTTP/1.1\r\nHost: {odd}\r\n\r\n"
                 .encode())
        signature = urllib.parse.parse_qs(odd)["sig"][0]
        log = self.server.log()
        self.assertIn("event=access", log)
        for secret in (KEY1, KEY2, BETA_KEY, made_key("wrong"), signature,
                       urllib.parse.quote(signature, safe=""), "SharedKey"):
            self.assertNotIn(secret, log)
        for line in log.splitlines():
            tail = line.partition("sig=")[2]
            self.assertTrue(not tail or tail.startswith("REDACTED"), line)


class Lines(unittest.TestCase):
    def test_parts_are_what_they_seem(self):
        """The attacks above send what they say."""
        text = part_text("http://h", ("GET", "/a/t()", {"X": "1"}, None))
        self.assertIn("GET http://h/a/t() HTTP/1.1\r\n", text)
        self.assertEqual(query({"a": "b c", "d": None}), "a=b%20c")
