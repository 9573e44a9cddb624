"""The verbs for those who run a cluster, against answers of an admin port that were kept."""

import json
import pathlib
import tempfile

from server_test import OneAnswer, http
from tavola import TavolaTest

CLUSTER = """{"version":17,"leader":"i01","self":"i02",
"force":{"job":3,"state":"done","error":"%s"},
"pool":{"led_ms":4200,"bytes":1000,"free_bytes":700,"osds":3,"osds_up":2},
"check":{"at_ms":1,"removed":0,"strays":[]},
"nodes":[{"incarnation":"i01","beat_ms":100,"clock_skew_ms":3,"state":"live"},{"incarnation":"i02","beat_ms":90,"clock_skew_ms":-3,"state":"live"}],
"ranges":[
{"start":"","key":"","object":"tv.R.1","epoch":"c9","flags":"","usual":"i01","measured":true,"rows":50,"bytes":1550,"reads_s":12,"writes_s":0,"rows_per_op":0,"busy_percent":0,"refused":""},
{"start":"r/acct/00000007M\\u00fcnchen","key":"racct%%0100000007M%%C3%%BCnchen%%01","object":"tv.R.c9","epoch":"c9","flags":"dirty","usual":"i02","measured":true,"rows":70000,"bytes":9000,"reads_s":1,"writes_s":40,"rows_per_op":64,"busy_percent":91,"refused":"single_partition"}],
"intents":[%s],
"history":[
{"at_ms":1794886533126,"op":"split","range":"tv.R.1","key":"r/acct/00000007M\\u00fcnchen","reason":"size","rows":25000,"total_ms":900,"paused_ms":210,"outcome":"done"}]}
"""


def cluster(error="", intents=""):
    return http(200, CLUSTER % (error, intents))


class Clusters(TavolaTest):
    def records(self, *words):
        with OneAnswer(cluster()) as server:
            return self.lines("cluster", *words, "--admin", server.url)

    def refused(self, code, answer, *words, says):
        with OneAnswer(answer, token="a" * 64) as server:
            self.fails(code, "cluster", *words, "--admin", server.url, says=says)
        return server.asked

    def test_status_sums_the_cluster_up(self):
        status, = self.records("status")
        self.assertEqual((status["Leader"], status["Incarnation"]), ("i01", "i02"))
        self.assertEqual((status["Nodes"], status["Ranges"], status["Rows"]), (2, 2, 70050))
        self.assertEqual((status["ChangesUnderWay"], status["MapVersion"]), (0, 17))
        self.assertEqual((status["Osds"], status["PoolFreeBytes"]), (3, 700))

    def test_json_is_read_however_it_is_laid_out(self):
        laid_out = http(200, json.dumps(json.loads(CLUSTER % ("", "")), indent=1))
        for words in ("status", "ranges", "history"):
            with self.subTest(words), OneAnswer(laid_out) as server:
                got = self.lines("cluster", words, "--admin", server.url)
                wanted = self.records(words)
                for record in got + wanted:
                    record.pop("Server", None)
                self.assertEqual(got, wanted)

    DEAD = ('{"incarnation":1,"address":"10.0.0.1:0/77","http":"0.0.0.0:10000,0.0.0.0:10002",'
            '"level":1,"beat_ms":9000000,"clock_skew_ms":0,"state":"dead"},')
    LIVE = ('{"incarnation":7,"address":"%s:0/88","http":"0.0.0.0:10000,0.0.0.0:10002","level":2,'
            '"beat_ms":90,"clock_skew_ms":0,"state":"live"},')

    def with_nodes(self, nodes):
        return http(200, (CLUSTER % ("", "")).replace('"nodes":[', '"nodes":[' + nodes))

    def test_the_dead_are_not_counted_and_osds_are_those_that_are_up(self):
        with OneAnswer(self.with_nodes(self.DEAD)) as server:
            status, = self.lines("cluster", "status", "--admin", server.url)
        self.assertEqual((status["Nodes"], status["DeadNodes"]), (2, 1))
        self.assertEqual((status["Osds"], status["OsdsUp"]), (3, 2))

    def test_a_dead_node_is_named_by_its_address_until_it_is_back(self):
        self.refused(1, self.with_nodes(self.DEAD), "check",
                     says=r"node 1 at 10.0.0.1 \(0.0.0.0:10000,0.0.0.0:10002\) is dead since 9000 s")
        self.refused(1, self.with_nodes(self.DEAD + self.LIVE % "10.0.0.2"), "check",
                     says="node 1 at 10.0.0.1")
        with OneAnswer(self.with_nodes(self.DEAD + self.LIVE % "10.0.0.1")) as server:
            self.assertEqual(self.ok("cluster", "check", "--admin", server.url), "ok\n")

    def test_ranges_are_listed_with_why_one_is_not_split(self):
        first, second = self.records("ranges")
        self.assertEqual((first["Start"], first["Refused"]), ("", ""))
        self.assertEqual(second["Start"], "r/acct/00000007München")
        self.assertEqual(second["Refused"], "single_partition")
        self.assertEqual(second["Key"], "racct%0100000007M%C3%BCnchen%01")
        self.assertEqual((second["Rows"], second["BusyPercent"]), (70000, 91))

    def test_history_tells_how_long_writes_waited(self):
        event, = self.records("history")
        self.assertEqual((event["Op"], event["Reason"], event["Outcome"]), ("split", "size", "done"))
        self.assertEqual((event["PausedMs"], event["TotalMs"]), (210, 900))
        self.assertTrue(event["At"].startswith("2026-11-17T"), event)

    def test_check_is_for_scripts(self):
        with OneAnswer(cluster()) as server:
            self.assertEqual(self.ok("cluster", "check", "--admin", server.url), "ok\n")
        stuck = '\n{"op":"merge","stage":"begun","began_ms":1,"id":"c1","by":"","object":"o","key":""}'
        self.refused(1, cluster("", stuck), "check", says="a merge of o has been under way")
        for good, bad, says in [
                ('"leader":"i01"', '"leader":""', "no node leads"),
                ('"led_ms":4200', '"led_ms":99000', "leader has not been heard of for 99 s"),
                ('"beat_ms":90,"clock_skew_ms":-3,"state":"live"',
                 '"beat_ms":31000,"clock_skew_ms":0,"state":"dead"', "node i02 is dead since 31 s"),
                ('"clock_skew_ms":-3', '"clock_skew_ms":-1500', "clock of node i02 is -1500 ms off"),
                ('"strays":[]', '"strays":["tv.R.c9","tv.R.c12"]', '"tv.R.c9","tv.R.c12"')]:
            with self.subTest(says):
                self.refused(1, http(200, (CLUSTER % ("", "")).replace(good, bad)), "check", says=says)

    def test_check_with_a_token_has_the_pool_listed_first(self):
        with tempfile.TemporaryDirectory() as folder:
            token = pathlib.Path(folder, "admin.token")
            token.write_text("a" * 64)
            token.chmod(0o600)
            asked = self.refused(4, http(409, "another change is under way\n"), "check",
                                 "--token-file", str(token), says="another change is under way")
            self.assertIn(b'POST /cluster/force', asked[0])
            self.assertIn(b'{"op":"check"}', asked[0])

    def test_a_server_that_is_none_of_a_cluster_is_told(self):
        self.refused(1, http(404, "not here\n"), "status", says="not one of a cluster")
        self.refused(1, http(200, "{}"), "ranges", says="does not answer as a tavolad does")

    def test_force_sends_the_token_and_tells_what_went_wrong(self):
        with tempfile.TemporaryDirectory() as folder:
            token = pathlib.Path(folder, "admin.token")
            token.write_text("a" * 64)
            token.chmod(0o600)
            asked = self.refused(4, http(409, "another change is under way\n"), "force", "split", "",
                                 "k", "--token-file", str(token), says="another change is under way")
            self.assertIn(b"Authorization: Bearer " + b"a" * 64, asked[0])
            self.assertIn(b'{"op":"split","range":"","key":"k"}', asked[0])
