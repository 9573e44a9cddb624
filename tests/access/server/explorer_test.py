"""Who gets into the server's own page, and that nothing stored becomes a page there."""

import gzip
import http.client
import json
import pathlib
import re
import socket
import threading
import unittest

from explorer import Page, new_link
from server import ACCOUNT, Server
from until import until

TABLE = f"/api/table/{ACCOUNT}"
JSON = ("Content-Type", "application/json")
HTML = ("Accept", "text/html,application/xhtml+xml")
GZIP = ("Accept-Encoding", "gzip, deflate")


class Explorer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(engine="rocksdb")
        cls.server.start()
        cls.page = Page(cls.server, new_link(cls.server))

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0, cls.server.log()
        cls.server.clean()

    def status(self, *arguments, page=None, **options):
        return (page or self.page).ask(*arguments, **options)[0]

    def test_a_session_is_the_accounts_owner_in_every_service(self):
        for method, path, body, headers, wanted in (
                ("POST", f"{TABLE}/Tables", '{"TableName":"Owned"}', [JSON], 201),
                ("POST", f"{TABLE}/Owned", '{"PartitionKey":"p","RowKey":"r"}', [JSON], 201),
                ("GET", f"{TABLE}/Owned(PartitionKey='p',RowKey='r')", None, [], 200),
                ("DELETE", f"{TABLE}/Owned(PartitionKey='p',RowKey='r')", None,
                 [("If-Match", "*")], 204),
                ("PUT", f"/api/queue/{ACCOUNT}/owned", None, [], 201),
                ("PUT", f"/api/blob/{ACCOUNT}/owned?restype=container", None, [], 201),
                ("PUT", f"/api/blob/{ACCOUNT}/owned/b", "x", [("x-ms-blob-type", "BlockBlob")],
                 201)):
            with self.subTest(method=method, path=path):
                self.assertEqual(self.status(method, path, body, headers=headers), wanted)
        self.assertEqual(self.status("GET", "/api/table/nobody/Tables"), 403)

    def test_the_sample_of_keys_is_in_order_and_for_sessions_alone(self):
        self.status("POST", f"{TABLE}/Tables", '{"TableName":"Ladder"}', headers=[JSON])
        keys = [(partition, row) for partition in ("", "a", "b'%2F") for row in ("", "1", "\u05d0")]
        for partition, row in reversed(keys):
            body = json.dumps({"PartitionKey": partition, "RowKey": row})
            self.assertEqual(self.status("POST", f"{TABLE}/Ladder", body, headers=[JSON]), 201)
        path = "/facts?table=Ladder&parts=keys"
        facts = json.loads(self.page.ask("GET", path)[2])
        self.assertEqual([(key["partitionKey"], key["rowKey"]) for key in facts["sample"]["keys"]],
                         keys)
        self.assertEqual((facts["entities"], facts["sample"]["isAll"]), (9, True))
        self.assertNotIn("properties", facts)
        self.assertEqual(self.status("GET", path, page=Page(self.server)), 401)
        self.assertEqual(self.status("GET", "/facts?table=Ladder&parts=other"), 400)

    def test_both_words_of_a_session_are_needed(self):
        other = Page(self.server, new_link(self.server))
        for cookie, word in ((None, None), (self.page.cookie, None), (None, self.page.word),
                             (self.page.cookie, other.word), (other.cookie, self.page.word),
                             (self.page.cookie, self.page.word[:-1]),
                             (self.page.cookie[:-1], self.page.word),
                             (self.page.cookie.replace("tavola", "x"), self.page.word),
                             (self.page.cookie, self.page.word + "0"),
                             (self.page.cookie, "0" * 64), (self.page.cookie, "1")):
            page = Page(self.server)
            page.cookie, page.word = cookie, word
            for method, path in (("GET", "/api/hello"), ("GET", f"{TABLE}/Tables"),
                                 ("POST", "/api/sign"), ("POST", f"{TABLE}/Tables"),
                                 ("POST", "/link")):
                with self.subTest(cookie=cookie, word=word, path=path):
                    self.assertEqual(self.status(method, path, page=page), 401)
        self.assertEqual(self.status("GET", "/api/hello", page=other), 200)

    def test_the_cookie_is_for_this_page_alone(self):
        page = Page(self.server)
        _, headers = page.login(new_link(self.server))
        cookie = headers["Set-Cookie"]
        self.assertRegex(cookie, rf"\Atavola{self.server.admin_port}=[0-9a-f]{{64}}; ")
        for attribute in ("HttpOnly", "SameSite=Strict", "Path=/"):
            self.assertIn(attribute, cookie)
        self.assertNotIn("Domain", cookie)

    def test_cookies_of_other_ports_lock_nobody_out(self):
        """A server on another port can set one of this name for a longer path: it comes first."""
        page = Page(self.server, new_link(self.server))
        own, name = page.cookie, f"tavola{self.server.admin_port}"
        for others in (["x"], ["0" * 64], ["0" * 64, "", "1" * 64], ["0" * 64] * 50):
            planted = "; ".join(f"{name}={word}" for word in others)
            for cookie in (f"{planted}; {own}", f"{own}; {planted}", f"a=b;{planted};{own};c=d"):
                page.cookie = cookie
                with self.subTest(cookie=cookie[:60]):
                    self.assertEqual(self.status("GET", "/api/hello", page=page), 200)
            page.cookie = planted
            self.assertEqual(self.status("GET", "/api/hello", page=page), 401)
        page.cookie = f"{name}={'0' * 64}; {own}"
        self.assertEqual(self.status("POST", "/api/logout", page=page), 204)
        self.assertEqual(self.status("GET", "/api/hello", page=page), 401)

    def test_failed_logins_leave_the_log_to_others(self):
        before = self.server.log().count("no such link")
        for _ in range(200):
            self.assertEqual(Page(self.server).login("0" * 64)[0], 403)
        self.assertLess(self.server.log().count("no such link") - before, 10)

    def test_a_link_works_once(self):
        link = new_link(self.server)
        self.assertEqual(Page(self.server).login(link)[0], 200)
        status, _, body = Page(self.server).ask("POST", "/api/login", json.dumps({"word": link}))
        self.assertEqual(status, 403)
        self.assertIn(b"This link has been used", body)

    def test_links_are_not_guessed(self):
        link = new_link(self.server)
        for word in ("", "0" * 64, link[:-1], link + "0", link.upper(), "x" * 5000, "\u00e9" * 32):
            with self.subTest(word=word[:70]):
                self.assertEqual(Page(self.server).login(word)[0], 403 if word != link else 200)
        for body in ("", "{}", "[]", '{"word":1}', '{"word":"a","word":"b"}', '{"x":"y"}', "\xff"):
            with self.subTest(body=body):
                self.assertEqual(self.status("POST", "/api/login", body, session=False), 400)
        self.assertEqual(Page(self.server).login(link)[0], 200)

    def test_the_ninth_link_ends_the_first(self):
        links = [new_link(self.server) for _ in range(9)]
        self.assertEqual(Page(self.server).login(links[0])[0], 403)
        self.assertEqual(Page(self.server).login(links[8])[0], 200)

    def test_pages_of_other_origins_are_refused_even_with_a_session(self):
        own = f"http://127.0.0.1:{self.server.admin_port}"
        paths = (("GET", "/api/hello"), ("GET", f"{TABLE}/Tables"), ("POST", "/api/login"),
                 ("GET", "/"))
        for headers in ([("Origin", "http://evil.example")], [("Origin", "null")],
                        [("Origin", own + "0")], [("Sec-Fetch-Site", "cross-site")],
                        [("Sec-Fetch-Site", "same-site")],
                        [("Origin", f"http://127.0.0.1:{self.server.table_port}")],
                        [("Origin", own), ("Origin", "http://evil.example")]):
            for method, path in paths:
                with self.subTest(headers=headers, path=path):
                    self.assertEqual(
                        self.status(method, path, headers=headers + [HTML, GZIP]), 403)
        self.assertEqual(self.status("GET", "/api/hello", headers=[("Origin", own)]), 200)

    def test_names_that_anybody_can_make_point_here_are_refused(self):
        port = self.server.admin_port
        for host in (f"evil.example:{port}", "intranet", f"localhost.evil.example:{port}"):
            with self.subTest(host=host):
                for path in ("/api/hello", "/", f"{TABLE}/Tables"):
                    self.assertEqual(self.status("GET", path, host=host, headers=[HTML, GZIP]), 403)

    def test_a_session_opens_nothing_on_the_services_ports(self):
        connection_page = Page(self.server)
        connection_page.cookie, connection_page.word = self.page.cookie, self.page.word
        admin = self.server.admin_port
        for port, path in ((self.server.table_port, f"/{ACCOUNT}/Tables"),
                           (self.server.queue_port, f"/{ACCOUNT}?comp=list"),
                           (self.server.blob_port, f"/{ACCOUNT}?comp=list"),
                           (self.server.table_port, f"{TABLE}/Tables")):
            self.server.admin_port = port
            try:
                self.assertIn(self.status("GET", path, page=connection_page), (400, 401, 403))
            finally:
                self.server.admin_port = admin

    def test_the_page_has_a_strict_policy(self):
        status, headers, body = self.page.ask("GET", "/", headers=[HTML, GZIP])
        self.assertEqual(status, 200)
        policy = headers["Content-Security-Policy"]
        for part in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'",
                     "base-uri 'none'", "form-action 'none'", "connect-src 'self'"):
            self.assertIn(part, policy)
        self.assertNotIn("unsafe", policy)
        self.assertEqual(headers["X-Frame-Options"], "DENY")
        text = gzip.decompress(body).decode()
        self.assertNotRegex(text, r"(?i)<script(?![^>]*\bsrc=)")
        self.assertNotRegex(text, r"(?i)\son[a-z]+=|style=|https?://")
        for path in re.findall(r'(?:src|href)="([^"]+)"', text):
            with self.subTest(path=path):
                status, headers, _ = self.page.ask("GET", "/" + path.lstrip("/"), headers=[GZIP])
                self.assertEqual(status, 200)
                self.assertIn("immutable", headers["Cache-Control"])

    def test_others_get_the_list_of_what_is_here(self):
        status, headers, body = self.page.ask("GET", "/", session=False)
        self.assertEqual(status, 200)
        self.assertIn(b"/healthz", body)

    def test_files_are_found_by_name_alone(self):
        for path in ("/app/", "/app/../admin.token", "/app/%2e%2e/admin.token", "/app/x/shell.js",
                     "/app/0000000000000000/index.html", "/app//etc/passwd"):
            with self.subTest(path=path):
                self.assertEqual(self.status("GET", path, headers=[GZIP]), 404)

    def test_nothing_that_is_stored_runs_here(self):
        self.status("PUT", f"/api/blob/{ACCOUNT}/hostile?restype=container")
        script = "<script>alert(1)</script>"
        self.assertEqual(
            self.status("PUT", f"/api/blob/{ACCOUNT}/hostile/x.html", script,
                        headers=[("x-ms-blob-type", "BlockBlob"), ("Content-Type", "text/html")]),
            201)
        status, headers, body = self.page.ask("GET", f"/api/blob/{ACCOUNT}/hostile/x.html")
        self.assertEqual((status, body), (200, script.encode()))
        self.assertTrue(headers["Content-Security-Policy"].startswith("sandbox;"))
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(headers["Cross-Origin-Resource-Policy"], "same-origin")
        # A link that is followed has no word of the page: it gets nothing.
        page = Page(self.server)
        page.cookie = self.page.cookie
        self.assertEqual(
            self.status("GET", f"/api/blob/{ACCOUNT}/hostile/x.html", page=page,
                        headers=[("Sec-Fetch-Site", "none")]), 401)

    def test_the_log_and_the_bundle_are_the_owners_alone(self):
        token = self.server.admin_token()
        stranger = Page(self.server)
        for path in ("/log", "/bundle", "/requests", "/log?after=0", "/api/tree",
                     f"/api/tree?account={ACCOUNT}"):
            for headers in ([], [("Authorization", "Bearer " + "0" * 64)],
                            [("Cookie", self.page.cookie)], [("x-tavola-page", self.page.word)]):
                with self.subTest(path=path, headers=headers):
                    self.assertEqual(self.status("GET", path, page=stranger, headers=headers), 401)
            self.assertEqual(self.status("GET", path), 200)
            self.assertEqual(self.status("GET", path, headers=[("Origin", "http://evil.example")]),
                             403)
            self.assertEqual(self.status("GET", path, host="evil.example"), 403)
        for path in ("/log", "/bundle", "/requests"):
            self.assertEqual(self.status("GET", path, page=stranger,
                                         headers=[("Authorization", f"Bearer {token}")]), 200)
            self.assertIn(self.status("POST", path), (404, 405))

    def test_parameters_of_the_log_meet_limits(self):
        for query, wanted in (("lines=1", 200), ("lines=2048", 200), ("lines=2049", 400),
                              ("lines=0", 400), ("lines=-1", 400), ("after=18446744073709551615", 200),
                              ("after=18446744073709551616", 400), ("after=x", 400),
                              ("level=warn", 200), ("level=loud", 400), ("text=" + "a" * 256, 200),
                              ("text=" + "a" * 257, 400), ("text=%00%ff", 400), ("text=%C3%A9", 200), ("text=%zz", 400)):
            with self.subTest(query=query[:40]):
                status, headers, body = self.page.ask("GET", f"/log?{query}")
                self.assertEqual(status, wanted, body)
                if status == 200:
                    self.assertEqual(headers["Content-Type"], "application/json")
                    self.assertLessEqual(len(json.loads(body)["lines"]), 2048)

    def test_the_log_is_what_was_logged_and_no_more(self):
        with Server("--access-log", engine="rocksdb") as server:
            page = Page(server, new_link(server))
            token = server.admin_token()
            for path in ("/%3Cscript%3Ealert(1)%3C/script%3E",
                         "/a%22%0d%0alevel=error%20event=forged"):
                page.ask("GET", f"{TABLE}{path}?sv=1&sig=aVerySecretSignature")
            for _ in range(300):
                page.ask("GET", f"{TABLE}/{'x' * 1500}")
            answer = json.loads(page.ask("GET", "/log?lines=2048")[2])
            lines = [line["text"] for line in answer["lines"]]
            until(lambda: lines[-1] in server.log(), lines[-1])  # kept a moment before it is written
            written = set(server.log().splitlines())
            for line in lines:
                self.assertIn(line, written)
            self.assertEqual([line["n"] for line in answer["lines"]],
                             list(range(answer["first"], answer["last"] + 1)))
            self.assertGreater(answer["first"], 1)  # 300 long lines are more than is kept
            self.assertLess(sum(map(len, lines)), 256 * 1024 + 1)
            text = "\n".join(lines) + page.ask("GET", "/bundle")[2].decode()
            for secret in ("aVerySecretSignature", token, page.word, page.cookie.split("=")[1],
                           "Eby8vdM02xNOcqFlqUwJ"):
                self.assertNotIn(secret, text)
            after = answer["last"]
            page.ask("GET", f"{TABLE}/Tables('later')")

            def later():  # logged after the answer was sent
                return json.loads(page.ask("GET", f"/log?after={after}&text=later")[2])["lines"]
            until(later, "the request is logged")
            self.assertTrue(all(line["n"] > after for line in later()))

    def test_requests_are_those_of_clients_without_what_signs_them(self):
        table = http.client.HTTPConnection("127.0.0.1", self.server.table_port)

        def ask(path):
            table.request("GET", path, headers={"User-Agent": 'me"\\\u00e9', "x-ms-version": "2019-02-02"})
            with table.getresponse() as reply:
                reply.read()
                return reply.status

        def read(after=0, count=2048):
            status, headers, body = self.page.ask("GET", f"/requests?after={after}&count={count}")
            self.assertEqual((status, headers["Content-Type"]), (200, "application/json"))
            return json.loads(body)
        after = read()["last"]  # it begins here
        self.assertEqual(ask(f"/{ACCOUNT}/a%22?sv=1&sig=aVerySecretSignature&$filter=secret"), 403)
        self.page.ask("GET", f"{TABLE}/Tables('by-the-page')")
        until(lambda: read(after)["requests"], "it is kept")
        answer = read(after)
        self.assertFalse(answer["wasOff"])
        self.assertEqual(len(answer["requests"]), 1)
        kept, = answer["requests"]
        self.assertEqual((kept["method"], kept["status"], kept["service"], kept["n"]),
                         ("GET", 403, "table", after + 1))
        self.assertEqual((kept["path"], kept["agent"]), (f"/{ACCOUNT}/a%22", "me????"[:len(kept["agent"])]))
        self.assertTrue(kept["code"])
        for secret in ("aVerySecret", "secret", "by-the-page"):
            self.assertNotIn(secret, json.dumps(answer))
        # Nobody reads: it is bounded, and the numbers tell what is gone.
        for _ in range(400):
            ask(f"/{ACCOUNT}/{'x' * 1500}?sig=aVerySecretSignature")
        until(lambda: read()["last"] == after + 401, "all are counted")
        answer = read()
        numbers = [each["n"] for each in answer["requests"]]
        self.assertEqual(numbers, list(range(answer["first"], after + 402)))
        self.assertGreater(answer["first"], after + 1)
        self.assertEqual([each["n"] for each in read(count=2)["requests"]], [after + 400, after + 401])
        self.assertEqual(read(after=after + 401)["requests"], [])
        self.assertEqual(read(after=after + 5000)["requests"], [])
        table.close()

    def test_parameters_of_the_requests_meet_limits(self):
        for query, wanted in (("count=1", 200), ("count=2048", 200), ("count=2049", 400),
                              ("count=0", 400), ("count=x", 400), ("after=-1", 400),
                              ("after=18446744073709551614", 200),
                              ("after=18446744073709551615", 400), ("after=%zz", 400)):
            with self.subTest(query=query):
                self.assertEqual(self.page.ask("GET", f"/requests?{query}")[0], wanted)

    def test_a_session_ends_when_it_is_left(self):
        page = Page(self.server, new_link(self.server))
        self.assertEqual(self.status("POST", "/api/logout", page=page), 204)
        self.assertEqual(self.status("GET", "/api/hello", page=page), 401)
        self.assertEqual(self.status("GET", "/api/hello"), 200)

    def test_whoever_listens_on_the_port_of_a_server_that_is_down_gets_nothing_of_use(self):
        with Server(engine="rocksdb") as server:
            for end in (server.kill, server.stop):
                page, unused = Page(server, new_link(server)), new_link(server)
                self.assertEqual(page.ask("GET", "/api/hello")[0], 200)
                end()
                heard = self.hear(server.admin_port, lambda: page.ask("GET", "/api/hello"))
                server.start()
                self.assertIn(page.word.encode(), heard)
                self.assertIn(page.cookie.encode(), heard)
                self.assertEqual(page.ask("GET", "/api/hello")[0], 401)
                self.assertEqual(Page(server).login(unused)[0], 403)
                for path in pathlib.Path(server.data).rglob("*"):
                    self.assertNotEqual(path.name, "sessions")

    @staticmethod
    def hear(port, ask):
        """What `ask` sends to another user of the machine who listens on the port."""
        heard = []

        def answer():
            with thief.accept()[0] as peer:
                heard.append(peer.recv(65536))
                peer.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

        with socket.create_server(("127.0.0.1", port)) as thief:
            thread = threading.Thread(target=answer)
            thread.start()
            ask()
            thread.join()
        return heard[0]

    def test_it_can_be_switched_off(self):
        with Server("--no-explorer", engine="rocksdb") as server:
            page = Page(server)
            token = server.admin_token()
            for method, path in (("GET", "/api/hello"), ("POST", "/api/login"),
                                 ("POST", "/link"), ("GET", f"{TABLE}/Tables"),
                                 ("GET", "/app/x")):
                with self.subTest(path=path):
                    self.assertEqual(
                        page.ask(method, path, headers=[("Authorization", f"Bearer {token}")])[0],
                        404)
            self.assertNotIn(b"Explorer", page.ask("GET", "/", headers=[HTML, GZIP])[2])


if __name__ == "__main__":
    unittest.main()
