"""Doors that are the same for queues and blobs: keys, right and wrong, and strange headers."""

import itertools

from matrix import ACCOUNT, BETA_KEY, KEY1, KEY2, OTHER_ACCOUNT, WRONG_KEY
from queue_talk import StorageKey


def good_keys():
    """(what, door) for each way in which an account's keys open everything."""
    for key, lite in itertools.product((KEY1, KEY2), (True, False)):
        yield (f"{'SharedKeyLite' if lite else 'SharedKey'} by key {1 + (key == KEY2)}",
               StorageKey(ACCOUNT, key, lite))


def bad_keys():
    """(what, door) for signatures that are not authentic."""
    for lite in (True, False):
        yield from (
            ("a wrong key", StorageKey(ACCOUNT, WRONG_KEY, lite)),
            ("the key of another account", StorageKey(ACCOUNT, BETA_KEY, lite)),
            ("another account", StorageKey(ACCOUNT, BETA_KEY, lite, signer=OTHER_ACCOUNT)),
            ("an unknown account", StorageKey(ACCOUNT, KEY1, lite, signer="nobody")),
            ("16 minutes old", StorageKey(ACCOUNT, KEY1, lite, age_s=960)),
            ("from 16 minutes ahead", StorageKey(ACCOUNT, KEY1, lite, age_s=-960)),
            ("another path", StorageKey(ACCOUNT, KEY1, lite, path=f"/{ACCOUNT}/elsewhere")),
            ("another verb", StorageKey(ACCOUNT, KEY1, lite, verb="PATCH")))


# (what, the credential's fault, the Authorization header)
STRANGE_HEADERS = (
    ("a bearer token", "bearer", "Bearer eyJ0eXAiOiJKV1QifQ.e30."),
    ("a scheme alone", "malformed", "SharedKey"),
    ("another scheme", "malformed", f"Basic {ACCOUNT}:{KEY1}"),
    ("no signature", "not authentic", f"SharedKey {ACCOUNT}:"),
    ("the key for a signature", "not authentic", f"SharedKey {ACCOUNT}:{KEY1}"),
)
