"""tools/install-deps.sh: what it says to who cannot install, as one line that works when it is copied;
./run: what an install needs is built; -Dserver=disabled: library, header and tool with OpenSSL alone."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools/install-deps.sh"
LINE = "apt-get update && apt-get install --no-install-recommends gcc "


class InstallDeps(unittest.TestCase):
    def run_with(self, *, installed=False, **programs):
        """With nothing on the PATH but programs that say and return what is told here."""
        with tempfile.TemporaryDirectory() as folder:
            status = "install ok installed" if installed else ""
            for name, script in {"dpkg-query": f"printf '{status}'", **programs}.items():
                path = pathlib.Path(folder, name.replace("_", "-"))
                path.write_text(f"#!/bin/sh\n{script}\n")
                path.chmod(0o755)
            done = subprocess.run(["/bin/sh", SCRIPT, "run"], env={"PATH": folder},
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def test_nothing_is_missing(self):
        self.assertEqual(self.run_with(installed=True), (0, "", ""))

    def test_a_user_without_sudo(self):
        for what, sudo in (("none", {}), ("one that wants a password", {"sudo": "exit 1"})):
            with self.subTest(what):
                code, out, errors = self.run_with(id="echo 1000", apt_get="exit 1", **sudo)
                self.assertEqual((code, out), (2, ""))
                self.assertRegex(errors, rf"\AMissing packages: gcc .*\. As root, run: {LINE}.*\n\Z")
                self.assertEqual(errors.count("\n"), 1)

    def test_a_system_without_apt(self):
        code, _, errors = self.run_with(id="echo 0")
        self.assertEqual(code, 2)
        self.assertIn("There is no apt-get here", errors)


class Run(unittest.TestCase):
    def test_it_builds_all_that_an_install_installs(self):
        """With a ninja that says what it would build, in a tree that was never built."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder).resolve()
            tree = folder / "tree"
            tree.mkdir()
            for path in ROOT.iterdir():
                if not path.name.startswith(("build", ".")) and path.name != "run":
                    (tree / path.name).symlink_to(path)
            shutil.copy(ROOT / "run", tree)
            programs = folder / "bin"
            programs.mkdir()
            ninja = shutil.which("ninja", path="/usr/bin:/bin")
            for name, script in (("ninja", f'exec {ninja} "$@" -n'),
                                 ("dpkg-query", "printf 'install ok installed'")):
                (programs / name).write_text(f"#!/bin/sh\n{script}\n")
                (programs / name).chmod(0o755)
            env = {"PATH": f"{programs}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
            told = subprocess.run(["/bin/sh", tree / "run", "--no-start"], env=env, check=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
            installed = json.loads(subprocess.run(
                ["meson", "introspect", "--installed", tree / "build"], check=True,
                capture_output=True, text=True).stdout)
            absent = [path for path in map(pathlib.Path, installed)
                      if path.is_relative_to(tree / "build") and not path.exists()]
            self.assertIn(tree / "build/tavolad", absent)
            self.assertIn(tree / "build/src/client/libtavola.a", absent)
            self.assertEqual([path for path in absent
                              if f" {path.relative_to(tree / 'build')}\n" not in told and
                              f" {path.relative_to(tree / 'build')} " not in told], [])


class Client(unittest.TestCase):
    """A build without the server, where nothing is to be seen of what only the server needs."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory())).resolve()
        packages, headers = cls.folder / "packages", cls.folder / "headers"
        for name in ("openssl", "libssl", "libcrypto", "libedit"):
            place = cls.run_here("pkg-config", "--variable=pcfiledir", name).strip()
            packages.mkdir(exist_ok=True)
            shutil.copy(f"{place}/{name}.pc", packages)
        for name in ("uv.h", "expat.h", "rocksdb/c.h", "rados/librados.h"):
            (headers / name).parent.mkdir(parents=True, exist_ok=True)
            (headers / name).write_text(f"#error {name} is the server's\n")
        cls.env = os.environ | {"PKG_CONFIG_LIBDIR": str(packages), "PKG_CONFIG_PATH": "",
                                "CFLAGS": f"-I{headers}"}

    @classmethod
    def run_here(cls, *command, **options):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, **options)
        if done.returncode:
            raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
        return done.stdout

    def configure(self, build, *options):
        # What is built is not measured, so no time is spent to make it fast.
        self.run_here("meson", "setup", build, ROOT, "-Doptimization=0", *options, env=self.env)

    def needed(self, path):
        said = self.run_here("readelf", "-d", path)
        return set(re.findall(r"NEEDED.*\[(.*?)\.so", said)) - {"libc", "libm", "ld-linux-x86-64"}

    def test_it_is_built_installed_and_used(self):
        build, root = self.folder / "build", self.folder / "root"
        self.configure(build, "-Dserver=disabled", "--prefix=/usr")
        self.run_here("ninja", "-C", build)
        self.run_here("meson", "install", "-C", build, "--no-rebuild", "--destdir", root)
        usr = root / "usr"
        self.assertEqual(
            {str(path.relative_to(usr)) for path in usr.rglob("*") if not path.is_dir()},
            {"bin/tavola", "include/tavola.h", "lib/libtavola.a", "lib/libtavola.so",
             "lib/libtavola.so.0", "lib/libtavola.so.0.1.0", "lib/pkgconfig/tavola.pc",
             "share/man/man1/tavola.1", "share/man/man3/libtavola.3"})
        self.assertEqual(self.needed(usr / "lib/libtavola.so.0"), {"libssl", "libcrypto"})
        self.assertEqual(self.needed(usr / "bin/tavola"), {"libssl", "libcrypto", "libedit"})
        self.assertIn("0.1.0", self.run_here(usr / "bin/tavola", "--version"))
        # What judges is not in the library but in what the tool shares with the server.
        self.assertIn("0 findings", self.run_here(usr / "bin/tavola", "lint", "--trace",
                                                  ROOT / "tests/fuzz/corpus/trace/whole"))

        words = self.run_here("pkg-config", f"--define-variable=prefix={usr}", "--cflags", "--libs",
                              "tavola",
                              env=self.env | {"PKG_CONFIG_PATH": str(usr / "lib/pkgconfig")})
        self.run_here("gcc", ROOT / "examples/point_query.c", "-o", self.folder / "program",
                      *words.split())
        done = subprocess.run([self.folder / "program", "AccountName=a"], text=True,
                              capture_output=True, env={"LD_LIBRARY_PATH": str(usr / "lib")})
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("neither AccountKey nor SharedAccessSignature is given", done.stderr)

    def test_the_server_needs_more(self):
        with self.assertRaisesRegex(AssertionError, "libuv"):
            self.configure(self.folder / "whole")


if __name__ == "__main__":
    unittest.main()
