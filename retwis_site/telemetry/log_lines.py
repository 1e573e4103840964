"""The lines of the log: each is bounded, and in one line except for tracebacks."""

import logging
import re
import time
from functools import lru_cache
from types import TracebackType

from retwis_site.telemetry.request_ids import current_request_id

LONGEST_PIECE = 200  # characters without a space, such as a host or a path
LONGEST_LINE = 2000  # characters

_long_piece = re.compile(rf"(\S{{{LONGEST_PIECE}}})\S+")
_controls = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class BoundedLine(logging.Formatter):
    """A line with what a client sent: long pieces are cut, and control characters are escaped. So is each line of a
    traceback, since its last one may have a text of the client."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        return f"{_second(int(record.created))},{int(record.msecs):03d}"

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        record.message = _bounded(record.message)
        return super().formatMessage(record)

    def formatException(  # noqa: N802
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        return "\n".join(map(_bounded, super().formatException(ei).split("\n")))


@lru_cache(maxsize=1)
def _second(seconds: int) -> str:
    """The time in UTC. Most lines are of the same second as the line before."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))


def _bounded(text: str) -> str:
    if len(text) <= LONGEST_PIECE and text.isprintable():
        return text
    line = _long_piece.sub(r"\1...", text)
    if len(line) > LONGEST_LINE:
        line = f"{line[:LONGEST_LINE]}..."
    return _controls.sub(lambda found: repr(found[0])[1:-1], line)


class OfRequest(logging.Filter):
    """Adds the id of the request that this thread answers: `request_id`, and `of_request` for a line of text."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id = current_request_id()
        record.of_request = f" [{request_id}]" if request_id else ""
        return True


class WithoutTraceback(logging.Filter):
    """Removes the traceback of an invalid request: anyone can send one, and it is no fault of the site."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.exc_info = None
        return True


class NotStoreFailures(logging.Filter):
    """Drops Django's line for a 503: `store_failure` has already logged one line."""

    def filter(self, record: logging.LogRecord) -> bool:
        return getattr(record, "status_code", None) != 503
