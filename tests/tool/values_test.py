"""Typed values: what is taken, and what is refused before anything is sent."""

import json

from tavola import IS_AZURITE, TavolaTest

NOWHERE = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=YQ==;" \
          "TableEndpoint=http://127.0.0.1:1/a"

GOOD = (
    ("A=30", {"A": "30"}),
    ("A=", {"A": ""}),
    ("A=b=c:d", {"A": "b=c:d"}),
    ("A:string=30", {"A": "30"}),
    ("A:int32=30", {"A": 30}),
    ("A:Int32=-2147483648", {"A": -2147483648}),
    ("A:Edm.Int32=2147483647", {"A": 2147483647}),
    ("A:int64=9223372036854775807",
     {"A@odata.type": "Edm.Int64", "A": "9223372036854775807"}),
    ("A:double=5", {"A": 5.0}),
    ("A:double=-1.5e3", {"A": -1500.0}),
    ("A:boolean=true", {"A": True}),
    ("A:bool=false", {"A": False}),
    ("A:datetime=2026-01-02T03:04:05+01:00",
     {"A@odata.type": "Edm.DateTime", "A": "2026-01-02T02:04:05Z"}),
    ("A:guid=C9DA6455-213D-42C9-9A79-3E9149A57833",
     {"A@odata.type": "Edm.Guid", "A": "c9da6455-213d-42c9-9a79-3e9149a57833"}),
    ("A:binary=", {"A@odata.type": "Edm.Binary", "A": ""}),
    ("A:binary=AAEC", {"A@odata.type": "Edm.Binary", "A": "AAEC"}),
    ("A=@@home", {"A": "@home"}),
)

# What is wrong, and what the line says about it.
BAD = (
    ("A", "NAME=TEXT"),
    ("=5", "NAME=TEXT"),
    (":int32=5", "NAME=TEXT"),
    ("A:int=5", "'int' is not a type: take one of string, int32"),
    ("A:=5", "'' is not a type"),
    ("A:int32=", "not of type int32: give a whole number"),
    ("A:int32=abc", "A: 'abc' is not of type int32"),
    ("A:int32=1.0", "not of type int32"),
    ("A:int32= 1", "not of type int32"),
    ("A:int32=+1", "not of type int32"),
    ("A:int32=0x10", "not of type int32"),
    ("A:int32=2147483648", "not of type int32"),
    ("A:int64=9223372036854775808", "not of type int64"),
    ("A:double=one", "not of type double"),
    ("A:double=0x1p3", "not of type double"),
    ("A:double=inf", "not of type double"),
    ("A:double=1e999", "not of type double"),
    ("A:boolean=yes", "true or false"),
    ("A:boolean=True", "true or false"),
    ("A:datetime=yesterday", "2026-01-02T03:04:05Z"),
    ("A:datetime=2026-01-02", "2026-01-02T03:04:05Z"),
    ("A:datetime=2026-13-02T03:04:05Z", "2026-01-02T03:04:05Z"),
    ("A:datetime=1600-01-01T00:00:00Z", "A"),
    ("A:guid=123", "a GUID like"),
    ("A:binary=A", "base64, or @file"),
    ("A:binary=AAE", "base64, or @file"),
    ("A:binary=AB==", "base64, or @file"),
    ("A:binary=A*EC", "base64, or @file"),
    ("A:binary=@/does/not/exist", "cannot read /does/not/exist for A: No such file"),
    ("A=@", "needs the name of a file"),
    ("A=@/", "cannot read / for A: Is a directory"),
    ("A@odata.type=Edm.Int32", "A has a type and no value"),
    ("1A=5", "1A"),
    ("PartitionKey=5", "PartitionKey"),
    ("A=\udcff", "A"),
)


class Values(TavolaTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls().ok("table", "create", "Values")

    def put(self, *words, stdin=b""):
        self.ok("put", "Values", "p", "r", *words, stdin=stdin)
        entity = json.loads(self.ok("get", "Values", "p", "r"))
        return {name: value for name, value in entity.items() if name[0] == "A"}

    def test_what_is_taken(self):
        for word, expected in GOOD:
            with self.subTest(word):
                found = self.put(word)
                self.assertEqual(found, expected)
                self.assertEqual(type(found["A"]), type(expected["A"]))

    def test_what_is_refused(self):
        env = self.env | {"AZURE_STORAGE_CONNECTION_STRING": NOWHERE}
        for word, says in BAD:
            with self.subTest(word):
                self.fails(2, "put", "Values", "p", "r", word, says=says, env=env)

    def test_annotations_like_az(self):
        self.assertEqual(self.put("A=30", "A@odata.type=Edm.Int32"), {"A": 30})
        self.assertEqual(self.put("A@odata.type=Edm.Binary", "A=AAEC")["A"], "AAEC")
        for words, says in ((("A:int64=1", "A@odata.type=Edm.Int32"), "two types"),
                            (("A=1", "A=2"), "given twice"),
                            (("A=1", "A@odata.type=Edm.Nope"), "'Edm.Nope' is not a type")):
            with self.subTest(words):
                self.fails(2, "put", "Values", "p", "r", *words, says=says)

    def test_files_and_standard_input(self):
        path = self.home / "file"
        path.write_bytes(bytes(range(256)))
        self.ok("put", "Values", "p", "r", f"A:binary=@{path}")
        done = self.run_tool("get", "Values", "p", "r", "--select", "A", "-o", "value")
        self.assertEqual(done.stdout, bytes(range(256)))
        self.assertEqual(self.put("A=-", stdin="a\nb\n"), {"A": "a\nb\n"}, "a text as it is")
        self.assertEqual(self.put("A=@-", stdin="x"), {"A": "x"})
        self.assertEqual(self.put("A:int32=-", stdin="42\n"), {"A": 42}, "but a number ends")
        self.assertEqual(self.put("A:binary=-", stdin=b"\0")["A"], "AA==")
        self.fails(2, "put", "Values", "p", "r", "A=-", "AB=-", says="only one value")

    def test_values_of_filters(self):
        self.ok("put", "Values", "q", "r", "Age:int32=30", "T=a:b", "U=x:int32")
        for words, count in ((("Age eq ?", "30:int32"), 1), (("Age eq ?", "30"), 0),
                             (("T eq ?", "a:b"), 1), (("U eq ?", "x:int32:string"), 1),
                             (("T eq '?' or T eq ?", "a:b"), 1)):
            says = "" if count or IS_AZURITE else r"warning: Age is Int32 .*\nwarning: a value .*\n"
            with self.subTest(words):
                self.assertEqual(self.ok("count", "Values", "--where", *words, says=says), f"{count}\n")
        for words, says in ((("Age eq ?",), "0 values"), (("Age eq ?", "1:int32", "2"), "it goes"),
                            (("Age eq ?", "--limit", "5"), "does not take --limit"),
                            (("Age eq 1", "1"), "it goes"), (("Age eq ?", "30:int"), "not a type"),
                            (("Age eq ?", "x:int32"), "not of type int32"),
                            (("Age eq ?", "30:Long"), "not a type")):
            with self.subTest(words):
                self.fails(2, "count", "Values", "--where", *words, says=says)


class Usage(TavolaTest):
    """Command lines that cannot be meant: one line that says what to do, exit code 2."""

    def test_what_is_refused(self):
        for words, says in (
                (("nonsense",), "no command 'nonsense'; 'tavola help' lists them"),
                (("table",), "followed by one of: list, create, delete, exists, policy list"),
                (("table", "crate"), "followed by one of"),
                (("table", "create"), "it goes: tavola table create TABLE"),
                (("table", "create", "A", "B"), "it goes: tavola table create TABLE"),
                (("get", "T", "p"), "it goes: tavola get TABLE PARTITION ROW"),
                (("get", "T", "p", "r", "--nope"), r"no flag '--nope'; .*begins with a dash\)\n"),
                (("get", "T", "p", "r", "--slect", "A"), "did you mean '--select'\\?"),
                (("qurey", "T"), "no command 'qurey'; 'tavola help' lists them; did you mean 'query'\\?"),
                (("tabel", "list"), "no command 'tabel'; .*did you mean 'table list'\\?"),
                (("tabel",), "did you mean 'table'\\?"),
                (("table", "craete", "A"), "did you mean 'table create'\\?"),
                (("help", "exprot"), "did you mean 'export'\\?"),
                (("completion", "bash", "-o", "json"), "does not take --output"),
                (("get", "T", "p", "r", "-z"), "no flag '-z'"),
                (("get", "T", "p", "r", "--limit", "5"), "does not take --limit"),
                (("query", "T", "--limit"), "--limit needs a value"),
                (("query", "T", "--limit", "x"), "whole number"),
                (("query", "T", "--limit=0"), "a whole number from 1 on, not '0'"),
                (("query", "T", "--limit", "5x"), "whole number"),
                (("query", "T", "--limit", "1", "--limit", "2"), "given twice"),
                (("whatif", "t", "--prices", "a", "--prices", "b"), "given twice"),
                (("query", "T", "--page-size", "1001"), "from 1 to 1000"),
                (("query", "T", "--plan=yes"), "takes no value"),
                (("query", "Tab", "-o", "yaml"), "no format 'yaml': -o takes table"),
                (("query", "Tab", "-oyaml"), "no format 'yaml'"),
                (("query", "Tab", "Age gt 5"), r"it goes: tavola query TABLE \[--where FILTER.*; a filter goes behind --where"),
                (("query", "Tab", "--where", "Age", "gt", "5"), "a filter is one argument: put it in quotes"),
                (("delete", "Tab", "p", "r", "x"), "it goes: tavola delete"),
                (("query", "Tab", "--where", "Age gt ?", "5", "6"), "there are more values than \\? in the filter"),
                (("query", "Tab", "--where", " "), "the filter is empty: without --where it is all entities"),
                (("insert", "Tab", "p", "r", "RowKey=x"), "RowKey is a key: keys stand before the properties"),
                (("query", "T"), "'T' is not the name of a table: 3 to 63"),
                (("query", "Tab", "--timeout", "0"), "--timeout takes a whole number"),
                (("queue", "create", "Big"), "not the name of a queue"),
                (("container", "create", "a"), "not the name of a container"),
                (("merge", "Tab", "p", "r", "--or-insert", "--if-match", "x"), "exclude"),
                (("keys", "Tab", "p", "--partitions"), "leave 'p' out"),
                (("table", "sas", "Tab"), "needs --permissions and --expiry"),
                (("table", "sas", "Tab", "--permissions", "r", "--expiry", "soon"), "a time like"),
                (("sas", "make", "--permissions", "r", "--expiry", "+1h"), "--services"),
                (("completion", "tcsh"), "not for 'tcsh'"),
                (("get", "Tab", "p", "a/b"), "RowKey"),
                (("help", "nonsense"), "no command 'nonsense'")):
            with self.subTest(words):
                self.fails(2, *words, says=says)

    def test_nothing_at_all(self):
        done = self.run_tool()
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertRegex(done.stderr.decode(), r"\Ausage: tavola VERB")

    def test_what_comes_from_outside_is_one_line_without_controls(self):
        text = self.fails(2, "a\x1b[31m\nb\u202e", says=r"a\\x1b\[31m\\nb\\u202e")
        self.assertNotIn("\x1b", text)
