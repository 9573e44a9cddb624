"""The packages of a folder with JavaScript."""

import subprocess


def install(folder):
    """npm ci, when what is installed is not what the lock file says."""
    lock = (folder / "package-lock.json").read_bytes()
    stamp = folder / "node_modules" / ".installed-lock.json"
    if stamp.exists() and stamp.read_bytes() == lock:
        return
    print("  installing the JavaScript SDK (npm ci)", flush=True)
    done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"npm ci failed:\n{done.stdout}")
    stamp.write_bytes(lock)
