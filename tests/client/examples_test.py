"""Every example runs, and prints what examples/expected says."""

import os
import pathlib
import subprocess
import unittest

import server

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
BUILD = pathlib.Path(os.environ.get("TAVOLA_CLIENT_BUILD", ROOT / "build-check"))


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server.Server()
        cls.server.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def test_each_prints_what_is_expected(self):
        names = sorted(path.stem for path in EXAMPLES.glob("*.c"))
        self.assertGreater(len(names), 25)
        for name in names:
            with self.subTest(name):
                done = subprocess.run([BUILD / "examples" / name, self.server.connection_string],
                                      capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout, (EXAMPLES / f"expected/{name}.txt").read_text())

    def test_nothing_is_expected_of_an_example_that_does_not_exist(self):
        expected = {path.stem for path in (EXAMPLES / "expected").glob("*.txt")}
        self.assertEqual(expected, {path.stem for path in EXAMPLES.glob("*.c")})

    def test_the_page_shows_what_the_examples_are(self):
        for page in ("docs/patterns.md",):
            done = subprocess.run([ROOT / "tools/excerpts.py", "--check", page],
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
