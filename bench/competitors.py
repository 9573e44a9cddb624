"""The servers that tavolad is compared with: nginx and Azurite."""

import os
import pathlib
import shutil
import subprocess
import time
import urllib.error
import urllib.request

from server import free_ports

HERE = pathlib.Path(__file__).resolve().parent


def wait_for(url, wait_s=30):
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.002)
    raise RuntimeError(f"nothing answers at {url}")


def children(pid):
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def quoted(text):
    """A string of nginx's configuration."""
    for character, escape in (("\\", "\\\\"), ("'", "\\'"), ("\r", "\\r"), ("\n", "\\n"),
                              ("$", "${dollar}")):
        text = text.replace(character, escape)
    return f"'{text}'"


def fixed_reply(reply):
    """Lines that make nginx repeat this answer, whatever the request."""
    skip = {"server", "date", "content-length", "transfer-encoding", "connection", "content-type"}
    lines = [f"add_header {name} {quoted(value)} always;"
             for name, value in reply.headers.items() if name.lower() not in skip]
    if reply.headers.get("Content-Type"):
        lines.append(f"default_type {quoted(reply.headers['Content-Type'])};")
    # nginx takes words of up to 4096 bytes, so a long body is put together.
    body = reply.body.decode()
    pieces = [body[i:i + 2000] for i in range(0, len(body), 2000)]
    if len(pieces) > 1:
        lines += [f"set $body{i} {quoted(piece)};" for i, piece in enumerate(pieces)]
        text = '"' + "".join(f"$body{i}" for i in range(len(pieces))) + '"'
    else:
        text = quoted(body)
    return lines + [f"return {reply.status}{' ' + text if body else ''};"], reply.body


def files(folder):
    """Lines that make nginx send the files of a folder, as fast as it can."""
    return [f"root {folder};", "sendfile on;", "tcp_nopush on;"], None


class Nginx:
    """nginx with one port per kind of answer."""

    def __init__(self, servers, workers, scratch):
        self.folder = scratch / "nginx"
        self.folder.mkdir(exist_ok=True)
        self.ports = dict(zip(servers, free_ports(len(servers))))
        self.bodies = {name: body for name, (_, body) in servers.items()}
        text = "\n".join(self.server(self.ports[name], lines)
                         for name, (lines, _) in servers.items())
        # Started by root, its workers would be nobody, who cannot see the scratch folder.
        user = "user root;" if os.geteuid() == 0 else ""
        (self.folder / "nginx.conf").write_text(f"""
{user} daemon off; worker_processes {workers};
pid {self.folder}/pid; error_log {self.folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off; keepalive_requests 1000000000; keepalive_timeout 600s;
    client_max_body_size 8m; client_body_buffer_size 1m; client_body_temp_path {self.folder};
    large_client_header_buffers 4 64k; types {{ }} default_type "";
    geo $dollar {{ default "$"; }}
{text}
}}
""")

    @staticmethod
    def server(port, lines):
        inside = "\n            ".join(lines)
        return f"""    server {{
        listen 127.0.0.1:{port} reuseport;
        location / {{
            {inside}
        }}
    }}"""

    def __enter__(self):
        self.process = subprocess.Popen([shutil.which("nginx", path="/usr/sbin:/usr/bin"),
                                         "-p", str(self.folder), "-e", f"{self.folder}/error.log",
                                         "-c", str(self.folder / "nginx.conf")],
                                        stderr=subprocess.DEVNULL)
        for name, port in self.ports.items():
            wait_for(f"http://127.0.0.1:{port}/")
            if self.bodies[name] is not None:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as reply:
                    assert reply.read() == self.bodies[name], f"nginx differs for {name}"
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def pids(self):
        return children(self.process.pid)


class Azurite:
    """One service of Azurite from npm (table, queue or blob), on a folder of its own."""

    def __init__(self, service, scratch):
        self.service = service
        self.folder = scratch / f"azurite-{service}"
        self.folder.mkdir()
        (self.port,) = free_ports(1)
        self.script = HERE / "node_modules" / "azurite" / "dist" / "src" / service / "main.js"

    def install(self):
        lock = (HERE / "package-lock.json").read_bytes()
        stamp = HERE / "node_modules" / ".installed-lock.json"
        if not (stamp.exists() and stamp.read_bytes() == lock):
            print("Installing Azurite (npm ci)", flush=True)
            subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=HERE, check=True,
                           stdout=subprocess.DEVNULL)
            stamp.write_bytes(lock)

    def __enter__(self):
        self.install()
        self.process = subprocess.Popen(
            ["node", str(self.script), f"--{self.service}Port", str(self.port),
             "--silent", "--disableTelemetry", "--location", str(self.folder)],
            stdout=subprocess.DEVNULL)
        wait_for(f"http://127.0.0.1:{self.port}/")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def pids(self):
        return [self.process.pid]
