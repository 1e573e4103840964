"""Ends each page with what it has sent to Redis. Only installed with INSPECT."""

import math
import secrets
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.formats import number_format
from django.utils.translation import gettext as _, ngettext

from retwis_site.http import cookies
from retwis_site.http.language import listed
from retwis_site.inspector.changes import COOKIE, SECONDS, Change, Changes, Sent
from retwis_site.maintenance.server_advice import is_loopback
from retwis_site.rendering.fragments import NOTHING, Fragment, active_language
from retwis_site.store.client import connect
from retwis_site.store.connection.recorder import Command, Recording, RoundTrip, watching
from retwis_site.store.local_cache import Memory
from retwis_site.telemetry.redaction import HIDDEN, ShownCommand, shown_command

END = b"</body>"
_OF_PROXIES = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP", "HTTP_VIA")


# ---- Commands as rows of HTML.
#
# A page sends some thirty commands, and its inspector must take little of the page's time. So a row is made once for
# each pattern: the same command for the same kind of key, asked for by the same method. Only the id differs.


COMMAND = Fragment("retwis_site/inspector/_command.html")
MOST_PATTERNS = 4000  # 5 MB
LONGEST_PATTERN = 60  # parts of a command; one with more is made each time

_ID = f"id{secrets.token_hex(16)}"  # stands for the id. Nobody can guess it, so no text of a command has it


class _Pattern(NamedTuple):
    """The pieces of a row around the id in its address and the id in its key. `asker`: the code whose id is a part of
    the pattern's key, so it must stay."""

    before: bytes
    between: bytes
    after: bytes
    asker: object


_patterns: Memory[tuple[object, ...], _Pattern] = Memory(MOST_PATTERNS, math.inf)


def rows(commands: Iterable[Command]) -> bytes:
    """The rows of the commands of a round trip."""
    made: list[bytes] = []
    for command in commands:
        key = str(command[1]) if len(command) > 1 else ""
        kind, _, number = key.rpartition(":")
        if not (kind and number.isdecimal() and number.isascii()):  # the cursor of a SCAN is no id
            kind, number = key, ""
        code = getattr(command, "code", None)
        identity = (command[0], kind, command[2:], id(code))
        pattern = _patterns.get(identity)
        if pattern is None:
            pattern = _pattern(command, kind, number)
            if len(command) <= LONGEST_PATTERN:
                _patterns.put(identity, pattern)
        before, between, after, _ = pattern
        digits = number.encode() if between else b""
        made += (before, digits, between, digits, after)
    return b"".join(made)


def kept_rows(commands: Iterable[ShownCommand]) -> bytes:
    """The rows of commands that another process has sent."""
    return b"".join(map(_row, commands))


def _row(command: ShownCommand) -> bytes:
    linked = command.key != "" and HIDDEN not in command.key
    return COMMAND.fill_as_sent(
        "en",  # it has no words
        linked=linked,
        name=command.name,
        key=command.key,
        address=quote(command.key, safe=":") if linked else "",
        arguments=" ".join(command.arguments),
        asker=command.asker,
        complexity=command.complexity,
    )


def _pattern(command: Command, kind: str, number: str) -> _Pattern:
    shown = shown_command(command)
    if number and shown.key == f"{kind}:{number}":
        shown = shown._replace(key=f"{kind}:{_ID}")
    *around, after = _row(shown).split(_ID.encode())
    before, between = around or (b"", b"")
    return _Pattern(before, between, after, getattr(command, "code", None))


# ---- Panel


PANEL = Fragment("retwis_site/inspector/_panel.html")
SENT = Fragment("retwis_site/inspector/_sent.html")
STEP = Fragment("retwis_site/inspector/_step.html")


def panel(watch: Recording, change: Change | None, language: str) -> bytes:
    """What a page has sent, and what the browser's last form has sent before it."""
    seconds = sum([round_trip.seconds for round_trip in watch.round_trips])
    milliseconds = _milliseconds(seconds)
    return PANEL.fill_as_sent(
        language,
        has_change=change is not None,
        commands=watch.number,
        round_trips=len(watch.round_trips),
        milliseconds=milliseconds,
        summary=_summary(language, watch.number, len(watch.round_trips), milliseconds),
        change=_change_in_words(change) if change else NOTHING,
        of_change=_of_change(change, language) if change else NOTHING,
        steps=b"".join([_round_trip(one, rows(one.commands), language) for one in watch.round_trips]),
        is_whole=not watch.left_out,
    )


def _of_change(change: Change, language: str) -> bytes:
    form = _sent(_form_in_words(change.form, language), change.form, language)
    return b"".join([form, *(_sent(_job_in_words(job, language), job, language) for job in change.jobs)])


def _sent(summary: str, one: Sent, language: str) -> bytes:
    listed = sum(len(each.commands) for each in one.recorded)
    steps = b"".join([_round_trip(each, kept_rows(each.commands), language) for each in one.recorded])
    return SENT.fill_as_sent(language, summary=summary, steps=steps, is_whole=listed == one.commands)


def _change_in_words(change: Change) -> str:
    """Such as "Your post: 10 round trips, 18 pushes to homes"."""
    everything = (change.form, *change.jobs)
    pushes = sum(one.pushes for one in everything)
    parts = [_counted_round_trips(change.form.round_trips)]
    if pushes:
        parts.append(ngettext("%(number)d push to homes", "%(number)d pushes to homes", pushes) % {"number": pushes})
    if change.waits:
        parts.append(_("a worker has not finished yet"))
    return f"{_whose(change.form)}: {listed(*parts)}"


def _form_in_words(form: Sent, language: str) -> str:
    return f"{_whose(form)}: {_summary(language, form.commands, form.round_trips, _milliseconds(form.seconds))}"


def _whose(form: Sent) -> str:
    return _("Your post") if form.what == "publish" else _("Your last change")


def _job_in_words(job: Sent, language: str) -> str:
    summary = _summary(language, job.commands, job.round_trips, _milliseconds(job.seconds))
    words = _("The worker, job %(kind)s: %(summary)s") % {"kind": job.what, "summary": summary}
    if job.jobs < 2:
        return words
    others = job.jobs - 1
    together = ngettext("together with %(number)d other job", "together with %(number)d other jobs", others)
    return listed(words, together % {"number": others})


def _round_trip(one: RoundTrip[Any], listed: bytes, language: str) -> bytes:
    """A round trip. `listed`: its commands, as rows."""
    return STEP.fill_as_sent(
        language,
        summary=_round_trip_in_words(language, one.number, _milliseconds(one.seconds)),
        sent=one.sent,
        received=one.received,
        commands=listed,
    )


@lru_cache(maxsize=1000)
def _summary(language: str, commands: int, round_trips: int, milliseconds: str) -> str:
    """Such as "12 commands, 2 round trips, 0.9 ms". `language` is the active one."""
    return listed(_counted_commands(commands), _counted_round_trips(round_trips), _in_milliseconds(milliseconds))


@lru_cache(maxsize=1000)
def _round_trip_in_words(language: str, commands: int, milliseconds: str) -> str:
    return listed(_counted_commands(commands), _in_milliseconds(milliseconds))


def _counted_commands(number: int) -> str:
    return ngettext("%(number)d command", "%(number)d commands", number) % {"number": number}


def _counted_round_trips(number: int) -> str:
    return ngettext("%(number)d round trip", "%(number)d round trips", number) % {"number": number}


def _in_milliseconds(milliseconds: str) -> str:
    return _("%(number)s ms") % {"number": number_format(milliseconds)}


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f}"


class InspectorMiddleware:
    """Watches the request. A fragment, a feed or a download stays as it is.

    What it reads of the last form counts as the page's own: the server has been asked for it too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with watching() as watch:
            cookie = request.COOKIES.get(COOKIE) if request.method == "GET" else None
            change = Changes(connect()).read(cookie) if cookie else None
            response = self._get_response(request)
        if not _may_inspect(request):
            return response
        if _is_page(response):
            _add(response, watch, change)
            if cookie and not (change and change.waits):
                cookies.take_back(response, COOKIE)
        elif request.method == "POST":
            what = request.resolver_match.view_name if request.resolver_match else ""
            cookies.keep(response, COOKIE, Changes(connect()).note_form(what, watch), SECONDS)
        return response


# ---- Who may look behind the pages: everybody on a machine of their own, staff where others reach the site.


def _may_inspect(request: HttpRequest) -> bool:
    """Whether this page may show what it sends to Redis. False without INSPECT. No round trip: a viewer whom the view
    has not checked is nobody of staff."""
    if not settings.INSPECT:
        return False
    viewer: Any = getattr(request, "viewer", None)  # a page of an early middleware has none
    if is_at_home(request):
        return True
    return viewer is not None and viewer.signed_in and viewer.checked.is_staff and not viewer.lacks_required_factor


def is_at_home(request: HttpRequest) -> bool:
    """Whether nobody else reaches the site: it has no public name and no proxy, and the browser is on this machine."""
    if settings.PUBLIC or settings.TRUSTED_PROXIES or settings.CSRF_TRUSTED_ORIGINS:
        return False
    return not any(name in request.META for name in _OF_PROXIES) and is_loopback(request.META.get("REMOTE_ADDR", ""))


# ---- The end of a page


def _is_page(response: HttpResponse) -> bool:
    """Whether it is a whole page of HTML."""
    return (
        not response.streaming
        and response.get("Content-Type", "").startswith("text/html")
        and response.content.endswith(b"</html>\n")
    )


def _add(response: HttpResponse, watch: Recording, change: Change | None) -> None:
    page = response.content
    end = page.rfind(END)
    response.content = b"".join([memoryview(page)[:end], panel(watch, change, active_language()), page[end:]])
