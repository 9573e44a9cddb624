"""Data of blobs that is not as it was written: an error, never wrong bytes, and it is reported.

To the client: 500 instead of a connection that closes, as long as nothing has been sent.
To the operator: a line that names the blob and the file, a metric, and /healthz.
"""

import os
import re
import socket
import unittest
import urllib.error
import urllib.request

from blob_client import BROKEN, Client, extent_files, numbers
from fault.sick_disk import SickServer
from until import until

SIZE = 3 * 2**20
CONTENT = bytes(range(256)) * (SIZE // 256)
PATIENT = ("--test-points", "--test-values", "silence-ms=600000")  # with half an upload


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 4]))


class BlobDamage(unittest.TestCase):
    def setUp(self):
        self.server = SickServer(*PATIENT)
        self.server.start()
        self.addCleanup(self.server.clean)
        self.addCleanup(self.server.kill)
        self.client = Client(self.server.blob_port)
        self.addCleanup(self.client.close)
        self.ok(self.client.create_container("photos"))
        self.ok(self.client.put("photos/trip/ada.jpg", CONTENT))
        ((self.file, _),) = extent_files(self.server.data)

    def ok(self, reply):
        self.assertLess(reply.status, 300, reply)
        return reply

    def health(self):
        try:
            with urllib.request.urlopen(self.server.admin_url + "/healthz", timeout=60) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metric(self, name):
        with urllib.request.urlopen(self.server.admin_url + "/metrics", timeout=60) as reply:
            return int(re.search(rf"^tavola_{name} (\d+)$", reply.read().decode(), re.M)[1])

    def fails(self, path="photos/trip/ada.jpg", **headers):
        """It cannot be read, the connection stays, and client and operator learn of it."""
        connection = self.client.connection
        before, sock = self.metric("extent_read_failures_total"), connection.sock
        reply = self.client.request("GET", path, **headers)
        self.assertEqual((reply.status, reply.code), (500, "InternalError"), reply)
        self.assertIs(connection.sock, sock)
        self.assertGreater(self.metric("extent_read_failures_total"), before)
        self.assertEqual(self.metric("extents_damaged"), 1)
        self.server.until_logged("event=blob_damaged")
        line = next(line for line in reversed(self.server.log().splitlines())
                    if "event=blob_damaged" in line)
        for part in ("account=devstoreaccount1", "container=photos", 'blob="trip/ada.jpg"',
                     f'extent="{self.file}"'):
            self.assertIn(part, line)
        status, text = self.health()
        self.assertEqual(status, 503, text)
        self.assertIn(self.file, text)

    def until_well(self):
        until(lambda: self.health() == (200, "ok\n"), self.health)

    def test_flipped_bit(self):
        self.assertEqual(self.health(), (200, "ok\n"))
        for at in (0, 100000, 200000):  # all in what is read before anything is sent
            flip(self.file, at)
            self.fails()
            self.fails(Range=f"bytes={at}-{at}")
            self.fails(x_ms_range=f"bytes={at}-{at + 9}", x_ms_range_get_content_md5="true")
            flip(self.file, at)
        # What is whole can be read; and the damage is over when nothing refers to it.
        flip(self.file, 0)
        part = self.client.request("GET", "photos/trip/ada.jpg", Range="bytes=1000000-2000000")
        self.assertEqual((part.status, part.body), (206, CONTENT[1000000:2000001]))
        self.fails()
        self.ok(self.client.put("photos/trip/ada.jpg", CONTENT))
        self.until_well()
        self.assertEqual(self.client.get("photos/trip/ada.jpg").body, CONTENT)

    def test_damage_that_is_met_when_the_head_is_gone(self):
        flip(self.file, SIZE - 1)
        with self.assertRaises(BROKEN):
            self.client.get("photos/trip/ada.jpg")
        self.server.until_logged('blob="trip/ada.jpg"')
        self.assertEqual(self.health()[0], 503)

    def test_no_wrong_byte_goes_out(self):
        for at in range(0, SIZE, 300007):
            flip(self.file, at)
            with socket.create_connection(("127.0.0.1", self.server.blob_port), timeout=60) as s:
                s.sendall(self.client.head_of("GET", "photos/trip/ada.jpg", None,
                                              Connection="close"))
                answer = b"".join(iter(lambda s=s: s.recv(1 << 20), b""))
            head, _, body = answer.partition(b"\r\n\r\n")
            if b" 200 " in head:
                self.assertEqual(body, CONTENT[:len(body)])
                self.assertLess(len(body), SIZE)
            else:
                self.assertIn(b" 500 ", head)
            flip(self.file, at)

    def test_short_file(self):
        for size in (SIZE, 1000, 0):
            os.truncate(self.file, size)
            self.fails()

    def test_missing_file(self):
        os.unlink(self.file)
        self.fails()
        self.ok(self.client.delete("photos/trip/ada.jpg"))
        self.until_well()

    def test_disk_that_cannot_read(self):
        self.server.fail("pread", "/blobs/", 1)
        self.fails()
        self.server.heal()
        self.assertEqual(self.client.get("photos/trip/ada.jpg").body, CONTENT)

    def test_copy(self):
        """It carries damage along with the checksums; of what is missing there is no copy."""
        flip(self.file, 5)
        self.ok(self.client.copy("photos/copy", "photos/trip/ada.jpg"))
        self.assertEqual(self.client.get("photos/copy").status, 500)
        os.unlink(self.file)
        reply = self.client.copy("photos/other", "photos/trip/ada.jpg")
        self.assertEqual((reply.status, reply.code), (500, "InternalError"))
        self.server.until_logged('blob="trip/ada.jpg"')

    def test_snapshot_and_blocks(self):
        taken = self.ok(self.client.snapshot("photos/trip/ada.jpg")).headers["x-ms-snapshot"]
        self.ok(self.client.put("photos/trip/ada.jpg", CONTENT[::-1]))
        flip(self.file, 5)
        self.fails(f"photos/trip/ada.jpg?snapshot={taken}")
        self.assertEqual(self.client.get("photos/trip/ada.jpg").body, CONTENT[::-1])
        blocks = ["photos/blocks", range(12)]  # more than a head holds
        for number in blocks[1]:
            self.ok(self.client.put_block(blocks[0], number, CONTENT[:100000]))
        self.ok(self.client.put_blocks(*blocks))
        (newest, _) = max(extent_files(self.server.data))
        flip(newest, 99999)
        reply = self.client.request("GET", blocks[0], Range="bytes=1100000-")
        self.assertEqual(reply.status, 500)
        self.assertEqual(self.client.request("GET", f"{blocks[0]}?comp=blocklist").status, 200)

    def restart(self, *flags):
        """Start it again, well or not; returns where the log of that begins."""
        self.client.close()
        self.server.kill()
        self.server.flags = [*PATIENT, *flags]
        start = len(self.server.log())
        self.server.start(health=(200, 503))
        return start

    def orphan(self):
        """A file that no row refers to: an upload that a crash cuts short."""
        before = {path for path, _ in extent_files(self.server.data)}
        with socket.create_connection(("127.0.0.1", self.server.blob_port), timeout=60) as s:
            s.sendall(self.client.head_of("PUT", "photos/new", SIZE, x_ms_blob_type="BlockBlob") +
                      CONTENT[:SIZE // 2])
            new = until(lambda: {path for path, _ in extent_files(self.server.data)} - before,
                        "a file of the upload")
            self.client.close()
            self.server.kill()
        return new.pop()

    def test_gc_keeps_all_while_a_file_is_missing(self):
        orphan = self.orphan()
        os.rename(self.file, self.file + ".hidden")
        start = self.restart()
        self.server.until_logged("event=extents_missing count=1 extents_kept=1", start)
        self.server.until_logged('blob="trip/ada.jpg"', start)
        self.assertTrue(os.path.exists(orphan))
        os.rename(self.file + ".hidden", self.file)
        self.restart()
        until(lambda: not os.path.exists(orphan), "the orphan goes")
        self.assertEqual(self.client.get("photos/trip/ada.jpg").body, CONTENT)
        self.assertEqual(numbers(self.server)[0], 1)

    def test_gc_keeps_all_after_a_part_of_the_log_was_dropped(self):
        orphan = self.orphan()
        start = self.restart("--drop-damaged-log")
        self.server.until_logged("event=sweep service=blob extents_kept=1", start)
        self.assertTrue(os.path.exists(orphan))
        start = self.restart()
        self.server.until_logged("event=sweep service=blob extents_removed=1", start)
