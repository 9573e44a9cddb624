"""Every function of tavola.h is tried with arguments that cannot be used."""

import pathlib
import re
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ABI = HERE.parents[1] / "src" / "client" / "tavola.abi"

# Their arguments are numbers, or what every test uses.
WITHOUT_POINTERS = {
    "tavola_version", "tavola_version_num", "tavola_set_allocator",
    "tavola_ticks_to_unix_us", "tavola_int64", "tavola_double", "tavola_boolean",
    "tavola_datetime", "tavola_guid_value",
}


class Interface(unittest.TestCase):
    def test_no_function_is_missing_among_the_bad_arguments(self):
        public = set(re.findall(r"^function .*?\b(tavola_\w+)\(", ABI.read_text(), re.M))
        self.assertGreater(len(public), 250)
        tried = set(re.findall(r"\b(tavola_\w+)\(", (HERE / "arguments_test.c").read_text()))
        self.assertEqual(public - tried, WITHOUT_POINTERS)
