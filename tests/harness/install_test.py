"""tools/install-deps.sh: what it says to who cannot install, as one line that works when it is copied;
./run: what an install needs is built."""

import json
import pathlib
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


if __name__ == "__main__":
    unittest.main()
