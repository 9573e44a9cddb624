#!/usr/bin/python3
"""Make an image of tavolad, tavola and azurite for container engines, without one.

    tools/image.py [OUTPUT.tar [BUILD]]     build/tavola-image.tar, of the release build in build/

The file is an OCI layout that `docker load`, `podman load` and skopeo take.  It has the programs, the
libraries that they are linked with, those libraries' licences, and nothing else: no shell, no
package manager.  The same build gives the same bytes.  Prints the digest and the sizes.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
USER = 10000  # a number, so that Kubernetes sees that it is not root
PROGRAMS = {"tavolad": "usr/bin/tavolad", "tavola": "usr/bin/tavola",
            "azurite": "usr/lib/tavola/azurite"}
LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64",
         **{f"usr/lib/tavola/azurite-{one}": "azurite" for one in ("blob", "queue", "table")}}
FOLDERS = {"data": 0o700, "tmp": 0o1777}
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
ENVIRONMENT = {
    "PATH": "/usr/lib/tavola:/usr/bin",
    "TAVOLA_DATA": "/data",
    "TAVOLA_ADMIN_PORT": "10003",  # nobody else has it here; the health check asks there
    "TAVOLA_HOST": "0.0.0.0",
    # The neighbours of a container call it by its name, and every one of them is another machine:
    # the well-known key is for them here.  0, or accounts of your own, end that.
    "TAVOLA_ALLOW_DEV_ACCOUNT": "1",
}
SECOND = 10**9  # Docker counts nanoseconds


def run(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def version():
    return re.search(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text())[1]


def commit():
    """(its name, its time): what the image is of, and the time of all that is in it."""
    try:
        name, time = run("git", "-C", str(ROOT), "log", "-1", "--format=%H %ct").split()
        return name, int(time)
    except (subprocess.CalledProcessError, FileNotFoundError):
        return "", int(os.environ.get("SOURCE_DATE_EPOCH", "0"))


def libraries(programs):
    """{path in the image: file}: what the loader finds for them, the loader too."""
    found = {}
    for program in programs:
        for line in run("ldd", str(program)).splitlines():
            match = re.search(r"(?:=> )?(/\S+) \(0x", line)
            if match:
                path = pathlib.Path(match[1])
                folder = "usr/lib64" if path.name.startswith("ld-linux") else str(
                    path.parent.resolve()).lstrip("/")
                found[f"{folder}/{path.name}"] = path.resolve()
    # OpenSSL opens this by name, for old PKCS#12 files.
    crypto = next(path for path in found if "/libcrypto.so" in path)
    legacy = pathlib.Path("/") / pathlib.Path(crypto).parent / "ossl-modules/legacy.so"
    if legacy.exists():
        found[str(legacy).lstrip("/")] = legacy
    return found


def packages(files):
    """[(package, version)] of Debian that the files come from."""
    names = set()
    for file in files:
        for path in (str(file), str(file).removeprefix("/usr")):
            done = subprocess.run(["dpkg-query", "-S", path], text=True, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            if done.returncode == 0:
                names.add(done.stdout.split(":")[0])
                break
    return [(name, run("dpkg-query", "-W", "-f", "${Version}", name).split("\n")[0])
            for name in sorted(names)]


def stripped(program, folder):
    output = pathlib.Path(folder) / program.name
    run("strip", "-o", str(output), str(program))
    return output.read_bytes()


class Layer:
    """A tar whose bytes depend on nothing but what is put into it."""

    def __init__(self, time):
        self.time, self.entries = time, {}

    def add(self, path, data=b"", mode=0o644, link=None, owner=0):
        info = tarfile.TarInfo(path)
        info.mtime, info.mode, info.uid, info.gid = self.time, mode, owner, owner
        if link is not None:
            info.type, info.linkname, info.mode = tarfile.SYMTYPE, link, 0o777
        elif data is None:
            info.type = tarfile.DIRTYPE
        else:
            info.size = len(data)
        self.entries[path] = info, data
        parent = os.path.dirname(path)
        if parent and parent not in self.entries and parent not in LINKS:
            self.add(parent, None, 0o755)

    def tar(self):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for _, (info, data) in sorted(self.entries.items()):
                tar.addfile(info, io.BytesIO(data) if data else None)
        return out.getvalue()


def fill(layer, build):
    """[(package, version)] of the libraries that went in."""
    files = libraries([build / name for name in PROGRAMS])
    with tempfile.TemporaryDirectory() as folder:
        for name, path in PROGRAMS.items():
            layer.add(path, stripped(build / name, folder), 0o755)
    for path, file in files.items():
        layer.add(path, file.read_bytes(), 0o755)
    for path, target in LINKS.items():
        layer.add(path, link=target)
    for path, mode in FOLDERS.items():
        layer.add(path, None, mode, owner=USER if path == "data" else 0)
    layer.add("etc/passwd", f"root:x:0:0::/:\ntavola:x:{USER}:{USER}::/data:\n".encode())
    layer.add("etc/group", f"root:x:0:\ntavola:x:{USER}:\n".encode())
    layer.add("usr/share/doc/tavola/LICENSE", (ROOT / "LICENSE").read_bytes())
    found = packages(files.values())
    for name, _ in found:
        licence = pathlib.Path("/usr/share/doc") / name / "copyright"
        if licence.exists():
            layer.add(f"usr/share/doc/{name}/copyright", licence.read_bytes())
    layer.add("usr/share/doc/tavola/packages",
              "".join(f"{name} {number}\n" for name, number in found).encode())
    return found


def config(diff_id, name, time):
    created = run("date", "-u", "-d", f"@{time}", "+%Y-%m-%dT%H:%M:%SZ").strip()
    labels = {"title": "Tavola", "version": version(), "revision": name, "licenses": "Apache-2.0",
              "description": "The Azure Table, Queue and Blob services on your own machine"}
    return {
        "created": created,
        "architecture": ARCHITECTURES[platform.machine()],
        "os": "linux",
        "config": {
            "User": str(USER),
            "ExposedPorts": {f"{port}/tcp": {} for port in (10000, 10001, 10002)},
            "Env": [f"{key}={value}" for key, value in ENVIRONMENT.items()],
            "Cmd": ["tavolad"],
            "Volumes": {"/data": {}},
            "WorkingDir": "/data",
            "StopSignal": "SIGTERM",
            "Healthcheck": {"Test": ["CMD", "tavolad", "--health"], "Interval": 30 * SECOND,
                            "Timeout": 5 * SECOND, "StartPeriod": 10 * SECOND},
            "Labels": {f"org.opencontainers.image.{key}": value for key, value in labels.items()},
        },
        "rootfs": {"type": "layers", "diff_ids": [diff_id]},
        "history": [{"created": created, "created_by": "tools/image.py"}],
    }


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def text_of(value):
    return json.dumps(value, indent=1, sort_keys=True).encode()


def main():
    build = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "build"
    output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else build / "tavola-image.tar"
    for name in PROGRAMS:
        if not (build / name).exists():
            sys.exit(f"image.py: there is no {build / name}: ./run --no-start makes it")
    name, time = commit()
    layer = Layer(time)
    found = fill(layer, build)
    tar = layer.tar()
    packed = gzip.compress(tar, 6, mtime=0)
    image = text_of(config(digest_of(tar), name, time))
    manifest = text_of({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json",
                   "digest": digest_of(image), "size": len(image)},
        "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
                    "digest": digest_of(packed), "size": len(packed)}],
    })
    tags = [f"tavola:{version()}", "tavola:latest"]
    index = text_of({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json",
                       "digest": digest_of(manifest), "size": len(manifest),
                       "annotations": {"org.opencontainers.image.ref.name": version()}}],
    })
    blob = "blobs/sha256/{}".format
    outer = Layer(time)
    for data in (image, manifest, packed):
        outer.add(blob(digest_of(data)[7:]), data)
    outer.add("index.json", index)
    outer.add("oci-layout", text_of({"imageLayoutVersion": "1.0.0"}))
    # What older engines read instead.
    outer.add("manifest.json", text_of([{"Config": blob(digest_of(image)[7:]), "RepoTags": tags,
                                         "Layers": [blob(digest_of(packed)[7:])]}]))
    output.write_bytes(outer.tar())
    print(f"{output}: {tags[0]}, {digest_of(manifest)}\n"
          f"{len(packed) / 1e6:.1f} MB packed, {len(tar) / 1e6:.1f} MB unpacked, "
          f"{len(found)} packages of Debian in it")


if __name__ == "__main__":
    main()
