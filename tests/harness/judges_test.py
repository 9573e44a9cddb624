"""No vacuous pass: what ran nothing, or less than it lists, has failed."""

import contextlib
import io
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

import javascript
import schedule
import story
import suite
import unit

LIB = pathlib.Path(javascript.__file__).parent
JOB = schedule.Job("unit", "base/json", [])


class Programs(unittest.TestCase):
    """C tests, by their TAP: (output, exit code), what is (passed, failed, skipped)."""

    CASES = {
        "all is well": ("1..2\nok 1 - a\nok 2 - b\n", 0, (2, 0, 0)),
        "two groups": ("1..1\nok 1 - a\n1..2\nok 1 - b\nok 2 - c\n", 0, (3, 0, 0)),
        "one failed": ("1..2\nok 1 - a\nnot ok 2 - b\n", 1, (1, 1, 0)),
        "no cases": ("", 0, (0, 1, 0)),
        "a plan of none": ("1..0\n", 0, (0, 1, 0)),
        "no plan": ("ok 1 - a\n", 0, (1, 1, 0)),
        "one of five": ("1..5\nok 1 - a\n", 0, (1, 1, 0)),
        "one skipped": ("1..2\nok 1 - a\nok 2 # SKIP b\n", 0, (1, 0, 1)),
        "a crash after the last": ("1..1\nok 1 - a\n", -11, (1, 1, 0)),
    }

    def test_a_program_is_held_to_its_plan(self):
        for name, (output, code, wanted) in self.CASES.items():
            with self.subTest(name):
                self.assertEqual(unit.judge(JOB, code, output)[:3], wanted)

    def test_what_failed_names_the_command_that_repeats_it(self):
        text = unit.judge(JOB, 1, "# TAVOLA_SEED=7\n1..2\nok 1 - a\nnot ok 2 - it_is_so\n").text
        self.assertIn("repeat: TAVOLA_SEED=7 ./check unit base/json/it_is_so", text)
        self.assertIn("repeat: ./check unit base/json\n", unit.judge(JOB, 99, "").text + "\n")


class ClosingLines(unittest.TestCase):
    CASES = {
        "all is well": ("unit: 3 passed, 0 failed\n", 0, (3, 0, 0)),
        "skipped": ("unit: 3 passed, 0 failed, 2 skipped\n", 0, (3, 0, 2)),
        "none": ("something\n", 0, (0, 1, 0)),
        "nothing ran": ("unit: 0 passed, 0 failed\n", 0, (0, 1, 0)),
        "a bad end": ("unit: 3 passed, 0 failed\n", 1, (3, 1, 0)),
        "failed": ("unit: 3 passed, 2 failed\n", 1, (3, 2, 0)),
    }

    def test_a_suite_is_judged_by_its_last_line_and_exit_code(self):
        for name, (output, code, wanted) in self.CASES.items():
            with self.subTest(name):
                self.assertEqual(schedule.judge_closing_line(JOB, code, output)[:3], wanted)


class Modules(unittest.TestCase):
    """Python tests, in a process of their own."""

    def run_module(self, text, *words):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tavola-harness-"))
        self.addCleanup(shutil.rmtree, folder)
        (folder / "some_test.py").write_text("import unittest, sys, os\n" + textwrap.dedent(text))
        (folder / "run.py").write_text(textwrap.dedent(f"""
            import pathlib, sys
            sys.path.insert(0, {str(LIB)!r})
            import suite
            sys.exit(suite.main("some", suite.files(pathlib.Path({str(folder)!r})), sys.argv[1:]))
        """))
        done = subprocess.run([sys.executable, str(folder / "run.py"), *words], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return schedule.judge_closing_line(JOB, done.returncode, done.stdout)

    def test_all_is_well(self):
        found = self.run_module("""
            class A(unittest.TestCase):
                def test_a(self): pass
                def test_b(self): self.skipTest("no")
            """.replace("): ", "):\n                    "))
        self.assertEqual(found[:3], (1, 0, 1), found.text)

    def test_a_test_that_is_listed_and_does_not_run(self):
        found = self.run_module("""
            class A(unittest.TestCase):
                def test_a(self):
                    pass
            class B:
                def test_b(self):
                    pass
            """)
        self.assertEqual(found[:3], (1, 1, 0), found.text)
        self.assertIn("not run: test_b", found.text)

    def test_a_name_that_stands_twice_hides_the_first(self):
        found = self.run_module("""
            class A(unittest.TestCase):
                def test_a(self):
                    self.fail("nobody sees this")
                def test_a(self):
                    pass
            """)
        self.assertEqual(found.failed, 1, found.text)
        self.assertIn("test_a stands 2 times", found.text)

    def test_an_end_before_the_end(self):
        found = self.run_module("""
            class A(unittest.TestCase):
                def test_a(self):
                    os._exit(0)
            """)
        self.assertEqual(found.failed, 1, found.text)

    def test_a_failure_tells_its_story(self):
        """The request and its answer, the server's log of that time, the command and the seed."""
        found = self.run_module("""
            import http.client, http.server, tempfile, threading, story
            class Answer(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    self.send_response(418)
                    self.end_headers()
                    self.wfile.write(b"the answer")
            class A(unittest.TestCase):
                def test_a(self):
                    web = http.server.HTTPServer(("127.0.0.1", 0), Answer)
                    threading.Thread(target=web.handle_request).start()
                    with tempfile.NamedTemporaryFile("w+") as log:
                        story.follow(log.name)
                        log.write("what the server logged")
                        log.flush()
                        connection = http.client.HTTPConnection("127.0.0.1", web.server_port)
                        connection.request("GET", "/asked")
                        self.assertEqual(connection.getresponse().read(), b"")
            """, "some/test_a")
        self.assertEqual(found.failed, 1, found.text)
        for part in ("GET /asked", "418", "the answer"):
            self.assertIn(part, found.text)
        self.assertRegex(found.text, r"repeat: TAVOLA_SEED=\d+ ./check \S+ some/test_a")

    def test_a_connection_that_was_silent_is_opened_again(self):
        """The server closed it meanwhile, as servers do: that is no failure of a slow test."""
        done = self.run_module("""
            import http.server, select, threading, kept
            class Answer(http.server.BaseHTTPRequestHandler):
                protocol_version = "HTTP/1.1"
                def do_GET(self):
                    self.send_response(204)
                    self.end_headers()
                    self.close_connection = True  # without a word of it
            class A(unittest.TestCase):
                def test_a(self):
                    web = http.server.HTTPServer(("127.0.0.1", 0), Answer)
                    threading.Thread(target=web.serve_forever, daemon=True).start()
                    connection = kept.Connection("127.0.0.1", web.server_port)
                    for _ in range(3):
                        connection.request("GET", "/")
                        self.assertEqual(connection.getresponse().read(), b"")
                        if connection.sock:
                            select.select([connection.sock], [], [], 60)
            """)
        self.assertEqual((done.passed, done.failed), (1, 0), done.text)

    def test_ports_are_given_back_and_may_run_out(self):
        done = self.run_module("""
            import server
            class A(unittest.TestCase):
                def test_a(self):
                    server.LOCKS, server.PORTS = server.tempfile.mkdtemp(), range(20000, 20008)
                    server.is_free = lambda port: True
                    first, second = server.Server(), server.Server()
                    self.assertNotIn(first.table_port, second.own_ports)
                    self.assertRaisesRegex(RuntimeError, "none is left", server.Server)
                    first.clean()
                    server.Server().clean()
            """)
        self.assertEqual((done.passed, done.failed), (1, 0), done.text)


class Scripts(unittest.TestCase):
    """JavaScript tests."""

    def run_script(self, text):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tavola-harness-"))
        self.addCleanup(shutil.rmtree, folder)
        (folder / "node_modules").mkdir()
        for name in ("package-lock.json", "node_modules/.installed-lock.json"):
            (folder / name).write_text("{}")
        path = folder / "some.test.mjs"
        path.write_text('import { test } from "node:test";\n' + text)
        before = suite.skipped
        with contextlib.redirect_stdout(io.StringIO()):
            counts = javascript.run_tests("some", folder, [str(path)])
        self.assertGreaterEqual(suite.skipped, before)
        suite.skipped = before
        return counts

    def test_scripts_are_held_to_what_they_list(self):
        for name, (text, wanted) in {
                "all is well": ('test("a", () => {});\ntest("b", () => {});\n', (2, 0)),
                "one fails": ('test("a", () => {});\ntest("b", () => { throw 1; });\n', (1, 1)),
                "one is skipped": ('test("a", () => {});\ntest("b", { skip: "no" }, () => {});\n',
                                   (1, 0)),
                "an end before the end": ('test("a", () => process.exit(0));\n', (0, 1)),
                "nothing": ("", (0, 1)),
                "a file that breaks": ('test("a", () => {});\nthrow new Error("x");\n', (1, 1)),
        }.items():
            with self.subTest(name):
                self.assertEqual(self.run_script(text), wanted)


class Schedules(unittest.TestCase):
    def run_jobs(self, steps, *jobs):
        run = schedule.Schedule(steps, jobs, 2)
        with contextlib.redirect_stdout(io.StringIO()):
            run.run()
        return run

    def test_a_job_that_cannot_be_run_or_judged_has_failed(self):
        def cannot(*_):
            raise ValueError("no judgement")
        run = self.run_jobs([], schedule.Job("some", "gone", ["/no/such/program"]),
                            schedule.Job("some", "odd", ["true"], judge=cannot),
                            schedule.Job("some", "well", ["echo", "some: 1 passed, 0 failed"]))
        self.assertEqual(run.counts["some"], [1, 2, 0])

    def test_a_step_that_breaks_ends_the_run(self):
        run = self.run_jobs([schedule.Step("build", lambda: 1 / 0)],
                            schedule.Job("some", "waits", ["true"], needs=["build"]))
        self.assertIn("ZeroDivisionError", run.broken)
        self.assertEqual(run.took, {})

    def test_one_that_is_alone_has_no_other_of_its_suite_beside_it(self):
        jobs = [schedule.Job("some", "alone", [], is_alone=True), schedule.Job("some", "a", []),
                schedule.Job("other", "b", [])]
        run = schedule.Schedule([], jobs, 2)
        run.begun = [jobs[1]]
        self.assertEqual([run.may_begin(job) for job in jobs], [False, True, True])
        run.begun = [jobs[0]]
        self.assertEqual([run.may_begin(job) for job in jobs[1:]], [False, True])


class Stories(unittest.TestCase):
    def test_a_log_that_is_removed_is_kept_until_it_is_told(self):
        with tempfile.NamedTemporaryFile("w+", suffix=".log", delete=False) as log:
            log.write("before\n")
            log.flush()
            story.follow(log.name)
            story.begin()
            log.write("meanwhile\n")
        story.keep(log.name)
        pathlib.Path(log.name).unlink()
        self.assertIn("meanwhile", story.tell())
        self.assertNotIn("before", story.tell())


if __name__ == "__main__":
    unittest.main()
