"""Request bodies that the site refuses: without a length, too large, cut off, or not readable as a form."""

import sys
from typing import NamedTuple

from django.conf import settings
from django.http import HttpRequest
from django.http.request import UnreadablePostError
from django.utils.translation import gettext as _


class Refusal(NamedTuple):
    """What the error page for a refused body says."""

    status: int
    title: str
    text: str


def refusal_of_body(request: HttpRequest) -> Refusal | None:
    """Why the body is refused; None when it is accepted. A body over DATA_UPLOAD_MAX_MEMORY_SIZE is not read."""
    if "HTTP_TRANSFER_ENCODING" in request.META:
        text = _("The request must state its length (Content-Length).")
        return Refusal(411, _("Length required"), text)
    if request.method == "GET" and not request.META.get("CONTENT_LENGTH"):
        return None
    length = _content_length(request)
    if length > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        text = _("The form is too large. Go back: your browser still has what you typed.")
        return Refusal(413, _("Too large"), text)
    try:
        complete = not length or len(request.body) == length
    except UnreadablePostError:
        complete = False
    if complete and _is_readable(request):
        return None
    if complete:
        text = _("This form cannot be read. Send it in UTF-8.")
        return Refusal(400, _("Unreadable form"), text)
    # A part of a form is refused: a text that was cut off on its way must not be posted.
    text = _("Only a part of the form arrived, so nothing was saved. Send it again.")
    return Refusal(400, _("Incomplete form"), text)


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
