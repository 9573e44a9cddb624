#!/usr/bin/python3
"""Do the server harm and see what it keeps.  Ends with "fault: N passed, N failed".

    tests/fault/run.py [kill] [queue] [stop] [disk_full] [files] [memory] [budget] [malloc] [query] [scans] [reload]
                       [start] [settings] [clock] [blob_kill] [blob_stop] [blob_disk_full] [blob_files]
                       [blob_memory] [blob_sync] [blob_damage]
"""

import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "lib"))

import suite  # noqa: E402

if __name__ == "__main__":
    names = sys.argv[1:] or ["start", "stop", "reload", "disk_full", "relief", "files", "settings",
                             "clock", "memory", "budget", "malloc", "query", "scans", "queue", "kill", "blob_files",
                             "blob_stop", "blob_disk_full", "blob_memory", "blob_kill",
                             "blob_sync", "blob_damage"]
    sys.exit(suite.main("fault", [importlib.import_module(f"{name}_test") for name in names]))
