"""The site as each worker of `manage.py serve` runs it: a WSGI application behind granian's RSGI.

A worker has three kinds of threads:
- One thread makes pages, one at a time: in Python, more threads slow each other down.
- The event loop's thread waits for many request bodies at once, so a client that sends slowly delays no other. It also
  handles the forms that have arrived. A form that is not there after BODY_TIMEOUT is answered with 408.
- A request of `Feature.slow_views` waits in its queue without a thread, then gets one of its own.

granian would run everything on the event loop. A page waits for nothing, so it is made in the thread that granian
called from. This saves the way to the loop's thread and back.

granian keeps in memory the part of an answer that the client has not read yet. Pages are small. granian reads a long
file from the disk, no faster than the client reads it.

A worker ends when the command ends, even when the command was killed. Otherwise it would block the port and the
embedded server for the next `make run`. A terminal sends Ctrl-C to all processes of a group, so each worker has a group
of its own: a worker that gets two signals, from the terminal and from the command, can miss both (granian 2.8). A
session of its own would do the same, but Linux divides the processor among sessions first: while one worker hashed
passwords, its pages waited twice as long.
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
from django.utils import translation
from granian.rsgi import HTTPProtocol, ProtocolClosed, Scope

from retwis_site.fair_queue import PLACE, FairQueue
from retwis_site.features import queue_of
from retwis_site.http.client_ip import client_address
from retwis_site.http.language import language_of
from retwis_site.http.security_headers import HEADERS
from retwis_site.server.parent_process import PARENT, end_with_parent
from retwis_site.wsgi import application as site

BODY_TIMEOUT = 10.0  # seconds that a client has to send a body of at most DATA_UPLOAD_MAX_MEMORY_SIZE
MOST_BODIES = 200  # bodies that a worker waits for at once
FILE_TIMEOUT = 3600.0  # seconds that a client has to read a long file

_awaited_bodies = 0


class Application:
    """What granian calls for each request."""

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Called before the first request. From now on a request begins in the thread that granian calls from."""
        loop.call_soon_threadsafe = _begin_here(loop.call_soon_threadsafe)  # type: ignore[method-assign, assignment]

    async def __rsgi__(self, scope: Scope, protocol: HTTPProtocol) -> None:
        environ = environ_of(scope)
        length = environ.get("CONTENT_LENGTH", "")
        if length.isascii() and length.isdigit() and 0 < int(length[:20]) <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            await _move_to_loop()
            body = await _body(protocol)
            if body is None:
                headers = {"content-type": "text/plain; charset=utf-8", "connection": "close", **HEADERS}
                protocol.response_str(408, list(headers.items()), _timeout_text(environ))
                return
            environ["wsgi.input"] = io.BytesIO(body)  # a body over the limit stays unread
        await _answer(environ, protocol)


def _timeout_text(environ: WSGIEnvironment) -> str:
    """The text of the 408 answer, in the client's language: no middleware has run yet."""
    with translation.override(language_of(_request(environ))):
        return translation.gettext("The form did not arrive in time. Go back and send it again.") + "\n"


def _request(environ: WSGIEnvironment) -> WSGIRequest:
    """The request, for its headers. CONTENT_TYPE is left out, since Django raises on an invalid one."""
    return WSGIRequest({**environ, "CONTENT_TYPE": ""})


def _begin_here(hand_over: Callable[..., asyncio.Handle]) -> Callable[..., asyncio.Handle | None]:
    """Wraps `call_soon_threadsafe`. granian's coroutine runs in this thread, and goes to the loop only when it has to
    wait. Without this, home reaches 0.91 of its rate (2026-11-22, docs/decisions.md)."""

    def begin(callback: Callable[..., object], *arguments: object, **options: Any) -> asyncio.Handle | None:
        if arguments and asyncio.iscoroutine(arguments[0]):
            try:
                arguments[0].send(None)
            except StopIteration:
                return None
        return hand_over(callback, *arguments, **options)

    return begin


async def _move_to_loop() -> None:
    """Continue on the event loop, which the following code needs in order to wait. A task resumes a coroutine there."""
    await asyncio.sleep(0)


async def _body(protocol: HTTPProtocol) -> bytes | None:
    """The request's body; None when it does not arrive within BODY_TIMEOUT, or when too many others are awaited. Empty
    when the client has closed the connection: then the site refuses it as cut off."""
    global _awaited_bodies
    if _awaited_bodies >= MOST_BODIES:
        return None
    _awaited_bodies += 1
    try:
        return bytes(await asyncio.wait_for(protocol(), BODY_TIMEOUT))
    except TimeoutError:
        return None
    except ProtocolClosed:
        return b""
    finally:
        _awaited_bodies -= 1


async def _answer(environ: WSGIEnvironment, protocol: HTTPProtocol) -> None:
    start: list[tuple[int, list[tuple[str, str]]]] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: object = None) -> Any:
        start.append((int(status[:3]), [(name.lower(), value.strip()) for name, value in headers]))

    begin: StartResponse = start_response
    answer: Any
    queue = queue_of(environ["REQUEST_METHOD"], environ["PATH_INFO"])
    answer = site(environ, begin) if queue is None else await _answer_in(queue, environ, begin)
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


async def _answer_in(queue: FairQueue, environ: WSGIEnvironment, begin: StartResponse) -> Any:
    """The site's answer, once the request may begin. asyncio has five threads or more: refusals do not wait long."""
    await _move_to_loop()
    environ[PLACE] = place = queue.enter(client_address(_request(environ)))
    try:
        await asyncio.wait([asyncio.wrap_future(place)])
        return await asyncio.to_thread(site, environ, begin)
    finally:
        queue.leave(place)


async def _send(status: int, headers: list[tuple[str, str]], file: IO[bytes], protocol: HTTPProtocol) -> None:
    """Have granian send a temporary file from the disk.

    granian 2.8 does not report when it has finished, so the file stays for FILE_TIMEOUT. Then the file is truncated,
    which frees the disk space. A client that still reads gets less than its Content-Length."""
    await _move_to_loop()
    protocol.response_file(status, headers, f"/dev/fd/{file.fileno()}")
    await asyncio.sleep(FILE_TIMEOUT)
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
        if "_" in name:  # its variable would be that of the name with a dash, which a proxy sets
            continue
        key = _VARIABLES.get(name) or f"HTTP_{name.upper().replace('-', '_')}"
        environ[key] = f"{environ[key]}{'; ' if name == 'cookie' else ','}{value}" if key in environ else value
    if scope.authority is not None and "HTTP_HOST" not in environ:  # HTTP/2 has no Host
        environ["HTTP_HOST"] = scope.authority
    return environ


_VARIABLES = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}


def _exit_at_once() -> None:
    """End at once. granian's own threads abort the process when the interpreter shuts down normally."""
    sys.stderr.flush()
    os._exit(0)


application = Application()

os.setpgid(0, 0)
atexit.register(_exit_at_once)
if PARENT in os.environ:
    end_with_parent()
