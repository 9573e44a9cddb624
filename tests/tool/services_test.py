"""Queues, blobs, signatures, ping."""

import base64
import hashlib
import os

from tavola import TavolaTest


class Queues(TavolaTest):
    def test_queues(self):
        self.ok("queue", "create", "first")
        self.ok("queue", "create", "second", "--if-absent")
        names = self.ok("queue", "list", "-o", "value").split()
        self.assertLessEqual({"first", "second"}, set(names))
        self.assertEqual(self.ok("queue", "list", "--prefix", "sec", "-o", "value"), "second\n")
        self.assertEqual(self.ok("queue", "exists", "first"), "true\n")
        self.assertEqual(self.run_tool("queue", "exists", "third").returncode, 3)
        self.ok("queue", "policy", "set", "first", "p", "--permissions", "r")
        self.assertEqual(self.lines("queue", "policy", "list", "first"),
                         [{"Id": "p", "Permissions": "r"}])
        self.ok("queue", "delete", "second", "--yes")
        self.fails(3, "queue", "count", "second", says="QueueNotFound: there is no such")

    def test_messages(self):
        self.ok("queue", "create", "work")
        self.assertEqual(self.ok("message", "get", "work"), "")
        self.ok("message", "put", "work", "hello <&> \u00e9")
        self.ok("message", "put", "work", "-", stdin="from stdin")
        self.assertEqual(self.ok("queue", "count", "work"), "2\n")
        self.assertEqual(self.ok("message", "peek", "work", "-n", "32", "--select", "Text", "-o",
                                 "value"), "hello <&> \u00e9\nfrom stdin\n")
        message, = self.lines("message", "get", "work", "--hidden", "60")
        self.assertEqual((message["Text"], message["DequeueCount"]), ("hello <&> \u00e9", 1))
        receipt = self.ok("message", "update", "work", message["MessageId"],
                          message["PopReceipt"], "changed", "--hidden", "0").strip()
        self.fails(3, "message", "delete", "work", message["MessageId"], message["PopReceipt"],
                   says="PopReceipt|MessageNotFound")
        self.assertNotEqual(receipt, message["PopReceipt"])
        self.ok("message", "delete", "work", message["MessageId"], receipt)
        self.assertEqual(self.ok("queue", "count", "work"), "1\n")
        self.ok("queue", "clear", "work", "--yes")
        self.assertEqual(self.ok("queue", "count", "work"), "0\n")

    def test_encoding_and_times(self):
        self.ok("queue", "create", "bytes")
        data = bytes(range(256))
        self.ok("message", "put", "bytes", "-", "--encoding", "base64", "--ttl", "-1", stdin=data)
        self.assertEqual(self.ok("message", "peek", "bytes", "--select", "Text", "-o", "value"),
                         base64.b64encode(data).decode() + "\n")
        done = self.run_tool("message", "get", "bytes", "--encoding", "base64", "--select",
                             "Text", "-o", "value")
        self.assertEqual(done.stdout, data)
        self.ok("message", "put", "bytes", "later", "--hidden", "600")
        self.assertEqual(self.ok("message", "get", "bytes"), "")
        self.ok("message", "put", "bytes", "***")
        self.fails(1, "message", "get", "bytes", "--encoding", "base64", says="not base64")

    def test_encoding_is_a_setting(self):
        """Of the environment as of a flag, for all that has a text: put, peek, get, update."""
        self.ok("queue", "create", "coded")
        setting = self.env | {"TAVOLA_MESSAGE_ENCODING": "base64"}
        self.ok("message", "put", "coded", "gr\u00fc\u00df", env=setting)
        self.assertEqual(self.lines("message", "peek", "coded")[0]["Text"],
                         base64.b64encode("gr\u00fc\u00df".encode()).decode())
        self.assertEqual(self.lines("message", "peek", "coded", env=setting)[0]["Text"],
                         "gr\u00fc\u00df")
        message, = self.lines("message", "get", "coded", env=setting)
        self.assertEqual(message["Text"], "gr\u00fc\u00df")
        self.ok("message", "update", "coded", message["MessageId"], message["PopReceipt"], "",
                "--hidden", "0", env=setting)
        self.assertEqual(self.lines("message", "peek", "coded")[0]["Text"], "")
        self.ok("message", "put", "coded", "YWJj", "--encoding", "text", env=setting)
        self.assertEqual([row["Text"] for row in self.lines("message", "peek", "coded", "-n", "2",
                                                            "--encoding", "base64")], ["", "abc"])
        self.fails(2, "message", "peek", "coded", "--encoding", "utf8",
                   says="--encoding is text or base64")
        self.fails(2, "message", "peek", "coded", env=self.env | {"TAVOLA_MESSAGE_ENCODING": "no"},
                   says="TAVOLA_MESSAGE_ENCODING is text or base64")

    def test_what_is_refused(self):
        self.ok("queue", "create", "strict")
        for words, stdin, says in ((("-",), b"a\0b", "NUL"), (("-",), b"\x01", "control"),
                                   (("-",), b"\xff", "UTF-8"), (("@/nope",), b"", "cannot read"),
                                   (("-",), b"x" * 65537, "64 KiB")):
            with self.subTest(words=words, says=says):
                done = self.run_tool("message", "put", "strict", *words, stdin=stdin)
                self.assertIn(done.returncode, (1, 2))
                self.assertRegex(done.stderr.decode(), rf"\Atavola: [^\n]*{says}[^\n]*\n\Z")
        self.fails(2, "message", "get", "strict", "-n", "33", says="from 1 to 32")
        self.assertEqual(self.ok("queue", "count", "strict"), "0\n")


class Blobs(TavolaTest):
    def test_containers(self):
        self.ok("container", "create", "first")
        self.fails(4, "container", "create", "first", says="ContainerAlreadyExists")
        self.assertEqual(self.ok("container", "list", "-o", "value", "--prefix", "fir"), "first\n")
        self.assertEqual(self.ok("container", "exists", "first"), "true\n")
        self.ok("container", "policy", "set", "first", "p", "--permissions", "r")
        self.assertEqual(len(self.lines("container", "policy", "list", "first")), 1)
        self.ok("container", "delete", "first", "--yes")

    def test_up_and_down_in_any_length(self):
        self.ok("container", "create", "files")
        source, target = self.home / "source", self.home / "target"
        for size in (0, 1, 4 << 20, (9 << 20) + 7):
            with self.subTest(size=size):
                data = os.urandom(size)
                source.write_bytes(data)
                self.ok("blob", "upload", "files", "a/b c\u00e9", str(source))
                self.ok("blob", "download", "files", "a/b c\u00e9", str(target))
                self.assertEqual(target.read_bytes(), data)
                self.ok("blob", "upload", "files", "piped", "-", stdin=data)
                done = self.run_tool("blob", "download", "files", "piped", "-")
                self.assertEqual(hashlib.md5(done.stdout).digest(), hashlib.md5(data).digest())
        self.assertEqual(list(self.home.glob("target*")), [target], "no parts are left")

    def test_downloads_keep_devices_and_links(self):
        self.ok("container", "create", "kept")
        self.ok("blob", "upload", "kept", "b", "-", stdin="data")
        device, link, target = self.home / "device", self.home / "link", self.home / "linked"
        os.mkfifo(device)
        link.symlink_to(target)
        target.write_text("old")
        with open(device, "r+b", buffering=0) as pipe:
            self.ok("blob", "download", "kept", "b", str(device))
            self.assertEqual(pipe.read(4), b"data")
        self.assertTrue(device.is_fifo())
        self.ok("blob", "download", "kept", "b", str(link))
        self.assertTrue(link.is_symlink())
        self.assertEqual(target.read_text(), "data")
        self.ok("blob", "download", "kept", "b", "/dev/null")
        self.fails(2, "blob", "download", "kept", "b", str(self.home), says="Is a directory")

    def test_list_show_delete(self):
        self.ok("container", "create", "listed")
        for name in ("a/1", "a/2", "b"):
            self.ok("blob", "upload", "listed", name, "-", "--content-type", "text/plain",
                    stdin="12345")
        select = ("--select", "Name", "-o", "value")
        self.assertEqual(self.ok("blob", "list", "listed", *select), "a/1\na/2\nb\n")
        self.assertEqual(self.ok("blob", "list", "listed", "--delimiter", "/", *select), "a/\nb\n")
        self.assertEqual(self.ok("blob", "list", "listed", "--prefix", "a", *select), "a/1\na/2\n")
        done = self.run_tool("blob", "list", "listed", "--limit", "2", *select)
        self.assertEqual(done.stdout, b"a/1\na/2\n")
        token = done.stderr.decode().removeprefix("next token: ").strip()
        self.assertEqual(self.ok("blob", "list", "listed", "--token", token, *select), "b\n")
        self.assertEqual(self.ok("blob", "list", "listed", "--page-size", "1", *select),
                         "a/1\na/2\nb\n")
        blob, = self.lines("blob", "show", "listed", "b")
        self.assertEqual((blob["Name"], blob["Size"], blob["ContentType"], blob["Kind"]),
                         ("b", 5, "text/plain", "block"))
        self.fails(4, "blob", "upload", "listed", "b", "-", "--if-absent",
                   says="BlobAlreadyExists|ConditionNotMet")
        self.fails(4, "blob", "upload", "listed", "b", "-", "--if-match", '"0x1"',
                   says="ConditionNotMet")
        self.ok("blob", "upload", "listed", "b", "-", "--if-match", blob["ETag"])
        self.assertEqual(self.ok("blob", "exists", "listed", "b"), "true\n")
        self.ok("blob", "delete", "listed", "b", "--yes")
        self.assertEqual(self.run_tool("blob", "exists", "listed", "b").stdout, b"false\n")
        self.fails(3, "blob", "delete", "listed", "b", "--yes", says="BlobNotFound")
        self.ok("blob", "delete", "listed", "b", "--yes", "--if-exists")

    def test_files_that_cannot_be(self):
        self.ok("container", "create", "odd")
        self.fails(2, "blob", "upload", "odd", "b", "/does/not/exist", says="No such file")
        self.fails(1, "blob", "upload", "odd", "b", "/", says="Is a directory; nothing was")
        self.assertEqual(self.run_tool("blob", "exists", "odd", "b").stdout, b"false\n")
        self.fails(2, "blob", "download", "odd", "b", "/does/not/exist", says="No such file")
        kept = self.home / "kept"
        kept.write_text("mine")
        self.fails(3, "blob", "download", "odd", "none", str(kept), says="BlobNotFound")
        self.assertEqual(kept.read_text(), "mine", "what was there stays")


class Signatures(TavolaTest):
    def explain(self, sas):
        return self.lines("sas", "explain", stdin=sas)[0]

    def test_make_and_explain(self):
        expiry = ("--expiry", "2030-01-02T03:04:05Z")
        for words, expected in (
                (("table", "sas", "People", "--permissions", "ar", "--start-pk", "a", "--end-pk",
                  "b", "--start-rk", "1", "--https-only"),
                 {"Kind": "table", "Permissions": "ra", "Table": "people", "Protocols": "https",
                  "StartPartitionKey": "a", "EndPartitionKey": "b", "StartRowKey": "1"}),
                (("queue", "sas", "work", "--permissions", "rp", "--ip", "1.2.3.4"),
                 {"Kind": "queue", "Permissions": "rp", "AddressRange": "1.2.3.4"}),
                (("container", "sas", "files", "--permissions", "rl"),
                 {"Kind": "container", "Permissions": "rl", "Resource": "c"}),
                (("blob", "sas", "files", "b", "--permissions", "r"),
                 {"Kind": "blob", "Permissions": "r", "Resource": "b"}),
                (("sas", "make", "--permissions", "r", "--services", "tq", "--types", "sco"),
                 {"Kind": "account", "Permissions": "r", "Services": "qt",
                  "ResourceTypes": "sco"})):
            with self.subTest(words):
                found = self.explain(self.ok(*words, *expiry))
                found["Table"] = found.get("Table", "").lower()
                found["Services"] = "".join(sorted(found.get("Services", "")))
                self.assertEqual({name: found[name] for name in expected}, expected)
                self.assertEqual((found["Expiry"], found["Expired"]),
                                 ("2030-01-02T03:04:05Z", False))

    def test_explain_reads_urls_and_files(self):
        sas = self.ok("table", "sas", "People", "--permissions", "r", "--expiry", "2020-01-01")
        found = self.explain("http://host/account/People?" + sas)
        self.assertEqual((found["Kind"], found["Expired"]), ("table", True))
        path = self.home / "sas"
        path.write_text(sas)
        self.assertEqual(self.lines("sas", "explain", f"@{path}")[0]["Kind"], "table")
        self.fails(2, "sas", "explain", stdin="nonsense", says="not a shared access signature")
        self.fails(2, "sas", "explain", "@/nope", says="cannot read")

    def test_policies_carry_what_is_left_out(self):
        self.ok("table", "create", "Ruled")
        self.ok("table", "policy", "set", "Ruled", "pol", "--permissions", "r", "--start",
                "2026-01-01", "--expiry", "+1d")
        found = self.explain(self.ok("table", "sas", "Ruled", "--policy", "pol"))
        self.assertEqual((found["Policy"], "Permissions" in found), ("pol", False))


class Ping(TavolaTest):
    def test_all_services_answer(self):
        rows = self.lines("ping", "--number", "2")
        self.assertEqual([(row["Service"], row["Answer"]) for row in rows],
                         [("table", "ok"), ("queue", "ok"), ("blob", "ok")])
        self.assertGreater(rows[0]["Milliseconds"], 0)

    def test_one_that_does_not(self):
        string = self.server.connection_string.replace(self.server.queue_url,
                                                       "http://127.0.0.1:1/devstoreaccount1")
        done = self.run_tool("ping", "--timeout", "2",
                             env=self.env | {"AZURE_STORAGE_CONNECTION_STRING": string})
        self.assertEqual(done.returncode, 6)
        self.assertRegex(done.stderr.decode(), r"\Atavola: NETWORK: [^\n]+\n\Z")
        self.assertIn('"Service":"queue"', done.stdout.decode())
        self.assertEqual(done.stdout.count(b'"ok"'), 2)
