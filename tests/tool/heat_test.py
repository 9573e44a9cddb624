"""The heat map in the terminal, against answers of an admin port that were kept."""

import json
import pathlib
import tempfile

from server_test import OneAnswer, http
from tavola import TavolaTest

TOKEN = "0" * 64
HEAT = {
    "account": "devstoreaccount1", "table": "People", "m": "writes", "grainS": 60, "from": 1782000000,
    "slots": 4, "recorded": 4, "until": 1782000240, "buckets": 3, "max": 1000, "approx": False,
    "keys": [[""], ["counter", "total"], ["counter", "total", ""]],
    "findings": [{"kind": "hot-line", "verdict": "fix", "slot": 0, "slots": 4, "bucket": 1, "buckets": 1,
                  "share": 0.9, "period": 0, "oneKey": True, "text": "One entity, 90 % of the writes."}],
    "cells": [[0, 1000, 1], [0, 1000, 0], [0, 1000, 30], [0, 1000, 0]],
}


def answer(**changes):
    return http(200, json.dumps(HEAT | changes, separators=(",", ":")) + "\n")


class HeatMap(TavolaTest):
    def setUp(self):
        super().setUp()
        self.token = pathlib.Path(tempfile.mkdtemp()) / "admin.token"
        self.token.write_text(TOKEN + "\n")
        self.token.chmod(0o600)

    def heat(self, server, *words):
        return ("heat", "People", *words, "--admin", server.url, "--token-file", str(self.token))

    def test_the_picture_has_the_first_key_below(self):
        with OneAnswer(answer(), token=TOKEN) as server:
            lines = self.ok(*self.heat(server)).splitlines()
        self.assertEqual(len(lines), 6)
        wide = 13  # columns of a slot: the picture fits the time that is recorded
        self.assertEqual(lines[0], "\u2026total+".ljust(24) + " \u2502" + "".join(each * wide for each in "· ░ "))
        self.assertEqual(lines[1], "\u2026total".ljust(24) + " \u2502" + "█" * 4 * wide)
        self.assertEqual(lines[2], "".ljust(24) + " \u2502" + " " * 4 * wide)
        self.assertEqual(lines[3], "2026-06-21T00:00Z to 2026-06-21T00:04Z, at most 1,000 reads in 60 s")
        self.assertEqual(lines[4], "\u2026 stands for counter / ")
        self.assertEqual(lines[5], "fix: One entity, 90 % of the writes.")

    def labels(self, keys):
        keys = [[""], *keys]
        with OneAnswer(answer(buckets=len(keys), keys=keys, cells=[[1] * len(keys)] * 4, findings=[]), token=TOKEN) as server:
            lines = self.ok(*self.heat(server)).splitlines()
        return [line.split(" \u2502")[0] for line in lines[len(keys) - 2::-1]], lines[len(keys) + 1:]

    def test_labels_are_short_and_distinct(self):
        for keys, wanted, common in (
            ([["log", f"2026-11-19T08:{i:02}:00.1234567Z"] for i in range(3)], [f"…{i:02}:00.1234567Z" for i in range(3)], ["… stands for log / 2026-11-19T08:"]),
            ([["a", "r"], ["b", "r"]], ["a / r", "b / r"], []),
            ([["p", "x" * 60 + "1"], ["p", "x" * 60 + "2"], ["q", "y" * 60]], ["…" + "x" * 22 + "1", "…" + "x" * 22 + "2", "q / " + "y" * 19 + "…"], []),
            ([["same"], ["same", "x" * 40 + "1" + "z" * 40], ["same", "x" * 40 + "2" + "z" * 40]],
             ["same", "…" + "x" * 18 + "1zzz…", "…" + "x" * 18 + "2zzz…"], []),
            ([["a"], ["a", "\x02"], ["b", "r\x02"]], ["a", "a+", "b / r+"], []),
        ):
            with self.subTest(keys[0]):
                labels, told = self.labels(keys)
                self.assertEqual([each.rstrip() for each in labels], wanted)
                self.assertTrue(all(len(each) == 24 for each in labels), labels)
                self.assertEqual(told, common)

    def test_the_question_has_the_table_the_measure_and_the_token(self):
        with OneAnswer(answer(), token=TOKEN) as server:
            self.ok(*self.heat(server, "writes", "10m"))
        asked = server.asked[-1].decode()
        self.assertIn("GET /traffic?table=People&account=devstoreaccount1&measure=writes&grain=10m", asked)
        self.assertIn("Bearer " + TOKEN, asked)

    def test_an_empty_picture_says_where_the_traffic_is(self):
        for words, told in (((), "no reads; 'tavola heat People writes' shows the writes"), (("deletes",), "no deletes")):
            with OneAnswer(answer(cells=[[0] * 3] * 4, findings=[]), token=TOKEN) as server:
                lines = self.ok(*self.heat(server, *words)).splitlines()
            self.assertEqual(lines[3:5], ["2026-06-21T00:00Z to 2026-06-21T00:04Z, " + told, "The minute at hand is not in it yet."])

    def test_what_is_not_over_is_not_shown_as_empty(self):
        with OneAnswer(answer(recorded=3, until=1782000180, cells=[*HEAT["cells"][:3], [0] * 3]), token=TOKEN) as server:
            lines = self.ok(*self.heat(server)).splitlines()
        self.assertTrue(lines[1].endswith("█"), lines[1])
        self.assertTrue(lines[3].startswith("2026-06-21T00:00Z to 2026-06-21T00:03Z, at most"), lines[3])
        for grain, told in ((60, "its minute is"), (600, "its ten minutes are"), (3600, "its hour is")):
            with self.subTest(grain), OneAnswer(answer(grainS=grain, recorded=0, until=0, cells=[[0] * 3] * 4, findings=[]), token=TOKEN) as server:
                self.assertEqual(self.ok(*self.heat(server)), f"There is no picture yet: traffic is shown when {told} over.\n")

    def test_the_rule_that_says_the_same_is_named(self):
        named = HEAT["findings"][0] | {"rule": "hot-entity", "id": "hot-entity@a/People/x"}
        with OneAnswer(answer(findings=[named, HEAT["findings"][0]]), token=TOKEN) as server:
            self.assertEqual(self.ok(*self.heat(server)).splitlines()[-2:], [
                "fix: One entity, 90 % of the writes. (advice: hot-entity)", "fix: One entity, 90 % of the writes."])

    def test_json_is_the_answer_itself(self):
        with OneAnswer(answer(), token=TOKEN) as server:
            self.assertEqual(json.loads(self.ok(*self.heat(server), "-o", "json")), HEAT)

    def test_other_formats_have_a_record_for_each_bucket(self):
        with OneAnswer(answer(), token=TOKEN) as server:
            first, hot, last = self.lines(*self.heat(server), "-o", "ndjson")
        self.assertEqual((first["FirstKey"], first["Sum"]), ("", 0))
        self.assertEqual((hot["FirstKey"], hot["Sum"], hot["Peak"]), ("counter / total", 4000, 1000))
        self.assertEqual((last["Sum"], last["Peak"]), (31, 30))

    def test_a_thin_line_survives_when_columns_are_fewer_than_slots(self):
        cells = [[0] for _ in range(360)]
        cells[123] = [7]
        with OneAnswer(answer(slots=360, until=HEAT["from"] + 360 * 60, buckets=1, keys=[[""]], cells=cells, findings=[]), token=TOKEN) as server:
            line = self.ok(*self.heat(server)).splitlines()[0]
        self.assertEqual(line.count("█"), 1)
        self.assertLessEqual(len(line), 80)

    def test_what_is_no_answer_is_told(self):
        for body in ("{}", "[]", '{"slots":4,"buckets":3}', '{"slots":4,"buckets":99999}'):
            with self.subTest(body), OneAnswer(http(200, body), token=TOKEN) as server:
                self.fails(1, *self.heat(server), says="does not answer as a tavolad does")
        with OneAnswer(http(404, "there is no such table in this account\n"), token=TOKEN) as server:
            self.fails(3, *self.heat(server), says="there is no such table")
        self.fails(2, "heat", "a&b", "--token-file", str(self.token), says="is not the name of a table")
