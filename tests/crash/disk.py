"""A disk that loses its power: what files can be left of a recorded run.

    records, _ = read_journal(bytes)
    disk = Disk()
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
FOLDER = "folder"  # what a name of a folder stands for
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


class Disk:
    def __init__(self):
        self.number = 0
        self.files = {}         # inode -> File
        self.names = {}         # path -> File or FOLDER, as a program sees it
        self.kept = {}          # the same, as far as it is durable
        self.changes = []       # (number, folder, {path: File, FOLDER or None}): not durable yet

    def play(self, records, upto):
        for record in records[self.number:upto]:
            getattr(self, METHODS[record.kind])(record)
            self.number += 1

    def rename_all(self, folder, names):
        self.changes.append((self.number, folder, names))
        for path, file in names.items():
            set_name(self.names, path, file)

    def create(self, record):
        file = self.files[record.inode] = File()
        self.rename_all(os.path.dirname(record.path), {record.path: file})

    def write(self, record):
        if record.inode in self.files:
            self.files[record.inode].changes.append((self.number, record.offset, record.data))

    def cut(self, record):
        if record.inode in self.files:
            self.files[record.inode].changes.append((self.number, record.offset, None))

    def rename(self, record):
        if record.path not in self.names:
            return  # RocksDB's diary
        here, there = os.path.dirname(record.path), os.path.dirname(record.data)
        if here != there or self.names[record.path] is FOLDER:
            raise AssertionError(f"{record.path} became {record.data}: the disk cannot do that yet")
        self.rename_all(there, {record.path: None, record.data: self.names[record.path]})

    def link(self, record):
        self.rename_all(os.path.dirname(record.data), {record.data: self.names[record.path]})

    def unlink(self, record):
        if record.path in self.names:
            self.rename_all(os.path.dirname(record.path), {record.path: None})

    def mkdir(self, record):
        self.rename_all(os.path.dirname(record.path), {record.path: FOLDER})

    def sync_begin(self, record):
        pass

    def sync_end(self, record):
        """What was changed before it began is durable."""
        before = record.offset
        if record.inode:
            if record.inode in self.files:
                self.files[record.inode].sync(before)
            return
        later = []
        for change in self.changes:
            number, folder, names = change
            if folder == record.path and number < before:
                for path, file in names.items():
                    set_name(self.kept, path, file)
            else:
                later.append(change)
        self.changes = later

    def left_names(self, chance):
        """The names that a power cut could leave: of each folder the first so many changes."""
        waiting = collections.Counter(folder for _, folder, _ in self.changes)
        rest = {folder: chance.choice((0, count, chance.randint(0, count)))
                for folder, count in sorted(waiting.items())}
        names = dict(self.kept)
        for _, folder, changed in self.changes:
            if rest[folder] > 0:
                rest[folder] -= 1
                for path, file in changed.items():
                    set_name(names, path, file)
        return names

    def differs_from(self, folder):
        """The names of files that are not as in a folder: of one that lost nothing, none."""
        found = {}
        for path, folders, names in os.walk(folder):
            for name in folders + names:
                full = os.path.join(path, name)
                found[os.path.relpath(full, folder)] = full
        wrong = [path for path in set(found) ^ set(self.names) if not DIARY.search(path)]
        for path, file in self.names.items():
            if path in found and file is not FOLDER:
                with open(found[path], "rb") as here:
                    if here.read() != file.now():
                        wrong.append(path)
        return wrong

    def leave(self, to, chance):
        """Write a state into an empty folder.  Hard links stay such."""
        names, written = self.left_names(chance), {}
        for path in sorted(names):
            file, full = names[path], os.path.join(to, path)
            if os.path.dirname(path) and names.get(os.path.dirname(path)) is not FOLDER:
                continue  # its folder is not there
            if file is FOLDER:
                os.mkdir(full)
            elif file in written:
                os.link(written[file], full)
            else:
                written[file] = full
                with open(full, "wb") as out:
                    out.write(file.left(chance))


def set_name(names, path, file):
    if file is None:
        names.pop(path, None)
    else:
        names[path] = file


METHODS = {CREATE: "create", WRITE: "write", CUT: "cut", SYNC_BEGIN: "sync_begin",
           SYNC_END: "sync_end", RENAME: "rename", UNLINK: "unlink", LINK: "link", MKDIR: "mkdir",
           RMDIR: "unlink"}
