"""What the server's page is tested with in a browser, an answer of GET /cluster that was recorded,
has the fields that a cluster answers with today."""

import json
import unittest

from cluster import admin, stand
from server import ROOT
from table_client import Client

RECORDED = [ROOT / "tests" / "explorer" / name for name in ("cluster.json", "nodes.json")]


def shape(value):
    """The names in it and the kinds of what they have; of lists what is in their first entry."""
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


@unittest.skipIf(stand.IS_ALONE, "about Ceph")
class Page(unittest.TestCase):
    def test_recorded_answers_are_like_those_of_today(self):
        with stand.Nodes(1) as nodes:
            client = Client(nodes[0].table_port)
            client.create_table("people")
            for number in range(20):
                client.insert("people", {"PartitionKey": f"p{number:02}", "RowKey": "r"})
            self.assertEqual(admin.force(nodes[0], "split"), "")
            stand.until(lambda: admin.cluster(nodes[0])["history"])
            answer = shape(admin.cluster(nodes[0]))
        for file in RECORDED:
            with self.subTest(file=file.name):
                recorded = shape(json.loads(file.read_text()))
                for name in ("nodes", "ranges", "history", "pool", "leader", "self", "version"):
                    self.assertEqual(answer[name], recorded[name], name)


if __name__ == "__main__":
    unittest.main()
