"""A connection that is kept for many requests, as clients keep theirs.

A server closes one that was silent for long, and on a busy machine a test can be silent for minutes:
after some seconds without a request it is opened again.
"""

import http.client
import time

SILENT_S = 5


class Connection(http.client.HTTPConnection):
    used = 0.0

    def request(self, *arguments, **options):
        if time.monotonic() - self.used > SILENT_S:
            self.close()
        self.used = time.monotonic()
        super().request(*arguments, **options)
