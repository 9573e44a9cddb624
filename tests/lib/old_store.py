"""Turn a store that no server has open into one of format version 2, which had no facts.

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


def make_old(folder):
    """Remove all facts and set the version; returns how many rows were removed."""
    rocksdb, problem = library(), ctypes.c_char_p()

    def check():
        if problem.value:
            raise RuntimeError(problem.value.decode())

    database = rocksdb.rocksdb_open(rocksdb.rocksdb_options_create(), str(folder).encode(), problem)
    check()
    iterator = rocksdb.rocksdb_create_iterator(database, rocksdb.rocksdb_readoptions_create())
    rocksdb.rocksdb_iter_seek(iterator, FACTS, len(FACTS))
    keys = []
    while rocksdb.rocksdb_iter_valid(iterator):
        size = ctypes.c_size_t()
        data = rocksdb.rocksdb_iter_key(iterator, ctypes.byref(size))
        key = data[:size.value]
        if not key.startswith(FACTS):
            break
        keys.append(key)
        rocksdb.rocksdb_iter_next(iterator)
    rocksdb.rocksdb_iter_destroy(iterator)
    writing = rocksdb.rocksdb_writeoptions_create()
    for key in keys:
        rocksdb.rocksdb_delete(database, writing, key, len(key), problem)
        check()
    rocksdb.rocksdb_put(database, writing, FORMAT, len(FORMAT), b"2", 1, problem)
    check()
    rocksdb.rocksdb_close(database)
    return len(keys)
