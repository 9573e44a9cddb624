"""A server whose disk fails on demand (sick_disk.c says how).

    with SickServer() as server:
        server.fail("fdatasync", ".log")    # the next sync of the log fails
"""

import errno
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile

from server import Server, binary

SOURCE = pathlib.Path(__file__).resolve().parent / "sick_disk.c"


def sanitizer():
    """The sanitizer's library, which must be loaded before any other; empty without one."""
    listed = subprocess.run(["ldd", binary()], capture_output=True, text=True, check=True).stdout
    return [line.split()[2] for line in listed.splitlines() if "libasan" in line
            or "libtsan" in line]


class SickServer(Server):
    def __init__(self, *flags, **options):
        self.tools = tempfile.mkdtemp(prefix="tavola-sick-")
        library = os.path.join(self.tools, "sick_disk.so")
        compiler = shlex.split(os.environ.get("CC", "cc"))
        subprocess.run([*compiler, "-shared", "-fPIC", "-O1", "-o", library, str(SOURCE),
                        "-pthread"], check=True)
        self.control = os.path.join(self.tools, "control")
        super().__init__(*flags, engine="rocksdb",
                         env={"LD_PRELOAD": ":".join(sanitizer() + [library]),
                              "SICK_DISK": self.control}, **options)

    def fail(self, call, part, count=1, error=errno.EIO):
        """The next `count` such calls on files whose path contains `part` fail."""
        new = self.control + ".new"
        pathlib.Path(new).write_text(f"{call} {part} {count} {error}\n", encoding="ascii")
        os.rename(new, self.control)

    def heal(self):
        """How many failures were left."""
        left = pathlib.Path(self.control).read_text(encoding="ascii").split()
        os.unlink(self.control)
        return int(left[2]) if left else 0

    def clean(self):
        super().clean()
        shutil.rmtree(self.tools, ignore_errors=True)
