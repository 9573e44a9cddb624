"""Every operation of the server is in the matrix, and needs what the rules say.

A new operation without a case makes this fail, and so does one that needs something else of a
SAS than its rule.  The rules know the names of operations from the documentation of Storage
Analytics; that a case requests the operation of that name is checked in the server's log.
"""

import importlib
import itertools
import re
import subprocess
import sys
import unittest

from access import operations
from access.credentials import ACCOUNTS
from access.talk import Talk
from server import ROOT, Server

SERVICES = ("table", "queue", "blob")
LOGGED = re.compile(r"event=access .*?operation=(\w+) .*?request_id=(\S+)")


def part_of(service, name):
    return importlib.import_module(f"access.{service}.{name}")


class Operations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = operations.read()

    def test_every_service_has_rules(self):
        self.assertEqual(set(self.rows), set(SERVICES))

    def test_every_operation_is_in_the_matrix(self):
        for service, rows in self.rows.items():
            rules = part_of(service, "rules")
            with self.subTest(service):
                self.assertEqual(operations.unknown_to_rules(rules, rows), [],
                                 f"these operations have no case: give them one in NEEDS, ALLOWED "
                                 f"and LOGGED of tests/access/{service}/rules.py, and a request in "
                                 "requests.py")
                self.assertEqual(set(rules.NEEDS), set(rules.ALLOWED))
                self.assertEqual(set(rules.OPERATIONS), set(rules.LOGGED))
                self.assertLessEqual(set(rules.EXCEPTIONS), set(rules.OPERATIONS))

    def test_rules_and_rows_agree(self):
        for service, rows in self.rows.items():
            with self.subTest(service):
                self.assertEqual(list(operations.differences(part_of(service, "rules"), rows)), [])

    def test_cases_ask_for_the_operations_that_they_name(self):
        for service in SERVICES:
            with self.subTest(service):
                self.check_cases(service)

    def check_cases(self, service):
        rules, cases = part_of(service, "rules"), part_of(service, "cases")
        asked = {}
        with Server("--access-log", engine="memory", env={"AZURITE_ACCOUNTS": ACCOUNTS}) as server:
            stage = part_of(service, "stage").Stage
            stage = stage(Talk(getattr(server, stage.port)))
            stage.furnish(is_tls=False)
            # The first row of them: every operation with a key.
            for case in itertools.islice(cases.keys(), len(rules.OPERATIONS)):
                mark = next(stage.marks)
                before = stage.before(case, mark, True)
                reply = stage.send(case.door, stage.request(case, mark, before))
                self.assertEqual(stage.outcome(reply), stage.expected(case)[0], case)
                stage.after(case, mark, before, True)
                asked[case.operation] = reply.headers["x-ms-request-id"]
            stage.talk.close()
            server.stop()
            logged = {id: operation for operation, id in LOGGED.findall(server.log())}
        self.assertEqual({case: logged.get(id) for case, id in asked.items()}, rules.LOGGED)


class Document(unittest.TestCase):
    def test_the_table_for_users_is_what_the_server_says(self):
        done = subprocess.run([sys.executable, ROOT / "tools" / "permissions.py", "--check"],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
