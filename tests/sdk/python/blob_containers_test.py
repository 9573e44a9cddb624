"""Containers: create, list, properties, metadata, leases, delete."""

import uuid

from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.storage.blob import BlobLeaseClient, ContainerProperties

from storage import HOUR, StorageCase, blob_service, name, now


class Containers(StorageCase):
    def setUp(self):
        self.service = blob_service()

    def names(self, **options):
        return [container.name for container in self.service.list_containers(**options)]

    def test_created_container_is_listed_until_deleted(self):
        container = self.service.get_container_client(name())
        self.assertFalse(container.exists())
        made = container.create_container()
        self.assertRegex(made["etag"], r'^"?0x[0-9A-F]{15,16}"?$')
        self.assertTrue(container.exists())
        self.assertIn(container.container_name, self.names())
        self.refused(409, "ContainerAlreadyExists", container.create_container,
                     kind=ResourceExistsError)
        container.delete_container()
        self.assertFalse(container.exists())
        self.assertNotIn(container.container_name, self.names())
        self.refused(404, "ContainerNotFound", container.delete_container,
                     kind=ResourceNotFoundError)
        self.refused(404, "ContainerNotFound", container.get_container_properties,
                     kind=ResourceNotFoundError)
        self.refused(404, "ContainerNotFound", container.upload_blob, "blob", b"x",
                     kind=ResourceNotFoundError)
        self.refused(404, "ContainerNotFound", lambda: list(container.list_blobs()),
                     kind=ResourceNotFoundError)

    def test_properties_and_metadata(self):
        container = self.new_container(metadata={"one": "1", "two": "zwei & drei"})
        first = container.get_container_properties()
        self.assertIsInstance(first, ContainerProperties)
        self.assertEqual(first.metadata, {"one": "1", "two": "zwei & drei"})
        self.assertEqual((first.lease.state, first.lease.status), ("available", "unlocked"))
        self.assertFalse(first.has_legal_hold)
        self.assertIsNone(first.public_access)
        container.set_container_metadata({"three": "3"})
        second = container.get_container_properties()
        self.assertEqual(second.metadata, {"three": "3"})
        self.assertNotEqual(second.etag, first.etag)
        container.set_container_metadata({})
        self.assertEqual(container.get_container_properties().metadata, {})

    def test_conditions(self):
        container = self.new_container()
        self.refused(412, "ConditionNotMet", container.set_container_metadata, {"a": "b"},
                     if_modified_since=now() + HOUR)
        self.refused(412, "ConditionNotMet", container.delete_container,
                     if_unmodified_since=now() - HOUR)
        container.delete_container(if_unmodified_since=now() + HOUR)

    def test_listing(self):
        prefix = name("list")
        made = [f"{prefix}-{i}" for i in range(5)]
        for one in reversed(made):
            self.service.create_container(one, metadata={"forContainer": one})
        self.assertEqual(self.names(name_starts_with=prefix), made)
        first, *_ = self.service.list_containers(name_starts_with=prefix, include_metadata=True)
        self.assertEqual(first.metadata, {"forContainer": made[0]})
        self.assertEqual((first.lease.state, first.lease.status), ("available", "unlocked"))
        self.assertTrue(first.etag and first.last_modified)
        pages = self.service.list_containers(name_starts_with=prefix, results_per_page=2).by_page()
        self.assertEqual([c.name for c in next(pages)], made[:2])
        rest = self.service.list_containers(name_starts_with=prefix, results_per_page=2)
        rest = [[c.name for c in page] for page in rest.by_page(pages.continuation_token)]
        self.assertEqual(rest, [made[2:4], made[4:]])
        for one in made:
            self.service.delete_container(one)

    def test_bad_names(self):
        for what, bad, code in (("too short", "ab", "OutOfRangeInput"),
                                ("too long", "a" * 64, "OutOfRangeInput"),
                                ("capitals", "MyContainer", "InvalidResourceName"),
                                ("an underscore", "my_container", "InvalidResourceName")):
            with self.subTest(what):
                self.refused(400, code, self.service.create_container, bad)

    def test_leases(self):
        container = self.new_container()
        lease = container.acquire_lease(lease_id=str(uuid.uuid4()))
        got = container.get_container_properties().lease
        self.assertEqual((got.state, got.status, got.duration), ("leased", "locked", "infinite"))
        self.refused(412, "LeaseIdMissing", container.delete_container)
        self.refused(412, "LeaseIdMismatchWithContainerOperation", container.delete_container,
                     lease=str(uuid.uuid4()))
        self.refused(409, "LeaseAlreadyPresent", container.acquire_lease)
        lease.renew()
        other = str(uuid.uuid4())
        lease.change(other)
        self.assertEqual(lease.id, other)
        lease.release()
        self.assertEqual(container.get_container_properties().lease.state, "available")
        lease = BlobLeaseClient(container)
        lease.acquire(lease_duration=60)
        self.assertEqual(lease.break_lease(0), 0)
        self.assertEqual(container.get_container_properties().lease.state, "broken")
        lease.acquire()
        container.delete_container(lease=lease)
