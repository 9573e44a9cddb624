"""A session of the server's own page, without the page."""

import http.client
import json


class Page:
    """What a browser would have after it has followed a link: a cookie and the page's word."""

    def __init__(self, server, link=None):
        self.server = server
        self.cookie = self.word = None
        if link is not None:
            self.login(link)

    def ask(self, method, path, body=None, *, headers=(), session=True, host=None):
        """Status, headers and body."""
        address = f"127.0.0.1:{self.server.admin_port}"
        connection = http.client.HTTPConnection("127.0.0.1", self.server.admin_port, timeout=30)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", address if host is None else host)
        if session and self.cookie:
            connection.putheader("Cookie", self.cookie)
        if session and self.word:
            connection.putheader("x-tavola-page", self.word)
        for name, value in headers:
            connection.putheader(name, value)
        data = body.encode() if isinstance(body, str) else body or b""
        if method not in ("GET", "HEAD") or data:
            connection.putheader("Content-Length", str(len(data)))
        connection.endheaders(data)
        reply = connection.getresponse()
        text = reply.read()
        connection.close()
        return reply.status, reply.headers, text

    def login(self, link):
        status, headers, body = self.ask("POST", "/api/login", json.dumps({"word": link}))
        if status == 200:
            self.cookie = headers["Set-Cookie"].split(";")[0]
            self.word = json.loads(body)["page"]
        return status, headers


def new_link(server):
    """The word of a link, as `tavola server url` gets it."""
    token = server.admin_token()
    status, _, body = Page(server).ask("POST", "/link",
                                       headers=[("Authorization", f"Bearer {token}")])
    assert status == 201, (status, body)
    return json.loads(body)["path"].rsplit("/", 1)[1]
