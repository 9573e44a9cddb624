"""What a table must have, and what the facts about it must say, from its entities alone.

    model = Model()
    model.put("p", "r", {"Age": ("Edm.Int32", 5)})      # an insert, or a replacement
    model.merge("p", "r", {"Name": ("Edm.String", "Ada")})
    model.delete("p", "r")
    model.check(test, facts)                            # the answer of GET /facts

Sizes are those of docs/disk-format.md, written down here a second time.  Each call stands for one
group of the commit pipeline, as one client that waits for every answer makes them.
"""

import base64
import json
import urllib.error
import urllib.request

from server import ACCOUNT

FIXED = {"Edm.Boolean": 1, "Edm.Int32": 4, "Edm.Int64": 8, "Edm.Double": 8, "Edm.DateTime": 8,
         "Edm.Guid": 16}
LARGEST = 8          # entities that the facts name
SAMPLE = 1024        # keys; up to so many entities everything is exact
PARTITIONS = 256     # that the facts name
TABLE_ID = 8


def varint_bytes(number):
    return max(1, (number.bit_length() + 6) // 7)


def key_bytes(text):
    """CESU-8: every UTF-16 unit by itself."""
    units = text.encode("utf-16-be")
    return b"".join(chr(int.from_bytes(units[i:i + 2], "big")).encode("utf-8", "surrogatepass")
                    for i in range(0, len(units), 2))


def value_bytes(kind, value):
    """How many bytes a value has, without its length."""
    if kind == "Edm.String":
        return len(value.encode())
    if kind == "Edm.Binary":
        return len(value)
    return FIXED[kind]


def property_bytes(name, kind, value):
    size = value_bytes(kind, value)
    if kind not in FIXED:
        size += varint_bytes(size)
    return 1 + varint_bytes(len(name.encode())) + len(name.encode()) + size


def to_json(partition_key, row_key, properties):
    """The entity as a client sends it."""
    entity = {"PartitionKey": partition_key, "RowKey": row_key}
    for name, (kind, value) in properties.items():
        entity[name] = base64.b64encode(value).decode() if kind == "Edm.Binary" else value
        entity[f"{name}@odata.type"] = kind
    return entity


class Model:
    def __init__(self, account=ACCOUNT):
        self.account = account
        self.entities = {}      # (PartitionKey, RowKey) -> {name: (type, value)}
        self.created = self.replaced = self.deleted = 0

    def put(self, partition_key, row_key, properties):
        key = (partition_key, row_key)
        if key in self.entities:
            self.replaced += 1
        else:
            self.created += 1
        self.entities[key] = dict(properties)

    def merge(self, partition_key, row_key, properties):
        self.put(partition_key, row_key,
                 self.entities.get((partition_key, row_key), {}) | properties)

    def delete(self, partition_key, row_key):
        del self.entities[partition_key, row_key]
        self.deleted += 1

    def size(self, key):
        """Bytes of an entity's key and value."""
        return (1 + len(self.account) + 1 + TABLE_ID + len(key_bytes(key[0])) + 1 +
                len(key_bytes(key[1])) + 8 +
                sum(property_bytes(name, *value) for name, value in self.entities[key].items()))

    def partitions(self):
        """{PartitionKey: (entities, bytes)}."""
        found = {}
        for key in self.entities:
            count, size = found.get(key[0], (0, 0))
            found[key[0]] = (count + 1, size + self.size(key))
        return found

    def properties(self):
        """{name: {"count", "types", "bytes", "bytesMax", "distinctLow", "distinctHigh"}}."""
        found = {}
        for entity in self.entities.values():
            for name, (kind, value) in entity.items():
                p = found.setdefault(name, {"count": 0, "types": {}, "bytes": 0, "bytesMax": 0,
                                            "values": set()})
                p["count"] += 1
                p["types"][kind] = p["types"].get(kind, 0) + 1
                p["bytes"] += value_bytes(kind, value)
                p["bytesMax"] = max(p["bytesMax"], value_bytes(kind, value))
                p["values"].add((kind, value))
        for p in found.values():
            p["distinctLow"] = p["distinctHigh"] = len(p.pop("values"))
        return found

    def check_counts(self, test, facts, *, has_history=True):
        """Without a history the table is older than its sums."""
        test.assertEqual((facts["exact"], facts["basis"]), (True, "exact"))
        test.assertEqual((facts["entities"], facts["bytes"]),
                         (len(self.entities), sum(map(self.size, self.entities))))
        if has_history:
            test.assertEqual((facts["created"], facts["replaced"], facts["deleted"]),
                             (self.created, self.replaced, self.deleted))

    def check(self, test, facts, *, has_history=True):
        """All that must hold at any time, whatever was counted when."""
        self.check_counts(test, facts, has_history=has_history)
        self.check_partitions(test, facts)
        self.check_largest(test, facts)
        keys, is_all = facts["sample"]["keys"], facts["sample"]["isAll"]
        if is_all:
            test.assertEqual(keys, len(self.entities))
        else:
            test.assertLessEqual(keys, min(SAMPLE, len(self.entities)))
        for classes in (facts["partitionKeyClasses"], facts["rowKeyClasses"]):
            test.assertEqual(sum(c["count"] for c in classes), keys)
        test.assertEqual(facts["propertySamples"], keys)
        self.check_properties(test, facts, is_all)

    def check_partitions(self, test, facts):
        expected = self.partitions()
        listed = facts["partitions"]["largest"]
        test.assertLessEqual(abs(facts["partitions"]["count"] - len(expected)),
                             facts["partitions"]["error"])
        for partition in listed:
            entities, size = expected.get(partition["partitionKey"], (0, 0))
            test.assertLessEqual(abs(partition["entities"] - entities), partition["error"],
                                 partition)
            if partition["exact"]:
                test.assertEqual((partition["entities"], partition["bytes"]), (entities, size),
                                 partition)
        if not facts["sample"]["isAll"]:
            return
        test.assertEqual((facts["partitions"]["count"], facts["partitions"]["error"]),
                         (len(expected), 0))
        order = sorted(expected, key=lambda key: (-expected[key][0], key_bytes(key)))
        test.assertEqual([p["partitionKey"] for p in listed], order[:PARTITIONS])

    def check_largest(self, test, facts):
        listed = facts["largest"]
        sizes = sorted(map(self.size, self.entities), reverse=True)
        test.assertEqual([entity["bytes"] for entity in listed], sizes[:len(listed)])
        for entity in listed:
            test.assertEqual(self.size((entity["partitionKey"], entity["rowKey"])),
                             entity["bytes"])
        if self.deleted == 0 and self.replaced == 0:
            test.assertEqual(len(listed), min(LARGEST, len(self.entities)))

    def check_properties(self, test, facts, is_all):
        expected = self.properties()
        listed = {p["name"]: p for p in facts["properties"]}
        test.assertEqual(len(listed), len(facts["properties"]))
        test.assertLessEqual(set(listed), set(expected))
        for name, p in listed.items():
            test.assertLessEqual(set(p["types"]), set(expected[name]["types"]))
            test.assertLessEqual(p["count"], expected[name]["count"])
            if is_all:
                test.assertEqual({field: p[field] for field in expected[name]}, expected[name])
        if is_all:
            test.assertEqual(set(listed), set(expected))


# --- asking for the facts ---

def token_of(server):
    return server.admin_token()


def ask(server, path, method="GET", token=None):
    """The status and the text of an answer of the admin port; with the token unless told."""
    token = token_of(server) if token is None else token
    request = urllib.request.Request(server.admin_url + path, method=method,
                                     data=b"" if method == "POST" else None)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def facts_of(server, table, parameters=""):
    status, text = ask(server, f"/facts?table={table}{parameters}")
    if status != 200:
        raise AssertionError(f"GET /facts: {status} {text}")
    return json.loads(text)
