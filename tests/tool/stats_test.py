"""table stats: of the service, and of what is in a table."""

import json

from tavola import TavolaTest, needs_tavolad


class Stats(TavolaTest):
    def test_of_the_service(self):
        found, = self.lines("table", "stats")
        self.assertEqual(found["GeoReplication"], "live")
        self.assertRegex(found["LastSyncTime"], r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")
        self.fails(2, "table", "stats", "--properties", says="name it")

    def test_a_secondary_that_is_not_known_or_not_there(self):
        string = self.server.connection_string
        url = self.server.table_url
        self.fails(2, "table", "stats", says="secondary endpoint of this service is not known",
                   env=self.env | {"AZURE_STORAGE_CONNECTION_STRING":
                                   f"TableEndpoint=http://127.0.0.1:1;{string.replace(url, '')}"
                                   .replace("TableEndpoint=;", "")})
        self.fails(6, "table", "stats", "--timeout", "2", says="NETWORK|TIMEOUT",
                   env=self.env | {"AZURE_STORAGE_CONNECTION_STRING": string +
                                   ";TableSecondaryEndpoint=http://127.0.0.1:1/x-secondary"})

    def test_of_a_table(self):
        self.ok("table", "create", "Mixed")
        entities = ({"PartitionKey": "a", "RowKey": "1"},
                    {"PartitionKey": "a", "RowKey": "2", "Age": 5},
                    {"PartitionKey": "b", "RowKey": "1", "Age": "5", "Name": "x" * 100},
                    {"PartitionKey": "\u00e9", "RowKey": "1", "Age": 7})
        self.ok("import", "Mixed", says="imported .*\n",
                stdin="".join(json.dumps(entity) + "\n" for entity in entities))
        found, = self.lines("table", "stats", "Mixed")
        # 4 bytes, two for each character of keys and names, 8 and the value for each property.
        bare, age_int, age_text = 4 + 2 * 2, 2 * 3 + 8 + 4, 2 * 3 + 8 + 4 + 2
        name = 2 * 4 + 8 + 4 + 200
        self.assertEqual(found, {
            "Entities": 4, "Partitions": 3, "Bytes": 4 * bare + 2 * age_int + age_text + name,
            "LargestEntityBytes": bare + age_text + name, "LargestPartition": "b",
            "LargestPartitionEntities": 1, "LargestPartitionBytes": bare + age_text + name,
            "Properties": "Age:string,Age:int32,Name:string"})
        self.assertEqual(self.ok("table", "stats", "Mixed", "--properties", "-o", "csv"),
                         "Property,Type,Entities\nAge,string,1\nAge,int32,2\nName,string,1\n")
        found, = self.lines("table", "stats", "Mixed", "--where", "PartitionKey eq ?", "a")
        self.assertEqual((found["Entities"], found["LargestPartition"]), (2, "a"))

    @needs_tavolad("it keeps no facts")
    def test_by_the_facts_of_a_server(self):
        self.ok("table", "create", "Known")
        self.ok("import", "Known", says="imported .*\n", stdin="".join(json.dumps(
            {"PartitionKey": f"p{i % 4 // 2}", "RowKey": f"r{i:03}", "Age": i,
             "Name": "x" * (i % 7)}) + "\n" for i in range(50)))
        admin = ("--admin", self.server.admin_url, "--data", self.server.data)
        read, = self.lines("table", "stats", "Known")
        note = "by the facts that the server keeps; properties are those of 50 entities\n"
        found, = self.lines("table", "stats", "Known", *admin, says=note)
        self.assertEqual(found, {
            "Entities": 50, "Partitions": 2, "PartitionsError": 0, "Bytes": read["Bytes"],
            "BytesError": 0, "LargestPartition": "p0", "LargestPartitionEntities": 26,
            "LargestPartitionEntitiesError": 0, "Properties": "Age:int32,Name:string"})
        self.assertEqual(
            self.ok("table", "stats", "Known", "--properties", "-o", "csv", *admin, says=note),
            "Property,Type,EntitiesOfSample,DistinctLow,DistinctHigh\n"
            "Age,int32,50,50,50\nName,string,50,7,7\n")
        self.fails(2, "table", "stats", "Known", "--where", "RowKey eq 'a'", *admin, says="of a whole table")
        self.fails(3, "table", "stats", "Nowhere", *admin, says="no such table")
        self.fails(6, "table", "stats", "Known", "--admin", "http://127.0.0.1:1", "--data",
                   self.server.data, says="no server answers")

    def test_of_an_empty_table_and_of_none(self):
        self.ok("table", "create", "Empty")
        found, = self.lines("table", "stats", "Empty")
        self.assertEqual((found["Entities"], found["Partitions"], found["Bytes"],
                          found["Properties"]), (0, 0, 0, ""))
        self.assertNotIn("LargestPartition", found)
        self.assertEqual(self.ok("table", "stats", "Empty", "--properties"), "")
        self.fails(3, "table", "stats", "NoSuch", says="TableNotFound")
        self.fails(2, "table", "stats", "a b", says="not the name of a table")

    def test_very_many_properties_are_counted(self):
        self.ok("table", "create", "Wide")
        self.ok("import", "Wide", says="imported .*\n", stdin="".join(
            json.dumps({"PartitionKey": "p", "RowKey": f"{row:03}"} |
                       {f"P{row * 250 + i}": "" for i in range(250)}) + "\n"
            for row in range(44)))
        done = self.run_tool("table", "stats", "Wide", "--properties")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(done.stdout.splitlines()), 10000)
        self.assertIn("1000 values of others are not listed", done.stderr.decode())
