"""Run unittest modules as one suite of ./check.

    sys.exit(suite.main("fault", suite.files(HERE), sys.argv[1:]))

One line per module while all is well; the whole story of what failed with the command that repeats
it, the reason of every skip, and the closing line "NAME: N passed, N failed, N skipped".
"""

import collections
import importlib
import json
import multiprocessing
import pathlib
import random
import re
import signal
import sys
import time
import unittest

import parts
import seed
import slow
import story

TEST = re.compile(r"^    def (test_\w+)", re.MULTILINE)
IMPORT = re.compile(r"^from ([\w.]+) import", re.MULTILINE)
NAME = pathlib.Path(sys.argv[0]).resolve().parent.name  # of the suite: the folder of its run.py

skipped = 0  # by all that was run so far


class Result(unittest.TestResult):
    """Counts cases and times them; a failing subtest makes its case fail once."""

    def __init__(self, part):
        super().__init__()
        self.part = part
        self.passed = 0
        self.names = set()
        self.stories = {}  # of what failed, by the case

    def startTest(self, test):
        super().startTest(test)
        self.names.add(method(test))
        self.began = time.monotonic()
        random.seed(f"{seed.SEED}/{test.id()}")
        story.begin()

    def stopTest(self, test):
        super().stopTest(test)
        slow.note(test.id(), time.monotonic() - self.began)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.note(test, self.failures[-1][1])

    def addError(self, test, error):
        super().addError(test, error)
        self.note(test, self.errors[-1][1])

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            is_failure = issubclass(error[0], test.failureException)
            self.note(subtest, (self.failures if is_failure else self.errors)[-1][1])

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note(test, "expected to fail, and passed\n")

    def note(self, test, text):
        """What is known at this moment, before any server is stopped."""
        case = getattr(test, "test_case", test)
        told = self.stories.setdefault(case.id(), [])
        told.append(f"{test}\n{text}{story.tell() if not told else ''}".rstrip())
        if len(told) == 1:
            told[0] += f"\n{seed.repeat(NAME, repeated(self.part, method(case)))}"

    def missing(self, names):
        """A story when names are listed that did not run; a class may be skipped, with its reason."""
        lost = [name for name in names if name not in self.names]
        has_skipped_class = any(not isinstance(test, unittest.TestCase) for test, _ in self.skipped)
        if lost and not has_skipped_class:
            self.stories["not run"] = [f"listed in {self.part}, but not run: {' '.join(lost)}"]


def method(test):
    """The name of a test; of what stands for a class or a module, its own."""
    return getattr(test, "_testMethodName", None) or test.id().rpartition(".")[2]


def repeated(part, name):
    """The words that ask for one test alone."""
    return f"{part}/{name}" if name.startswith("test_") else part


def files(folder):
    """{part: names of its tests} of the *_test.py under a folder; nothing is imported yet."""
    found = {}
    for path in sorted(folder.glob("**/*_test.py")):
        part = str(path.relative_to(folder)).removesuffix("_test.py")
        found[part] = TEST.findall(path.read_text())
    return found


def module_of(package, part):
    """The module of a part; `package` is the folder's name, or None if it is on the path itself."""
    name = part.replace("/", ".") + "_test"
    return importlib.import_module(f"{package}.{name}" if package else name)


def cases(loaded):
    """The test cases inside of suites."""
    for one in loaded:
        if isinstance(one, unittest.TestSuite):
            yield from cases(one)
        else:
            yield one


def load(module, names=None):
    """The tests of a module, or those of them with these names."""
    loaded = unittest.defaultTestLoader.loadTestsFromModule(module)
    if names is None:
        return loaded
    return unittest.TestSuite(one for one in cases(loaded)
                              if one.id().rpartition(".")[2] in names)


def listed(module):
    """The names of the tests in the text of a module; one that stands twice in a class is lost."""
    text = pathlib.Path(module.__file__).read_text(encoding="utf-8")
    for of_class in re.split(r"^class ", text, flags=re.MULTILINE):
        for name, times in collections.Counter(TEST.findall(of_class)).items():
            if times > 1:
                raise RuntimeError(f"{module.__file__}: {name} stands {times} times in a class")
    return TEST.findall(text)


def run(modules, names=None, part=None):
    """Run the tests of the modules and return how many (passed, failed).

    `names` gives for a module the names of the tests to run, if not all of them.
    """
    global skipped
    passed = failed = 0
    for module in modules:
        result = Result(part or module.__name__.removesuffix("_test"))
        began = time.monotonic()
        chosen = (names or {}).get(module)
        load(module, chosen).run(result)
        result.missing(chosen or listed(module))
        passed += result.passed
        failed += len(result.stories)
        skipped += len(result.skipped)
        print(f"  {module.__name__}: {result.passed} ok" +
              (f", {len(result.skipped)} skipped" if result.skipped else "") +
              (f", {len(result.stories)} FAILED" if result.stories else "") +
              f" ({time.monotonic() - began:.1f} s)")
        for test, reason in result.skipped:
            print(f"    SKIP {test}: {reason}")
        for texts in result.stories.values():
            for text in texts:
                print("    FAILED " + text.replace("\n", "\n      "))
        sys.stdout.flush()
    return passed, failed


def run_parts(package, chosen):
    """Run what parts.choose() chose, one module after the other."""
    passed = failed = 0
    for part, names in chosen.items():
        module = module_of(package, part)
        more_passed, more_failed = run([module], {module: names}, part)
        passed, failed = passed + more_passed, failed + more_failed
    return passed, failed


def run_apart(function, calls):
    """Call `function`, which returns (passed, failed), with each of these arguments; the sums.

    Each but an only one in a process of its own, so that none finds what another has changed.
    """
    calls = list(calls)
    if len(calls) == 1:
        return function(*calls[0])
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        counts = pool.starmap(function, calls, chunksize=1)
    return tuple(map(sum, zip(*counts)))


def close(name, passed, failed):
    """Print the closing line; returns the exit code."""
    print(f"{name}: {passed} passed, {failed} failed" +
          (f", {skipped} skipped" if skipped else ""), flush=True)
    return 1 if failed or not passed + skipped else 0


def print_jobs(chosen, needs=lambda part: (), targets=lambda part: (), **others):
    """Answer --jobs: what can run by itself, a line of JSON for each (check.py)."""
    for part, names in chosen.items():
        words = [f"{part}/{name}" for name in sorted(names)] if names else [part]
        print(json.dumps({"part": part, "words": words, "needs": list(needs(part)),
                          "targets": list(targets(part)), **others}))
    return 0


def needs_release(folder):
    """Whether a part uses the release build, by its text and that of what it imports of its suite."""
    def needs(part):
        text = (folder / f"{part}_test.py").read_text(encoding="utf-8")
        for name in IMPORT.findall(text):
            path = folder.parent / (name.replace(".", "/") + ".py")
            if path.exists():
                text += path.read_text(encoding="utf-8")
        return ["release"] if "TAVOLAD_RELEASE" in text else []
    return needs


def main(name, known, arguments, package=None):
    """Run the parts that are asked for; after --jobs, say what they are."""
    # Whoever runs this in the background may have it ignored, and so would all that is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    is_list = arguments[:1] == ["--jobs"]
    chosen = parts.choose_or_exit(name, known, arguments[is_list:])
    if is_list:
        return print_jobs(chosen, needs_release(pathlib.Path(sys.argv[0]).resolve().parent))
    return close(name, *run_parts(package, chosen))
