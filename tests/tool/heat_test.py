"""The heat map in the terminal, against answers of an admin port that were kept."""

import json
import pathlib
import tempfile

from server_test import OneAnswer, http
from tavola import TavolaTest

TOKEN = "0" * 64
HEAT = {
    "account": "devstoreaccount1", "table": "People", "m": "writes", "grainS": 60, "from": 1782000000,
    "slots": 4, "recorded": 4, "buckets": 3, "max": 1000, "approx": False,
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
        self.assertEqual(len(lines), 5)
        self.assertEqual(lines[0], "counter / total+".ljust(24) + " │· ░ ")
        self.assertEqual(lines[1], "counter / total".ljust(24) + " │████")
        self.assertEqual(lines[2], "".ljust(24) + " │    ")
        self.assertEqual(lines[3], "2026-06-21T00:00Z to 2026-06-21T00:04Z, at most 1000 in 60 s")
        self.assertEqual(lines[4], "fix: One entity, 90 % of the writes.")

    def test_the_question_has_the_table_the_measure_and_the_token(self):
        with OneAnswer(answer(), token=TOKEN) as server:
            self.ok(*self.heat(server, "writes", "10m"))
        asked = server.asked[-1].decode()
        self.assertIn("GET /traffic?table=People&account=devstoreaccount1&measure=writes&grain=10m", asked)
        self.assertIn("Bearer " + TOKEN, asked)

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
        with OneAnswer(answer(slots=360, buckets=1, keys=[[""]], cells=cells, findings=[]), token=TOKEN) as server:
            line = self.ok(*self.heat(server)).splitlines()[0]
        self.assertEqual(line.count("█"), 1)
        self.assertLessEqual(len(line), 80)

    def test_what_is_no_answer_is_told(self):
        for body in ("{}", "[]", '{"slots":4,"buckets":3}', '{"slots":4,"buckets":99999}'):
            with self.subTest(body), OneAnswer(http(200, body), token=TOKEN) as server:
                self.fails(1, *self.heat(server), says="does not answer as a tavolad does")
        with OneAnswer(http(404, "there is no such table in this account\n"), token=TOKEN) as server:
            self.fails(1, *self.heat(server), says="there is no such table")
        self.fails(2, "heat", "a&b", "--token-file", str(self.token), says="is not the name of a table")
