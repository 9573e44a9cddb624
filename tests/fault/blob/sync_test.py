"""The log cannot be synced: whatever a row may refer to after the restart is there.

Then it is not known whether the write is in the log.  The client gets a 500;
after the restart the blob is what it was or what it was to become, whole.
"""

import unittest

from blob_client import Client, extent_files
from fault.sick_disk import SickServer
from until import until

SIZE = 3 * 2**20
OLD = bytes(range(256)) * (SIZE // 256)
NEW = OLD[::-1] + b"new"


class BlobSync(unittest.TestCase):
    def setUp(self):
        self.server = SickServer()
        self.server.start()
        self.addCleanup(self.server.clean)
        self.addCleanup(self.server.kill)
        self.client = Client(self.server.blob_port)
        self.addCleanup(self.client.close)
        self.ok(self.client.create_container("con"))

    def ok(self, reply):
        self.assertLess(reply.status, 300, reply)
        return reply

    def fails(self, write, stop="kill"):
        """Run a write whose sync of the log fails, end the server, and start it again."""
        self.server.fail("fdatasync", ".log")
        reply = write()
        self.assertEqual(reply.status, 500, reply)
        self.assertEqual(self.server.heal(), 0, "the log was not synced")
        # The rest of the time until the restart changes nothing, and leaves nothing.
        files = len(extent_files(self.server.data))
        for _ in range(3):
            self.assertEqual(self.client.put("con/later", NEW).status, 500)
        until(lambda: len(extent_files(self.server.data)) == files, "files of refused writes go")
        self.restart(stop)

    def restart(self, stop="kill"):
        self.client.close()
        getattr(self.server, stop)()
        self.server.start()

    def check(self, path, allowed, restarts=2):
        """The blob is one of those, even after the garbage collection that follows each start."""
        for _ in range(restarts):
            reply = self.client.get(path)
            if None in allowed and reply.status == 404:
                body = None
            else:
                self.assertEqual(reply.status, 200, reply)
                body = reply.body
            self.assertTrue(any(body == one for one in allowed), "neither the old nor the new")
            self.assertNotIn("extents_missing", self.server.log())
            self.restart()

    def test_blob_that_is_replaced(self):
        self.ok(self.client.put("con/a", OLD))
        self.fails(lambda: self.client.put("con/a", NEW))
        self.check("con/a", (OLD, NEW))

    def test_server_that_is_stopped_in_peace(self):
        """Then what is in memory is written out, and the log is not needed any more."""
        self.ok(self.client.put("con/a", OLD))
        self.fails(lambda: self.client.put("con/a", NEW), stop="stop")
        self.check("con/a", (OLD, NEW))

    def test_blob_that_is_new(self):
        self.fails(lambda: self.client.put("con/a", NEW))
        self.check("con/a", (None, NEW))

    def test_copy_onto_a_blob(self):
        self.ok(self.client.put("con/a", OLD))
        self.ok(self.client.put("con/b", NEW))
        self.fails(lambda: self.client.copy("con/a", "con/b"))
        self.check("con/a", (OLD, NEW))
        self.check("con/b", (NEW,))

    def test_append(self):
        self.ok(self.client.put_append("con/a"))
        self.ok(self.client.append("con/a", OLD))
        self.fails(lambda: self.client.append("con/a", NEW))
        self.check("con/a", (OLD, OLD + NEW))

    def test_block_and_block_list(self):
        for number in (1, 2):
            self.ok(self.client.put_block("con/a", number, OLD))
        self.ok(self.client.put_blocks("con/a", (1, 2)))
        self.fails(lambda: self.client.put_block("con/a", 1, NEW))
        reply = self.client.put_blocks("con/a", (2, 1))  # the new block, or the committed one
        self.ok(reply)
        self.check("con/a", (OLD + OLD, OLD + NEW))
        self.ok(self.client.put_block("con/a", 3, NEW))
        self.fails(lambda: self.client.put_blocks("con/a", (3,)))
        self.check("con/a", (OLD + OLD, OLD + NEW, NEW))

    def test_delete(self):
        self.ok(self.client.put("con/a", OLD))
        self.fails(lambda: self.client.delete("con/a"))
        self.check("con/a", (OLD, None))

    def test_deleted_container(self):
        self.ok(self.client.put("con/a", OLD))
        self.fails(lambda: self.client.delete_container("con"))
        self.check("con/a", (OLD, None))

    def test_refused_write_leaves_no_file(self):
        """What is certain is still undone at once."""
        self.ok(self.client.put("con/a", OLD))
        self.assertEqual(self.client.put("con/a", NEW, If_None_Match="*").status, 409)
        until(lambda: len(extent_files(self.server.data)) == 1, "the file of a refused write goes")
        self.assertEqual(self.client.get("con/a").body, OLD)
