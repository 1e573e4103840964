"""Request bodies that the site refuses: without a length, too large, late, cut off, or not readable as a form."""

import io
import re
import sys
from collections.abc import Callable
from typing import NamedTuple

from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, QueryDict
from django.http.multipartparser import MultiPartParser, MultiPartParserError
from django.http.request import UnreadablePostError
from django.utils.translation import gettext as _

LATE = "retwis.late"  # in a WSGI environment: whether the server has given up waiting for the rest of the body
_CUT_ESCAPE = re.compile(rb"%[0-9A-Fa-f]?$")


class Refusal(NamedTuple):
    """What the error page for a refused body says."""

    status: int
    title: str
    text: str
    arrived: QueryDict = QueryDict()  # the fields that arrived; the last one may be cut off


def refusal_of_body(request: HttpRequest) -> Refusal | None:
    """Why the body is refused; None when it is accepted. A body over DATA_UPLOAD_MAX_MEMORY_SIZE is not read."""
    if "HTTP_TRANSFER_ENCODING" in request.META:
        text = _("The request must state its length (Content-Length).")
        return Refusal(411, _("Length required"), text)
    if request.method == "GET" and not request.META.get("CONTENT_LENGTH"):
        return None
    length = _content_length(request)
    if length > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        text = _("The form is too large, so nothing was saved. Shorten your text and send it again.")
        start = _read(lambda: request.read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE))
        return Refusal(413, _("Too large"), text, _fields(request, start))
    body = _read(lambda: request.body) if length else b""
    complete = len(body) == length
    if complete and _is_readable(request):
        return None
    if complete:
        text = _("This form cannot be read. Send it in UTF-8.")
        return Refusal(400, _("Unreadable form"), text)
    # A part of a form is refused: a text that was cut off on its way must not be posted.
    arrived = _fields(request, body)
    if request.META.get(LATE):
        text = _("The form did not arrive in time, so nothing was saved. Send it again.")
        return Refusal(408, _("Too slow"), text, arrived)
    text = _("Only a part of the form arrived, so nothing was saved. Send it again.")
    return Refusal(400, _("Incomplete form"), text, arrived)


def _read(body: Callable[[], bytes]) -> bytes:
    """Empty when the client has gone."""
    try:
        return body()
    except UnreadablePostError:
        return b""


def _fields(request: HttpRequest, start: bytes) -> QueryDict:
    """The fields in the start of a body; none when it cannot be read as a form."""
    try:
        if request.content_type == "application/x-www-form-urlencoded":
            return QueryDict(_CUT_ESCAPE.sub(b"", start), encoding="utf-8")
        about = {**request.META, "CONTENT_LENGTH": len(start)}
        return MultiPartParser(about, io.BytesIO(start), [], encoding="utf-8").parse()[0]
    except (SuspiciousOperation, MultiPartParserError):  # too many fields, or no form
        return QueryDict()


def _is_readable(request: HttpRequest) -> bool:
    """Whether Django can parse the form. The header may name an unknown encoding, one that is not for text, or a wrong
    one; Django does not catch what Python raises then."""
    try:
        return request.POST is not None
    except (LookupError, ValueError, UnreadablePostError):
        return False


def _content_length(request: HttpRequest) -> int:
    """The Content-Length in bytes, 0 when it is no number. Django reads no further than that."""
    header = str(request.META.get("CONTENT_LENGTH") or "0")
    if not (header.isascii() and header.isdigit()):
        return 0
    return int(header) if len(header) < 20 else sys.maxsize
