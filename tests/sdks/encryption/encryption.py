"""Entities that the retired clients encrypt, read by libtavola, and the reverse.

Run by tests/sdks/run.py with the retired client for Python.  $TAVOLA_LIBRARY is libtavola.so,
$TAVOLA_OLD_JAVA the class path of Encryption.java and the client for Java, empty when there is no
Java.  Version 2 is read by a reader of its own, made from docs/encryption.md alone.
Prints "ok NAME" or "FAILED NAME: why".
"""

import base64
import ctypes
import json
import os
import re
import struct
import subprocess

from azure.cosmosdb.table.models import Entity, EntityProperty
from azure.cosmosdb.table.tableservice import TableService
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.keywrap import aes_key_unwrap, aes_key_wrap

CONNECTION = os.environ["TAVOLA_CONNECTION"]
JAVA = os.environ.get("TAVOLA_OLD_JAVA", "")
TABLE = "Encrypted"
KEK = bytes(range(32))
# Names that begin with S are secret.  Java's client does not undo escapes in the list of names.
PROPERTIES = {"SName": "Malmö \U0001f600", "SEmpty": "", "Sété": "accent", "Open": "open",
              "SLong": "0123456789abcdef" * 100}
KEYS = ("pk é", "rk 'ö'")


class Key:
    """As the client for Python wants it."""

    def wrap_key(self, key, algorithm="A256KW"):
        return aes_key_wrap(KEK, key)

    def unwrap_key(self, key, algorithm):
        assert algorithm == "A256KW", algorithm
        return aes_key_unwrap(KEK, key)

    def get_kid(self):
        return "local:key1"

    def get_key_wrap_algorithm(self):
        return "A256KW"


class Tavola:
    """As much of libtavola as is needed here."""

    CHOOSE = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p,
                              ctypes.c_char_p)

    def __init__(self):
        self.library = ctypes.CDLL(os.environ["TAVOLA_LIBRARY"])
        self.library.tavola_err_name.restype = ctypes.c_char_p
        self.choose = self.CHOOSE(lambda user, pk, rk, name: name.startswith(b"S"))
        client = self.receive("tavola_client_open", CONNECTION.encode(), None)
        self.table = self.receive("tavola_table_open", client, TABLE.encode())
        self.crypto = self.receive("tavola_crypto_new_aes", b"local:key1", KEK,
                                   ctypes.c_size_t(len(KEK)))
        self.library.tavola_crypto_set_properties(self.crypto, self.choose, None)
        self.library.tavola_table_set_crypto(self.table, self.crypto)

    def make(self, name, *arguments):
        function = getattr(self.library, name)
        function.restype = ctypes.c_void_p
        return ctypes.c_void_p(function(*arguments))

    def check(self, err):
        if err:
            raise AssertionError(self.library.tavola_err_name(err).decode())

    def receive(self, name, *arguments):
        result = ctypes.c_void_p()
        self.check(getattr(self.library, name)(*arguments, ctypes.byref(result)))
        return result

    def write(self, version):
        self.library.tavola_crypto_set_protocol(self.crypto, version)
        entity = self.make("tavola_entity_new", *(key.encode() for key in KEYS))
        for name, value in PROPERTIES.items():
            self.library.tavola_entity_set_string(entity, name.encode(), value.encode())
        self.check(self.library.tavola_insert_or_replace(self.table, entity, None))

    def read(self):
        entity = self.receive("tavola_get", self.table, *(key.encode() for key in KEYS), None)
        text = ctypes.string_at(self.make("tavola_entity_json", entity).value)
        return {name: value for name, value in json.loads(text).items() if name in PROPERTIES}


def python_client(is_encrypting=True):
    service = TableService(connection_string=CONNECTION)
    if is_encrypting:
        # Otherwise it hands out what it does not understand as it is stored.
        service.require_encryption = True
        service.key_encryption_key = Key()
        service.encryption_resolver_function = lambda pk, rk, name: name.startswith("S")
    return service


def python_write():
    python_client().insert_or_replace_entity(
        TABLE, Entity(PartitionKey=KEYS[0], RowKey=KEYS[1], **PROPERTIES))


def python_read():
    entity = python_client().get_entity(TABLE, *KEYS)
    return {name: value.value if isinstance(value, EntityProperty) else value
            for name, value in entity.items() if name in PROPERTIES}


def java(*arguments):
    return subprocess.run(["java", "-Dfile.encoding=UTF-8", "-cp", JAVA, "Encryption", *arguments],
                          env={**os.environ, "LC_ALL": "C.UTF-8"}, check=True, text=True,
                          encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout


def java_write():
    java("write", TABLE, *KEYS, *(text for pair in PROPERTIES.items() for text in pair))


def java_read():
    lines = (line.split("=", 1) for line in java("read", TABLE, *KEYS).splitlines())
    return {name: value.removeprefix("EDM.STRING").removeprefix("Edm.String").lstrip(" ")
            for name, value in lines}


def open_sealed(key, name, sealed, protocol):
    """A value of version 2, by what docs/encryption.md says."""
    is_bound = protocol == "2.1"
    account = re.search("AccountName=([^;]*)", CONNECTION)[1]
    associated = b"tavola-table-v2.1\0" if is_bound else b"tavola-table-v2\0"
    for text in (*((account.lower(), TABLE.lower()) if is_bound else ()), *KEYS, name):
        text = text.encode()
        associated += struct.pack(">I", len(text)) + text
    plain = AESGCM(key).decrypt(sealed[:12], sealed[12:], associated)
    assert plain[0] == 0, "a String"
    return plain[1:].decode()


def read_version_2(protocol):
    entity = python_client(is_encrypting=False).get_entity(TABLE, *KEYS)
    envelope = json.loads(entity["_ClientEncryptionMetadata1"])
    assert envelope["EncryptionAgent"] == {"Protocol": protocol,
                                           "EncryptionAlgorithm": "AES_GCM_256"}
    wrapped = base64.b64decode(envelope["WrappedContentKey"]["EncryptedKey"])
    version_and_key = aes_key_unwrap(KEK, wrapped)
    assert version_and_key[:8] == protocol.encode().ljust(8, b"\0")
    key = version_and_key[8:]
    found = {name: value for name, value in entity.items() if name in PROPERTIES}
    for name in json.loads(open_sealed(key, "_ClientEncryptionMetadata2",
                                       entity["_ClientEncryptionMetadata2"].value, protocol)):
        found[name] = open_sealed(key, name, found[name].value, protocol)
    return found


def refuses_version_2(read):
    """Old clients must not take it for version 1."""
    try:
        read()
    except Exception:  # each client has its own
        return dict(PROPERTIES)
    return {"it": "was read"}


def run(name, write, read):
    try:
        write()
        found = read()
        if found != PROPERTIES:
            raise AssertionError(found)
        print("ok", name, flush=True)
    except Exception as trouble:  # whatever it is, the other steps go on
        why = getattr(trouble, "stderr", None) or repr(trouble)
        print(f"FAILED {name}: {' '.join(why.split())[:600]}", flush=True)


def main():
    python_client(is_encrypting=False).create_table(TABLE)
    tavola = Tavola()
    run("Python writes, libtavola reads", python_write, tavola.read)
    run("libtavola writes version 1, Python reads", lambda: tavola.write(1), python_read)
    for version, protocol in ((2, "2.1"), (20, "2.0")):
        run(f"libtavola writes version {protocol}, a reader of the documented format reads",
            lambda version=version: tavola.write(version),
            lambda protocol=protocol: read_version_2(protocol))
    run("Python refuses version 2", lambda: tavola.write(2), lambda: refuses_version_2(python_read))
    if JAVA:
        run("Java writes, libtavola reads", java_write, tavola.read)
        run("Java writes, Python reads", java_write, python_read)
        run("libtavola writes version 1, Java reads", lambda: tavola.write(1), java_read)
        run("Java refuses version 2", lambda: tavola.write(2), lambda: refuses_version_2(java_read))


if __name__ == "__main__":
    main()
