"""The words that a user mutes."""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods

from accounts.signing_in.guards import login_required
from accounts.signing_in.html.pages import form_page
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import User
from retwis_site.rendering.dates import day, moment
from retwis_site.rendering.fragments import active_language
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits
from timeline.people.words.forms import MutedWordForm
from timeline.relations.actions.limits import BLOCKS
from timeline.relations.words.muted_words import MOST_MUTED, MutedWord, MutedWords, parse


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@cache_control(private=True, no_store=True)
def muted_words(request: RetwisRequest, me: User) -> HttpResponse:
    """A list of them, with the undo of each, and a form for another one."""
    if request.method != "POST":
        return _page(request, MutedWordForm(), MutedWords(connect()).of(me.uid))
    RateLimits(connect()).count(BLOCKS, str(me.uid))
    if "unmute" in request.POST:
        return _unmute(me, parse(request.POST["unmute"]), request)
    return _mute(me, MutedWordForm(request.POST), request)


def _mute(me: User, form: MutedWordForm, request: RetwisRequest) -> HttpResponse:
    muted = MutedWords(connect())
    present = muted.of(me.uid)
    if form.is_valid() and len(present) >= MOST_MUTED:
        text = _("You can mute up to %(number)d words and phrases. Unmute one first.")
        form.add_error("words", text % {"number": MOST_MUTED})
    if not form.is_valid():
        return _page(request, form, present, status=422)
    muted.mute(me.uid, form.muted(), present)
    messages.success(request, _("Muted: %(words)s") % {"words": form.muted().words})
    return redirect("muted_words")


def _unmute(me: User, old: MutedWord | None, request: RetwisRequest) -> HttpResponse:
    if old is not None:
        MutedWords(connect()).unmute(me.uid, old)
        messages.success(request, _("No longer muted: %(words)s") % {"words": old.words})
    return redirect("muted_words")


class _Row(NamedTuple):
    muted: MutedWord
    until: tuple[str, str, str] | None  # for a machine, exactly, and the day; None: without an end


def _page(request: RetwisRequest, form: MutedWordForm, present: Sequence[MutedWord], status: int = 200) -> HttpResponse:
    language = active_language()
    rows = [_Row(muted, None if muted.until == inf else _until(int(muted.until), language)) for muted in present]
    return form_page(request, "timeline/people/words/words.html", {"form": form, "rows": rows}, status)


def _until(seconds: int, language: str) -> tuple[str, str, str]:
    return (*moment(seconds, language), day(seconds, language))
