"""What goes wrong, as pages: one look, a clear sentence, and what was typed kept.

These pages never ask who the viewer is: that would need the store, which may be what failed.
"""

import logging
import sys
from collections.abc import Callable
from urllib.parse import quote

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from retwis_site.exceptions import BadCursor, Gone, NotFound, StoreError, TooOften
from retwis_site.rendering.kept_fields import KeptField, kept_fields
from retwis_site.rendering.pages import origin_of, page

logger = logging.getLogger("retwis.store")
security = logging.getLogger("retwis.security")

RETRY_AFTER = 5  # seconds
_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST"})


def error_page(
    request: HttpRequest, status: int, title: str, text: str, kept: list[KeptField] | None = None
) -> HttpResponse:
    """A page that says what is wrong; with what was typed in a form that sends it again, if anything was."""
    context = {"status": status, "title": title, "text": text, "kept": kept or [], "foreign": _is_foreign(request)}
    return page(request, "retwis_site/error.html", context, status=status)


def _is_foreign(request: HttpRequest) -> bool:
    """Whether the browser says that another site sent this form: then no button is shown that would post it."""
    origin = request.headers.get("Origin")
    if request.method != "POST" or origin is None or origin in settings.CSRF_TRUSTED_ORIGINS:
        return False
    try:
        return origin != origin_of(request)
    except DisallowedHost:
        return True


class ErrorPages:
    """Turns what repositories raise into pages, refuses bodies that are not what their header says, and dresses
    Django's bare 405."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        refusal = _refuse_body(request)
        if refusal is not None:
            return refusal
        if request.method not in _METHODS:
            # Every view refuses it; the check for a token would only speak first, and of something else.
            request.csrf_processing_done = True  # type: ignore[attr-defined]
        response = self._get_response(request)
        if response.status_code != 405:
            return response
        text = _("This address takes a form that is sent to it; it is not a page to open.")
        answer = error_page(request, 405, _("Not a page to open"), text)
        answer["Allow"] = response["Allow"]
        return answer

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, StoreError):
            return store_failure(request, exception)
        if isinstance(exception, TooOften):
            return too_often(request, exception)
        if isinstance(exception, NotFound):
            return not_found(request, exception)
        if isinstance(exception, Gone):
            return error_page(request, 410, _("Deleted"), str(exception.message))
        if isinstance(exception, BadCursor):
            return error_page(request, 400, _("There is no such page"), _("No page of this timeline begins there."))
        return None


def _refuse_body(request: HttpRequest) -> HttpResponse | None:
    """A page for a body that is too large, not as long as its header says, or of no said length; else None."""
    if "HTTP_TRANSFER_ENCODING" in request.META:
        text = _("A form must say how long it is (Content-Length).")
        return error_page(request, 411, _("How long is it?"), text)
    if request.method == "GET" and not request.META.get("CONTENT_LENGTH"):
        return None
    length = _length(request)
    if length > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        text = _("That is more than this site takes at once. Go back: your browser still holds what you typed.")
        return error_page(request, 413, _("Too large"), text)
    try:
        whole = not length or len(request.body) == length
    except UnreadablePostError:
        whole = False
    if whole and _is_readable(request):
        return None
    if whole:
        text = _("That form is in no encoding that this site reads: send UTF-8.")
        return error_page(request, 400, _("Unreadable"), text)
    # Half a form is none: what is left of a text that was cut off on its way must not be posted.
    text = _("Only a part of that arrived, so nothing was done. Send it again.")
    return error_page(request, 400, _("Cut off"), text)


def _is_readable(request: HttpRequest) -> bool:
    """Whether a form can be made sense of. Its encodings, as it names them, may be unknown, none for text, or not what
    follows; Django lets what Python then says pass."""
    try:
        return request.POST is not None
    except (LookupError, ValueError, UnreadablePostError):
        return False


def _length(request: HttpRequest) -> int:
    """A request's body in bytes, as its header says; Django reads no further than that."""
    said = str(request.META.get("CONTENT_LENGTH") or "0")
    if not (said.isascii() and said.isdigit()):
        return 0
    return int(said) if len(said) < 20 else sys.maxsize


def store_failure(request: HttpRequest, exception: StoreError) -> HttpResponse:
    """503: nothing is known, so nothing is claimed. Whoever typed something can send it again with its token."""
    logger.error("%s %s: %s", request.method, quote(request.path), exception)  # the query may be private
    text = _("The site cannot reach its data at the moment. Nothing is lost; try again in a few seconds.")
    answer = error_page(request, 503, _("Back in a moment"), text, kept_fields(request))
    answer["Retry-After"] = str(RETRY_AFTER)
    answer["Cache-Control"] = "no-store"
    return answer


def too_often(request: HttpRequest, exception: TooOften) -> HttpResponse:
    """429, until the oldest of what was counted has left its window. What was typed can be sent again then."""
    security.warning("%s %s: too often, more than %s", request.method, quote(request.path), exception)
    minutes = -(-exception.retry_after // 60)
    wait = ngettext("Try again in a minute.", "Try again in %(minutes)d minutes.", minutes) % {"minutes": minutes}
    answer = error_page(request, 429, _("Too much at once"), f"{exception.message} {wait}", kept_fields(request))
    answer["Retry-After"] = str(exception.retry_after)
    answer["Cache-Control"] = "no-store"
    return answer


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, 400, _("Bad request"), _("The site could not make sense of that request."))


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    security.warning("%s %s: not theirs", request.method, quote(request.path))
    return error_page(request, 403, _("Not yours"), str(exception) or _("You may not do that."))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form whose token does not fit: an old page, a login in another tab, or another site's doing."""
    kept = kept_fields(request)
    text = _("This form was opened before you signed in or out, or cookies are off, so nothing was done yet.")
    if not kept:
        again = _("Go back, reload the page, and try again.")
        text = f"{text} {again}"
    return error_page(request, 403, _("Please send that again"), text, kept)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    text = _("Nobody has that name, or there never was such a page.")
    return error_page(request, 404, _("Nothing here"), text)


def server_error(request: HttpRequest) -> HttpResponse:
    text = _("Something broke on our side. It has been written down; please try again.")
    return error_page(request, 500, _("That should not have happened"), text)


class WithoutTraceback(logging.Filter):
    """Requests that make no sense are a line in the log; anybody can send them, and none tells of a fault of ours."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.exc_info = None
        return True


class NotStoreFailures(logging.Filter):
    """A store failure has had its one line; Django's own for the 503 would be the second."""

    def filter(self, record: logging.LogRecord) -> bool:
        return getattr(record, "status_code", None) != 503
