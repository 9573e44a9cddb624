#!/usr/bin/python3
"""The server's own page in a real browser.  Ends with "explorer: N passed, N failed".

    tests/explorer/run.py [PART...]             e.g. views edit
    tests/explorer/run.py --pictures [PART...]  draw pictures of docs/explorer/ anew: heat server views

Every file gets a server of its own.  What a test cannot do in a browser - another link into the
page, a restart of the server, the command line tool - it asks for at a small port of this program
(page.mjs).
"""

import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import javascript  # noqa: E402
import parts  # noqa: E402
import suite  # noqa: E402
from explorer import new_link  # noqa: E402
from server import ROOT, Server  # noqa: E402

ENDING = ".test.mjs"
PICTURES = HERE / "pictures"
MODULES = "modules"  # a part that needs no server and no browser
TOOL = os.environ.get("TAVOLA", str(ROOT / "build" / "tavola"))
# A recorder whose clock the tests move (POST /clock/MS), for what is about time.
# On one thread a request is recorded before the next one is answered.
BY_HAND = ("--watch=all", "--watch-clock=manual", "--test-points", "--threads", "1")
PICTURE_FLAGS = {"heat": BY_HAND, "views": BY_HAND}
LOG_LINES = 20  # for a test that fails
FLAGS = {"heat": BY_HAND, "findings": BY_HAND, "layout": BY_HAND, "server": ("--access-log", "--test-points", "--test-values", "history-ms=200")}


def run_tool(server, arguments, text):
    """What the command line tool writes when it is given this."""
    done = subprocess.run([TOOL, *arguments], input=text.encode(), capture_output=True,
                          env={**os.environ, "AZURE_STORAGE_CONNECTION_STRING": server.connection_string})
    return {"code": done.returncode, "out": done.stdout.decode(), "err": done.stderr.decode()}


def control(server):
    """Answers POST /link, /kill, /start, /clock/MS, /tool and /log."""

    def answer_to(path, asked):
        if path == "/link":
            return {"link": new_link(server)}
        if path == "/kill":
            server.kill()
        elif path == "/start":
            server.start()
        elif path.startswith("/clock/"):
            server.pass_time(int(path.removeprefix("/clock/")) / 1000)
        elif path == "/tool":
            return run_tool(server, **json.loads(asked))
        elif path == "/log":
            lines = [line for line in server.log().splitlines() if line.startswith("time=")]
            return {"lines": lines[-LOG_LINES:]}
        return {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            asked = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            try:
                status, answer = 200, answer_to(self.path, asked)
            except Exception as error:  # the test that asked for it fails, and says why
                status, answer = 500, {"error": repr(error)}
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    return web


def trace_flags(part, folder):
    """Advice is tried on what was recorded: the test finds it in $EXPLORER_TEST_TRACE."""
    if part != "findings":
        return ()
    os.environ["EXPLORER_TEST_TRACE"] = f"{folder}/run.trace"
    return ("--trace", os.environ["EXPLORER_TEST_TRACE"], "--trace-values", "full")


def run_modules():
    """What the page's files do by themselves, without a server and a browser."""
    return javascript.run_tests(MODULES, HERE, [str(path) for path in sorted((HERE / MODULES).glob(f"*{ENDING}"))])


def run_file(part, folder_of_it=HERE):
    """(passed, failed) of one file; a server that does not end well is a failure of it."""
    if part == MODULES:
        return run_modules()
    flags = PICTURE_FLAGS if folder_of_it == PICTURES else FLAGS
    try:
        with tempfile.TemporaryDirectory() as folder, Server(
                *flags.get(part, ()), *trace_flags(part, folder), engine="rocksdb") as server:
            web = control(server)
            os.environ["EXPLORER_TEST_CONTROL"] = f"http://127.0.0.1:{web.server_port}"
            os.environ["EXPLORER_TEST_PAGE"] = f"http://127.0.0.1:{server.admin_port}"
            try:
                return javascript.run_tests(part, HERE, [str(folder_of_it / (part + ENDING))])
            finally:
                web.shutdown()
                web.server_close()
    except RuntimeError as error:
        print(f"    FAILED {part}: {error}")
        return 0, 1


def draw(words):
    """The pictures of the documents."""
    os.environ["EXPLORER_PICTURES"] = str(ROOT / "docs" / "explorer")
    chosen = parts.choose_or_exit("pictures", files_in(PICTURES), words)
    return suite.close("pictures", *suite.run_apart(run_file, [(part, PICTURES) for part in chosen]))


def files_in(folder):
    return {path.name.removesuffix(ENDING): () for path in sorted(folder.glob(f"*{ENDING}"))}


def main(arguments):
    if arguments[:1] == ["--pictures"]:
        return draw(arguments[1:])
    is_list = arguments[:1] == ["--jobs"]
    chosen = parts.choose_or_exit("explorer", {**files_in(HERE), MODULES: ()}, arguments[is_list:])
    if is_list:
        return suite.print_jobs(chosen)
    return suite.close("explorer", *suite.run_apart(run_file, [(part,) for part in chosen]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
