"""Request heads that the site refuses, before anything else reads them.

Python and Django keep what they have parsed: the last 128 addresses, each with its Host. So every header is bounded.
"""

import logging
from functools import lru_cache

from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.utils import translation
from django.utils.translation import gettext as _

from retwis_site.http.client_ip import client_address
from retwis_site.http.language import language_of
from retwis_site.rendering.error_pages import error_page
from retwis_site.telemetry.log_lines import logged_path

security = logging.getLogger("retwis.security")

LONGEST_HOST = 255 + len(":65535")  # characters (RFC 1035, 2.3.4)
LARGEST_PORT = 65535
LONGEST_HEADER = 16 * 1024  # characters; the cookies of a site stay below it


def refusal_of_head(request: HttpRequest) -> HttpResponse | None:
    """400 for a Host that no site can have, 431 for a header that is too long; None for a head that is accepted."""
    if not _is_possible(request.META.get("HTTP_HOST", "")):
        with translation.override(language_of(request)):
            return _refused(request, 400, _("Bad request"), _("The site could not understand this request."))
    for name, value in request.META.items():
        if name.startswith("HTTP_") and len(value) > LONGEST_HEADER:
            with translation.override(language_of(request)):
                text = _("Your browser sent a header that is too long. Delete the cookies of this site and try again.")
                return _refused(request, 431, _("Too large"), text)
    return None


def _refused(request: HttpRequest, status: int, title: str, text: str) -> HttpResponse:
    what, address = "the head of the request is refused", client_address(request)
    security.warning("%s %s: %s (%d), from %s", request.method, logged_path(request), what, status, address)
    return error_page(request, status, title, text)


@lru_cache(maxsize=64)  # nearly all requests have the same one
def _is_possible(host: str) -> bool:
    """Whether a Host is short enough and its port exists. Django compares it with ALLOWED_HOSTS later."""
    if len(host) > LONGEST_HOST:
        return False
    _domain, port = split_domain_port(host)
    return len(port) <= len(str(LARGEST_PORT)) and int(port or 0) <= LARGEST_PORT
