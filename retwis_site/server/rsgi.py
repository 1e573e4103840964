"""The site as `manage.py serve` runs it, in each of its workers: a WSGI application behind granian's RSGI.

One thread of a worker makes pages, one at a time: in Python more get in each other's way. Another, with an event loop,
waits for the bodies of many requests at once, so clients who send their forms slowly hold nobody up, and works on those
that have arrived. A form that does not arrive is given up after a while. What takes seconds has a thread of its own.

granian would have the event loop do all of it. A page needs nothing to wait for, so it is made where granian has called
from, which saves the way to the loop's thread and back.

granian keeps in memory what a client has not taken yet of an answer. Pages are small. A long file it reads from the
disk, no faster than the client takes it.

A worker ends when the command ends, however that was: one whose parent was killed would keep the port, and the embedded
server, from the next `make run`. Ctrl-C, which a terminal sends to every process of a group, reaches the command alone:
a worker that is told twice to stop, by the terminal and by the command, can miss both (granian 2.8).
"""

import asyncio
import atexit
import io
import os
import sys
from collections.abc import Callable
from typing import IO, Any
from wsgiref.types import StartResponse, WSGIEnvironment
from wsgiref.util import FileWrapper

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.urls import reverse
from django.utils import translation
from granian.rsgi import HTTPProtocol, ProtocolClosed, Scope

from retwis_site.features import features
from retwis_site.http.language import language_of
from retwis_site.http.security_headers import HEADERS
from retwis_site.server.parent_process import PARENT, end_with_parent
from retwis_site.wsgi import application as site

BODY_WITHIN = 10.0  # seconds that a client has for a body of at most DATA_UPLOAD_MAX_MEMORY_SIZE
READERS = 200  # bodies that may be waited for at once
TAKEN_WITHIN = 3600.0  # seconds that a client has for a long file
SLOW = frozenset(reverse(view) for feature in features() for view in feature.slow_views)

_waited_for = 0


class Application:
    """What granian calls for each request."""

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Before the first: from now on requests are begun in the thread that granian calls from."""
        loop.call_soon_threadsafe = _beginning_here(loop.call_soon_threadsafe)  # type: ignore[method-assign, assignment]

    async def __rsgi__(self, scope: Scope, protocol: HTTPProtocol) -> None:
        environ = environ_of(scope)
        length = environ.get("CONTENT_LENGTH", "")
        if length.isascii() and length.isdigit() and 0 < int(length[:20]) <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            await _on_the_loop()
            body = await _body(protocol)
            if body is None:
                said = {"content-type": "text/plain; charset=utf-8", "connection": "close", **HEADERS}
                protocol.response_str(408, list(said.items()), _too_late(environ))
                return
            environ["wsgi.input"] = io.BytesIO(body)  # a body over the limit stays unread
        await _answer(environ, protocol)


def _too_late(environ: WSGIEnvironment) -> str:
    """What is said to who is given up, before any middleware could tell their language. What they say that they would
    send is left out: Django may not be able to read that."""
    with translation.override(language_of(WSGIRequest({**environ, "CONTENT_TYPE": ""}))):
        return translation.gettext("The form did not arrive in time. Go back, and send it again.") + "\n"


def _beginning_here(hand_over: Callable[..., asyncio.Handle]) -> Callable[..., asyncio.Handle | None]:
    """What begins the coroutine that granian hands over to the loop, and hands over only one that has to wait. Without
    it the rate of home is 0.91 of what it is (2026-11-22, docs/decisions.md)."""

    def begin(callback: Callable[..., object], *arguments: object, **options: Any) -> asyncio.Handle | None:
        if arguments and asyncio.iscoroutine(arguments[0]):
            try:
                arguments[0].send(None)
            except StopIteration:
                return None
        return hand_over(callback, *arguments, **options)

    return begin


async def _on_the_loop() -> None:
    """What comes after it has to wait, and so needs the loop: a task goes on with a coroutine wherever that is."""
    await asyncio.sleep(0)


async def _body(protocol: HTTPProtocol) -> bytes | None:
    """The request's body; None when it does not come in time. Of a client that went away, nothing: the site refuses a
    body that is shorter than it said."""
    global _waited_for
    if _waited_for >= READERS:
        return None
    _waited_for += 1
    try:
        return bytes(await asyncio.wait_for(protocol(), BODY_WITHIN))
    except TimeoutError:
        return None
    except ProtocolClosed:
        return b""
    finally:
        _waited_for -= 1


async def _answer(environ: WSGIEnvironment, protocol: HTTPProtocol) -> None:
    start: list[tuple[int, list[tuple[str, str]]]] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: object = None) -> Any:
        start.append((int(status[:3]), [(name.lower(), value.strip()) for name, value in headers]))

    begin: StartResponse = start_response
    answer: Any
    if environ["PATH_INFO"] in SLOW:
        await _on_the_loop()
        answer = await asyncio.to_thread(site, environ, begin)
    else:
        answer = site(environ, begin)
    status, headers = start[0]
    if isinstance(answer, list):
        protocol.response_bytes(status, headers, answer[0] if len(answer) == 1 else b"".join(answer))
        return
    try:
        if isinstance(answer, FileWrapper) and isinstance(getattr(answer.filelike, "name", None), int):
            await _send(status, headers, answer.filelike, protocol)
        else:
            protocol.response_bytes(status, headers, b"".join(answer))
    finally:
        answer.close()


async def _send(status: int, headers: list[tuple[str, str]], file: IO[bytes], protocol: HTTPProtocol) -> None:
    """Have granian send a temporary file from the disk. granian does not tell when it has ended (2.8), so the file
    stays for as long as a client has. Then it is made empty: it takes no more room, and a client that still reads is
    cut off before the length that it was told."""
    await _on_the_loop()
    protocol.response_file(status, headers, f"/dev/fd/{file.fileno()}")
    await asyncio.sleep(TAKEN_WITHIN)
    file.truncate(0)


def environ_of(scope: Scope) -> WSGIEnvironment:
    """A request as WSGI (PEP 3333) has it, with an empty body."""
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
        if "_" in name:  # in the environment it could not be told from the same one with a dash, which a proxy sets
            continue
        key = _VARIABLES.get(name) or f"HTTP_{name.upper().replace('-', '_')}"
        environ[key] = f"{environ[key]}{'; ' if name == 'cookie' else ','}{value}" if key in environ else value
    if scope.authority is not None and "HTTP_HOST" not in environ:  # HTTP/2 has no Host
        environ["HTTP_HOST"] = scope.authority
    return environ


_VARIABLES = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}


def _leave() -> None:
    """End at once: granian's own threads do not survive the interpreter's orderly end (they abort the process)."""
    sys.stderr.flush()
    os._exit(0)


application = Application()

os.setsid()
atexit.register(_leave)
if PARENT in os.environ:
    end_with_parent()
