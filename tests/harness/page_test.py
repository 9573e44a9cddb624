"""The page's files: formatted, without what nobody uses, and what they may import."""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests" / "explorer"
PAGE = ROOT / "src" / "server" / "explorer" / "page"
BIOME = "tests/explorer/node_modules/@biomejs/cli-linux-*/biome"  # that of this machine
FORMATTED = ("src/server/explorer", "tests/explorer")
FIRST = "shell.js"  # what index.html begins with; whatever else begins to work by itself is an error

sys.path.insert(0, str(ROOT / "tests" / "lib"))

import javascript  # noqa: E402

IMPORT = re.compile(r"^(?:import|export)\b(?:\s+([^;']*?)\s+from)?\s*'\./([\w.]+)';", re.MULTILINE)
LATER = re.compile(r"(?:const \{([^}]*)\} = await )?import\('\./([\w.]+)'\)"
                   r"(?:\s*\.then\(\(\{([^}]*)\}\))?")
EXPORT = re.compile(r"^export (?:async )?(?:function\*?|const|class) (\w+)", re.MULTILINE)
# How tests in the browser get at a file's functions.
OF_TESTS = re.compile(r"[\w$]+")


def names(clause):
    """{the names in "a, b as c"}"""
    return {part.split(" as ")[0].strip() for part in clause.split(",") if part.strip()}


class Module:
    """What a file imports at once or later, {file: names}, and what it exports; None: all of it."""

    def __init__(self, text):
        self.exports = set(EXPORT.findall(text))
        self.uses = {}
        self.at_once = set()
        for clause, file in IMPORT.findall(text):
            self.at_once.add(file)
            whole = re.fullmatch(r"\* as (\w+)", clause)
            self.use(file, set(re.findall(rf"\b{whole[1]}\.(\w+)", text)) if whole
                     else names(clause.strip("{} \n")))
        for clause, file, then in LATER.findall(text):
            self.use(file, names(clause or then or "show"))

    def use(self, file, what):
        self.uses.setdefault(file, set()).update(what)


def circles(modules):
    """The files that import themselves, by way of others."""
    def reached(file):
        seen, todo = set(), [file]
        while todo:
            for each in modules[todo.pop()].uses:
                if each not in seen:
                    seen.add(each)
                    todo.append(each)
        return seen
    return sorted(file for file in modules if file in reached(file))


def unused(modules, text_of_tests):
    """Exports that neither the page nor a test names."""
    of_tests = set(OF_TESTS.findall(text_of_tests))
    used = {file: set() for file in modules}
    for module in modules.values():
        for file, what in module.uses.items():
            used[file] |= what
    return sorted(f"{file}: {name}" for file, module in modules.items()
                  for name in module.exports - used[file] - of_tests)


class Page(unittest.TestCase):
    def setUp(self):
        self.modules = {file.name: Module(file.read_text()) for file in PAGE.glob("*.js")}

    def test_it_is_formatted_and_has_no_lint(self):
        javascript.install(TESTS)
        biome, = (str(found.relative_to(ROOT)) for found in ROOT.glob(BIOME))
        done = subprocess.run([biome, "ci", "--colors=off", *FORMATTED], cwd=ROOT, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0,
                         f"{done.stdout}\n{biome} check --write {' '.join(FORMATTED)}")

    def test_no_file_imports_itself_by_way_of_others(self):
        self.assertEqual(circles(self.modules), [])

    def test_what_is_exported_is_used(self):
        tests = "".join(file.read_text() for file in TESTS.glob("**/*.mjs")
                        if "node_modules" not in file.parts)
        self.assertEqual(unused(self.modules, tests), [])

    def test_all_of_it_is_in_the_program(self):
        listed = re.findall(r"server/explorer/page/([\w.]+)", (ROOT / "src/meson.build").read_text())
        self.assertEqual(listed, sorted(file.name for file in PAGE.iterdir()))

    def test_nothing_happens_when_a_file_is_imported(self):
        files = sorted(set(self.modules) - {FIRST})
        done = subprocess.run(["node", "--input-type=module", "--eval", IN_NO_BROWSER, str(PAGE), *files],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, f"{len(files)} imported\n"))


# Whatever a browser has throws when it is touched; a timer would keep the program alive.
IN_NO_BROWSER = """
for (const name of ['document', 'window', 'location', 'history', 'localStorage', 'navigator',
  'matchMedia', 'addEventListener', 'dispatchEvent', 'fetch', 'setTimeout', 'setInterval',
  'requestAnimationFrame']) {
  Object.defineProperty(globalThis, name, { get() { throw new Error(`${name} is touched`); } });
}
const [folder, ...files] = process.argv.slice(1);
for (const file of files) await import(`${folder}/${file}`);
console.log(`${files.length} imported`);
"""


class Rules(unittest.TestCase):
    """That they find what they are for."""

    def test_a_circle_also_by_way_of_a_file_that_is_loaded_later(self):
        modules = {"a.js": Module("const { f } = await import('./b.js');\n"), "c.js": Module(""),
                   "b.js": Module("import { link } from './a.js';\nimport './c.js';\n")}
        self.assertEqual(circles(modules), ["a.js", "b.js"])

    def test_an_export_that_nobody_names(self):
        modules = {"a.js": Module("export const f = 1;\nexport function g() {}\nexport class H {}\n"
                                  "export async function show() {}\nexport const inTest = 1;\n"),
                   "b.js": Module("import * as a from './a.js';\nimport {\n  H as I,\n} from './a.js';\n"
                                  "a.f();\nconst VIEWS = { a: () => import('./a.js') };\n")}
        self.assertEqual(unused(modules, "module.inTest"), ["a.js: g"])


if __name__ == "__main__":
    unittest.main()
