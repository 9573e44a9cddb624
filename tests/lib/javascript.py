"""The packages and the tests of a folder with JavaScript."""

import re
import shutil
import subprocess

import slow


def install(folder):
    """npm ci, when what is installed is not what the lock file says."""
    lock = (folder / "package-lock.json").read_bytes()
    stamp = folder / "node_modules" / ".installed-lock.json"
    if stamp.exists() and stamp.read_bytes() == lock:
        return
    print(f"  installing the packages of {folder.name} (npm ci)", flush=True)
    done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"npm ci failed:\n{done.stdout}")
    stamp.write_bytes(lock)


def run_tests(label, folder, files):
    """Run these files of a folder with node's test runner and return (passed, failed)."""
    try:
        install(folder)
    except (RuntimeError, OSError) as error:
        print(f"  {label}: {error}")
        return 0, 1
    done = subprocess.run([shutil.which("node"), "--test", "--test-reporter=tap", *files],
                          cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    # Tests without a test of their own inside them are the ones that count.
    passed = failed = 0
    trouble, skipped = [], []
    lines = done.stdout.split("\n")
    for number, line in enumerate(lines):
        match = re.match(r"( *)(not ok|ok) \d+ - (.*)", line)
        if not match:
            continue
        indent, verdict, name = match.groups()
        if name.endswith(".test.mjs"):
            # A file: newer nodes do not report it, older ones report it on top
            # of its tests.  It counts only when it failed without a failed test.
            if verdict == "not ok" and not trouble:
                failed += 1
                trouble.append(name)
            continue
        if any(f"{indent}  type: 'suite'" == text for text in lines[number + 1:number + 4]):
            # A suite is as good as its tests, unless it broke outside of them.
            if verdict == "ok" or f"{indent}  failureType: 'subtestsFailed'" in lines[
                    number + 1:number + 8]:
                continue
        took = re.search(r"duration_ms: ([\d.]+)", "\n".join(lines[number + 1:number + 4]))
        if took:
            slow.note(f"{label}: {name}", float(took[1]) / 1000)
        if "# SKIP" in name:
            skipped.append(name)
        elif verdict == "ok":
            passed += 1
        else:
            failed += 1
            story = []
            for text in lines[number + 1:]:
                if re.match(rf"{indent}(not ok|ok|# Subtest)", text) or len(story) > 40:
                    break
                story.append(text)
            trouble.append("\n".join([name, *story]))
    print(f"  {label}: {passed} ok" + (f", {len(skipped)} skipped" if skipped else "") +
          (f", {failed} FAILED" if failed else ""))
    for figure in re.findall(r"^ *# figure: (.*)", done.stdout, re.MULTILINE):
        print(f"    {figure}")
    for name in skipped:
        print(f"    SKIP {name}")
    for text in trouble:
        print("    FAILED " + text.replace("\n", "\n    "))
    if not failed and (not passed or done.returncode != 0):
        print(done.stdout[-4000:])
        failed = 1
    return passed, failed
