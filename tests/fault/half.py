"""Requests that are under way for certain: the server has their heads, and waits for the rest."""

import socket

from until import until

EXPECT = "Expect: 100-continue\r\n\r\n"


def send_head(connection, head):
    """Send the bytes of a head, up to its empty line, and return when the server has taken it."""
    assert head.endswith(b"\r\n\r\n"), head
    connection.sendall(head[:-2] + EXPECT.encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        part = connection.recv(1)
        assert part, f"the server has left after {answer}"
        answer += part
    assert answer.startswith(b"HTTP/1.1 100 "), answer


def is_refused(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=60).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:
        pass    # met the socket as it closed; the next one must be refused
    return False


def until_it_stops(server, port):
    """Until a server that was told to stop takes no new connections on one of its ports."""
    until(lambda: is_refused(port), lambda: f"new connections are accepted:\n{server.log()[-2000:]}")
