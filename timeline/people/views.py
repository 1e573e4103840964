"""The pages of people: followers, following, the directory and search; whom a user blocks and mutes; muted words."""

import time
from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple
from urllib.parse import quote

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.text import format_lazy
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.http import require_safe

from accounts.signing_in.forms import ShortTextField
from accounts.signing_in.guards import for_own_forms, login_required, never_store
from accounts.signing_in.html import Page, Rendering, done, form_page, rendering
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import User
from accounts.users.html import heading, person_slots, titled
from retwis_site.rendering.dates import A_DAY, day, moment
from retwis_site.rendering.fragments import Fragment, Html, active_language, joined
from retwis_site.store.client import connect
from timeline.language import words
from timeline.people import directory
from timeline.people.html import FOLLOW_PAGES, PEOPLE, follow_rows, listed
from timeline.people.lists import By, Cursor, ListedPerson, Show, choice, id_cursor, name_cursor
from timeline.relations.actions import FOR_DAYS
from timeline.relations.feature import BLOCKS
from timeline.relations.muted_words import LONGEST_MUTED, MOST_MUTED, How, MutedWord, MutedWords, Where, parse
from timeline.relations.relations import FOREVER, in_days

# ---- Followers, following, everyone


@require_safe
def follows(request: RetwisRequest, username: str, side: directory.Side) -> HttpResponse:
    before, which = id_cursor(request.GET.get("before")), choice(Show, request.GET.get("show"))
    found, by = directory.FollowPages(connect(), side).page(request.viewer, username, before, which), rendering(request)
    owner = found.person
    return FOLLOW_PAGES[side].response(
        request,
        by,
        show=which,
        later="before" in request.GET,
        has_rows=bool(found.edges),
        further=found.further,
        more=found.older is not None,
        **heading(owner, by.language),
        **titled(owner),
        rows=follow_rows(found.edges, by),
        newest_at=f"{request.path}?show={which}" if which else request.path,
        here_at=request.path,
        older=str(found.older or ""),
    )


@require_safe
def people(request: RetwisRequest) -> HttpResponse:
    """The newest users, the most followed ones, or the results of a search (`?q=`)."""
    query = directory.search_query(request.GET.get("q", ""))
    order = choice(By, request.GET.get("by"))
    if query:
        searched = directory.People(connect()).search(request.viewer, query)
        return _people_page(request, searched.people, q=query, more=searched.more)
    before = request.GET.get("before")
    everybody = directory.People(connect())
    if order is By.FOLLOWERS:
        found = everybody.most_followed(request.viewer, id_cursor(before))
    else:
        found = everybody.newest(request.viewer, name_cursor(before))
    return _people_page(
        request, found.people, order=order, later=before is not None, older=found.older, more=found.older is not None
    )


def _people_page(
    request: RetwisRequest,
    people: Sequence[ListedPerson],
    *,
    more: bool,
    q: str = "",
    order: By = By.NEWEST,
    later: bool = False,
    older: Cursor | None = None,
) -> HttpResponse:
    """The page of these people. `more`: there are others."""
    by = rendering(request)
    return PEOPLE.response(
        request,
        by,
        searching=bool(q),
        q=q,
        longest=directory.LONGEST_QUERY,
        order=order,
        later=later,
        newest_at=f"{request.path}?by={order}" if order else request.path,
        has_rows=bool(people),
        number=len(people),
        rows=listed(people, by),
        more=more,
        older=quote(str(older or "")),
    )


# ---- The page of the people whom a user blocks and mutes.


HIDDEN = Page("timeline/people/hidden/hidden.html", here="hidden_people")
ROW = Fragment("timeline/people/hidden/_row.html", shape={"kind": tuple(directory.Hides)})


def _hidden_row(kind: directory.Hides, one: directory.HiddenPerson, by: Rendering) -> Html:
    iso, exact = moment(one.until or 0, by.language)
    return ROW.fill(
        by.language,
        kind=kind,
        can_act=by.can_act,
        ends=one.until is not None,
        **person_slots(one.user, by.language),
        username=one.user.username,
        csrf_token=by.token,
        iso=iso,
        exact=exact,
        day=_end(one.until or 0, by.language),
    )


@require_safe
@never_store
def blocks(request: RetwisRequest) -> HttpResponse:
    hidden, is_cut = directory.hidden_people(connect(), request.viewer)
    by = rendering(request)
    rows: dict[str, Any] = {kind: joined(_hidden_row(kind, one, by) for one in some) for kind, some in hidden.items()}
    shape = {f"has_{kind}": bool(some) for kind, some in hidden.items()}
    return HIDDEN.response(request, by, **rows, **shape, cut=is_cut, most=directory.MOST)


# ---- The page of the words that a user mutes.


PLACES = (
    (Where.HOME.value, gettext_lazy("On my home page")),
    (Where.EVERYWHERE.value, gettext_lazy("Everywhere")),
)
WAYS = (
    (How.HIDE.value, gettext_lazy("Hide these posts")),
    (How.FOLD.value, gettext_lazy("Collapse these posts to one line")),
)


class MutedWordForm(forms.Form):
    """A word or a phrase, where and how it is muted, and for how long."""

    words = ShortTextField(
        LONGEST_MUTED,
        label=gettext_lazy("Word or phrase"),
        help_text=format_lazy(
            gettext_lazy("Whole words; capital letters and accents do not matter. Up to {number} characters."),
            number=LONGEST_MUTED,
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"}),
    )
    where = forms.ChoiceField(label=gettext_lazy("Where"), choices=PLACES, initial=Where.HOME)
    how = forms.ChoiceField(label=gettext_lazy("How"), choices=WAYS, initial=How.HIDE)
    days = forms.ChoiceField(label=gettext_lazy("For how long"), choices=FOR_DAYS, required=False)

    def clean_words(self) -> str:
        typed = " ".join(str(self.cleaned_data["words"]).replace(":", " ").split())
        if not words(typed):
            raise ValidationError(_("Write at least one letter, digit or emoji."))
        return typed

    def muted(self) -> MutedWord:
        """What a valid form mutes."""
        given, days = self.cleaned_data, self.cleaned_data["days"]
        until = in_days(int(days)) if days else FOREVER
        return MutedWord(given["words"], Where(given["where"]), How(given["how"]), until)


@for_own_forms
@login_required
def muted_words(request: RetwisRequest, me: User) -> HttpResponse:
    """A list of them, with the undo of each, and a form for another one."""
    if request.method != "POST":
        return _words_page(request, MutedWordForm(), MutedWords(connect()).of(me.uid))
    BLOCKS.count(connect(), me.uid)
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
        return _words_page(request, form, present)
    muted.mute(me.uid, form.muted(), present)
    return done(request, _("Muted: %(words)s") % {"words": form.muted().words}, "muted_words")


def _unmute(me: User, old: MutedWord | None, request: RetwisRequest) -> HttpResponse:
    if old is None:
        return redirect("muted_words")
    MutedWords(connect()).unmute(me.uid, old)
    return done(request, _("No longer muted: %(words)s") % {"words": old.words}, "muted_words")


class _Row(NamedTuple):
    muted: MutedWord
    until: tuple[str, str, str] | None  # for a machine, exactly, and the day; None: without an end


def _words_page(request: RetwisRequest, form: MutedWordForm, present: Sequence[MutedWord]) -> HttpResponse:
    language = active_language()
    rows = [_Row(muted, None if muted.until == inf else _until(int(muted.until), language)) for muted in present]
    return form_page(request, "timeline/people/words/words.html", {"form": form, "rows": rows})


def _until(seconds: int, language: str) -> tuple[str, str, str]:
    return (*moment(seconds, language), _end(seconds, language))


def _end(until: int, language: str) -> str:
    """When a mute ends: the day, and the time too within the next day."""
    return moment(until, language)[1] if until < time.time() + A_DAY else day(until, language)


# ---- Addresses


urlpatterns = [
    path("people/", people, name="people"),
    path("@<username:username>/followers/", follows, {"side": "followers"}, name="followers"),
    path("@<username:username>/following/", follows, {"side": "following"}, name="following"),
    path("settings/blocks/", blocks, name="hidden_people"),
    path("settings/words/", muted_words, name="muted_words"),
]
