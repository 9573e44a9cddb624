"""Files that import reads and export writes: formats, encodings, and what is wrong with bad ones."""

import base64
import codecs
import json
import pathlib
import tempfile

from tavola import TavolaTest

HEAD = '{"PartitionKey":"p","RowKey":"%s"'
TWO_LINES = '{"PartitionKey":"p","RowKey":"1","Age":30}\n{"PartitionKey":"p","RowKey":"2","Age":31}\n'
TWO = [("1", {"Age": 30}), ("2", {"Age": 31})]
TYPED = "PartitionKey,RowKey,Age,Age@type\r\np,1,30,Edm.Int32\r\np,2,31,Edm.Int32\r\n"

# what it shows, name of the file, its content, flags, (RowKey, properties) of its entities
READABLE = [
    ("lines of JSON", "a.ndjson", TWO_LINES, [], TWO),
    ("the last line may lack its end", "a.ndjson", TWO_LINES[:-1], [], TWO),
    ("empty lines and blanks are nothing", "a.ndjson", "\n\r\n" + TWO_LINES.replace("\n", " \r\n\n"),
     [], TWO),
    ("an empty file", "a.ndjson", "", [], []),
    ("a file of blanks whose name says nothing", "a", "\n \n", [], []),
    ("a BOM", "a.ndjson", codecs.BOM_UTF8 + TWO_LINES.encode(), [], TWO),
    ("UTF-16 with its mark", "a.ndjson", TWO_LINES.encode("utf-16"), [], TWO),
    ("UTF-16, the other way round", "a.ndjson", codecs.BOM_UTF16_BE + TWO_LINES.encode("utf-16-be"),
     [], TWO),
    ("UTF-16 without a mark", "a.ndjson", TWO_LINES.encode("utf-16-le"), [], TWO),
    ("characters beyond 16 bits in UTF-16", "a.ndjson",
     (HEAD % "😀" + ',"N":"日本"}').encode("utf-16"), [], [("😀", {"N": "日本"})]),
    ("an array", "a.json", "[" + TWO_LINES.replace("}\n{", "},\n{") + "]", [], TWO),
    ("an empty array", "a.json", "[]", [], []),
    ("an answer of the service", "a.json",
     '{"odata.metadata":"x","value":[' + TWO_LINES.replace("}\n{", "}, {") + '],"n":{}}', [], TWO),
    ("one per line, called json", "a.json", TWO_LINES, [], TWO),
    ("a property called value", "a.json", HEAD % "1" + ',"value":"[1]"}', [],
     [("1", {"value": "[1]"})]),
    ("objects laid out over lines, as jq does", "a.json",
     '{\n "PartitionKey": "p",\n "RowKey": "1", "S": "}{\\"" }\n{\n "PartitionKey":"p","RowKey":"2"}',
     [], [("1", {"S": '}{"'}), ("2", {})]),
    ("what the service adds is left out", "a.ndjson",
     '{"odata.etag":"W/\\"x\\"","PartitionKey":"p","RowKey":"1",'
     '"Timestamp":"2020-01-01T00:00:00Z","A":1}', [], [("1", {"A": 1})]),
    ("Storage Explorer of 2020", "a.typed.csv",
     "HLA,HLA@type,PartitionKey,RowKey,Timestamp,isGeneric,isGeneric@type\n"
     "01/02,Edm.String,p,ABC,2020-06-22T15:16:05.333Z,true,Edm.Boolean\n", [],
     [("ABC", {"HLA": "01/02", "isGeneric": True})]),
    ("Storage Explorer 1.40", "a.typed.csv",
     "PartitionKey,RowKey,Timestamp,Age,Age@type,Name,Name@type\n"
     "p,1,2025-01-01T00:00:00Z,30,Int32,,\np,2,,,,,String\n", [],
     [("1", {"Age": 30}), ("2", {"Name": ""})]),
    ("types only in the first row", "a.typed.csv",
     "PartitionKey,RowKey,Age,Age@type\np,1,30,Int32\np,2,31,\n", ["--first-row-types"], TWO),
    ("types of the keys, columns in any order", "a.typed.csv",
     "Age@type,RowKey@type,Age,RowKey,PartitionKey,PartitionKey@type\n"
     "eDm.int32,Edm.String,30,1,p,Edm.String\nINT32,,31,2,p,\n", [], TWO),
    ("quotes, line ends and separators in cells", "a.typed.csv",
     'PartitionKey,RowKey,S,S@type\r\np,1,"a ""b"", c\r\nd",Edm.String\r\n', [],
     [("1", {"S": 'a "b", c\r\nd'})]),
    ("semicolons", "a.typed.csv", TYPED.replace(",", ";"), ["--separator", ";"], TWO),
    ("tabs", "a.typed.csv", TYPED.replace(",", "\t"), ["--separator", "tab"], TWO),
    ("typed columns in a file called csv", "a.csv", TYPED, [], TWO),
    ("a name that says nothing", "a.txt", TYPED, [], TWO),
    ("the format by a flag", "a.txt", TYPED, ["--format", "typed-csv"], TWO),
    ("plain CSV with types", "a.csv", "PartitionKey,RowKey,Age,Name\np,1,30,Ada\np,2,31,\n",
     ["--types", "Age:int32"], [("1", {"Age": 30, "Name": "Ada"}), ("2", {"Age": 31})]),
    ("plain CSV of Strings, one of them empty", "a.csv",
     'PartitionKey,RowKey,Age,Name\np,1,30,""\n', ["--types", "String"],
     [("1", {"Age": "30", "Name": ""})]),
    ("only keys", "a.csv", "RowKey,PartitionKey\n1,p\n", [], [("1", {})]),
    ("UTF-16 CSV, as spreadsheets write it", "a.typed.csv", TYPED.encode("utf-16"), [], TWO),
]

# what it shows, name of the file, its content, flags, exit code, what is said
UNREADABLE = [
    ("compressed", "a.ndjson", b"\x1f\x8b\x08\0", [], 1, "gunzip"),
    ("a spreadsheet", "a.csv", b"PK\x03\x04xx", [], 1, "ZIP"),
    ("UTF-32", "a.ndjson", TWO_LINES.encode("utf-32"), [], 1, "UTF-32"),
    ("not JSON", "a.json", "hello", [], 1, "not JSON"),
    ("no names of columns", "a.csv", "", [], 1, "empty"),
    ("no keys", "a.csv", "A,B\n1,2\n", [], 1, "no columns PartitionKey and RowKey"),
    ("another separator", "a.csv", TYPED.replace(",", ";"), [], 1, "--separator"),
    ("a column twice", "a.csv", "PartitionKey,RowKey,A,A\n", [], 1, "two columns A"),
    ("no types", "a.csv", "PartitionKey,RowKey,A\np,1,2\n", [], 1, "--types"),
    ("an unknown type", "a.csv", "PartitionKey,RowKey,A\n", ["--types", "A:int33"], 1, "int33"),
    ("a type of no column", "a.csv", "PartitionKey,RowKey,A\n", ["--types", "B:int32"], 1, "B"),
    ("types twice", "a.csv", TYPED, ["--types", "Age:int32"], 1, "columns of types already"),
    ("an unknown format", "a.csv", TYPED, ["--format", "xml"], 2, "ndjson, json, typed-csv"),
    ("a long separator", "a.csv", TYPED, ["--separator", "ab"], 2, "one character"),
]

# what it shows, name of the file, its content, {line: what is said}
BAD_LINES = [
    ("not JSON", "a.ndjson", "nope\n" + TWO_LINES, {1: "not an entity"}),
    ("no key", "a.ndjson", TWO_LINES + '{"PartitionKey":"p"}\n', {3: "not an entity"}),
    ("a bad key", "a.ndjson", HEAD % "a/b" + "}\n", {1: "not an entity"}),
    ("an object as a value", "a.ndjson", HEAD % "1" + ',"A":{}}\n', {1: "not an entity"}),
    ("not UTF-8", "a.ndjson", HEAD.encode() % b"\xff" + b"}\n" + TWO_LINES.encode(),
     {1: "not an entity"}),
    ("half a surrogate pair", "a.ndjson",
     (HEAD % "\ud83d" + "}\n" + TWO_LINES).encode("utf-16-le", "surrogatepass"),
     {1: "not an entity"}),
    ("the file was cut off", "a.ndjson", TWO_LINES + HEAD % "3", {3: "the file ends within"}),
    ("an array was cut off between objects", "a.json", "[" + TWO_LINES[:-1].replace("\n", ",\n"),
     {2: "the file ends within the array"}),
    ("an array was cut off in an object", "a.json", "[" + TWO_LINES.replace("\n", ",\n") + "{",
     {3: "the file ends within this object"}),
    ("not an object", "a.json", "[\n1,\n" + TWO_LINES.replace("}\n{", "},\n{") + "]",
     {2: "no object here"}),
    ("too few cells", "a.typed.csv", TYPED + "p,3\r\n", {4: "2 cells instead of 4"}),
    ("too many cells", "a.typed.csv", TYPED + "p,3,1,Int32,\r\n", {4: "5 cells instead of 4"}),
    ("a number that is too large", "a.typed.csv", TYPED + "p,3,2147483648,Int32\r\n",
     {4: "2147483648.*whole number"}),
    ("no type", "a.typed.csv", TYPED + "p,3,1,\r\n", {4: "no type.*--first-row-types"}),
    ("an unknown type", "a.typed.csv", TYPED + "p,3,1,Float\r\n", {4: "'Float' is not a type"}),
    ("a bad key in CSV", "a.typed.csv", TYPED + "p/q,3,1,Int32\r\n", {4: "key"}),
    ("a date", "a.typed.csv", TYPED + "p,3,yesterday,DateTime\r\n", {4: "a time like"}),
    ("base64", "a.typed.csv", TYPED + "p,3,!,Binary\r\n", {4: "base64"}),
    ("a Guid", "a.typed.csv", TYPED + "p,3,1,Guid\r\n", {4: "a GUID like"}),
    ("line numbers behind a cell of several lines", "a.typed.csv",
     'PartitionKey,RowKey,S,S@type\np,1,"a\nb",String\np,2,x,Nothing\n', {4: "Nothing"}),
    ("the file ends within quotes", "a.typed.csv", TYPED + 'p,3,"1', {4: "ends within quotes"}),
    ("the last row was cut off", "a.typed.csv", TYPED + "p,3", {4: "the file ends within this line"}),
]

EVERYTHING = {
    "String": "text", "Empty": "", "Blank": " ", "Quote": '"', "Comma": ",;\t", "Lines": "a\r\nb\n\rc",
    "Back": "\\", "Unicode": "Ünïcödé 日本 😀 \u202e", "Nul": "a\0b", "Control": "\x01\x1f\x7f",
    "True": True, "False": False, "Zero": 0, "Least": -2147483648, "Most": 2147483647,
    "Long@odata.type": "Edm.Int64", "Long": "-9223372036854775808",
    "Small@odata.type": "Edm.Int64", "Small": "1",
    "Real": 4.5, "Whole": 5.0, "Tiny": 5e-324, "Huge": 1.7976931348623157e308,
    "Third": 0.1 + 0.2, "Exponent": 1e21, "Negative": -1234567.0,
    "NaN@odata.type": "Edm.Double", "NaN": "NaN",
    "Inf@odata.type": "Edm.Double", "Inf": "-Infinity",
    "When@odata.type": "Edm.DateTime", "When": "2026-01-02T03:04:05.1234567Z",
    "Old@odata.type": "Edm.DateTime", "Old": "1601-01-01T00:00:00Z",
    "Id@odata.type": "Edm.Guid", "Id": "c9da6455-213d-42c9-9a79-3e9149a57833",
    "Bytes@odata.type": "Edm.Binary", "Bytes": base64.b64encode(bytes(range(256))).decode(),
    "None@odata.type": "Edm.Binary", "None": "",
    "Überschrift": "a name beyond ASCII", "_x": "a name",
}


def entity(partition_key, row_key, **properties):
    return json.dumps({"PartitionKey": partition_key, "RowKey": row_key, **properties})


class Files(TavolaTest):
    """Files in a folder of their own, and tables."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.number = 0

    def table(self):
        """A name that was not used before."""
        type(self).number += 1
        return f"Formats{self.number}"

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def entities(self, table):
        found = self.lines("export", table)
        return [(e.pop("RowKey"), {k: v for k, v in e.items() if k != "PartitionKey"})
                for e in found]


class Formats(Files):
    def test_what_can_be_read(self):
        for what, name, content, flags, expected in READABLE:
            with self.subTest(what):
                table = self.table()
                self.ok("import", table, self.file(name, content), "--create", *flags,
                        says=f"imported {len(expected)} entit.*\n")
                self.assertEqual(self.entities(table), expected)

    def test_what_cannot_be_read(self):
        for what, name, content, flags, code, says in UNREADABLE:
            with self.subTest(what):
                self.fails(code, "import", "Nothing", self.file(name, content), *flags, says=says)

    def test_bad_lines_are_named_and_stop_the_import(self):
        for what, name, content, bad in BAD_LINES:
            with self.subTest(what):
                path = self.file(name, content)
                done = self.run_tool("import", "Nothing", path, "--dry-run")
                line, says = next(iter(bad.items()))
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertRegex(done.stderr.decode(), rf"\A[^\n]*{name}:{line}: [^\n]*{says}")

    def test_bad_lines_are_skipped_when_asked_and_kept(self):
        for what, name, content, bad in BAD_LINES:
            with self.subTest(what):
                path, errors = self.file(name, content), self.folder / "errors"
                done = self.run_tool("import", "Nothing", path, "--dry-run", "--skip-bad",
                                     "--errors", str(errors))
                self.assertEqual(done.returncode, 0, done.stderr)
                kept = [json.loads(line) for line in
                        errors.read_text(errors="replace").splitlines()]
                self.assertEqual([one["line"] for one in kept], list(bad))
                for one in kept:
                    self.assertRegex(one["error"], bad[one["line"]])

    def test_export_import_export_gives_the_same_bytes(self):
        rows = [entity("p", "everything", **EVERYTHING), entity("", ""),
                entity("日本 😀", "Ünï 'quoted'"), entity("a,b", '"c"'),
                entity("wide", "252", **{f"P{i:03}": i for i in range(252)})]
        self.ok("import", "Original", "-", "--create", stdin="\n".join(rows), says="imported 5 .*\n")
        for ending in ("ndjson", "json", "typed.csv"):
            with self.subTest(ending):
                first, second = (str(self.folder / f"{i}.{ending}") for i in "12")
                table = self.table()
                self.ok("export", "Original", first, says="exported 5 .*\n")
                self.ok("import", table, first, "--create", says="imported 5 .*\n")
                self.ok("export", table, second, says="exported 5 .*\n")
                self.assertEqual(pathlib.Path(first).read_bytes(),
                                 pathlib.Path(second).read_bytes())
                self.ok("copy", "Original", self.table(), "--create", "--verify",
                        says="copied 5 .*\nverified 5 .*\n")
                self.assertEqual(self.entities(table), self.entities("Original"))

    def test_columns_that_come_late_are_in_their_order(self):
        table, path = self.table(), self.folder / "late.typed.csv"
        rows = [entity("p", f"{i:05}", M=i) for i in range(3000)]
        rows[1500] = entity("p", "01500", A="first", M=1, Z="last, \"quoted\"")
        rows[2500] = entity("p", "02500", B="")
        self.ok("import", table, "-", "--create", stdin="\n".join(rows), says="imported 3,000 .*\n")
        self.ok("export", table, str(path), says="exported 3,000 .*\n")
        lines = path.read_bytes().decode().split("\r\n")
        self.assertEqual(lines[0],
                         "PartitionKey,RowKey,A,A@type,B,B@type,M,M@type,Z,Z@type")
        self.assertEqual(lines[1], "p,00000,,,,,0,Edm.Int32,,")
        self.assertEqual(lines[1501],
                         'p,01500,first,Edm.String,,,1,Edm.Int32,"last, ""quoted""",Edm.String')
        self.assertEqual(lines[2501], "p,02500,,,,Edm.String,,,,")
        self.assertEqual(len(lines), 3002)
        self.assertEqual(self.ok("export", table, "-o", "typed-csv").encode(), path.read_bytes())
        self.assertEqual([p.name for p in self.folder.glob("late*")], ["late.typed.csv"])
