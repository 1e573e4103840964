"""The WSGI application as `manage.py serve` runs it, in each of its workers.

A worker ends when the command ends, however that was: one whose parent was killed would keep the port, and the embedded
server, from the next `make run`. Ctrl-C, which a terminal sends to every process of a group, reaches the command alone:
a worker that is told twice to stop, by the terminal and by the command, can miss both (granian 2.8).

A worker has many threads, so that clients who send their forms slowly do not hold it up, but only one works at a time:
in Python more get in each other's way, and make everybody's slowest requests slower. A form that does not arrive is
given up after a while.
"""

import atexit
import io
import os
import queue
import sys
import threading
from collections import deque
from collections.abc import Iterable
from wsgiref.types import InputStream, StartResponse, WSGIEnvironment

from django.conf import settings

from retwis_site.headers import HEADERS
from retwis_site.parent import end_with_parent
from retwis_site.wsgi import application as site

BODY_WITHIN = 10.0  # seconds that a client has for a body of at most DATA_UPLOAD_MAX_MEMORY_SIZE
READERS = 200  # bodies that may be waited for at once
AT_WORK = 1  # requests that are worked on at once

_readers = threading.BoundedSemaphore(READERS)


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """The site, once the request's body is there; 408 when it does not come. A body over the limit stays unread."""
    length = environ.get("CONTENT_LENGTH") or "0"
    if length.isdigit() and 0 < int(length[:20]) <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        body = _read(environ["wsgi.input"], int(length))
        if body is None:
            said = {"Content-Type": "text/plain; charset=utf-8", "Connection": "close", **HEADERS}
            start_response("408 Request Timeout", list(said.items()))
            return [b"The form did not arrive in time. Go back, and send it again.\n"]
        environ["wsgi.input"] = io.BytesIO(body)
    with _gate:
        return site(environ, start_response)


class Gate:
    """Lets `places` threads in, and the others in the order in which they came."""

    def __init__(self, places: int) -> None:
        self._lock = threading.Lock()
        self._places = places
        self._waiting: deque[threading.Lock] = deque()

    def __enter__(self) -> None:
        with self._lock:
            if self._places:
                self._places -= 1
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        turn.acquire()

    def __exit__(self, *error: object) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._places += 1


_gate = Gate(AT_WORK)


def _read(stream: InputStream, length: int) -> bytes | None:
    if not _readers.acquire(blocking=False):
        return None
    arrived: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        body = b""
        try:
            body = stream.read(length)
        finally:  # a client that went away leaves less than it said, and the site refuses that
            arrived.put(body)
            _readers.release()

    threading.Thread(target=read, daemon=True).start()
    try:
        return arrived.get(timeout=BODY_WITHIN)
    except queue.Empty:
        return None


def _leave() -> None:
    """End at once: granian's own threads do not survive the interpreter's orderly end (they abort the process)."""
    sys.stderr.flush()
    os._exit(0)


os.setsid()
atexit.register(_leave)
end_with_parent()
