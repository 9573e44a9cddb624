"""What the test modules of queues and blobs need: clients, names, refusals.

tests/sdk/run.py says where the server is, by the environment:
  SDK_TEST_QUEUE_ENDPOINT   http://127.0.0.1:PORT
  SDK_TEST_BLOB_ENDPOINT    http://127.0.0.1:PORT
"""

import datetime
import itertools
import os
import random
import unittest

from azure.core.exceptions import HttpResponseError
from azure.storage.blob import BlobClient, BlobServiceClient
from azure.storage.queue import QueueServiceClient

from helpers import ACCOUNTS, FIRST, MAIN, SECOND  # noqa: F401

QUEUE_ENDPOINT = os.environ["SDK_TEST_QUEUE_ENDPOINT"]
BLOB_ENDPOINT = os.environ["SDK_TEST_BLOB_ENDPOINT"]
CERTIFICATE = os.environ.get("SDK_TEST_CERTIFICATE")
HAS_TLS = bool(os.environ.get("SDK_TEST_TLS"))
MIB = 1024 * 1024
HOUR = datetime.timedelta(hours=1)

# A test of an error must not wait for the SDK to try again.
OPTIONS = {"retry_total": 0, "retry_connect": 0, "retry_read": 0, "retry_status": 0}

_count = itertools.count(1)


def key(account=MAIN, n=0):
    return {"account_name": account, "account_key": ACCOUNTS[account][n]}


def queue_service(account=MAIN, credential=None, **options):
    return QueueServiceClient(f"{QUEUE_ENDPOINT}/{account}", **OPTIONS, **options,
                              credential=credential or key(account))


def blob_service(account=MAIN, credential=None, **options):
    return BlobServiceClient(f"{BLOB_ENDPOINT}/{account}", **OPTIONS, **options,
                             credential=credential or key(account))


def name(what="py"):
    return f"{what}-{os.getpid()}-{next(_count)}"


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def some_bytes(length, seed=1):
    return random.Random(seed).randbytes(length)


class StorageCase(unittest.TestCase):
    maxDiff = None

    def refused(self, status, code, function, *arguments, kind=HttpResponseError, **named):
        """The call must fail with this status and this code of the service.

        The code is in a header, and in the XML of an answer that has a body.
        """
        with self.assertRaises(kind) as caught:
            function(*arguments, **named)
        error = caught.exception
        self.assertEqual((error.status_code, error.response.headers.get("x-ms-error-code")),
                         (status, code), error)
        self.assertEqual(getattr(error.error_code, "value", error.error_code), code, error)
        return error

    def new_queue(self, account=MAIN, metadata=None, **options):
        queue = queue_service(account).get_queue_client(name(), **options)
        queue.create_queue(metadata=metadata)
        self.addCleanup(self.forget, queue.delete_queue)
        return queue

    def new_container(self, account=MAIN, **options):
        container = blob_service(account).create_container(name(), **options)
        self.addCleanup(self.forget, container.delete_container)
        return container

    def forget(self, delete):
        try:
            delete()
        except HttpResponseError as error:
            self.assertEqual(error.status_code, 404, error)


class BlobCase(StorageCase):
    """A test case with one container of its own in `self.container`."""

    @classmethod
    def setUpClass(cls):
        cls.container = blob_service().create_container(name())

    @classmethod
    def tearDownClass(cls):
        cls.container.delete_container()

    def small_parts(self, blob_name, **options):
        """A client that moves parts of a MiB, and all that is larger in parts."""
        return BlobClient(f"{BLOB_ENDPOINT}/{MAIN}", self.container.container_name, blob_name,
                          credential=key(), **OPTIONS, max_block_size=MIB,
                          max_single_put_size=MIB, min_large_block_upload_threshold=1,
                          max_single_get_size=MIB, max_chunk_get_size=MIB, **options)

    def uploaded(self, content=b"content", **options):
        blob = self.container.get_blob_client(name())
        blob.upload_blob(content, **options)
        return blob

    def read(self, blob, *arguments, **named):
        return blob.download_blob(*arguments, **named).readall()
