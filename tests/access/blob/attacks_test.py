"""Attacks on blobs, each named for what it tries.  None may get further than its first word."""

import contextlib
import http.client
import socket
import urllib.parse

from access.attack import AttackCase
from access.blob.requests import VERSION, send
from access.credentials import ACCOUNT, BETA_KEY, KEY1, OTHER_ACCOUNT, TOMORROW, YESTERDAY
from access.talk import Header, Sas, StorageKey, Talk
from sas import account_sas, blob_sas, queue_sas

FILMS, SECRET, OPEN, ROOT = "films", "secret", "open", "$root"
SHOWN, HIDDEN = b"what everybody may see", b"what nobody may see"
BLOCK = {"x-ms-blob-type": "BlockBlob"}


class BlobAttack(AttackCase):
    port = "blob_port"
    send = staticmethod(send)
    master = StorageKey(ACCOUNT, KEY1)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stranger = StorageKey(OTHER_ACCOUNT, BETA_KEY)
        for container, headers in ((FILMS, {}), (SECRET, {}), (ROOT, {}),
                                   (OPEN, {"x-ms-blob-public-access": "container"})):
            cls.own(("PUT", f"/{ACCOUNT}/{container}?restype=container", b"", headers))
        for blob in ("shown", "a/shown", "a", "secret/hidden"):
            cls.put(f"{FILMS}/{blob}", SHOWN)
        cls.put(f"{FILMS}/hidden", HIDDEN)
        for path in (f"{SECRET}/hidden", f"{SECRET}/shown", f"{SECRET}/a/shown", f"{ROOT}/{FILMS}",
                     f"{ROOT}/hidden"):
            cls.put(path, HIDDEN)
        cls.put(f"{OPEN}/shown", SHOWN)
        reply = send(cls.talk, cls.stranger, ("PUT", f"/{OTHER_ACCOUNT}/{SECRET}?restype=container",
                                              b""))
        assert reply.status == 201, reply
        reply = send(cls.talk, cls.stranger, ("PUT", f"/{OTHER_ACCOUNT}/{SECRET}/hidden", HIDDEN,
                                              BLOCK))
        assert reply.status == 201, reply
        cls.times = [cls.shoot(), cls.shoot()]
        cls.put(f"{FILMS}/shot", b"now")

    @classmethod
    def shoot(cls):
        """Two contents in two snapshots of one blob."""
        cls.put(f"{FILMS}/shot", HIDDEN)
        reply = cls.own(("PUT", f"/{ACCOUNT}/{FILMS}/shot?comp=snapshot", b""))
        return reply.headers["x-ms-snapshot"]

    @classmethod
    def put(cls, path, content):
        cls.own(("PUT", f"/{ACCOUNT}/{path}", content, BLOCK))

    def sas(self, container=FILMS, blob=None, sp="racwdl", changed=None, **more):
        return Sas(blob_sas(KEY1, ACCOUNT, container, blob, changed,
                            **{"sp": sp, "se": TOMORROW, **more}))

    def get(self, path, door=None):
        return send(self.talk, door or self.sas(), ("GET", f"/{ACCOUNT}/{path}"))

    def refused(self, reply, status=403, code="AuthenticationFailed"):
        self.assertEqual((reply.status, reply.code), (status, code), reply)
        self.assertNotIn(HIDDEN, reply.body)

    def raw(self, data):
        with socket.create_connection(("127.0.0.1", self.server.blob_port), timeout=60) as s:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            answer = b""
            while chunk := s.recv(65536):
                answer += chunk
            return answer

    # --- tokens

    def test_parameter_given_twice(self):
        """A token parameter twice: neither the first nor the last may be chosen."""
        token = self.sas(sp="r", st=YESTERDAY, sip="127.0.0.1", spr="https,http",
                         rscd="inline").token
        for extra in ("sp=racwdl", f"se={TOMORROW}", f"st={YESTERDAY}", "sr=c", "sr=b",
                      "sip=0.0.0.0-255.255.255.255", "spr=https,http", "sv=2019-02-02", "sig=x",
                      "rscd=attachment", "%73p=racwdl", "s%70=racwdl", "s%72=b"):
            for both in (f"{token}&{extra}", f"{extra}&{token}"):
                with self.subTest(extra):
                    self.refused(self.get(f"{FILMS}/shown", Sas(both)))

    def test_old_token_of_another_service(self):
        """The oldest layout does not say which service a token is for: a queue or a container."""
        for version in ("2012-02-12", "2012-09-19", "2013-08-14"):
            token = queue_sas(KEY1, ACCOUNT, FILMS, sp="raup", se=TOMORROW, sv=version)
            for path in (f"{FILMS}/hidden", f"{FILMS}?restype=container&comp=list"):
                self.refused(self.get(path, Sas(f"{token}&sr=c")))
            own = self.sas(sv=version).token
            with contextlib.closing(Talk(self.server.queue_port)) as talk:
                reply = talk.ask("GET", f"/{ACCOUNT}/{FILMS}/messages?peekonly=true&{own}")
            self.assertEqual((reply.status, reply.headers["x-ms-error-code"]),
                             (403, "AuthenticationFailed"))
        # That of a blob names it, and no queue can have such a name.
        self.assertEqual(self.get(f"{FILMS}/shown", self.sas(FILMS, "shown", sv="2012-02-12")).body,
                         SHOWN)

    def test_account_that_is_not_there(self):
        """Neither an anonymous request nor a wrong key learns which accounts there are."""
        for path in ("", f"{SECRET}/hidden", "?comp=list", f"{SECRET}?restype=container&comp=list"):
            for door in (lambda a: Header(None), lambda a: StorageKey(a, BETA_KEY, signer="nobody"),
                         lambda a: Sas(account_sas(BETA_KEY, a, ss="b", srt="sco", sp="rl",
                                                   se=TOMORROW)),
                         lambda a: Header(f"SharedKey {a}"), lambda a: Header("Bearer x")):
                replies = [send(self.talk, door(account), ("GET", f"/{account}/{path}"))
                           for account in (ACCOUNT, "nosuchaccount")]
                self.assertEqual(len({(r.status, r.code) for r in replies}), 1, (path, replies))
                self.assertIn(replies[0].status, (400, 401, 403))

    def test_operation_parameters_twice(self):
        """With the right to read, no spelling of the query gets a list, or writes."""
        before = self.own(("GET", f"/{ACCOUNT}/{FILMS}?restype=container&comp=list")).body
        for query in ("restype=container&comp=list", "comp=list&restype=container",
                      "restype=container&restype=account&comp=list",
                      "restype=account&restype=container&comp=list&comp=properties",
                      "restype=container&comp=metadata&comp=list", "%72estype=container&comp=list",
                      "RESTYPE=container&COMP=list", "restype=Container&comp=LIST"):
            reply = send(self.talk, self.sas(sp="r"), ("GET", f"/{ACCOUNT}/{FILMS}?{query}"))
            self.assertGreaterEqual(reply.status, 400, (query, reply))
            self.assertNotIn(b"<Blob>", reply.body)
        for query in ("comp=metadata&comp=properties", "comp=blocklist&comp=", "comp=&comp=block",
                      "comp=copy&comp=appendblock", "comp=lease&comp=metadata"):
            reply = send(self.talk, self.sas(sp="r"),
                         ("PUT", f"/{ACCOUNT}/{FILMS}/shown?{query}", b"", BLOCK))
            self.assertGreaterEqual(reply.status, 400, (query, reply))
        after = self.own(("GET", f"/{ACCOUNT}/{FILMS}?restype=container&comp=list")).body
        self.assertEqual(before, after)

    def test_version_variants(self):
        """A version that is not valid, or spelt differently, selects no layout."""
        for version in ("", "2019", "2019-2-2", "2019-02-02 ", " 2019-02-02", "2019-02-02\0",
                        "2010-01-01", "2009-09-19", "x", "٢٠١٩-02-02"):
            for changed in (None, {"sv": version}):
                fields = {"sv": version} if changed is None else {}
                with self.subTest(version):
                    self.refused(self.get(f"{FILMS}/shown", self.sas(changed=changed, **fields)))
        for version in ("2013-08-15", "2018-11-09", "2099-01-01"):
            self.assertEqual(self.get(f"{FILMS}/shown", self.sas(sv=version)).body, SHOWN)

    def test_old_layouts_do_not_sign_the_kind(self):
        """Before 2018-11-09 sr is not signed: changing it must not turn a blob into a container."""
        for version in ("2012-02-12", "2013-08-15", "2015-04-05", "2018-03-28"):
            for path, token in (
                    (f"{FILMS}/hidden", self.sas(FILMS, "shown", "rl", {"sr": "c"}, sv=version)),
                    (f"{FILMS}%2Fa/shown", self.sas(FILMS, "a", "rl", {"sr": "c"}, sv=version)),
                    (f"{FILMS}%2fa%2fshown", self.sas(FILMS, "a", "rl", {"sr": "c"}, sv=version)),
                    (f"{FILMS}/shown", self.sas(FILMS, None, "rl", {"sr": "b"}, sv=version)),
                    (f"{FILMS}/", self.sas(FILMS, None, "rl", {"sr": "b"}, sv=version)),
                    (FILMS, self.sas(FILMS, None, "rl", {"sr": "b"}, sv=version))):
                with self.subTest(version=version, path=path):
                    reply = self.get(path, token)
                    self.assertGreaterEqual(reply.status, 400, reply)
                    self.assertNotIn(HIDDEN, reply.body)

    def test_fields_moved_across_lines(self):
        """The signed text is lines; a value with a line of its own could pass for two fields."""
        for fields, changed in (
                ({"st": YESTERDAY}, {"sp": f"racwdl\n{YESTERDAY}", "st": None}),
                ({"rscc": "a", "rscd": "b"}, {"rscc": "a\nb", "rscd": None}),
                ({"rsct": "text/plain"}, {"rscl": "\ntext/plain", "rsct": None})):
            with self.subTest(changed):
                self.refused(self.get(f"{FILMS}/shown", self.sas(changed=changed, **fields)))

    def test_lines_in_names(self):
        """A blob's name with a line could pass for the fields that follow it."""
        token = self.sas(FILMS, "shown\nfull", "r", sv="2015-04-05")
        self.refused(self.get(f"{FILMS}/shown", token))
        self.refused(self.get(f"{FILMS}/shown%0afull", token))
        self.refused(self.get(f"{FILMS}/shown", Sas(token.token + "&si=full")))

    def test_account_token_with_a_part_of_a_service_token(self):
        token = account_sas(KEY1, ACCOUNT, ss="q", srt="o", sp="r", se=TOMORROW)
        for more in ("&sr=c", "&sr=b", "&ss=b", "&sr=c&ss=b"):
            reply = self.get(f"{FILMS}/shown", Sas(token + more))
            self.assertEqual(reply.status, 403, reply)
        service = self.sas(sp="r").token
        for more in ("&ss=b", "&srt=o", "&ss=b&srt=sco"):
            self.refused(self.get(f"{FILMS}/shown", Sas(service + more)))

    def test_key_and_token_together(self):
        """A wrong header is not made valid by a token, nor the other way round."""
        path, good = self.master.apply("GET", f"/{ACCOUNT}/{FILMS}/shown",
                                       {"x-ms-version": VERSION})
        wrong = {**good, "Authorization": good["Authorization"][:-6] + "AAAAA="}
        self.assertEqual(self.talk.ask("GET", path, None, good).status, 200)
        for headers in (wrong, {**good, "Authorization": "SharedKey"}):
            reply = self.talk.ask("GET", f"{path}?{self.sas().token}", None, headers)
            self.assertGreaterEqual(reply.status, 400)
        reply = self.talk.ask("GET", f"{path}?{self.sas().token}", None, good)
        self.assertEqual(reply.status, 403, "parameters that nobody signed")

    # --- snapshots

    def snapshot_token(self, time, shown=None, sp="rd", **more):
        return self.sas(FILMS, "shot", sp, {"snapshot": shown}, snapshot=time, **more)

    def test_snapshot_token_for_the_blob(self):
        """Without the parameter, with an empty one, or with another time it is not valid."""
        first, second = self.times
        path = f"{FILMS}/shot"
        self.assertEqual(self.get(path, self.snapshot_token(first, first)).body, HIDDEN)
        for query in ("", "?snapshot=", f"?snapshot={second}", f"?snapshot={first[:-1]}",
                      f"?snapshot={first[:-2]}Z", "?Snapshot=" + first, "?snapshot=0"):
            with self.subTest(query):
                self.refused(self.get(path + query, self.snapshot_token(first)))
        for both in (f"?snapshot={first}&snapshot={second}", f"?snapshot={second}&snapshot={first}",
                     f"?snapshot={first}&snapshot=", f"?snapshot=&snapshot={first}",
                     f"?snapshot={first}&%73napshot={second}"):
            with self.subTest(both):
                self.refused(self.get(path + both, self.snapshot_token(first)))

    def test_snapshot_token_as_another_kind(self):
        first = self.times[0]
        for sr in ("b", "c", "BS", "bv", ""):
            token = self.sas(FILMS, "shot", "r", {"sr": sr}, snapshot=first)
            self.refused(self.get(f"{FILMS}/shot", token))
            self.refused(self.get(f"{FILMS}/hidden", token))

    def test_snapshot_token_changes_nothing_but_its_snapshot(self):
        first = self.times[0]
        token = self.snapshot_token(first, first, "racwd")
        for method, query, body, headers in (
                ("PUT", "", b"new", BLOCK), ("PUT", "?comp=metadata", b"", {}),
                ("PUT", "?comp=properties", b"", {}), ("PUT", "?comp=snapshot", b"", {}),
                ("PUT", "?comp=lease", b"", {"x-ms-lease-action": "break"}),
                ("PUT", "?comp=block&blockid=AA==", b"x", {}),
                ("PUT", "?comp=blocklist", b"<BlockList/>", {}),
                ("PUT", "", b"", {"x-ms-copy-source": f"{self.url}/{ACCOUNT}/{OPEN}/shown"})):
            reply = send(self.talk, token, (method, f"/{ACCOUNT}/{FILMS}/shot{query}", body,
                                            headers))
            self.assertIn(reply.status, (400, 403), (query, reply))
        # "include" is about the blob and all of its snapshots.
        for value in ("include", "only"):
            reply = send(self.talk, token, ("DELETE", f"/{ACCOUNT}/{FILMS}/shot", None,
                                            {"x-ms-delete-snapshots": value}))
            self.assertGreaterEqual(reply.status, 400, reply)
        self.assertEqual(self.own(("GET", f"/{ACCOUNT}/{FILMS}/shot")).body, b"now")
        for time in self.times:
            self.own(("GET", f"/{ACCOUNT}/{FILMS}/shot?snapshot={time}"))

    def test_blob_token_with_a_snapshot_added(self):
        """The SAS of a blob is valid for its snapshots, and for those of no other."""
        first = self.times[0]
        token = self.sas(FILMS, "shown", "r")
        self.refused(self.get(f"{FILMS}/shot?snapshot={first}", token))
        token = self.sas(FILMS, "shot", "r")
        self.assertEqual(self.get(f"{FILMS}/shot?snapshot={first}", token).body, HIDDEN)
        reply = send(self.talk, token, ("DELETE", f"/{ACCOUNT}/{FILMS}/shot?snapshot={first}"))
        self.refused(reply, 403, "AuthorizationPermissionMismatch")

    # --- paths

    CLIMBS = ("films/../secret/hidden", "films/%2e%2e/secret/hidden", "films/..%2fsecret/hidden",
              "films%2f..%2fsecret/hidden", "films/%2e%2e%2fsecret%2fhidden",
              "films/./../secret/hidden", "films/a/../../secret/hidden", "films//../secret/hidden",
              "films/..;/secret/hidden", "films/.%2e/secret/hidden",
              "films/%252e%252e/secret/hidden",
              "films/..%5csecret%5chidden", "films\\..\\secret\\hidden", "./films/../secret/hidden",
              "films/%c0%ae%c0%ae/secret/hidden", "films/..%00/secret/hidden",
              "films%00/../secret/hidden", "films/../$root/hidden",
              "films/%2e%2e/%2e%2e/beta/secret/hidden", "films/..", "films/../", "films%20/hidden", "films./shown",
              "films%2e/shown", "FILMS/shown", "%66ilms/../secret/hidden", "/secret/hidden",
              "//secret/hidden", "films;/../secret/hidden", "films?/../secret/hidden",
              "films%3f/hidden", "films#/../secret/hidden", "films%23/hidden")

    def test_path_tricks_with_a_container_token(self):
        """Whatever the spelling: a token of one container gets nothing of another."""
        for path in self.CLIMBS:
            for door in (self.sas(), self.sas(sv="2012-02-12"), Header(None)):
                with self.subTest(path):
                    try:
                        reply = self.get(path, door)
                    except http.client.HTTPException:
                        continue  # not even a request
                    self.assertGreaterEqual(reply.status, 400, reply)
                    self.assertNotIn(HIDDEN, reply.body)

    def test_path_tricks_with_a_blob_token(self):
        """A token of one blob gets no other, however the two could be taken for the same."""
        for blob, path in (
                ("shown", "films/hidden"), ("shown", "films/shown/"), ("shown", "films/shown."),
                ("shown", "films/shown/."), ("shown", "films//shown"), ("shown", "films/./shown"),
                ("shown", "films/shown%2f"), ("shown", "films/Shown"), ("shown", "films/shown%20"),
                ("shown", "films/shown%00"), ("shown", "films/%2fshown"), ("a", "films/a/shown"),
                ("shown", "films/a/shown"), ("shown", "secret/shown"), ("shown", "films/shown%2e"),
                ("a", "films/a/../hidden"), ("a/../hidden", "films/hidden"),
                ("../secret/hidden", "secret/hidden"), ("secret/hidden", "secret/hidden"),
                ("hidden%20", "films/hidden"), ("%68idden", "films/hidden"),
                ("hidden/", "films/hidden"), ("hidden.", "films/hidden"),
                ("Hidden", "films/hidden"), ("a\\shown", "films/a%5Cshown"),
                ("a\\shown", "films/a/shown"), ("secret\\hidden", "secret%5Chidden"),
                ("hidden", "secret%5Chidden"),
                ("hidden?x", "films/hidden?x"), ("hidden", "secret/hidden")):
            with self.subTest(blob=blob, path=path):
                reply = self.get(path, self.sas(FILMS, blob, "r"))
                self.refused(reply, reply.status, reply.code)
                self.assertIn(reply.status, (400, 403), reply)

    def test_same_blob_by_another_spelling(self):
        """Encoding is not part of the name: the signed and the executed are the same blob."""
        for path in ("films/a/shown", "films/a%2Fshown", "films/a%2fshown", "films/%61/shown",
                     "%66ilms/a/shown", "films/a%5Cshown", "films/a\\shown"):
            with self.subTest(path):
                self.assertEqual(self.get(path, self.sas(FILMS, "a/shown", "r")).body, SHOWN)

    def test_root_container_is_one_of_its_own(self):
        """/films without a restype is a blob of $root; tokens of the container do not cover it."""
        self.refused(self.get(FILMS, self.sas()))
        self.refused(self.get("hidden", self.sas()))
        self.refused(self.get("hidden", self.sas(FILMS, "hidden")))
        self.assertEqual(self.get("hidden", self.sas(ROOT)).body, HIDDEN)
        self.assertEqual(self.get("hidden", self.sas(ROOT, "hidden")).body, HIDDEN)
        self.refused(self.get(f"{FILMS}/hidden", self.sas(ROOT, "films/hidden")))

    def test_path_tricks_to_write(self):
        for path in self.CLIMBS:
            with self.subTest(path):
                for method, body in (("PUT", b"evil"), ("DELETE", None)):
                    try:
                        reply = send(self.talk, self.sas(), (method, f"/{ACCOUNT}/{path}", body,
                                                             BLOCK))
                    except http.client.HTTPException:
                        continue
                    # What is a valid name in films may be written there, and is removed again.
                    if reply.status < 300 and method == "PUT":
                        self.assertTrue(path.startswith(("films/", "%66ilms/")), reply)
        for path in (f"{SECRET}/hidden", f"{SECRET}/shown", f"{ROOT}/hidden", f"{FILMS}/hidden"):
            self.assertEqual(self.own(("GET", f"/{ACCOUNT}/{path}")).body, HIDDEN)
        reply = send(self.talk, self.stranger, ("GET", f"/{OTHER_ACCOUNT}/{SECRET}/hidden"))
        self.assertEqual(reply.body, HIDDEN)

    # --- copies

    def copy(self, source, door=None, to="copied", **headers):
        return send(self.talk, door or self.sas(), (
            "PUT", f"/{ACCOUNT}/{FILMS}/{to}", b"",
            {"x-ms-copy-source": source, **{n.replace("_", "-"): v for n, v in headers.items()}}))

    def test_copy_reads_nothing_that_its_token_may_not(self):
        """Whatever a token may do at the destination, it gives no right to read the source."""
        everything = Sas(account_sas(KEY1, ACCOUNT, ss="b", srt="sco", sp="rwdlacup", se=TOMORROW))
        for door in (self.sas(), everything, self.sas(FILMS, "copied")):
            for path in (f"{ACCOUNT}/{SECRET}/hidden", f"{ACCOUNT}/{FILMS}/hidden",
                         f"{OTHER_ACCOUNT}/{SECRET}/hidden",
                         f"{ACCOUNT}/{FILMS}/shot?snapshot={self.times[0]}",
                         f"{ACCOUNT}/{FILMS}/%2e%2e/{SECRET}/hidden",
                         f"{ACCOUNT}/{OPEN}/../{SECRET}/hidden",
                         f"{ACCOUNT}/{OPEN}/shown/../../{SECRET}/hidden", f"{ACCOUNT}/hidden",
                         f"{ACCOUNT}-secondary/{SECRET}/hidden"):
                for sync in ("true", "false"):
                    with self.subTest(path):
                        self.refused(self.copy(f"{self.url}/{path}", door,
                                               x_ms_requires_sync=sync),
                                     404 if f"/{OPEN}/" in path else 401,  # a name in there
                                     "CannotVerifyCopySource")
        self.refused(self.get(f"{FILMS}/copied", self.master), 404, "BlobNotFound")

    def test_copy_by_a_token_that_is_added_to_the_source(self):
        """The token of the destination, put on the source, is what it is: one of another blob."""
        for token in (self.sas(FILMS, "copied"), self.sas(FILMS)):
            self.refused(self.copy(f"{self.url}/{ACCOUNT}/{SECRET}/hidden?{token.token}", token),
                         403, "CannotVerifyCopySource")
        self.refused(self.copy(f"{self.url}/{ACCOUNT}/{FILMS}/hidden?"
                               f"{self.sas(FILMS, 'copied').token}", self.sas(FILMS, "copied")),
                     403, "CannotVerifyCopySource")

    def test_copy_from_other_accounts(self):
        """The key of one account is no key to another's blobs."""
        for door in (self.master, self.sas()):
            for path in (f"{OTHER_ACCOUNT}/{SECRET}/hidden", f"{OTHER_ACCOUNT}-secondary/{SECRET}/"
                         "hidden", f"{OTHER_ACCOUNT}/{SECRET}/none", f"nobody/{SECRET}/hidden"):
                reply = self.copy(f"{self.url}/{path}", door)
                self.assertIn(reply.status, (401, 403), reply)
                self.assertEqual(reply.code, "CannotVerifyCopySource")
        port = self.server.blob_port
        for host in (f"{OTHER_ACCOUNT}.blob.localhost:{port}", f"BETA.BLOB.localhost:{port}"):
            reply = self.copy(f"http://{host}/{SECRET}/hidden", self.master)
            self.assertEqual(reply.code, "CannotVerifyCopySource", reply)

    def test_copy_source_that_is_no_blob_of_this_server(self):
        """No connection is made to any place, and nothing is read but blobs."""
        with socket.socket() as trap:
            trap.bind(("127.0.0.1", 0))
            trap.listen()
            trap.settimeout(0.2)
            port = trap.getsockname()[1]
            own = self.server.blob_port
            for source in (f"http://127.0.0.1:{port}/{ACCOUNT}/{OPEN}/shown",
                           f"http://localhost:{port}/x",
                           f"http://127.0.0.1:{own}@127.0.0.1:{port}/x",
                           f"http://127.0.0.1:{port}#@127.0.0.1:{own}/{ACCOUNT}/{OPEN}/shown",
                           f"http://127.0.0.1:{port}\\@127.0.0.1:{own}/{ACCOUNT}/{OPEN}/shown",
                           "file:///etc/passwd", "ftp://127.0.0.1/x", "//127.0.0.1/x", "/x", "x",
                           "",
                           f"http://127.0.0.1:{self.server.admin_port}/metrics",
                           f"http://127.0.0.1:{self.server.table_port}/{ACCOUNT}/Tables",
                           f"{self.url}/{ACCOUNT}/{OPEN}?restype=container&comp=list",
                           f"{self.url}/{ACCOUNT}/?comp=list", f"{self.url}/{ACCOUNT}/",
                           f"{self.url}/", f"{self.url}", f"{self.url}/{ACCOUNT}/{OPEN}/shown?comp="
                           "metadata", "http://" + "a" * 5000):
                with self.subTest(source):
                    reply = self.copy(source, self.master)
                    self.assertIn(reply.status, (400, 403, 404), reply)
            with self.assertRaises(TimeoutError):
                trap.accept()

    def test_copy_of_what_is_public_needs_nothing(self):
        for sync in ("true", "false"):
            reply = self.copy(f"{self.url}/{ACCOUNT}/{OPEN}/shown", self.sas(FILMS, "public", "cw"),
                              "public", x_ms_requires_sync=sync)
            self.assertEqual(reply.status, 202, reply)
        self.assertEqual(self.get(f"{FILMS}/public").body, SHOWN)

    def test_copy_does_not_keep_the_token_of_its_source(self):
        """x-ms-copy-source of the copy is for everybody who may read it."""
        token = self.sas(FILMS, "hidden", "r").token
        reply = self.copy(f"{self.url}/{ACCOUNT}/{FILMS}/hidden?{token}", None, "kept")
        self.assertEqual(reply.status, 202, reply)
        headers = self.own(("HEAD", f"/{ACCOUNT}/{FILMS}/kept")).headers
        self.assertTrue(headers["x-ms-copy-source"].endswith(f"/{FILMS}/hidden"), headers)
        listed = self.own(("GET", f"/{ACCOUNT}/{FILMS}?restype=container&comp=list&include=copy"))
        self.assertNotIn(b"sig=", listed.body)

    def test_create_only_never_replaces(self):
        """Two permissions that may not change what is there, not even with its lease: c and a."""
        lease = {"x-ms-lease-id": "00000000-1111-2222-3333-444444444444"}
        self.own(("PUT", f"/{ACCOUNT}/{FILMS}/hidden?comp=lease", b"", {
            "x-ms-lease-action": "acquire", "x-ms-lease-duration": "-1",
            "x-ms-proposed-lease-id": lease["x-ms-lease-id"]}))
        for sp in ("c", "a", "ca"):
            door = self.sas(FILMS, "hidden", sp)
            for method, query, body, headers in (
                    ("PUT", "", b"evil", BLOCK), ("PUT", "", b"", {"x-ms-blob-type": "AppendBlob"}),
                    ("PUT", "", b"evil", {**BLOCK, "If-None-Match": "\"x\""}),
                    ("PUT", "", b"evil", {**BLOCK, "If-Match": "*"}),
                    ("PUT", "", b"evil", {**BLOCK, "If-None-Match": "*", **lease}),
                    ("PUT", "", b"evil", {**BLOCK, **lease}),
                    ("PUT", "?comp=blocklist", b"<BlockList/>", {"If-None-Match": "*", **lease}),
                    ("PUT", "?comp=blocklist", b"<BlockList/>", {}),
                    ("PUT", "?comp=block&blockid=AA==", b"x", {}),
                    ("PUT", "?comp=metadata", b"", {"x-ms-meta-a": "b"}),
                    ("PUT", "?comp=properties", b"", {}), ("DELETE", "", None, {}),
                    ("PUT", "", b"", {"x-ms-copy-source": f"{self.url}/{ACCOUNT}/{OPEN}/shown"})):
                reply = send(self.talk, door, (method, f"/{ACCOUNT}/{FILMS}/hidden{query}", body,
                                               headers))
                self.assertIn(reply.status, (403, 412), (sp, query, headers, reply))
        self.own(("PUT", f"/{ACCOUNT}/{FILMS}/hidden?comp=lease", b"",
                  {"x-ms-lease-action": "release", **lease}))
        self.assertEqual(self.own(("GET", f"/{ACCOUNT}/{FILMS}/hidden")).body, HIDDEN)

    def test_protocol_of_a_copy_source(self):
        """A token for HTTPS alone travels in a header: what counts is how the header came."""
        token = self.sas(FILMS, "hidden", "r", spr="https").token
        for scheme in ("http", "https"):
            url = f"{scheme}://127.0.0.1:{self.server.blob_port}/{ACCOUNT}/{FILMS}/hidden?{token}"
            reply = send(self.talk, self.sas(OPEN, "stolen", "cw"),
                         ("PUT", f"/{ACCOUNT}/{OPEN}/stolen", b"", {"x-ms-copy-source": url}))
            self.assertEqual((reply.status, reply.code), (403, "CannotVerifyCopySource"), reply)

    # --- what comes back

    def test_header_injection_by_overrides(self):
        """A client that may sign may still not write lines into an answer to somebody else."""
        for value in ("a\r\nX-Injected: yes", "a\nX-Injected: yes", "a\rX-Injected: yes", "a\0b",
                      "\r\n\r\n<html>", "a\x0bX-Injected: yes", "\x7f"):
            for name in ("rscc", "rscd", "rsce", "rscl", "rsct"):
                for version in ("2012-02-12", "2013-08-15", "2019-02-02", "2020-12-06"):
                    token = self.sas(FILMS, "shown", "r", sv=version, **{name: value}).token
                    for method in ("GET", "HEAD"):
                        answer = self.raw(
                            f"{method} /{ACCOUNT}/{FILMS}/shown?{token} HTTP/1.1\r\n"
                            f"Host: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
                        head = answer.partition(b"\r\n\r\n")[0]
                        self.assertNotRegex(head, rb"[\r\n\x0b\0]X-Injected", (name, value))
                        self.assertNotIn(b"<html>", answer)
                        self.assertNotIn(b"\0", head)
                        self.assertEqual(answer.count(b"HTTP/1.1 "), 1, answer)

    def test_overrides_are_for_reads_by_their_token(self):
        reply = self.get(f"{FILMS}/shown", self.sas(FILMS, "shown", "r", rscd="attachment; a=\"b\"",
                                                    rsct="text/x", rscc="no-store"))
        self.assertEqual((reply.headers["Content-Disposition"], reply.headers["Content-Type"],
                          reply.headers["Cache-Control"]),
                         ("attachment; a=\"b\"", "text/x", "no-store"))
        for path in (f"{OPEN}/shown?rscd=evil&rsct=text/html", f"{OPEN}/shown?rsct=text/html"):
            reply = self.get(path, Header(None))
            self.assertNotEqual(reply.headers["Content-Type"], "text/html", "nobody signed that")
        old = self.sas(FILMS, "shown", "r", sv="2012-02-12").token + "&rsct=text/html"
        reply = self.get(f"{FILMS}/shown", Sas(old))
        self.assertNotEqual(reply.headers["Content-Type"], "text/html", "nobody signed that")

    def test_header_injection_by_what_is_stored(self):
        for name in ("x-ms-blob-content-type", "x-ms-blob-content-disposition",
                     "x-ms-blob-cache-control", "x-ms-meta-a", "x-ms-blob-content-language"):
            for value in ("a\rX-Injected: yes", "a\x0bX-Injected: yes", "a\x01b"):
                path, headers = self.sas(FILMS, "odd", "rcw").apply(
                    "PUT", f"/{ACCOUNT}/{FILMS}/odd", {})
                lines = "".join(f"{n}: {v}\r\n" for n, v in {
                    **BLOCK, name: value, "Host": "127.0.0.1", "Content-Length": "1",
                    "Connection": "close"}.items())
                self.raw(f"PUT {path} HTTP/1.1\r\n{lines}\r\nx".encode())
                answer = self.raw(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                  "Connection: close\r\n\r\n".encode())
                self.assertNotRegex(answer.partition(b"\r\n\r\n")[0], rb"[\r\n\x0b]X-Injected")

    def test_anonymous_learns_nothing(self):
        """What is private and what is not there look the same to requests without credentials."""
        for method, suffix in (("GET", ""), ("HEAD", ""), ("GET", "?comp=metadata"),
                               ("GET", "?comp=blocklist"), ("GET", "?snapshot=2026-01-01T00:00:00"
                                                            ".0000000Z")):
            outcomes = {(r.status, r.code) for r in (
                send(self.talk, Header(None), (method, f"/{ACCOUNT}/{path}{suffix}"))
                for path in (f"{SECRET}/hidden", f"{SECRET}/none", "none/none", "hidden"))}
            self.assertEqual(len(outcomes), 1, outcomes)
            self.assertEqual(outcomes.pop()[0], 401)

    def test_zz_secrets_in_logs(self):
        """Whatever went wrong above, the log has no key, no signature and no token."""
        token = self.sas(FILMS, "hidden", "r").token
        self.copy(f"{self.url}/{ACCOUNT}/{FILMS}/hidden?{token}", None, "kept")
        self.get(f"{FILMS}/hidden", self.sas(FILMS, "hidden", "r"))
        signature = urllib.parse.parse_qs(token)["sig"][0]
        log = self.server.log()
        self.assertIn("event=access", log)
        for secret in (KEY1, BETA_KEY, signature, urllib.parse.quote(signature, safe=""),
                       "SharedKey"):
            self.assertNotIn(secret, log)
        for line in log.splitlines():
            tail = line.partition("sig=")[2]
            self.assertTrue(not tail or tail.startswith("REDACTED"), line)
