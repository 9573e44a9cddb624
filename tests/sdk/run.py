#!/usr/bin/python3
"""Run the official SDKs against a tavolad.

    tests/sdk/run.py [js] [python] [PART...]    run both, or only one language, or only some
                                                files or tests; each file has a server of its own
    tests/sdk/run.py --endpoints TABLE,QUEUE,BLOB [...]
                                                use a server that runs already at these
                                                URLs, started with AZURITE_ACCOUNTS as
                                                printed; $SDK_TEST_SERVER_PID is its pid, and
                                                $SDK_TEST_CLOCKS says how to move its clock
                                                (python/helpers.py)

With $TAVOLA_TEST_ENGINE=rados one server on $TAVOLA_POOL is for all files.  Ends with
"sdk: N passed, N failed".
"""

import base64
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import socket
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
sys.path.insert(0, str(HERE / "python"))

import certificate  # noqa: E402
import javascript  # noqa: E402
import parts  # noqa: E402
import server  # noqa: E402
import suite  # noqa: E402


def made_key(name):
    return base64.b64encode(hashlib.sha512(name.encode()).digest()).decode()


ACCOUNTS = {
    server.ACCOUNT: [server.KEY],
    "firstaccount": [made_key("first, one"), made_key("first, two")],
    "secondaccount": [made_key("second, one")],
    "slowaccount": [made_key("slow")],
}
# One account has a target that a burst is above; Azurite has none to offer.
SLOW = {"slowaccount": " targets=partition:20"}
AZURITE_ACCOUNTS = ";".join(":".join([name, *keys]) + SLOW.get(name, "")
                            for name, keys in ACCOUNTS.items())
# Their tests are about the server's own memory, not about what the sanitizer keeps of it.  It has
# 70 MiB, and a blob of 143; with librados up to 175.
LARGE = ("js/blob-large", "python/blob_large")
KEEP_LITTLE = "quarantine_size_mb=4:thread_local_quarantine_size_kb=64"
PEAK_MIB = "110"
LANGUAGES = ("js", "python")


def port_is_free(port):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


def file_of(part):
    language, _, name = part.partition("/")
    return HERE / language / (f"{name}.test.mjs" if language == "js" else f"{name}_test.py")


def choose(words):
    """{part: names of tests or None}; a language among the words narrows the others."""
    known = {f"js/{path.name.removesuffix('.test.mjs')}": ()
             for path in sorted((HERE / "js").glob("*.test.mjs"))}
    known |= {f"python/{part}": tests for part, tests in suite.files(HERE / "python").items()}
    languages = [word for word in words if word in LANGUAGES] or LANGUAGES
    known = {part: tests for part, tests in known.items() if part.partition("/")[0] in languages}
    return parts.choose_or_exit("sdk", known, [word for word in words if word not in LANGUAGES])


def run_tests(part, names=None):
    """The tests of a file, with the server that the environment tells of; (passed, failed)."""
    if part.startswith("js/"):
        return javascript.run_tests(part, HERE / "js", [str(file_of(part))])
    return suite.run_parts(None, {part.removeprefix("python/"): names})


def tell_endpoints(table, queue, blob):
    """Where the tests find the server: one port speaks both http and https."""
    os.environ["SDK_TEST_ACCOUNTS"] = json.dumps(ACCOUNTS)
    for name, url in (("TABLE", table), ("QUEUE", queue), ("BLOB", blob)):
        os.environ[f"SDK_TEST_{name}_ENDPOINT"] = url


@contextlib.contextmanager
def default_ports():
    """A server on the default ports, if they are free: for one process at a time."""
    with open("/tmp/tavola-sdk-default-ports.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all(port_is_free(port) for port in server.DEFAULT_PORTS):
            yield
            return
        os.environ["SDK_TEST_DEFAULT_PORTS"] = "1"
        with server.Server(default_ports=True):
            yield
        del os.environ["SDK_TEST_DEFAULT_PORTS"]


@contextlib.contextmanager
def servers(chosen):
    """The server of these files, and what they are told of it.

    A leak or a sanitizer's finding shows in its exit code, and is raised.
    """
    env = {"AZURITE_ACCOUNTS": AZURITE_ACCOUNTS}
    if all(part in LARGE for part in chosen):
        env["ASAN_OPTIONS"] = f"{os.environ.get('ASAN_OPTIONS', '')}:{KEEP_LITTLE}"
        os.environ["SDK_TEST_PEAK_MIB"] = PEAK_MIB
    has_default = any("SDK_TEST_DEFAULT_PORTS" in file_of(part).read_text() for part in chosen)
    with tempfile.TemporaryDirectory(prefix="tavola-sdk-") as folder, \
            default_ports() if has_default else contextlib.nullcontext():
        cert, key = certificate.make(folder)
        os.environ["SDK_TEST_CERTIFICATE"] = os.environ["NODE_EXTRA_CA_CERTS"] = cert
        with server.Server("--cert", cert, "--key", key, "--test-points", env=env) as one:
            tell_endpoints(*(f"http://127.0.0.1:{port}"
                             for port in (one.table_port, one.queue_port, one.blob_port)))
            os.environ["SDK_TEST_TLS"] = "1"
            os.environ["SDK_TEST_ADMIN_URL"] = one.admin_url
            os.environ["SDK_TEST_CLOCKS"] = json.dumps([(one.admin_url, one.admin_token())])
            os.environ["SDK_TEST_SERVER_PID"] = str(one.process.pid)
            yield


def run_one_by_one(chosen):
    """With one server for all; what moves its clock is alone with it."""
    counts = [run_tests(part, names) for part, names in chosen.items()]
    return sum(passed for passed, _ in counts), sum(failed for _, failed in counts)


def run_with_servers(chosen):
    """The same on a server that is started for them."""
    counts = (0, 0)
    try:
        with servers(chosen):
            counts = run_one_by_one(chosen)
    except RuntimeError as error:
        print(f"    FAILED {', '.join(chosen)}: {error}", flush=True)
        counts = counts[0], counts[1] + 1
    return counts


def run_part(part, names=None):
    """(passed, failed) of one file on a server of its own: in a process of its own, too, since the
    modules of Python keep what they were told of the server."""
    return run_with_servers({part: names})


def main(arguments):
    if arguments[:1] == ["--jobs"]:
        return suite.print_jobs(choose(arguments[1:]))
    if arguments[:1] == ["--endpoints"]:
        print(f"AZURITE_ACCOUNTS='{AZURITE_ACCOUNTS}'")
        tell_endpoints(*arguments[1].split(","))
        counts = run_one_by_one(choose(arguments[2:]))
    elif os.environ.get("TAVOLA_TEST_ENGINE") == "rados":
        counts = run_with_servers(choose(arguments))
    else:
        counts = suite.run_apart(run_part, choose(arguments).items())
    return suite.close("sdk", *counts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
