"""The site as each worker of `manage.py serve` runs it: a WSGI application behind granian's RSGI.

A worker has three kinds of threads:
- One thread makes pages, one at a time: in Python, more threads slow each other down.
- The event loop's thread waits for many request bodies at once, so a client that sends slowly delays no other. It also
  handles the forms that have arrived.
- A request of `Feature.slow_views` waits in its queue without a thread, then gets one of its own.

granian would run everything on the event loop. A page waits for nothing, so it is made in the thread that granian
called from (`Loop` in worker.py). This saves the way to the loop's thread and back.

granian keeps in memory the part of an answer that the client has not read yet. Pages are small. granian reads a long
file from the disk, no faster than the client reads it.
"""

import asyncio
import io
import sys
import time
from collections.abc import AsyncIterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any
from wsgiref.types import StartResponse, WSGIEnvironment
from wsgiref.util import FileWrapper

from django.conf import settings
from granian.rsgi import HTTPProtocol, ProtocolClosed, Scope

from retwis_site.fair_queue import PLACE, FairQueue
from retwis_site.features import is_upload, queue_of
from retwis_site.http.client_ip import address_in
from retwis_site.middleware import LATE
from retwis_site.telemetry.middleware import BEGAN
from retwis_site.wsgi import application as site, find_place, without_charset

Response = tuple[int, list[tuple[str, str]], Any]  # status, headers, content

FILE_TIMEOUT = 3600.0  # seconds that a client has to read a long file


# ---- The bodies of requests that a worker waits for: how long, and how much of its memory they take.


BODY_TIMEOUT = 10.0  # seconds that a client has to send a body
MORE_FOR_PICTURES = 110.0  # seconds more: a phone may send 24 MB
MOST_OF_BODIES = 64 * 1024 * 1024  # bytes of all
MOST_UNREAD = 8 * 1024 * 1024  # bytes beyond the limit: a browser shows no answer before it has sent its form
MOST_UNREAD_PICTURES = 128 * 1024 * 1024  # the same, of a form with pictures that are too large together


@dataclass(frozen=True)
class Body:
    """What has arrived of a body. It is late when the site has not waited for the rest."""

    content: bytes
    late: bool = False


@dataclass(eq=False)
class _Arriving:
    deadline: asyncio.Timeout
    parts: list[bytes] = field(default_factory=list)
    size: int = 0  # bytes of the parts


class AwaitedBodies:
    """The bodies that are awaited now. Used by the event loop's thread alone."""

    def __init__(self) -> None:
        self._arriving: set[_Arriving] = set()
        self._size = 0  # bytes of all

    async def read(
        self, source: AsyncIterable[bytes], limit: int, more: float = 0.0, unread: int = MOST_UNREAD
    ) -> Body:
        """A request's body: its first `limit` bytes; `unread` more are read and dropped. It is late after BODY_TIMEOUT
        and `more` seconds, or when it is the largest one while all take more than MOST_OF_BODIES: an ordinary form is
        small."""
        body = _Arriving(asyncio.timeout(BODY_TIMEOUT + more))
        try:
            async with body.deadline:
                self._arriving.add(body)
                await self._collect(body, source, limit, unread)
        except TimeoutError:
            if not body.deadline.expired():
                raise
        finally:
            self._remove(body)
        return Body(b"".join(body.parts), late=body.deadline.expired())

    async def _collect(self, body: _Arriving, source: AsyncIterable[bytes], limit: int, unread: int) -> None:
        """Return once no more arrives, or enough has."""
        arrived = 0
        with suppress(ProtocolClosed):  # the site notices what is missing
            async for part in source:
                body.parts.append(bytes(part[: max(0, limit - arrived)]))
                self._grow(body, len(body.parts[-1]))
                arrived += len(part)
                if arrived > limit + unread:
                    break

    def _grow(self, body: _Arriving, by: int) -> None:
        if body not in self._arriving:  # given up, but not told yet
            return
        body.size += by
        self._size += by
        if self._size > MOST_OF_BODIES:
            self._give_up(max(self._arriving, key=lambda one: one.size))

    def _give_up(self, body: _Arriving) -> None:
        self._remove(body)
        if not body.deadline.expired():
            body.deadline.reschedule(asyncio.get_running_loop().time())

    def _remove(self, body: _Arriving) -> None:
        if body in self._arriving:
            self._arriving.remove(body)
            self._size -= body.size


# ---- The application


class RsgiApplication:
    """What granian calls for each request."""

    def __init__(self) -> None:
        self._bodies = AwaitedBodies()

    async def __rsgi__(self, scope: Scope, protocol: HTTPProtocol) -> None:
        environ = environ_of(scope)
        environ[BEGAN] = time.perf_counter()
        find_place(environ)
        length, content = int(environ.get("CONTENT_LENGTH") or 0), b""  # a number: granian has refused any other text
        if length:
            environ["CONTENT_TYPE"] = without_charset(environ.get("CONTENT_TYPE", ""))  # as the site reads it
            await _move_to_loop()
            body = await self._read(environ, protocol, length)
            content = body.content
            environ["wsgi.input"] = io.BytesIO(content)
            environ[LATE] = body.late
            environ[BEGAN] = time.perf_counter()  # how long a client takes to send is no time of the site
        queue = queue_of(environ, content)
        answer = _answer(environ) if queue is None else await _answer_in(queue, environ, len(content))
        await _respond(environ, protocol, answer)

    async def _read(self, environ: WSGIEnvironment, protocol: HTTPProtocol, length: int) -> Body:
        """Of pictures that are too large together, as much is kept as of any other form: the text comes back."""
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        if not is_upload(environ):
            return await self._bodies.read(protocol, most)
        if length > settings.LARGEST_UPLOAD:
            return await self._bodies.read(protocol, most, MORE_FOR_PICTURES, MOST_UNREAD_PICTURES)
        return await self._bodies.read(protocol, settings.LARGEST_UPLOAD, MORE_FOR_PICTURES)


async def _move_to_loop() -> None:
    """Continue on the event loop, which the following code needs in order to wait. A task resumes a coroutine there."""
    await asyncio.sleep(0)


def _answer(environ: WSGIEnvironment) -> Response:
    """The status, the headers and the content of the site's answer."""
    start: list[tuple[int, list[tuple[str, str]]]] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: object = None) -> Any:
        start.append((int(status[:3]), headers))

    begin: StartResponse = start_response
    content = site(environ, begin)
    return *start[0], content


async def _answer_in(queue: FairQueue, environ: WSGIEnvironment, size: int) -> Response:
    """The site's answer, once the request may begin. asyncio has five threads or more: refusals do not wait long."""
    await _move_to_loop()
    environ[PLACE] = place = queue.enter(address_in(environ), size)
    try:
        await asyncio.wait([asyncio.wrap_future(place)])
        return await asyncio.to_thread(_answer, environ)
    finally:
        queue.leave(place)


async def _respond(environ: WSGIEnvironment, protocol: HTTPProtocol, answer: Response) -> None:
    status, headers, content = answer
    if environ.get(LATE):
        headers.append(("connection", "close"))  # the rest of the body may still arrive
    if isinstance(content, list):
        protocol.response_bytes(status, headers, content[0] if len(content) == 1 else b"".join(content))
        return
    try:
        if isinstance(content, FileWrapper) and isinstance(getattr(content.filelike, "name", None), int):
            await _send(status, headers, content.filelike, protocol)
        else:
            protocol.response_bytes(status, headers, b"".join(content))
    finally:
        content.close()


async def _send(status: int, headers: list[tuple[str, str]], file: IO[bytes], protocol: HTTPProtocol) -> None:
    """Have granian send a temporary file from the disk.

    granian 2.8 does not report when it has finished, so the file stays for FILE_TIMEOUT. Then the file is truncated,
    which frees the disk space. A client that still reads gets less than its Content-Length."""
    await _move_to_loop()
    protocol.response_file(status, headers, f"/dev/fd/{file.fileno()}")
    try:
        await asyncio.sleep(FILE_TIMEOUT)
    except asyncio.CancelledError:  # the worker stops, which is no error; the system frees the disk space
        return
    file.truncate(0)


def environ_of(scope: Scope) -> WSGIEnvironment:
    """The request as a WSGI environment (PEP 3333), with an empty body."""
    host, _, port = scope.server.rpartition(":")
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": scope.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": scope.path.encode().decode("latin-1"),
        "QUERY_STRING": scope.query_string.encode().decode("latin-1"),
        "SERVER_NAME": host,
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        "REMOTE_ADDR": scope.client.rpartition(":")[0].strip("[]"),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.scheme,
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.file_wrapper": FileWrapper,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope.headers.items():
        key = _VARIABLES.get(name)
        if key is None:
            if "_" in name:  # its variable would be that of the name with a dash, which a proxy sets
                continue
            key = _variable(name)
        environ[key] = f"{environ[key]}{'; ' if name == 'cookie' else ','}{value}" if key in environ else value
    if scope.authority is not None and "HTTP_HOST" not in environ:  # HTTP/2 has no Host
        environ["HTTP_HOST"] = scope.authority
    return environ


def _variable(name: str) -> str:
    return f"HTTP_{name.upper().replace('-', '_')}"


_BY_ALL = ("host", "user-agent", "accept", "accept-language", "accept-encoding", "connection", "cookie", "referer")
_BY_BROWSERS = ("origin", "priority", "upgrade-insecure-requests", "sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site")
_BY_PROXIES = ("x-forwarded-for", "x-forwarded-proto", "x-request-id")
# Those that most requests have. The names of others are made each time: clients choose them, so none is kept.
_VARIABLES = {name: _variable(name) for name in (*_BY_ALL, *_BY_BROWSERS, *_BY_PROXIES)}
_VARIABLES |= {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}


application = RsgiApplication()
