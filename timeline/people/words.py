"""The words that a user mutes."""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods

from accounts.settings.forms import LineField
from accounts.signing_in.guards import login_required
from accounts.signing_in.html import form_page
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import User
from retwis_site.rendering.dates import day, moment
from retwis_site.rendering.fragments import active_language
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits
from timeline.language.words import words
from timeline.relations.actions import FOR_DAYS
from timeline.relations.feature import BLOCKS
from timeline.relations.mute import FOREVER, in_days
from timeline.relations.muted_words import LONGEST_MUTED, MOST_MUTED, How, MutedWord, MutedWords, Where, parse

# ---- The form that mutes words.


PLACES = (
    (Where.HOME.value, gettext_lazy("On my home page")),
    (Where.EVERYWHERE.value, gettext_lazy("Everywhere")),
)
WAYS = (
    (How.HIDE.value, gettext_lazy("Leave these posts out")),
    (How.FOLD.value, gettext_lazy("Show a line that opens them")),
)


class MutedWordForm(forms.Form):
    """A word or a phrase, where and how it is muted, and for how long."""

    words = LineField(
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


# ---- Views


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
