"""Every format of the output, byte by byte."""

import re
import subprocess

from tavola import PROGRAM, TavolaTest

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d(?::|%3A)\d\d(?::|%3A)\d\d(?:\.\d+)?Z")
# One entity with every type, one with texts that every format must protect.
ALL_TYPES = ("S=Ada", "I:int32=-30", "L:int64=9007199254740993", "D:double=1", "B:boolean=true",
             "T:datetime=2026-01-02T03:04:05.120Z", "G:guid=C9DA6455-213D-42C9-9A79-3E9149A57833",
             "X:binary=AAH/")
TEXTS = ("S=a,\"b\"\n\tc\\d\u00e9 ", "E=")

QUERIES = {
    "ndjson": """\
{"odata.etag":"W/\\"datetime'TIME'\\"","PartitionKey":"p","RowKey":"1","Timestamp":"TIME",\
"S":"Ada","I":-30,"L@odata.type":"Edm.Int64","L":"9007199254740993","D":1.0,"B":true,\
"T@odata.type":"Edm.DateTime","T":"TIME","G@odata.type":"Edm.Guid",\
"G":"c9da6455-213d-42c9-9a79-3e9149a57833","X@odata.type":"Edm.Binary","X":"AAH/"}
{"odata.etag":"W/\\"datetime'TIME'\\"","PartitionKey":"p","RowKey":"2","Timestamp":"TIME",\
"S":"a,\\"b\\"\\n\\tc\\\\d\\u00e9 ","E":""}
""",
    "csv": """\
PartitionKey,RowKey,Timestamp,B,D,E,G,I,L,S,T,X
p,1,TIME,true,1.0,,c9da6455-213d-42c9-9a79-3e9149a57833,-30,9007199254740993,Ada,TIME,AAH/
p,2,TIME,,,,,,,"a,""b""
\tc\\dé ",,
""",
    "typed-csv": """\
PartitionKey,RowKey,Timestamp,B,B@type,D,D@type,E,E@type,G,G@type,I,I@type,L,L@type,S,S@type,\
T,T@type,X,X@type
p,1,TIME,true,Edm.Boolean,1.0,Edm.Double,,,c9da6455-213d-42c9-9a79-3e9149a57833,Edm.Guid,\
-30,Edm.Int32,9007199254740993,Edm.Int64,Ada,Edm.String,TIME,Edm.DateTime,AAH/,Edm.Binary
p,2,TIME,,,,,,Edm.String,,,,,,,"a,""b""
\tc\\dé ",Edm.String,,,,
""",
    "tsv": """\
PartitionKey\tRowKey\tTimestamp\tB\tD\tE\tG\tI\tL\tS\tT\tX
p\t1\tTIME\ttrue\t1.0\t\tc9da6455-213d-42c9-9a79-3e9149a57833\t-30\t9007199254740993\tAda\tTIME\tAAH/
p\t2\tTIME\t\t\t\t\t\t\ta,"b"\\n\\tc\\\\dé \t\t
""",
    "table": """\
PartitionKey  RowKey  S                 I                 L    D  B     \
T                        G                                     X     E
p             1       Ada             -30  9007199254740993  1.0  true  \
2026-01-02T03:04:05.12Z  c9da6455-213d-42c9-9a79-3e9149a57833  AAH/  
p             2       a,"b"\\n\\tc\\dé \
                                                                                                 \
                     
""",
}
QUERIES["json"] = "[\n" + QUERIES["ndjson"].strip().replace("\n", ",\n") + "\n]\n"


class Formats(TavolaTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        tool = cls()
        tool.ok("table", "create", "Types")
        tool.ok("insert", "Types", "p", "1", *ALL_TYPES)
        tool.ok("insert", "Types", "p", "2", *TEXTS)

    def test_every_format_of_a_query(self):
        for name, expected in QUERIES.items():
            with self.subTest(name):
                shown = self.ok("query", "Types", "-o", name)
                if name == "table":
                    shown, expected = ("\n".join(map(str.rstrip, text.split("\n")))
                                       for text in (shown, expected))
                    self.assertEqual(shown, expected)
                else:
                    self.assertEqual(TIME.sub("TIME", shown), expected)

    def test_a_pipe_gets_ndjson(self):
        self.assertEqual(self.ok("query", "Types"), self.ok("query", "Types", "-o", "ndjson"))

    def test_selected_columns_in_their_order(self):
        for name, expected in (("csv", "I,S,Nope\n-30,Ada,\n,\"a,\"\"b\"\"\n\tc\\dé \",\n"),
                               ("tsv", "I\tS\tNope\n-30\tAda\t\n\ta,\"b\"\\n\\tc\\\\dé \t\n"),
                               ("value", "-30\tAda\t\n\ta,\"b\"\\n\\tc\\\\dé \t\n")):
            with self.subTest(name):
                self.assertEqual(self.ok("query", "Types", "--select", "I,S,Nope", "-o", name),
                                 expected)

    def test_one_column_as_value_is_raw(self):
        self.assertEqual(self.ok("get", "Types", "p", "2", "--select", "S", "-o", "value"),
                         "a,\"b\"\n\tc\\dé \n")
        done = self.run_tool("get", "Types", "p", "1", "--select", "X", "-o", "value")
        self.assertEqual(done.stdout, b"\0\1\xff", "the bytes of a Binary, and no newline")

    def test_a_single_entity(self):
        line = self.ok("get", "Types", "p", "1")
        self.assertEqual(self.ok("get", "Types", "p", "1", "-o", "json"), line)
        self.assertEqual(TIME.sub("TIME", line), QUERIES["ndjson"].splitlines(True)[0])
        self.assertEqual(TIME.sub("TIME", self.ok("get", "Types", "p", "1", "-o", "table")), """\
Property      Type      Value
PartitionKey  string    p
RowKey        string    1
Timestamp     datetime  TIME
S             string    Ada
I             int32     -30
L             int64     9007199254740993
D             double    1.0
B             boolean   true
T             datetime  TIME
G             guid      c9da6455-213d-42c9-9a79-3e9149a57833
X             binary    AAH/
""")

    def test_an_empty_result(self):
        for name, expected in (("json", "[]\n"), ("ndjson", ""), ("csv", ""), ("typed-csv", ""),
                               ("tsv", ""), ("value", ""), ("table", "")):
            with self.subTest(name):
                self.assertEqual(self.ok("query", "Types", "--where", "PartitionKey eq 'none'", "-o", name),
                                 expected)
        self.assertEqual(self.ok("query", "Types", "--where", "PartitionKey eq 'none'", "--select", "A,B",
                                 "-o", "csv"), "A,B\n", "the header is known")

    def test_records_that_are_not_entities(self):
        for name, expected in (("ndjson", '{"TableName":"Types"}\n'),
                               ("json", '[\n{"TableName":"Types"}\n]\n'),
                               ("csv", "TableName\nTypes\n"),
                               ("typed-csv", "TableName,TableName@type\nTypes,Edm.String\n"),
                               ("tsv", "TableName\nTypes\n"), ("value", "Types\n"),
                               ("table", "TableName\nTypes\n")):
            with self.subTest(name):
                self.assertEqual(self.ok("table", "list", "--prefix", "Types", "-o", name),
                                 expected)

    def test_plain_verbs_print_a_bare_value(self):
        self.assertEqual(self.ok("count", "Types"), "2\n")
        self.assertEqual(self.ok("count", "Types", "-o", "json"), '{"Count":2}\n')

    def test_more_rows_than_a_page_keep_their_columns(self):
        self.ok("table", "create", "Many")
        for i in range(3):
            self.ok("insert", "Many", "p", str(i), f"P{i}:int32={i}")
        for extra in ((), ("--page-size", "1")):
            self.assertEqual(TIME.sub("T", self.ok("query", "Many", "-o", "csv", *extra)),
                             "PartitionKey,RowKey,Timestamp,P0,P1,P2\np,0,T,0,,\np,1,T,,1,\n"
                             "p,2,T,,,2\n")

    def test_doubles_read_back(self):
        self.ok("table", "create", "Doubles")
        numbers = ("0.1", "1e300", "123456789012345680", "5e-324", "NaN", "Infinity",
                   "-Infinity", "1.7976931348623157e308", "0.30000000000000004")
        for number in numbers:
            self.ok("put", "Doubles", "p", "r", f"D:double={number}")
            shown = self.ok("get", "Doubles", "p", "r", "--select", "D", "-o", "value").strip()
            self.assertEqual(repr(float(shown)), repr(float(number)))

    def test_csv_writes_numbers_one_way(self):
        self.ok("table", "create", "Written")
        numbers = ("1e20", "1.5e-7", "0.1", "1e15", "123456789012345680", "-0.0", "5", "2.5e-5", "1e14")
        for i, number in enumerate(numbers):
            self.ok("put", "Written", "p", f"{i:02}", f"D:double={number}", "T:datetime=2026-01-02T03:04:05.120Z",
                    "L:int64=-9223372036854775808", "I:int32=7")
        queried = self.ok("query", "Written", "--select", "PartitionKey,RowKey,D,I,L,T", "-o", "csv")
        self.assertEqual(queried.splitlines(), self.ok("export", "Written", "-o", "csv").splitlines())
        stored = [entity["D"] for entity in self.lines("query", "Written")]
        self.assertEqual([float(line.split(",")[2]) for line in queried.splitlines()[1:]], stored)

    def test_a_disk_that_is_full_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, "query", "Types"], stdout=full, env=self.env,
                                  stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), "^tavola: cannot write the output: No space left")
