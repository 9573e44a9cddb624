"""Queues: create, list, metadata, delete, and the names that are refused."""

from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError

from storage import StorageCase, name, queue_service


class Queues(StorageCase):
    def setUp(self):
        self.service = queue_service()

    def names(self, **options):
        return [queue.name for queue in self.service.list_queues(**options)]

    def test_created_queue_is_listed_until_deleted(self):
        queue = self.service.create_queue(name())
        self.assertIn(queue.queue_name, self.names())
        queue.delete_queue()
        self.assertNotIn(queue.queue_name, self.names())
        self.refused(404, "QueueNotFound", queue.delete_queue, kind=ResourceNotFoundError)

    def test_creating_again_depends_on_metadata(self):
        queue = self.new_queue(metadata={"color": "blue", "size": "3"})
        # The service answers 204, of which this SDK makes an error of its own.
        with self.assertRaises(ResourceExistsError) as caught:
            queue.create_queue(metadata={"size": "3", "color": "blue"})
        self.assertEqual(caught.exception.status_code, 204)
        self.refused(409, "QueueAlreadyExists", queue.create_queue, kind=ResourceExistsError)
        self.refused(409, "QueueAlreadyExists", queue.create_queue,
                     metadata={"color": "red", "size": "3"}, kind=ResourceExistsError)

    def test_queue_that_is_not_there(self):
        queue = self.service.get_queue_client(name())
        for function, arguments in ((queue.get_queue_properties, ()),
                                    (queue.set_queue_metadata, ({"a": "b"},)),
                                    (queue.get_queue_access_policy, ()),
                                    (queue.send_message, ("text",)),
                                    (queue.receive_message, ()),
                                    (queue.peek_messages, ()),
                                    (queue.clear_messages, ())):
            with self.subTest(function.__name__):
                self.refused(404, "QueueNotFound", function, *arguments,
                             kind=ResourceNotFoundError)

    def test_metadata(self):
        queue = self.new_queue(metadata={"one": "1", "two": "2"})
        self.assertEqual(queue.get_queue_properties().metadata, {"one": "1", "two": "2"})
        queue.set_queue_metadata({"three": "drei & vier"})
        self.assertEqual(queue.get_queue_properties().metadata, {"three": "drei & vier"})
        queue.set_queue_metadata({})
        self.assertEqual(queue.get_queue_properties().metadata, {})

    def test_listing_by_prefix_and_with_metadata(self):
        prefix = name("list")
        for letter in "cab":
            self.service.create_queue(f"{prefix}-{letter}", metadata={"forQueue": letter})
        self.assertEqual(self.names(name_starts_with=prefix), [f"{prefix}-{x}" for x in "abc"])
        queues = list(self.service.list_queues(name_starts_with=prefix, include_metadata=True))
        self.assertEqual([q.metadata for q in queues], [{"forQueue": x} for x in "abc"])
        self.assertEqual(self.names(name_starts_with=f"{prefix}-no"), [])
        for letter in "abc":
            self.service.delete_queue(f"{prefix}-{letter}")

    def test_listing_by_pages(self):
        prefix = name("page")
        made = [f"{prefix}-{i}" for i in range(7)]
        for one in made:
            self.service.create_queue(one)
        pages = self.service.list_queues(name_starts_with=prefix, results_per_page=3).by_page()
        self.assertEqual([q.name for q in next(pages)], made[:3])
        rest = self.service.list_queues(name_starts_with=prefix, results_per_page=3)
        rest = [[q.name for q in page] for page in rest.by_page(pages.continuation_token)]
        self.assertEqual(rest, [made[3:6], made[6:]])
        for one in made:
            self.service.delete_queue(one)

    def test_bad_names(self):
        for what, bad, code in (("too short", "ab", "OutOfRangeInput"),
                                ("too long", "a" * 64, "OutOfRangeInput"),
                                ("capitals", "MyQueue", "InvalidResourceName"),
                                ("an underscore", "my_queue", "InvalidResourceName")):
            with self.subTest(what):
                self.refused(400, code, self.service.create_queue, bad)
