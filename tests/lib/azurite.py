"""Azurite, as far as tests use it like a tavolad (server.py): all three services, empty.

    with AzuriteServer() as server:
        server.connection_string, server.table_url, server.table_port

It comes from bench/, and is installed if need be.
"""

import contextlib
import pathlib
import sys
import tempfile

from server import ACCOUNT, KEY, ROOT

SERVICES = ("table", "queue", "blob")


class AzuriteServer:
    def __enter__(self):
        sys.path.insert(1, str(ROOT / "bench"))
        from competitors import Azurite

        with contextlib.ExitStack() as stack:
            scratch = pathlib.Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="tavola-azurite-")))
            for service in SERVICES:
                port = stack.enter_context(Azurite(service, scratch)).port
                setattr(self, f"{service}_port", port)
                setattr(self, f"{service}_url", f"http://127.0.0.1:{port}/{ACCOUNT}")
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    @property
    def connection_string(self):
        return (f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};" +
                "".join(f"{service.title()}Endpoint={getattr(self, service + '_url')};"
                        for service in SERVICES))
