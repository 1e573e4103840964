"""The WSGI application, for any WSGI server: `retwis_site.wsgi:application`."""

import os
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIEnvironment

from django.core.wsgi import get_wsgi_application
from django.utils.http import parse_header_parameters

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "retwis_site.settings")

_site = get_wsgi_application()


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """The site. It reads UTF-8 alone: a content type that says something else, or that cannot be parsed, is left out,
    since Django would decode the address with it, and fail before any page can be made."""
    if not _says_utf8(environ.get("CONTENT_TYPE", "")):
        environ["CONTENT_TYPE"] = ""
    return _site(environ, start_response)


def _says_utf8(content_type: str) -> bool:
    try:
        _, parameters = parse_header_parameters(content_type)
    except (LookupError, ValueError):
        return False
    return parameters.get("charset", "utf-8").lower() in {"utf-8", "utf8"}
