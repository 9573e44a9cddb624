#!/usr/bin/python3
"""Run the official SDKs against a tavolad.

    tests/sdk/run.py [js] [python] [PART...]    start a server and run both, or only
                                                one language, or only some files or tests
    tests/sdk/run.py --find PART...             only say whether they exist
    tests/sdk/run.py --endpoints TABLE,QUEUE,BLOB [...]
                                                use a server that runs already at these
                                                URLs, started with AZURITE_ACCOUNTS as
                                                printed; $SDK_TEST_SERVER_PID is its pid

Ends with "sdk: N passed, N failed".
"""

import base64
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


def port_is_free(port):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


LANGUAGES = ("js", "python")


def choose(words):
    """{part: names of tests or None}; a language among the words narrows the others."""
    known = {f"js/{path.name.removesuffix('.test.mjs')}": ()
             for path in sorted((HERE / "js").glob("*.test.mjs"))}
    known |= {f"python/{part}": tests for part, tests in suite.files(HERE / "python").items()}
    languages = [word for word in words if word in LANGUAGES] or LANGUAGES
    known = {part: tests for part, tests in known.items() if part.partition("/")[0] in languages}
    return parts.choose_or_exit("sdk", known, [word for word in words if word not in LANGUAGES])


def run_js(chosen):
    """Run the chosen files of js/ and return (passed, failed)."""
    folder = HERE / "js"
    files = [str(folder / f"{part[3:]}.test.mjs") for part in chosen if part.startswith("js/")]
    if not files:
        return 0, 0
    return javascript.run_tests("js", folder, files)


def run_all(words):
    chosen = choose(words)
    passed, failed = run_js(chosen)
    python = {part.removeprefix("python/"): names for part, names in chosen.items()
              if part.startswith("python/")}
    more_passed, more_failed = suite.run_parts(None, python)
    return passed + more_passed, failed + more_failed


def tell_endpoints(table, queue, blob):
    """Where the tests find the server: one port speaks both http and https."""
    for name, url in (("TABLE", table), ("QUEUE", queue), ("BLOB", blob)):
        os.environ[f"SDK_TEST_{name}_ENDPOINT"] = url


def main(arguments):
    if arguments[:1] == ["--find"]:
        choose(arguments[1:])
        return 0
    os.environ["SDK_TEST_ACCOUNTS"] = json.dumps(ACCOUNTS)
    if arguments[:1] == ["--endpoints"]:
        print(f"AZURITE_ACCOUNTS='{AZURITE_ACCOUNTS}'")
        tell_endpoints(*arguments[1].split(","))
        passed, failed = run_all(arguments[2:])
    else:
        passed, failed = run_with_servers(arguments)
    return suite.close("sdk", passed, failed)


def run_with_servers(which):
    """Start the server of the tests and one on the default ports, if they are free."""
    with tempfile.TemporaryDirectory(prefix="tavola-sdk-") as folder:
        cert, key = certificate.make(folder)
        os.environ["SDK_TEST_CERTIFICATE"] = os.environ["NODE_EXTRA_CA_CERTS"] = cert
        return run_with_certificate(which, cert, key)


def run_with_certificate(which, cert, key):
    servers = [server.Server("--cert", cert, "--key", key,
                             env={"AZURITE_ACCOUNTS": AZURITE_ACCOUNTS})]
    if all(port_is_free(port) for port in server.DEFAULT_PORTS):
        servers.append(server.Server(default_ports=True))
        os.environ["SDK_TEST_DEFAULT_PORTS"] = "1"
    ports = (servers[0].table_port, servers[0].queue_port, servers[0].blob_port)
    tell_endpoints(*(f"http://127.0.0.1:{port}" for port in ports))
    os.environ["SDK_TEST_TLS"] = "1"
    os.environ["SDK_TEST_ADMIN_URL"] = servers[0].admin_url
    try:
        for one in servers:
            one.start()
        os.environ["SDK_TEST_SERVER_PID"] = str(servers[0].process.pid)
        passed, failed = run_all(which)
    finally:
        # A leak or a sanitizer's finding shows in the exit code.
        codes = [(one, one.stop()) for one in servers if one.process]
    for one, code in codes:
        if code != 0:
            failed += 1
            print(f"    FAILED tavolad ended with exit code {code}\n{one.log()[-4000:]}")
        one.clean()
    return passed, failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
