"""The library as a C programmer meets it: installed, found by pkg-config, linked either way."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import server

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import abi  # noqa: E402

BUILD = ROOT / "build"
PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include <tavola.h>

int main(void)
{
    tavola_filter *filter = TAVOLA_BIND("PartitionKey eq ? and RowKey eq ?",
                                        tavola_string("Sales"), tavola_string("O'Hara"));
    char *text = tavola_filter_text(filter);

    printf("%s %d %s %s\n", tavola_version(), tavola_version_num() == TAVOLA_VERSION_NUM,
           text, tavola_filter_plan(filter));
    tavola_free(text);
    tavola_filter_free(filter);
    return 0;
}
"""
SAYS = "0.1.0 1 PartitionKey eq 'Sales' and RowKey eq 'O''Hara' point\n"
# A library decides none of this for its program.
FORBIDDEN = {"exit", "_exit", "_Exit", "quick_exit", "atexit", "signal", "sigaction", "setlocale",
             "printf", "puts", "putchar", "fprintf", "vprintf", "perror", "syslog", "setenv",
             "putenv", "unsetenv", "srand", "rand", "system", "strtok"}


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        run(ROOT / "run", "--no-start")
        run("ninja", "-C", BUILD, "src/client/libtavola.so.0.1.0", "src/client/libtavola.a")
        run("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", cls.root / "installed")
        cls.prefix = cls.root / "installed/usr/local"
        cls.library = next(cls.prefix.glob("**/libtavola.so.0.1.0"))
        cls.pc = next(cls.prefix.glob("**/tavola.pc"))
        cls.source = cls.root / "program.c"
        cls.source.write_text(PROGRAM)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def pkg_config(self, *options):
        environment = os.environ | {"PKG_CONFIG_PATH": str(self.pc.parent)}
        return run("pkg-config", f"--define-variable=prefix={self.prefix}", *options, "tavola",
                   env=environment).split()

    def test_installs_header_libraries_and_manual(self):
        for path in ("include/tavola.h", "share/man/man3/libtavola.3", "bin/tavola",
                     "share/man/man1/tavola.1"):
            self.assertTrue((self.prefix / path).is_file(), path)
        for name in ("libtavola.so", "libtavola.so.0", "libtavola.so.0.1.0", "libtavola.a"):
            self.assertTrue((self.library.parent / name).exists(), name)

    def test_a_program_links_and_runs(self):
        program = self.root / "dynamic"
        run("gcc", "-std=c99", "-Wall", "-Werror", self.source, "-o", program,
            *self.pkg_config("--cflags", "--libs"))
        said = run(program, env=os.environ | {"LD_LIBRARY_PATH": str(self.library.parent)})
        self.assertEqual(said, SAYS)

    def run_snippet(self, name, source):
        path = self.root / f"{name}.c"
        path.write_text(source)
        run("gcc", "-std=c99", "-Wall", "-Werror", path, "-o", self.root / name,
            *self.pkg_config("--cflags", "--libs"))
        run(self.root / name, env=os.environ | {"LD_LIBRARY_PATH": str(self.library.parent)})

    def test_what_the_guide_shows_runs(self):
        (shown,) = re.findall(r"^```c\n(.*?)^```$", (ROOT / "docs/connect.md").read_text(),
                              re.MULTILINE | re.DOTALL)
        with server.Server() as tavolad:
            self.run_snippet("guide", f'#include <tavola.h>\n#define CONNECTION '
                             f'"{tavolad.connection_string}"\nint main(void)\n{{\n{shown}'
                             "tavola_entity_free(ada);\ntavola_table_close(people);\n"
                             "tavola_client_close(client);\nreturn 0;\n}\n")

    def test_what_the_manual_shows_runs(self):
        (shown,) = re.findall(r"^\.Bd -literal\n(.*?)^\.Ed$",
                              (ROOT / "docs/man/libtavola.3").read_text(),
                              re.MULTILINE | re.DOTALL)
        with server.Server() as tavolad:
            self.run_snippet("manual", shown.replace("\\e", "\\").replace(
                "UseDevelopmentStorage=true", tavolad.connection_string))

    def test_a_program_links_the_static_library(self):
        program = self.root / "static"
        words = self.pkg_config("--cflags", "--libs", "--static")
        words = [str(self.library.parent / "libtavola.a") if word == "-ltavola" else word
                 for word in words]
        run("gcc", "-std=c99", "-Wall", "-Werror", self.source, "-o", program, *words)
        self.assertEqual(run(program), SAYS)
        self.assertNotIn("libtavola", run("readelf", "-d", program))

    def test_the_header_is_clean_in_c99_and_cpp17(self):
        for compiler, standard in (("gcc", "c99"), ("gcc", "c17"), ("g++", "c++17")):
            with self.subTest(standard):
                language = "c++" if compiler == "g++" else "c"
                run(compiler, f"-std={standard}", "-x", language, "-Wall", "-Wextra", "-Wpedantic",
                    "-Werror", "-fsyntax-only", f"-I{self.prefix / 'include'}", self.source)

    def test_exports_what_the_header_declares_and_nothing_else(self):
        lines = run("nm", "-D", "--defined-only", self.library).splitlines()
        symbols = {line.split()[-1] for line in lines if " A " not in line}
        self.assertEqual({name.split("@@")[1] for name in symbols}, {"TAVOLA_0.1"})
        self.assertEqual({name.split("@@")[0] for name in symbols}, abi.exported_functions())

    def test_the_static_library_shows_the_same(self):
        archive = self.library.parent / "libtavola.a"
        lines = run("nm", "-g", "--defined-only", archive).splitlines()
        symbols = {line.split()[-1] for line in lines if len(line.split()) == 3}
        self.assertEqual(symbols, abi.exported_functions())

    def test_needs_openssl_and_nothing_else(self):
        said = run("readelf", "-d", self.library)
        self.assertIn("Library soname: [libtavola.so.0]", said)
        needed = set(re.findall(r"NEEDED.*\[(.*?)\.so", said))
        self.assertEqual(needed - {"libc", "libpthread", "libm", "ld-linux-x86-64"},
                         {"libssl", "libcrypto"})

    def test_does_not_print_exit_or_touch_the_process(self):
        lines = run("nm", "-D", "--undefined-only", self.library).splitlines()
        used = {line.split()[-1].split("@")[0] for line in lines}
        self.assertEqual(used & FORBIDDEN, set())

    def test_keeps_the_interface_that_was_recorded(self):
        recorded = abi.RECORD.read_text().splitlines()
        now = abi.facts()
        gone = [line for line in recorded if line not in now]
        new = [line for line in now if line not in recorded]
        self.assertEqual(gone, [], "programs that exist rely on these")
        self.assertEqual(new, [], "new: record it with tools/abi.py --record")
