"""A node's admin port: what the cluster looks like, and changes to it that are asked for."""

import json
import time
import urllib.error
import urllib.request

FAILED = (OSError, ValueError)  # HTTPError is an OSError


def cluster(server, timeout_s=60):
    """GET /cluster, with the token: keys are not for everybody."""
    request = urllib.request.Request(
        f"{server.admin_url}/cluster",
        headers={"Authorization": f"Bearer {server.admin_token()}"})
    with urllib.request.urlopen(request, timeout=timeout_s) as reply:
        return json.load(reply)


def post(server, path, body, timeout_s=60):
    """POST as the operator of that machine, with the token that is in the node's data folder."""
    token = server.admin_token()
    request = urllib.request.Request(server.admin_url + path, method="POST",
                                     data=json.dumps(body).encode(),
                                     headers={"Content-Type": "application/json",
                                              "Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=timeout_s) as reply:
        text = reply.read()
        return json.loads(text) if text else {}


def begin(server, op, key="", timeout_s=60):
    """Ask for a change of the range that begins at `key`, coded as GET /cluster shows it."""
    return post(server, "/cluster/force", {"op": op, "range": key}, timeout_s)["job"]


def force(server, op, key="", wait_s=120, timeout_s=60):
    """The same, and wait until it is done: "" or the name of what went wrong."""
    job = begin(server, op, key, timeout_s)
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline:
        # What GET /cluster shows may be some seconds old.
        found = cluster(server, timeout_s).get("force", {})
        if found.get("job", 0) > job:
            return "unknown: another job came after it"
        if found.get("job") == job and found.get("state") == "done":
            return found.get("error", "")
        time.sleep(0.05)
    return "not done"


def set_point(server, at, do, **more):
    """POST /cluster/point: exit, pause, fail or count there; with --test-points only."""
    return post(server, "/cluster/point", {"at": at, "do": do, **more})


def met(server, at):
    """How often a point was met since it was set."""
    return set_point(server, at, "look")["met"]
