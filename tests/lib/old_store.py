"""Change rows of a store that no server has open; make it one of format version 2, which had no facts.

Only librocksdb's C functions are used: any tool that reads RocksDB can read a store
(docs/disk-format.md).
"""

import ctypes
import ctypes.util

FACTS = b"f"
FORMAT = b"mformat"


def library():
    rocksdb = ctypes.CDLL(ctypes.util.find_library("rocksdb"))
    for name, result, arguments in (
            ("options_create", "p", ""), ("writeoptions_create", "p", ""),
            ("readoptions_create", "p", ""), ("open", "p", "ppe"), ("close", None, "p"),
            ("create_iterator", "p", "pp"), ("iter_seek", None, "ppz"), ("iter_valid", "b", "p"),
            ("iter_key", "k", "pk"), ("iter_next", None, "p"), ("iter_destroy", None, "p"),
            ("put", None, "pppzpze"), ("delete", None, "pppze")):
        function = getattr(rocksdb, f"rocksdb_{name}")
        kinds = {"p": ctypes.c_void_p, "z": ctypes.c_size_t, "b": ctypes.c_ubyte,
                 "e": ctypes.POINTER(ctypes.c_char_p), None: None}
        function.restype = ctypes.POINTER(ctypes.c_char) if result == "k" else kinds[result]
        function.argtypes = [ctypes.POINTER(ctypes.c_size_t) if kind == "k" else kinds[kind]
                             for kind in arguments]
    return rocksdb


def edit(folder, change):
    """Change the rows of a store: `change` gets all keys, and returns what to put and what to delete."""
    rocksdb, problem = library(), ctypes.c_char_p()

    def check():
        if problem.value:
            raise RuntimeError(problem.value.decode())

    database = rocksdb.rocksdb_open(rocksdb.rocksdb_options_create(), str(folder).encode(), problem)
    check()
    iterator = rocksdb.rocksdb_create_iterator(database, rocksdb.rocksdb_readoptions_create())
    rocksdb.rocksdb_iter_seek(iterator, b"", 0)
    keys = []
    while rocksdb.rocksdb_iter_valid(iterator):
        size = ctypes.c_size_t()
        data = rocksdb.rocksdb_iter_key(iterator, ctypes.byref(size))
        keys.append(data[:size.value])
        rocksdb.rocksdb_iter_next(iterator)
    rocksdb.rocksdb_iter_destroy(iterator)
    writing = rocksdb.rocksdb_writeoptions_create()
    puts, deletes = change(keys)
    for key in deletes:
        rocksdb.rocksdb_delete(database, writing, key, len(key), problem)
        check()
    for key, value in puts.items():
        rocksdb.rocksdb_put(database, writing, key, len(key), value, len(value), problem)
        check()
    rocksdb.rocksdb_close(database)


def make_old(folder):
    """Remove all facts and set the version; returns how many rows were removed."""
    facts = []

    def change(keys):
        facts.extend(key for key in keys if key.startswith(FACTS))
        return {FORMAT: b"2"}, facts

    edit(folder, change)
    return len(facts)
