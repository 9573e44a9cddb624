"""Exports of AzCopy 7: a manifest, and the data files beside it."""

import codecs
import json
import pathlib
import tempfile

from transfer_formats_test import Files, entity


class Manifests(Files):
    NAME = "acct_Orders_20180528T030611.6482709Z"
    # An array, an answer, one per line; the numbers are not in the order of the texts.
    DATA = {"_0_0_52F4A8C2B1D03E77.json": "[" + entity("p", "1", Age=30) + "]",
            "_0_2_0000000000000000.json": '{"value":[%s,%s]}' % (entity("p", "2"), entity("p", "3")),
            "_0_10_FFFFFFFFFFFFFFFF.json": entity("p", "4") + "\n" + entity("p", "5") + "\n"}

    def manifest(self, data=None, **changes):
        """Write an export to a folder of its own; the path of its manifest."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        data = self.DATA if data is None else data
        for ending, content in data.items():
            (folder / (self.NAME + ending)).write_text(content)
        (folder / "other_0_0_00.json").write_text("nothing of it")
        (folder / (self.NAME + "_0_0_52F4A8C2B1D03E77.json.bak")).write_text("nothing of it")
        manifest = {"Version": 2, "PayloadFormat": "Json", "Checksum": 17446744073709551615,
                    "AccountName": "acct", "TableName": "Orders", "SplitSize": 200000,
                    "Timestamp": "2018-05-28T03:06:11.6482709Z", "TotalDataFiles": len(data)}
        path = folder / f"{self.NAME}.manifest"
        path.write_text(json.dumps(manifest | changes))
        return path

    def keys(self, table):
        return [row_key for row_key, _ in self.entities(table)]

    def test_all_data_files_are_imported(self):
        table, path = self.table(), self.manifest()
        self.ok("import", table, str(path), "--create", says="imported 5 entities.*\n")
        self.assertEqual(self.entities(table)[0], ("1", {"Age": 30}))
        self.assertEqual(self.keys(table), list("12345"))
        self.assertEqual(len(list(path.parent.iterdir())), 6, "nothing else is left")

    def test_other_forms_of_manifests(self):
        for what, change in (("a BOM", lambda text: codecs.BOM_UTF8 + text.encode()),
                             ("UTF-16", lambda text: text.encode("utf-16")),
                             ("laid out over lines",
                              lambda text: json.dumps(json.loads(text), indent=2).encode()),
                             ("no format", lambda text: b'{"TotalDataFiles":3}')):
            with self.subTest(what):
                table, path = self.table(), self.manifest()
                path.write_bytes(change(path.read_text()))
                self.ok("import", table, str(path), "--create", says="imported 5 entities.*\n")

    def test_an_export_of_nothing(self):
        self.ok("import", self.table(), str(self.manifest(data={})), "--create",
                says="imported 0 entities.*\n")

    def test_the_number_of_files_must_be_right(self):
        for what, changes, says in (
                ("one is missing", {"TotalDataFiles": 4}, "about 4 data files, beside it there are 3"),
                ("one too many", {"TotalDataFiles": 2}, "about 2 data files, beside it there are 3")):
            with self.subTest(what):
                self.fails(1, "import", "Nothing", str(self.manifest(**changes)), says=says)

    def test_broken_manifests(self):
        for what, text, says in (
                ("empty", "", "not an object of JSON"),
                ("not JSON", "hello", "not an object of JSON"),
                ("an array", "[1]", "not an object of JSON"),
                ("cut off", '{"TotalDataFiles":3', "not an object of JSON"),
                ("more behind it", '{"TotalDataFiles":3}{', "not an object of JSON"),
                ("no count", '{"Version":2}', "no TotalDataFiles"),
                ("a count that is none", '{"TotalDataFiles":"3"}', "not a number of files"),
                ("a negative count", '{"TotalDataFiles":-3}', "not a number of files"),
                ("a huge count", '{"TotalDataFiles":18446744073709551619}', "not a number of files"),
                ("CSV", '{"PayloadFormat":"CSV","TotalDataFiles":3}', "PayloadFormat")):
            with self.subTest(what):
                path = self.manifest()
                path.write_text(text)
                self.fails(1, "import", "Nothing", str(path), says=says)
        self.fails(1, "import", "Nothing", str(self.folder / "missing.manifest"), says="No such file")
        self.fails(2, "import", "Nothing", str(self.manifest()), "--from-line", "2", says="several")

    def test_a_bad_line_is_named_with_its_file_and_the_import_goes_on_there(self):
        table, data = self.table(), dict(self.DATA)
        data["_0_2_0000000000000000.json"] = "[\n" + entity("p", "2") + ",\noops]"
        path, errors = self.manifest(data), self.folder / "manifest-errors"
        done = self.run_tool("import", table, str(path), "--create")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), rf"{self.NAME}_0_2_0*.json:3: .*\n(?s:.*)stopped at "
                                               rf"line 3 of .*{self.NAME}_0_2_0*.json: all before it")
        self.assertEqual(self.keys(table), list("12"))
        self.fails(2, "import", table, str(path), says="--resume goes on there")
        self.ok("import", table, str(path), "--resume", "--skip-bad", "--errors", str(errors),
                says=r"[^\n]*json:3: [^\n]*\n[^\n]*json:3: [^\n]*\nimported 2 .*\n2 bad lines.*\n")
        self.assertEqual(self.keys(table), list("1245"))
        kept = [json.loads(one) for one in errors.read_text().splitlines()]
        self.assertEqual({pathlib.Path(one["file"]).name for one in kept},
                         {f"{self.NAME}_0_2_0000000000000000.json"})
        self.assertFalse(list(path.parent.glob("*.import*")), "the state file is gone")

    def test_other_files_than_before_are_not_resumed(self):
        table, data = self.table(), dict(self.DATA)
        data["_0_2_0000000000000000.json"] = "[" + entity("p", "2") + ",\noops]"
        path = self.manifest(data)
        self.assertEqual(self.run_tool("import", table, str(path), "--create").returncode, 1)
        first = path.parent / (self.NAME + "_0_0_52F4A8C2B1D03E77.json")
        first.rename(path.parent / (self.NAME + "_0_0_77.json"))
        self.fails(2, "import", table, str(path), "--resume", says="other data files than")

    def test_a_data_file_that_cannot_be_read(self):
        table, path = self.table(), self.manifest()
        broken = path.parent / (self.NAME + "_0_2_0000000000000000.json")
        good = broken.read_text()
        broken.write_bytes(b"\x1f\x8b\x08\0")
        done = self.run_tool("import", table, str(path), "--create")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), r"\A[^\n]*_0_2_0*.json: it is compressed[^\n]*\n"
                                               r"stopped at line 1 of [^\n]*_0_2_0*.json: all before")
        self.assertEqual(self.keys(table), ["1"])
        broken.write_text(good)
        self.ok("import", table, str(path), "--resume", says="imported 4 .*\n")
        self.assertEqual(self.keys(table), list("12345"))
