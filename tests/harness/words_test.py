"""Which parts a word asks for, and ports that no two tests share."""

import pathlib
import re
import subprocess
import sys
import unittest

import parts
import server
import suite
import unit

KNOWN = {"blob/store/lease": ("test_it_ends", "test_it_stops"), "blob/copy": ("test_it_stops",),
         "table/insert": ()}


class Words(unittest.TestCase):
    CASES = {
        "blob": {"blob/store/lease": None, "blob/copy": None},
        "lease": {"blob/store/lease": None},
        "tests/wire/blob/copy_test.py": {"blob/copy": None},
        "it_ends": {"blob/store/lease": {"test_it_ends"}},
        "blob/copy/test_it_stops": {"blob/copy": {"test_it_stops"}},
        "inser": {"table/insert": None},
    }

    def test_a_word_asks_for_parts(self):
        for word, wanted in self.CASES.items():
            with self.subTest(word):
                self.assertEqual(parts.choose("wire", KNOWN, [word]), wanted)

    def test_a_word_that_means_nothing_is_answered_with_those_that_do(self):
        with self.assertRaisesRegex(parts.NoSuchPart, "its parts are: blob table"):
            parts.choose("wire", KNOWN, ["what"])

    def test_every_case_of_a_c_test_can_be_asked_for(self):
        """Whatever macro lists it: a failed case is repeated by its name."""
        case = re.compile(r"^TEST\((\w+)\)", re.MULTILINE)
        for folder, name in ((unit.TESTS / "unit", ""), (unit.TESTS / "engine", "engine/")):
            for path in folder.rglob("*_test.c"):
                part = name + str(path.relative_to(folder)).removesuffix("_test.c")
                with self.subTest(part):
                    self.assertLessEqual(set(case.findall(path.read_text())),
                                         set(unit.names_in(part)))

    def test_no_c_test_sets_the_filter_that_the_run_has_set(self):
        self.assertEqual([str(path) for path in unit.TESTS.rglob("*_test.c")
                          if "set_test_filter(getenv" in path.read_text()], [])


class Needs(unittest.TestCase):
    def test_the_release_build_is_waited_for_by_whoever_uses_it_or_a_helper_that_does(self):
        needs = suite.needs_release(server.ROOT / "tests/fault")
        self.assertEqual([needs(part) for part in ("table/kill", "server/malloc", "server/stop")],
                         [["release"], ["release"], []])


class Ports(unittest.TestCase):
    def test_a_port_is_taken_by_one_process(self):
        (port,) = server.free_ports(1)
        lib = pathlib.Path(server.__file__).parent
        other = subprocess.run([sys.executable, "-c",
                                f"import server; print(server.take({port}))"], cwd=lib, text=True,
                               stdout=subprocess.PIPE, check=True)
        self.assertEqual(other.stdout.strip(), "False")


if __name__ == "__main__":
    unittest.main()
