"""What every request passes on its way to a view, and every answer on its way back: one layer of middleware.

Django calls each entry of MIDDLEWARE through a wrapper, whether or not the entry has something to do, and most of them
have nothing to do for most requests. So they are one entry, which asks for each part whether it is needed. What Django
and WhiteNoise have is not written again: their middlewares are called, as parts.
"""

import io
import re
import sys
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, cast

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.core.handlers.exception import convert_exception_to_response, response_for_exception
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.multipartparser import MultiPartParser, MultiPartParserError
from django.http.request import UnreadablePostError, split_domain_port
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.security import SecurityMiddleware
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from whitenoise.middleware import WhiteNoiseMiddleware

from retwis_site import health
from retwis_site.fair_queue import PLACE
from retwis_site.features import is_upload, queue_of
from retwis_site.http.apps import CORS, is_of_app
from retwis_site.http.client_ip import client_address
from retwis_site.http.cookies import FlashStorage
from retwis_site.http.language import DEFAULT, language_of, wanted_and_refused
from retwis_site.http.security_headers import headers_of_every_answer
from retwis_site.rendering import pages
from retwis_site.telemetry.middleware import ObservedRequests

GetResponse = Callable[[HttpRequest], HttpResponse]

METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST"})
MOST_HOSTS = 64  # nearly all requests have the same one
NO_QUERY = QueryDict("")  # of most addresses; to parse an empty one takes eleven calls


class SiteMiddleware(ObservedRequests):
    """The first entry of MIDDLEWARE. From the outside to the inside: observing, the security headers, heads of requests
    that are refused, HTTPS, static files, the language, the host and the last slash of an address, the inspector, what
    caches must know, the CSRF token, messages, the body, and the queue of a request that takes much work.

    An exception becomes an answer where it is raised: what stands further out sees an answer."""

    # By Django's types, these may be asynchronous.
    _https: Any
    _common: Any
    _csrf: Any

    def __init__(self, get_response: GetResponse) -> None:
        super().__init__(self._secured)
        self._rest = get_response
        self._headers = headers_of_every_answer()._store
        self._own_host = health.host_of_the_site()
        self._https = SecurityMiddleware(get_response) if settings.HTTPS else None
        self._files = WhiteNoiseMiddleware(self._in_language)
        self._file = cast(GetResponse, convert_exception_to_response(self._files))
        self._common = CommonMiddleware(get_response)
        self._keeps_hosts = not (
            settings.PREPEND_WWW or settings.DISALLOWED_USER_AGENTS or settings.USE_X_FORWARDED_HOST
        )
        self._hosts: set[str] = set()  # those that CommonMiddleware lets pass, unless it has more to look at
        self._inspected: GetResponse = self._page
        if settings.INSPECT:
            from retwis_site.inspector.middleware import InspectorMiddleware

            self._inspected = InspectorMiddleware(cast(GetResponse, convert_exception_to_response(self._page)))
        self._csrf = CsrfViewMiddleware(get_response)

    def _secured(self, request: HttpRequest) -> HttpResponse:
        """The answer with the headers that each has, also a static file, an error page and a redirect to HTTPS."""
        try:
            response = self._accepted(request)
        except Exception as error:
            response = response_for_exception(request, error)
        # What an answer says itself stands: the policy of a picture is stricter, a consent allows the app more.
        headers = response.headers._store = {**self._headers, **response.headers._store}
        if is_of_app(request):
            headers.update(CORS._store)
        return response

    def _accepted(self, request: HttpRequest) -> HttpResponse:
        """A static file, or a page in its language. A head that is refused comes no further."""
        path = request.path_info
        if path in health.PATHS:
            request.META["HTTP_HOST"] = self._own_host
        refusal = refusal_of_head(request)
        if refusal is not None:
            return refusal
        if request.method == "OPTIONS" and is_of_app(request):
            return HttpResponse(status=204)  # what a browser asks before it sends a page's request to another site
        answer: GetResponse = self._in_language
        if self._files.autorefresh or path in self._files.files:
            answer = self._file
            encodings = request.META.get("HTTP_ACCEPT_ENCODING", "")
            request.META["HTTP_ACCEPT_ENCODING"], _ = wanted_and_refused(encodings)
        if self._https is None:
            return answer(request)
        secured: HttpResponse = self._https.process_response(
            request, self._https.process_request(request) or answer(request)
        )
        return secured

    def _in_language(self, request: HttpRequest) -> HttpResponse:
        """The language is active for one request only, since the same thread answers the next one. A streamed body is
        made later, so it is in the site's default language."""
        attached: Any = request
        if not request.META.get("QUERY_STRING"):
            attached.GET = NO_QUERY
        language = DEFAULT
        try:
            language = attached.LANGUAGE_CODE = language_of(request)
            translation.activate(language)
            redirect = None
            host = request.META.get("HTTP_HOST")
            if host in self._hosts:
                attached.allowed_host = host
            else:
                redirect = self._of_host(request)
            response = redirect or self._inspected(request)
            headers = response.headers._store
            if response.status_code == 404:  # perhaps an address without its last slash
                response = self._common.process_response(request, response)
            elif not response.streaming and "content-length" not in headers:
                headers["content-length"] = "Content-Length", str(len(response.content))
        except Exception as error:  # such as a Host that is not of this site
            response = response_for_exception(request, error)
        finally:
            if language != DEFAULT:  # that one may stay active: it is the language of a thread without any
                translation.deactivate()
        return response

    def _of_host(self, request: HttpRequest) -> HttpResponse | None:
        """The redirect that CommonMiddleware answers; None for a request that it lets pass. Raises DisallowedHost."""
        redirect: HttpResponse | None = self._common.process_request(request)
        if self._keeps_hosts and "HTTP_HOST" in request.META:
            if len(self._hosts) >= MOST_HOSTS:
                self._hosts.clear()
            self._hosts.add(request.META["HTTP_HOST"])
        return redirect

    def _page(self, request: HttpRequest) -> HttpResponse:
        """The view's answer, with the cookies of Django's parts and what caches must know."""
        attached: Any = request
        if is_of_app(request):  # no cookie counts there
            return self._answered(request)
        self._csrf.process_request(request)
        messages = attached._messages = FlashStorage(request)
        response = self._answered(request)
        if messages.used or messages.added_new:
            messages.update(response)
        viewer = getattr(request, "viewer", None)  # a body that is refused has none
        if viewer is not None and viewer.asked:
            _depends_on_viewer(response, viewer.signed_in)
        self._csrf.process_response(request, response)
        return response

    def _answered(self, request: HttpRequest) -> HttpResponse:
        """The view's answer, or what is answered instead of it."""
        try:
            refusal = refusal_of_body(request)
            response = self._queued(request) if refusal is None else _unread_form(request, refusal)
        except Exception as error:
            response = response_for_exception(request, error)
        finally:
            # They know the request: both, with up to 24 MB of a body, would wait for the garbage collector.
            request._upload_handlers = []  # type: ignore[attr-defined]
        return response if response.status_code != 405 else pages.not_a_page(request, response["Allow"])

    def _queued(self, request: HttpRequest) -> HttpResponse:
        """A request of `Feature.slow_views` waits until it may begin. `serve` has already waited. The body has arrived,
        so a client that sends slowly keeps no place occupied."""
        if request.method not in METHODS:
            # Every view answers 405. The CSRF check would come first and answer 403, for a wrong reason.
            request.csrf_processing_done = True  # type: ignore[attr-defined]
        body = getattr(request, "_body", b"")  # as far as it was read
        queue = queue_of(request.META, body)
        if queue is None or PLACE in request.META:
            return self._rest(request)
        with queue.place(client_address(request), len(body)) as request.META[PLACE]:
            return self._rest(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], arguments: Any, names: Any
    ) -> HttpResponse | None:
        """Refuses a form without the token, and a request for which too many wait."""
        refusal: HttpResponse | None = self._csrf.process_view(request, view, arguments, names)
        if refusal is not None:
            return refusal
        place = request.META.get(PLACE)
        return None if place is None or place.result() else pages.too_busy(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        return pages.page_of_exception(request, exception)


def _depends_on_viewer(response: HttpResponse, is_signed_in: bool) -> None:
    """Tells caches that the answer depends on the sign-in cookie: `Vary: Cookie`, and for a signed-in user
    `Cache-Control: private, no-cache` unless the view has set it."""
    headers = response.headers._store
    if "Cookie" not in headers.get("vary", ("", ""))[1]:
        patch_vary_headers(response, ["Cookie"])
    if is_signed_in and "cache-control" not in headers:
        headers["cache-control"] = "Cache-Control", "private, no-cache"


# ---- Request heads that the site refuses, before anything else reads them.
#
# Python and Django keep what they have parsed: the last 128 addresses, each with its Host. So every header is bounded.


LONGEST_HOST = 255 + len(":65535")  # characters (RFC 1035, 2.3.4)
LARGEST_PORT = 65535
LONGEST_HEADER = 16 * 1024  # characters; the cookies of a site stay below it
MOST_ESCAPES = 100  # backslashes in cookies; those of the site have none


def refusal_of_head(request: HttpRequest) -> HttpResponse | None:
    """400 for a Host that no site can have, 431 for a header that is too long; None for a head that is accepted.

    Cookies with many escapes count as none, before anything parses them: for these, Python before 3.11.10 and 3.12.6
    takes as many steps as their length squared, and 60 KB would stop a worker for half a minute.

    Cookies that are too long are not of this site: another one of its domain has set them. Each page would be a 431, so
    the browser is asked to delete them. Browsers do that over HTTPS, and on localhost."""
    if request.META.get("HTTP_COOKIE", "").count("\\") > MOST_ESCAPES:
        request.META["HTTP_COOKIE"] = ""
    if not _is_possible(request.META.get("HTTP_HOST", "")):
        with translation.override(language_of(request)):
            return _refused(request, 400, _("Bad request"), _("The site could not understand this request."))
    for name, value in request.META.items():
        if value.__class__ is str and len(value) > LONGEST_HEADER and name.startswith("HTTP_"):
            with translation.override(language_of(request)):
                text = _("Your browser sent a header that is too long. Delete the cookies of this site and try again.")
                refusal = _refused(request, 431, _("Too large"), text)
                if name == "HTTP_COOKIE":
                    refusal["Clear-Site-Data"] = '"cookies"'
                return refusal
    return None


def _refused(request: HttpRequest, status: int, title: str, text: str) -> HttpResponse:
    pages.log_refusal(request, f"the head of the request is refused ({status})")
    return pages.error_page(request, status, title, text)


@lru_cache(maxsize=64)  # nearly all requests have the same one
def _is_possible(host: str) -> bool:
    """Whether a Host is short enough and its port exists. Django compares it with ALLOWED_HOSTS later."""
    if len(host) > LONGEST_HOST:
        return False
    _domain, port = split_domain_port(host)
    return len(port) <= len(str(LARGEST_PORT)) and int(port or 0) <= LARGEST_PORT


# ---- Request bodies that the site refuses: without a length, too large, late, cut off, or not readable as a form.


LATE = "retwis.late"  # in a WSGI environment: whether the server has given up waiting for the rest of the body
MOST_PARTS = 1200  # of a form: Django reads 1000 fields, 100 files and some that are empty
MOST_PARAMETERS = 100  # of a part: browsers send two or three, but a name of a file may have some `;`
LONGEST_HEAD = 1024  # bytes of a part: Django reads no more
MOST_BAD_ESCAPES = 1000  # of a form in escapes: browsers send none, other clients a few
_CUT_ESCAPE = re.compile(rb"%[0-9A-Fa-f]?$")
_bad_escapes = re.compile(rb"%(?![0-9A-Fa-f]{2})").finditer


class Refusal(NamedTuple):
    """What the error page for a refused body says."""

    status: int
    title: str
    text: str
    arrived: QueryDict = QueryDict()  # the fields that arrived; the last one may be cut off


def refusal_of_body(request: HttpRequest) -> Refusal | None:
    """Why the body is refused; None when it is accepted. Of a body over DATA_UPLOAD_MAX_MEMORY_SIZE the start is read,
    for its text; of a form with pictures, of one over LARGEST_UPLOAD."""
    if "HTTP_TRANSFER_ENCODING" in request.META:
        text = _("The request must state its length (Content-Length).")
        return Refusal(411, _("Length required"), text)
    if request.method == "GET" and not request.META.get("CONTENT_LENGTH"):
        return None
    length = _content_length(request)
    has_pictures = is_upload(request.META)
    if length > (settings.LARGEST_UPLOAD if has_pictures else settings.DATA_UPLOAD_MAX_MEMORY_SIZE):
        start = _read(lambda: request.read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE))
        if not has_pictures:
            return _too_much_text(request, start)
        text = _("Pictures may have %(most)d MB together. Nothing was saved. Choose fewer or smaller ones.")
        most = {"most": settings.LARGEST_UPLOAD // 1024**2}
        return Refusal(422, _("Too large"), text % most, _fields(request, start))
    body = _read(lambda: _body(request, length)) if length else b""
    complete = len(body) == length
    try:
        if complete and _is_readable(request, body):
            return None
    except RequestDataTooBig:  # what is no picture in a form that may have some
        return _too_much_text(request, body[: settings.DATA_UPLOAD_MAX_MEMORY_SIZE])
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


def _unread_form(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    kept = pages.kept_of(request, refusal.arrived)
    return pages.error_page(request, refusal.status, refusal.title, refusal.text, kept)


def _too_much_text(request: HttpRequest, start: bytes) -> Refusal:
    text = _("The form is too large, so nothing was saved. Shorten your text and send it again.")
    return Refusal(413, _("Too large"), text, _fields(request, start))


def _body(request: HttpRequest, length: int) -> bytes:
    """The whole body. Django's own `body` refuses one that is longer than a form without files may be."""
    if length > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        request._body = request.read(length)
    return request.body


def _read(body: Callable[[], bytes]) -> bytes:
    """Empty when the client has gone."""
    try:
        return body()
    except UnreadablePostError:
        return b""


def _fields(request: HttpRequest, start: bytes) -> QueryDict:
    """The fields in the start of a body; none when it cannot be read as a form."""
    if _is_crowded(request, start):
        return QueryDict()
    try:
        if request.content_type == "application/x-www-form-urlencoded":
            return QueryDict(_CUT_ESCAPE.sub(b"", start), encoding="utf-8")
        about = {**request.META, "CONTENT_LENGTH": len(start)}
        return MultiPartParser(about, io.BytesIO(start), [], encoding="utf-8").parse()[0]
    except (SuspiciousOperation, MultiPartParserError):  # too many fields, or no form
        return QueryDict()


def _is_crowded(request: HttpRequest, body: bytes) -> bool:
    """Whether a form has more parts, the head of a part more parameters, or a form in escapes more that are none, than
    any client sends. For parameters Python takes as many steps as their number squared: 1 MB would stop a worker for
    seconds; each escape that is none costs it an exception. Django bounds only the parts with a name."""
    if not (request.content_type or "").startswith("multipart/"):  # of these, `_fields` reads them all
        found = islice(_bad_escapes(body), MOST_BAD_ESCAPES + 1)
        return request.content_type != "application/json" and sum(1 for _ in found) > MOST_BAD_ESCAPES
    boundary = f"--{(request.content_params or {}).get('boundary', '')}".encode()
    parts = [*islice(re.finditer(re.escape(boundary), body), MOST_PARTS + 1)]
    if len(parts) > MOST_PARTS:
        return True
    heads = (body[part.end() : part.end() + LONGEST_HEAD].partition(b"\r\n\r\n")[0] for part in parts)
    return any(head.count(b";") > MOST_PARAMETERS for head in heads)


def _is_readable(request: HttpRequest, body: bytes) -> bool:
    """Whether Django can parse the form. The header may name an encoding that is unknown, wrong, or not for text.
    Django does not catch what Python raises then."""
    try:
        return not _is_crowded(request, body) and request.POST is not None
    except (LookupError, ValueError, UnreadablePostError):
        return False


def _content_length(request: HttpRequest) -> int:
    """The Content-Length in bytes, 0 when it is no number. Django reads no further than that."""
    header = str(request.META.get("CONTENT_LENGTH") or "0")
    if not (header.isascii() and header.isdigit()):
        return 0
    return int(header) if len(header) < 20 else sys.maxsize
