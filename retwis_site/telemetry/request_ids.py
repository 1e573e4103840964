"""The id of a request: in its answer, on its error page and in each of its lines in the log.

A proxy or a client may send one. Else the site makes one."""

import os
import re
from collections.abc import MutableMapping
from contextvars import ContextVar
from typing import Any

HEADER = "X-Request-ID"
_KNOWN = "retwis.request_id"  # in a WSGI environment
_is_id = re.compile(r"[A-Za-z0-9._-]{8,64}").fullmatch

_current: ContextVar[str] = ContextVar("retwis_request_id", default="")
current_request_id = _current.get  # of the request that this thread or task answers; empty when there is none


def request_id_in(environ: MutableMapping[str, Any]) -> str:
    """The id of the request with this WSGI environment: what the client sent, when it looks like an id."""
    known: str | None = environ.get(_KNOWN)
    if known is None:
        sent = environ.get("HTTP_X_REQUEST_ID", "")
        known = environ[_KNOWN] = sent if _is_id(sent) else os.urandom(8).hex()
    return known


class Answering:
    """A block that answers the request with this id. It is a class, since a generator costs more."""

    def __init__(self, request_id: str) -> None:
        self._request_id = request_id

    def __enter__(self) -> None:
        self._token = _current.set(self._request_id)

    def __exit__(self, *failure: object) -> None:
        _current.reset(self._token)
