"""Requests as granian passes them to the site."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path


class Headers(list):
    def items(self):
        return list(self)


@dataclass
class Scope:
    """granian's description of a request."""

    path: str = "/"
    query_string: str = ""
    method: str = "GET"
    headers: Headers = field(default_factory=lambda: Headers([("host", "localhost")]))
    http_version: str = "1.1"
    scheme: str = "http"
    server: str = "127.0.0.1:8000"
    client: str = "192.0.2.7:4711"
    authority: str | None = None


class Protocol:
    """granian's side of a request; records the answer. `body`: bytes, or a function that returns an awaitable."""

    def __init__(self, body=b""):
        self.body = body
        self.status, self.headers, self.chunks, self.file = None, {}, [], None

    async def __aiter__(self):
        yield self.body if isinstance(self.body, bytes) else await self.body()

    def _begin(self, status, headers):
        assert self.status is None, "a second answer"
        self.status, self.headers = status, {name.lower(): value for name, value in headers}

    def response_bytes(self, status, headers, body):
        self._begin(status, headers)
        self.chunks = [body]

    def response_str(self, status, headers, body):
        self.response_bytes(status, headers, body.encode())

    def response_file(self, status, headers, path):
        self._begin(status, headers)
        self.file = Path(path).open("rb")  # noqa: SIM115  the test closes it


def answered(serving, scope, protocol=None):
    """Run a request to its end. Returns its Protocol, which has the answer."""
    protocol = protocol or Protocol()
    asyncio.run(serving.application.__rsgi__(scope, protocol))
    return protocol
