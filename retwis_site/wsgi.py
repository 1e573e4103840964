"""The WSGI application, for any WSGI server: `retwis_site.wsgi:application`."""

import gc
import os
import re
from collections.abc import Iterable
from contextlib import closing
from wsgiref.types import StartResponse, WSGIEnvironment

from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.utils.http import parse_header_parameters

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "retwis_site.settings")

_site = get_wsgi_application()

BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{1,70}")  # RFC 2046, 5.1.1


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """The site. A page comes as a list, which servers send at once: anything else they ask piece by piece."""
    environ["CONTENT_TYPE"] = _without_charset(environ.get("CONTENT_TYPE", ""))
    answer = _site(environ, start_response)
    if not isinstance(answer, HttpResponse):
        return answer  # a file
    with closing(answer):
        return [answer.content]


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


# What is loaded stays, and so does most of what is remembered: to look through all of it for circles takes tens of
# milliseconds, in which a page waits, so that is done rarely. Small and often is as it was: 20,000 new objects at once
# are no longer in the processor's cache (measured: no faster, and the slowest pages three times as slow).
gc.collect()
gc.freeze()
gc.set_threshold(700, 10, 1000)
