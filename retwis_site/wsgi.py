"""The WSGI application, for any WSGI server: `retwis_site.wsgi:application`."""

import gc
import logging
import os
import re
import sys
from collections.abc import Callable
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

import django
from django.core.exceptions import ImproperlyConfigured
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.core.signals import request_started
from django.http import HttpRequest
from django.urls import ResolverMatch, set_script_prefix
from django.utils.http import parse_header_parameters
from django.utils.log import log_response

from retwis_site.environment import ending_in_one_line

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "retwis_site.settings")
with ending_in_one_line():
    django.setup()
    from django.conf import settings

    from retwis_site.exceptions import StoreError
    from retwis_site.features import require_right_settings
    from retwis_site.jobs.outbox import silence
    from retwis_site.rendering.fragments import Fragment
    from retwis_site.store import keys
    from retwis_site.store.client import without_gate
    from retwis_site.telemetry.log_lines import SECRETS

    require_right_settings()

logger = logging.getLogger("retwis.deliver")
Fragment.load_all()  # a mistake in a template ends the process here, not a page later


def say_who_delivers() -> None:
    """Log whether a worker runs: no WSGI server starts one. One round trip; nothing is said of a store that fails.

    Its connection does not stay. uWSGI forks later and does not tell Python: processes with one connection would get
    each other's replies."""
    try:
        text = silence(without_gate().get(keys.worker_seen()))
    except StoreError:
        return
    if text:
        logger.warning("%s: start `manage.py deliver`, which this web server does not run", text)
    else:
        logger.info("`manage.py deliver` runs beside this web server")


if "retwis_site.server.rsgi" not in sys.modules:  # `serve` runs `deliver` itself
    say_who_delivers()

LONGEST_TYPE = 300  # characters; Django takes boundaries of up to 201
BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{1,70}")  # RFC 2046, 5.1.1
PLACE = settings.SCRIPT_NAME  # of the site on its host; empty: at the top
MOST_FOUND = 500  # addresses that a process keeps with what they lead to
LONGEST_FOUND = 100  # characters


class SiteHandler(WSGIHandler):
    """Django's handler, for a site at one place, with one list of addresses and no database. Django's own tells each
    thread for each request where the site is and which list it has, looks through that list, and asks whether the view
    needs a transaction."""

    _middleware_chain: Callable[[HttpRequest], Any]

    def __init__(self) -> None:
        super().__init__()
        self._found: dict[str, ResolverMatch] = {}  # by path; most requests are for few. At most 900 KB

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Any:
        """A page is returned as a list of one part, which servers send at once. For HEAD the list is empty: gunicorn
        logs each body that it must not send. A file is an iterator. An answer with an error status is logged."""
        find_place(environ)
        kind = environ.get("CONTENT_TYPE", "")
        environ["CONTENT_TYPE"] = kind and without_charset(kind)
        if PLACE:
            set_script_prefix(PLACE)
        request_started.send(sender=SiteHandler, environ=environ)
        request = WSGIRequest(environ)
        answer = self._middleware_chain(request)
        answer._resource_closers.append(request.close)
        answer._handler_class = SiteHandler
        if answer.status_code >= 400:
            log_response("%s: %s", answer.reason_phrase, request.path, response=answer, request=request)
        cookies = [("Set-Cookie", one.OutputString()) for one in answer.cookies.values()]
        start_response(f"{answer.status_code} {answer.reason_phrase}", [*answer.items(), *cookies])
        if not answer.streaming:
            try:
                return [] if environ["REQUEST_METHOD"] == "HEAD" else [answer.content]
            finally:
                answer.close()
        file, wrapper = getattr(answer, "file_to_stream", None), environ.get("wsgi.file_wrapper")
        if file is None or wrapper is None:
            return answer
        file.close = answer.close  # a server closes the file alone
        return wrapper(file, answer.block_size)

    def resolve_request(self, request: HttpRequest) -> Any:
        """The view to which the address leads, and its arguments. Raises Resolver404."""
        found = self._found.get(request.path_info)
        if found is None:
            found = super().resolve_request(request)
            found.tried = None  # all patterns before it
            if len(self._found) >= MOST_FOUND:
                self._found.clear()
            if len(request.path_info) <= LONGEST_FOUND and not SECRETS & found.kwargs.keys():
                self._found[request.path_info] = found
        request.resolver_match = found
        return found.func, found.args, {**found.kwargs}  # a ResolverMatch is unpacked in four calls

    def make_view_atomic(self, view: Callable[..., Any]) -> Callable[..., Any]:
        return view


application = SiteHandler()


def find_place(environ: WSGIEnvironment) -> None:
    """Take SCRIPT_NAME from the beginning of the address, where the server has not. What comes without it, such as a
    health check, is for the site too. Raises ImproperlyConfigured where the server has another one: pages are made once
    in a process, with the addresses of one place."""
    of_server = environ.get("SCRIPT_NAME", "").rstrip("/")
    if of_server == PLACE:
        return
    if of_server:
        raise ImproperlyConfigured(f"The web server has the site at {of_server}: set SCRIPT_NAME={of_server}.")
    before, found, path = environ["PATH_INFO"].partition(PLACE)
    if found and not before and path[:1] in {"", "/"}:
        environ["SCRIPT_NAME"], environ["PATH_INFO"] = PLACE, path


def without_charset(content_type: str) -> str:
    """The Content-Type without its charset; empty for a charset other than UTF-8 or a type that cannot be parsed, also
    for a long one: Python takes as many steps as its length squared, and 60 KB would stop a worker for ten seconds.

    The site reads UTF-8 only. With a charset, Django decodes the address at once, and a failure there gets no error
    page. A form with an empty type has no fields."""
    if len(content_type) > LONGEST_TYPE:
        return ""
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


# Modules and most cached objects stay. To collect cycles among all of them takes tens of milliseconds, in which a page
# waits, so full collections are rare. Pages make no cycles, but Django's forms are some, and what becomes old with them
# stays until then: 10 MB in two minutes of the soak, with 1000 instead of 100. The first generation keeps its size:
# 20,000 new objects do not fit into the processor's cache (measured: not faster, and the slowest pages take three
# times as long).
gc.collect()
gc.freeze()
gc.set_threshold(700, 10, 100)
