"""The WSGI application, for any WSGI server: `retwis_site.wsgi:application`."""

import os
import re
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIEnvironment

from django.core.wsgi import get_wsgi_application
from django.utils.http import parse_header_parameters

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "retwis_site.settings")

_site = get_wsgi_application()

BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{1,70}")  # RFC 2046, 5.1.1


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """The site."""
    environ["CONTENT_TYPE"] = _without_charset(environ.get("CONTENT_TYPE", ""))
    return _site(environ, start_response)


def _without_charset(content_type: str) -> str:
    """What the site reads is UTF-8. With any charset Django would decode the address at once, and could fail before
    there is a page to say so on; a form in another one, or of a type that cannot be parsed, is none."""
    try:
        kind, parameters = parse_header_parameters(content_type)
    except (LookupError, ValueError):
        return ""
    if "charset" not in parameters:
        return content_type
    if parameters["charset"].lower() not in {"utf-8", "utf8"}:
        return ""
    boundary = parameters.get("boundary", "")
    return f'{kind}; boundary="{boundary}"' if BOUNDARY.fullmatch(boundary) else kind
