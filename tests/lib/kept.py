"""A connection that is kept for many requests, as clients keep theirs.

A server closes one that was silent for long, and on a busy machine a test can be silent for minutes:
before a request it is looked whether the server has closed it, and then it is opened again.
"""

import http.client
import socket


def is_closed(connected):
    """Whether the other side has ended the connection, and all that it sent was read."""
    with socket.socket(fileno=socket.dup(connected.fileno())) as other:
        try:
            return other.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except ConnectionError:
            return True


class Connection(http.client.HTTPConnection):
    def request(self, *arguments, **options):
        if self.sock is not None and is_closed(self.sock):
            self.close()
        super().request(*arguments, **options)
