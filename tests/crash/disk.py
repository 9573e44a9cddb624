"""A disk that loses its power: what files can be left of a recorded run.

    records, _ = read_journal(bytes)
    disk = Disk(folder)                 # as it was before the run; without one it is empty
    disk.play(records, upto)            # the first `upto` records have happened
    disk.leave(folder, random)          # write one state that a power cut could leave there

What a sync has finished is kept.  What has not been synced may be there or not:

- of a file's contents by the sector, of 512 or of 4,096 bytes, each as it was after any of the
  writes to it; a file that was made longer may have any length between, with zeros where nothing
  was written yet;
- of the names in a folder the first so many changes, each folder by itself.  A synced file whose
  name was not synced is lost: the disk promises no more than POSIX does.
"""

import collections
import os
import re
import struct

CREATE, WRITE, CUT, SYNC_BEGIN, SYNC_END, RENAME, UNLINK, LINK, MKDIR, RMDIR = range(1, 11)
HEADER = struct.Struct("<IIQQQ")

Record = collections.namedtuple("Record", "kind path inode offset data")
DIARY = re.compile(r"(^|/)LOG(\.old\.\d+)?$")  # RocksDB's, which is not noted


def read_journal(journal):
    """The records in these bytes, in their order, and where the last whole one ends."""
    records, at = [], 0
    while at + HEADER.size <= len(journal):
        kind, path_len, inode, offset, data_len = HEADER.unpack_from(journal, at)
        name_at = at + HEADER.size
        data_at, end = name_at + path_len, name_at + path_len + data_len
        if end > len(journal):
            break
        data = journal[data_at:end]
        records.append(Record(kind, journal[name_at:data_at].decode(), inode, offset,
                              data.decode() if kind in (RENAME, LINK) else data))
        at = end
    return records, at


class File:
    def __init__(self):
        self.kept = bytearray()     # what a sync has finished
        self.changes = []           # (number of the record, offset, bytes; None: cut there)

    def sync(self, before):
        """What was changed before record `before` is durable."""
        while self.changes and self.changes[0][0] < before:
            apply(self.kept, *self.changes.pop(0)[1:])

    def now(self):
        """As a program sees it."""
        content = bytearray(self.kept)
        for _, offset, data in self.changes:
            apply(content, offset, data)
        return content

    def left(self, chance):
        """One content that a power cut could leave."""
        way = chance.choice(("all", "none", "sectors", "sectors", "length"))
        if way == "none" or not self.changes:
            return bytes(self.kept)
        if way == "all":
            return bytes(self.now())
        unit = chance.choice((512, 4096))
        written = self.choose_sectors(chance, unit) if way == "sectors" else None
        content, lengths = bytearray(self.kept), [len(self.kept)]
        for _, offset, data in self.changes:
            apply_some(content, offset, data, unit, written)
            lengths.append(len(content))
        return bytes(content[:chance.choice((len(content), chance.choice(lengths),
                                             chance.randint(min(lengths), max(lengths))))])

    def choose_sectors(self, chance, unit):
        """{sector: how many of the writes to it are on the disk}: the first ones, as one sector was
        written whole, at some time."""
        writes = collections.Counter(
            sector for _, offset, data in self.changes if data
            for sector in range(offset // unit, (offset + len(data) - 1) // unit + 1))
        share = chance.choice((0.1, 0.5, 0.9))
        return {sector: count if chance.random() < share else chance.randint(0, count - 1)
                for sector, count in writes.items()}


def apply(content, offset, data):
    if data is None:
        del content[offset:]
        content.extend(bytes(offset - len(content)))
        return
    content.extend(bytes(max(0, offset + len(data) - len(content))))
    content[offset:offset + len(data)] = data


def apply_some(content, offset, data, unit, written):
    """The length grows as if all of it were written; sectors have the bytes that `written` leaves
    them, which counts down."""
    if data is None or written is None:
        apply(content, offset, data)
        return
    content.extend(bytes(max(0, offset + len(data) - len(content))))
    at = offset
    while at < offset + len(data):
        end = min(at - at % unit + unit, offset + len(data))
        if written[at // unit] > 0:
            written[at // unit] -= 1
            content[at:end] = data[at - offset:end - offset]
        at = end


class Folder:
    """Names of files and folders: by itself, so that it can be renamed with all that is in it."""

    def __init__(self, names=()):
        self.names = dict(names)    # as a program sees them
        self.kept = dict(names)     # as far as they are durable
        self.changes = []           # (number of the record, {name: File, Folder or None}): not yet

    def change(self, number, names):
        self.changes.append((number, names))
        set_names(self.names, names)

    def sync(self, before):
        while self.changes and self.changes[0][0] < before:
            set_names(self.kept, self.changes.pop(0)[1])

    def left(self, chance):
        """The names that a power cut could leave: the first so many changes."""
        count, names = len(self.changes), dict(self.kept)
        for _, changed in self.changes[:chance.choice((0, count, chance.randint(0, count)))]:
            set_names(names, changed)
        return names


class Disk:
    def __init__(self, folder=None):
        self.number = 0
        self.files = {}         # inode -> File
        self.syncing = {}       # number of the record -> Folder
        self.root = self.load(folder) if folder else Folder()

    def load(self, folder):
        """A folder all of which is durable."""
        names = {}
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            if entry.is_dir(follow_symlinks=False):
                names[entry.name] = self.load(entry.path)
            elif not DIARY.search(entry.name):
                file = self.files.setdefault(entry.inode(), File())
                with open(entry.path, "rb") as content:
                    file.kept = bytearray(content.read())
                names[entry.name] = file
        return Folder(names)

    def play(self, records, upto):
        for record in records[self.number:upto]:
            getattr(self, METHODS[record.kind])(record)
            self.number += 1

    def find(self, path):
        """The file or folder of this name, or None."""
        node = self.root
        for part in filter(None, path.split("/")):
            node = node.names.get(part) if isinstance(node, Folder) else None
        return node

    def change(self, path, node):
        here, name = os.path.split(path)
        self.find(here).change(self.number, {name: node})

    def create(self, record):
        self.files[record.inode] = File()
        self.change(record.path, self.files[record.inode])

    def write(self, record):
        if record.inode in self.files:
            self.files[record.inode].changes.append((self.number, record.offset, record.data))

    def cut(self, record):
        if record.inode in self.files:
            self.files[record.inode].changes.append((self.number, record.offset, None))

    def rename(self, record):
        node = self.find(record.path)
        if node is None:
            return  # RocksDB's diary
        (here, old), (there, new) = os.path.split(record.path), os.path.split(record.data)
        if here != there:
            raise AssertionError(f"{record.path} became {record.data}: the disk cannot do that yet")
        self.find(here).change(self.number, {old: None, new: node})

    def link(self, record):
        self.change(record.data, self.find(record.path))

    def unlink(self, record):
        if self.find(record.path):
            self.change(record.path, None)

    def mkdir(self, record):
        self.change(record.path, Folder())

    def sync_begin(self, record):
        """It may have another name when the sync ends."""
        if not record.inode:
            self.syncing[self.number] = self.find(record.path)

    def sync_end(self, record):
        """What was changed before it began is durable."""
        before = record.offset
        node = self.files.get(record.inode) if record.inode else self.syncing.pop(before)
        if node:
            node.sync(before)

    def differs_from(self, folder):
        """The names of files that are not as in a folder: of one that lost nothing, none."""
        found, wrong, names = set(), [], set(walk(self.root))
        for path, folders, files in os.walk(folder):
            found |= {os.path.relpath(os.path.join(path, name), folder) for name in folders + files}
        wrong = [path for path in found ^ names if not DIARY.search(path)]
        for path in found & names:
            node, full = self.find(path), os.path.join(folder, path)
            if isinstance(node, File):
                with open(full, "rb") as here:
                    if here.read() != node.now():
                        wrong.append(path)
        return wrong

    def leave(self, to, chance):
        """Write a state into an empty folder.  Hard links stay such."""
        leave(self.root, to, chance, {})


def leave(folder, to, chance, written):
    for name, node in sorted(folder.left(chance).items()):
        path = os.path.join(to, name)
        if isinstance(node, Folder):
            os.mkdir(path)
            leave(node, path, chance, written)
        elif node in written:
            os.link(written[node], path)
        else:
            written[node] = path
            with open(path, "wb") as out:
                out.write(node.left(chance))


def walk(folder, above=""):
    """The paths of all that is in it."""
    for name, node in folder.names.items():
        yield above + name
        if isinstance(node, Folder):
            yield from walk(node, f"{above}{name}/")


def set_names(names, changed):
    for name, node in changed.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


METHODS = {CREATE: "create", WRITE: "write", CUT: "cut", SYNC_BEGIN: "sync_begin",
           SYNC_END: "sync_end", RENAME: "rename", UNLINK: "unlink", LINK: "link", MKDIR: "mkdir",
           RMDIR: "unlink"}
