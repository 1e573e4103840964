"""The lines of the log: each is bounded, and in one line except for tracebacks."""

import logging
import os
import re
import time
from collections.abc import MutableMapping
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import lru_cache
from types import TracebackType
from typing import Any
from urllib.parse import quote

from django.http import HttpRequest
from django.urls import Resolver404, resolve
from pythonjsonlogger.json import JsonFormatter

# No line of the log says these, and to find them out takes a third of the time of a line (Python's "Logging HOWTO").
# The number of the process stays: gunicorn's own lines have it.
logging.logThreads = logging.logMultiprocessing = False

HEADER = "X-Request-ID"
_KNOWN = "retwis.request_id"  # in a WSGI environment
_is_id = re.compile(r"[A-Za-z0-9._-]{8,64}").fullmatch

_current: ContextVar[str] = ContextVar("retwis_request_id", default="")
current_request_id = _current.get  # of the request that this thread or task answers; empty when there is none
begin_answer = _current.set  # this thread or task answers the request with this id, until ...
end_answer = _current.reset  # ... which takes what `begin_answer` has returned


def request_id_in(environ: MutableMapping[str, Any]) -> str:
    """The id of the request with this WSGI environment: what the client sent, when it looks like an id."""
    known: str | None = environ.get(_KNOWN)
    if known is None:
        sent = environ.get("HTTP_X_REQUEST_ID", "")
        known = environ[_KNOWN] = sent if _is_id(sent) else os.urandom(8).hex()
    return known


LONGEST_PIECE = 200  # characters without a space, such as a host or a path
LONGEST_LINE = 2000  # characters
SECRETS = frozenset({"token", "code"})  # parts of addresses: a link for a new password, an invitation

_long_piece = re.compile(rf"(\S{{{LONGEST_PIECE}}})\S+")
_controls = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class BoundedTraceback(logging.Formatter):
    """Each line of a traceback is bounded, since its last one may have a text of the client."""

    def formatException(  # noqa: N802
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        return "\n".join(map(bounded, super().formatException(ei).split("\n")))


class BoundedLine(BoundedTraceback):
    """A line with what a client sent: long pieces are cut, and control characters are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """`2026-11-27 09:30:00,123 INFO retwis.access [id of the request]: message`. Python's own fills a template, in
        twice the time, and each request has a line."""
        when = f"{_second(int(record.created))},{int(record.msecs):03d}"
        request_id = getattr(record, "request_id", "")
        request = f" [{request_id}]" if request_id else ""
        line = f"{when} {record.levelname} {record.name}{request}: {bounded(record.getMessage())}"
        traceback = [self.formatException(record.exc_info)] if record.exc_info else []
        stack = map(bounded, record.stack_info.split("\n")) if record.stack_info else ()
        return "\n".join([line, *traceback, *stack])


@lru_cache(maxsize=1)
def _second(seconds: int) -> str:
    """The time in UTC. Most lines are of the same second as the line before."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))


def bounded(text: str) -> str:
    """The text in one line of a bounded length. A character that cannot be printed is escaped."""
    if len(text) <= LONGEST_PIECE and text.isprintable():
        return text
    line = _long_piece.sub(r"\1...", text)
    if len(line) > LONGEST_LINE:
        line = f"{line[:LONGEST_LINE]}..."
    return _controls.sub(lambda found: repr(found[0])[1:-1], line)


class OfRequest(logging.Filter):
    """Adds the id of the request to each of its lines. Removes secrets from the paths in Django's lines."""

    def filter(self, record: logging.LogRecord) -> bool:
        request_id, request = current_request_id(), getattr(record, "request", None)
        if isinstance(request, HttpRequest):  # only lines of Django have it; some are written after the answer
            request_id = request_id_in(request.META)
            if isinstance(record.args, tuple):
                record.args = tuple(
                    without_secrets(request, one) if isinstance(one, str) else one for one in record.args
                )
        record.request_id = request_id
        return True


def without_secrets(request: HttpRequest, text: str) -> str:
    """The text without the secrets in the request's address, also as Django writes a path into its lines: a link may
    have been copied with characters that are escaped there."""
    try:
        parts = (request.resolver_match or resolve(request.path_info)).kwargs
    except Resolver404:
        return text
    for name in SECRETS & parts.keys():
        secret = str(parts[name])
        text = text.replace(secret, "...").replace(secret.encode("unicode_escape").decode(), "...")
    return text


def logged_path(request: HttpRequest) -> str:
    """The path for the log: without the query, which may be private, and without a secret."""
    return quote(without_secrets(request, request.path))


class WithoutTraceback(logging.Filter):
    """Removes the traceback of an invalid request: anyone can send one, and it is no fault of the site."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.exc_info = None
        return True


class NotStoreFailures(logging.Filter):
    """Drops Django's line for a 503: `store_failure` has already logged one line."""

    def filter(self, record: logging.LogRecord) -> bool:
        return getattr(record, "status_code", None) != 503


# ---- The lines of the log as JSON, with LOG_FORMAT=json: one object a line.


class JsonLine(BoundedTraceback, JsonFormatter):
    """Fields that are known here alone: what a library adds to its record may be a whole request, with its secrets."""

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        time = datetime.fromtimestamp(record.created, UTC)
        log_data["timestamp"] = f"{time:%Y-%m-%dT%H:%M:%S}.{int(record.msecs):03d}Z"
        log_data["level"] = record.levelname
        log_data["logger"] = record.name
        log_data["message"] = bounded(record.message)
        request_id = getattr(record, "request_id", "")
        if request_id:
            log_data["request_id"] = request_id
        seen = getattr(record, "seen", None)
        if seen is not None:
            log_data.update(seen.fields())
        if "exc_info" in message_dict:
            log_data["traceback"] = message_dict["exc_info"]
