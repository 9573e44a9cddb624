"""Which account is used, and where keys may be and may not."""

import json
import socket
import subprocess

import certificate
from server import KEY, Server, free_ports
from tavola import PROGRAM, TavolaTest, needs_tavolad, wait_for_input


class Connections(TavolaTest):
    def setUp(self):
        self.plain = {name: value for name, value in self.env.items()
                      if not name.startswith("AZURE_")}
        self.file = self.home / ".config/tavola/connections"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.write(f"# mine\n\nlocal = {self.server.connection_string}\n"
                   f"  two\t=\t{self.server.connection_string}  \nbad = nonsense\n")

    def write(self, text, mode=0o600):
        self.file.write_text(text)
        self.file.chmod(mode)

    def test_by_name(self):
        for name in ("local", "two"):
            done = self.run_tool("-c", name, "table", "exists", "Nope", env=self.plain)
            self.assertEqual(done.stdout, b"false\n")
        self.fails(2, "-c", "nope", "table", "list", env=self.plain,
                   says="no connection 'nope' in .*connections: add a line 'nope = ")
        self.fails(2, "-c", "bad", "table", "list", env=self.plain,
                   says="the connection string cannot be used: ")
        self.file.unlink()
        self.fails(2, "-c", "local", "table", "list", env=self.plain,
                   says=r"write a line 'local = connection string' to \S+ \(mode 600\)")

    def test_a_file_that_others_can_read_is_refused(self):
        for mode in (0o644, 0o640, 0o604, 0o660):
            self.write(self.file.read_text(), mode)
            text = self.fails(2, "-c", "local", "table", "list", env=self.plain,
                              says="chmod 600 .*connections")
            self.assertNotIn(KEY, text)

    def test_the_folder_can_be_elsewhere(self):
        other = self.home / "other/tavola/connections"
        other.parent.mkdir(parents=True, exist_ok=True)
        other.write_text(f"there = {self.server.connection_string}\n")
        other.chmod(0o600)
        self.ok("-c", "there", "table", "list",
                env=self.plain | {"XDG_CONFIG_HOME": str(self.home / "other")})

    def test_keys_on_the_command_line_are_refused(self):
        for string in (self.server.connection_string,
                       f"AccountName=a;accountkey={KEY}",
                       "TableEndpoint=http://127.0.0.1:1/a;SharedAccessSignature=sv=1&sig=x",
                       "TableEndpoint=http://127.0.0.1:1/a?sv=1&sig=x"):
            text = self.fails(2, "-c", string, "table", "list", says="seen by every user")
            self.assertNotIn(KEY, text)
            self.assertRegex(text, "connections.*AZURE_STORAGE_CONNECTION_STRING")
        self.fails(2, "sas", "explain", "sv=1&sig=x", says="seen by every user")

    def test_the_environment(self):
        both = self.plain | {"AZURE_STORAGE_CONNECTION_STRING": "nonsense"}
        self.fails(2, "table", "list", env=both, says="cannot be used")
        self.ok("-c", "local", "table", "list", env=both)
        account = self.plain | {"AZURE_STORAGE_ACCOUNT": "nobody.invalid"}
        self.fails(2, "table", "list", env=account, says="set AZURE_STORAGE_KEY")
        self.fails(2, "table", "list", says="';'",
                   env=account | {"AZURE_STORAGE_KEY": f"{KEY};TableEndpoint=http://evil/"})
        self.ok("table", "list", env=account | {
            "AZURE_STORAGE_CONNECTION_STRING": self.server.connection_string})

    def test_a_signature_as_credential(self):
        self.ok("table", "create", "Shared", "--if-absent")
        sas = self.ok("table", "sas", "Shared", "--permissions", "r", "--expiry", "+1h").strip()
        self.write(f"sas = TableEndpoint={self.server.table_url};SharedAccessSignature={sas}\n")
        self.assertEqual(self.ok("-c", "sas", "count", "Shared", env=self.plain), "0\n")
        self.fails(5, "-c", "sas", "insert", "Shared", "p", "r", env=self.plain,
                   says="AuthorizationPermissionMismatch|AuthorizationFailure|AuthenticationFailed")
        self.fails(2, "-c", "sas", "table", "sas", "Shared", "--permissions", "r", "--expiry",
                   "+1h", env=self.plain, says="account key")

    def test_a_wrong_key_is_denied(self):
        wrong = self.server.connection_string.replace(KEY, "AAAA" + KEY[4:])
        text = self.fails(5, "table", "list", says="AuthenticationFailed|AuthorizationFailure",
                          env=self.plain | {"AZURE_STORAGE_CONNECTION_STRING": wrong})
        self.assertNotIn(KEY[4:], text)

    def test_a_server_that_is_not_there_is_unavailable(self):
        gone = f"AccountName=a;AccountKey={KEY};TableEndpoint=http://127.0.0.1:1/a"
        text = self.fails(6, "table", "list", "--timeout", "1", says="NETWORK|TIMEOUT",
                          env=self.plain | {"AZURE_STORAGE_CONNECTION_STRING": gone})
        self.assertNotIn(KEY, text)

    def verbs(self):
        """A command line for each verb that asks an account, and those that ask a server."""
        rows = self.home / "rows.ndjson"
        (self.home / "batch.txt").write_text("put p r\n")
        rows.write_text('{"PartitionKey":"p","RowKey":"r"}\n')
        account = [
            "table list", "table create People", "table delete People --yes", "table exists People",
            "table policy list People", "table policy set People a --permissions r",
            "table policy delete People a --yes", "table stats People", "get People p r",
            "insert People p r", "put People p r", "merge People p r A=1", "delete People p r --yes",
            "delete People --where A --yes", f"batch People {self.home}/batch.txt", "query People", "query People --where A", "count People",
            "count People --where A", "keys People", "keys People --partitions", "explain People --where A",
            "tail People p", f"import People {rows}", "export People -", "copy People Others",
            "queue list", "queue create work", "queue delete work --yes", "queue exists work",
            "queue policy list work", "queue policy set work a --permissions r",
            "queue policy delete work a --yes", "queue count work", "queue clear work --yes",
            "message put work text", "message get work", "message peek work",
            "message update work 1 1", "message delete work 1 1", "container list",
            "container create box", "container delete box --yes", "container exists box",
            "container policy list box", "container policy set box a --permissions r",
            "container policy delete box a --yes", "blob list box", f"blob upload box b {rows}",
            "blob download box b -", "blob show box b", "blob exists box b",
            "blob delete box b --yes", "ping", "bench"]
        server = [
            "server status", "server check", "server metrics", "server url",
            f"server backup {self.home}/no", "cluster status", "cluster ranges", "cluster history",
            "cluster check", "cluster force split", "advise mark", "advise", "heat People",
            "lint", "table stats People"]
        asks_nobody = {"table sas", "queue sas", "container sas", "blob sas", "sas make",
                       "sas explain", "whatif", "shell", "completion", "help"}
        names = {line.split("\t")[1] for line in self.ok("describe").splitlines()
                 if line.startswith("verb\t")}
        tried = {max((name for name in names if f"{line} ".startswith(f"{name} ")), key=len)
                 for line in account + server}
        self.assertEqual(names - asks_nobody, tried)
        return account, server

    def at(self, url):
        return self.plain | {"AZURE_STORAGE_CONNECTION_STRING": f"AccountName=a;AccountKey={KEY}" +
                             "".join(f";{service}Endpoint={url}/a"
                                     for service in ("Table", "Queue", "Blob"))}

    def says(self, line, env, pattern, codes=(6,)):
        done = self.run_tool(*line.split(), env=env)
        self.assertIn(done.returncode, codes, done.stderr)
        if line.split()[0] != "ping":  # which is asked who answers
            self.assertEqual(done.stdout, b"")
        first, *rest = done.stderr.decode().splitlines()
        self.assertRegex(first, pattern)
        if line.split()[0] not in ("import", "export", "copy"):  # which tell how far they came
            self.assertEqual(rest, [])
        self.assertNotIn(KEY, first)

    def test_every_verb_says_that_nobody_answers(self):
        """One line with the address and what to do, after one attempt (retry_test.c counts)."""
        url = f"http://127.0.0.1:{free_ports(1)[0]}"
        account, server = self.verbs()
        for line in account:
            with self.subTest(line):
                self.says(line, self.at(url), rf"\Atavola: NETWORK: {url}[ :/].*; "
                          r"'\./run' or 'tavolad' starts a server here, -c names another account\Z")
        for line in server:
            with self.subTest(line):
                self.says(f"{line} --admin {url}", self.plain,
                          rf"\Atavola: no server answers at {url}: .*; "
                          r"'\./run' or 'tavolad' starts one, --admin names another\Z")

    @needs_tavolad("it has no admin port")
    def test_whatever_is_printed_can_be_json(self):
        """Each verb in an order in which it does something; what it prints is JSON, if anything."""
        account, server = self.verbs()
        self.ok("queue", "create", "work", "--if-absent")
        self.ok("container", "create", "box", "--if-absent")
        asks = [line for line in account if line.split()[0] not in ("export", "bench")]
        asks.sort(key=lambda line: "delete" in line.split()[:3])  # what is deleted is gone for the others
        asks += ["table create People", "insert People p r"]
        env = self.env | {"TAVOLA_ADMIN": self.server.admin_url,
                          "TAVOLA_ADMIN_TOKEN_FILE": f"{self.server.data}/admin.token"}
        for line in asks + [line for line in server if "force" not in line and line != "lint"]:
            with self.subTest(line):
                done = self.run_tool(*line.split(), "-o", "json", env=env)
                self.assertNotEqual(done.returncode, 2, done.stderr)
                if done.stdout and not line.startswith("blob download"):
                    json.loads(done.stdout)

    def test_a_host_that_does_not_exist(self):
        url = "http://no.invalid"
        for line in ("table list", "query People --where A", "queue create work", "blob list box", "ping"):
            with self.subTest(line):
                self.says(line, self.at(url), rf"\Atavola: NETWORK: {url}: .*; "
                          r"is the name of the account right\? -c names another\Z")
        self.says(f"server status --admin {url}:1", self.plain,
                  rf"\Atavola: no server answers at {url}:1: .*--admin names another\Z")

    def test_verbose_tells_requests_and_plans(self):
        self.ok("table", "create", "Told", "--if-absent")
        self.ok("query", "Told", "--where", "PartitionKey eq 'secret'", "-v", says=(
            r"(?:\S+: attempt 1: status 200, service \S+ \(GET /Told\)(?:, plan partition;.*)?\n)+"))
        self.ok("count", "Told", env=self.env)

    @needs_tavolad("it has no certificate here")
    def test_certificates_of_a_file(self):
        cert, key = certificate.make(self.home)
        with Server("--cert", cert, "--key", key) as server:
            env = self.at(f"https://127.0.0.1:{server.table_port}")
            env["AZURE_STORAGE_CONNECTION_STRING"] = env["AZURE_STORAGE_CONNECTION_STRING"].replace(
                "AccountName=a;", "AccountName=devstoreaccount1;").replace("/a", "/devstoreaccount1")
            self.fails(6, "table", "list", env=env, says="(?i)certificate")
            self.assertEqual(self.ok("table", "list", "--ca-file", cert, env=env), "")
            self.fails(2, "table", "list", "--ca-file", f"{self.home}/none", env=env, says="ca_file")

    def test_somebody_who_does_not_answer(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            late = rf"\Atavola: TIMEOUT: {url}: there was no answer in time; --timeout"
            lost = rf"\Atavola: UNKNOWN_OUTCOME: .*{url}: .*; look before you repeat it\Z"
            for line in ("query People", "ping"):
                with self.subTest(line):
                    self.says(f"{line} --timeout 1", self.at(url), late)
            for line in ("insert People p r", "queue create work"):
                with self.subTest(line):  # late, if the machine is: it was not even sent
                    self.says(f"{line} --timeout 1", self.at(url), f"{lost}|{late}", (1, 6))
            self.says(f"server status --timeout 1 --admin {url}", self.plain,
                      rf"no server answers at {url}: no answer in time; --timeout")

    def test_keys_never_appear_in_ps(self):
        """While it runs (it waits for its standard input) nobody sees the key."""
        self.ok("table", "create", "Waiting", "--if-absent")
        with subprocess.Popen([PROGRAM, "-c", "local", "put", "Waiting", "p", "r", "A=-"],
                              env=self.plain, stdin=subprocess.PIPE) as process:
            wait_for_input(process)
            with open(f"/proc/{process.pid}/cmdline", "rb") as cmdline:
                words = cmdline.read()
            self.assertIn(b"Waiting", words)
            self.assertNotIn(KEY.encode(), words)
            with open(f"/proc/{process.pid}/environ", "rb") as environ:
                self.assertNotIn(KEY.encode(), environ.read())
            process.stdin.close()
        self.assertEqual(process.returncode, 0)

    def test_without_anything_it_is_the_development_account(self):
        shown = self.run_tool("ping", "--number", "1", "--timeout", "1", env=self.plain).stdout.decode()
        self.assertIn('"Endpoint":"http://127.0.0.1:10002/devstoreaccount1"', shown)
