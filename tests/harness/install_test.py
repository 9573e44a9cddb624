"""tools/install-deps.sh: what it says to who cannot install, as one line that works when it is copied."""

import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/install-deps.sh"
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


if __name__ == "__main__":
    unittest.main()
