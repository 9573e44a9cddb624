"""The commands that the server's page shows on Connect, src/server/explorer/page/snippets.js, work as they
stand there."""

import os
import pathlib
import re
import subprocess

from server import ROOT
from tavola import PROGRAM, TIMEOUT_S, TavolaTest

PAGE = ROOT / "src" / "server" / "explorer" / "page" / "snippets.js"


def commands(connection):
    text = re.search(r"tavola: \(account, connection\) => `(.*?)`", PAGE.read_text(), re.DOTALL)[1]
    return text.replace("${connection}", connection)


class Snippets(TavolaTest):
    def test_the_pages_commands(self):
        path = f"{pathlib.Path(PROGRAM).resolve().parent}:{os.environ['PATH']}"
        done = subprocess.run(["sh", "-eu", "-c", commands(self.server.connection_string)],
                              env={**os.environ, "PATH": path, "HOME": str(self.home)}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn('"Name":"Ada"', done.stdout)
