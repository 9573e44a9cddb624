"""List Blobs: flat and by hierarchy, by prefix and pages, and what may be included."""

from azure.storage.blob import BlobPrefix

from storage import StorageCase, blob_service, name

NAMES = sorted(["a.txt", "b/1", "b/2", "b/c/3", "b/c/4", "b-5", "d/6", "e", "ü/7", "x y/8", "z&<>"],
               key=lambda one: one.encode())


class Listing(StorageCase):
    @classmethod
    def setUpClass(cls):
        cls.container = blob_service().create_container(name())
        for one in reversed(NAMES):
            cls.container.upload_blob(one, one, metadata={"length": str(len(one))})

    @classmethod
    def tearDownClass(cls):
        cls.container.delete_container()

    def names(self, **options):
        return [blob.name for blob in self.container.list_blobs(**options)]

    def test_flat(self):
        self.assertEqual(self.names(), NAMES)
        self.assertEqual(list(self.container.list_blob_names()), NAMES)
        for prefix in ("b", "b/", "ü", "x y", "none"):
            with self.subTest(prefix):
                self.assertEqual(self.names(name_starts_with=prefix),
                                 [one for one in NAMES if one.startswith(prefix)])

    def test_pages(self):
        pages = self.container.list_blobs(results_per_page=4).by_page()
        self.assertEqual([b.name for b in next(pages)], NAMES[:4])
        rest = self.container.list_blobs(results_per_page=4).by_page(pages.continuation_token)
        self.assertEqual([[b.name for b in page] for page in rest], [NAMES[4:8], NAMES[8:]])

    def level(self, **options):
        prefixes, blobs = [], []
        for one in self.container.walk_blobs(**options):
            (prefixes if isinstance(one, BlobPrefix) else blobs).append(one.name)
        return sorted(prefixes), sorted(blobs)

    def test_hierarchy(self):
        self.assertEqual(self.level(), (["b/", "d/", "x y/", "ü/"], ["a.txt", "b-5", "e", "z&<>"]))
        self.assertEqual(self.level(name_starts_with="b/"), (["b/c/"], ["b/1", "b/2"]))
        self.assertEqual(self.level(name_starts_with="b/c/"), ([], ["b/c/3", "b/c/4"]))
        self.assertEqual(self.level(results_per_page=1),
                         (["b/", "d/", "x y/", "ü/"], ["a.txt", "b-5", "e", "z&<>"]))

    def test_walk_down(self):
        def walk(prefixes):
            for one in prefixes:
                if isinstance(one, BlobPrefix):
                    yield from walk(one)
                else:
                    yield one.name

        self.assertEqual(sorted(walk(self.container.walk_blobs())), sorted(NAMES))

    def test_included(self):
        with_metadata = list(self.container.list_blobs(include=["metadata"]))
        self.assertEqual([b.metadata for b in with_metadata],
                         [{"length": str(len(one))} for one in NAMES])
        listed = with_metadata[0]
        head = self.container.get_blob_client(NAMES[0]).get_blob_properties()
        for what in ("last_modified", "creation_time", "size", "blob_type", "blob_tier",
                     "metadata"):
            with self.subTest(what):
                self.assertEqual(getattr(listed, what), getattr(head, what))
        self.assertEqual(listed.etag.strip('"'), head.etag.strip('"'))
        self.assertEqual(listed.content_settings.content_md5, head.content_settings.content_md5)
        self.assertEqual((listed.lease.state, listed.lease.status), ("available", "unlocked"))

    def test_uncommitted(self):
        container = self.new_container()
        container.get_blob_client("staged").stage_block("1", b"text")
        container.upload_blob("whole", b"x")
        self.assertEqual([b.name for b in container.list_blobs()], ["whole"])
        self.assertEqual([b.name for b in container.list_blobs(include=["uncommittedblobs"])],
                         ["staged", "whole"])

    def test_empty(self):
        container = self.new_container()
        self.assertEqual(list(container.list_blobs()), [])
        self.assertEqual(list(container.walk_blobs()), [])
