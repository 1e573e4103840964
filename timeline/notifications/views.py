"""The page of notices, their number for the poll, and the settings of their kinds."""

import time
from collections.abc import Sequence
from typing import Any, Literal, get_args

from django import forms
from django.http import HttpResponse
from django.urls import path
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.http import require_safe

from accounts.community.log import Act
from accounts.settings.views import EDITS
from accounts.signing_in.guards import for_own_forms, login_required, open_to_frozen
from accounts.signing_in.html import (
    Page,
    Rendering,
    done,
    form_page,
    news_number,
    of_another_session,
    rendering,
    shown_number,
)
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import User
from accounts.users.html import at, avatar, first_two
from retwis_site.rendering.dates import moment
from retwis_site.rendering.fragments import Fragment, active_language, joined
from retwis_site.rendering.pages import html_response
from retwis_site.store.client import connect
from timeline.moderation.reports import SANCTIONS, Action, Report
from timeline.notices import BY_POSTS, TOLD, NoticeKind, QuietKinds, parse_notice
from timeline.notifications.repository import Decided, Item, Notifications, Only, read_cursor
from timeline.people.lists import choice, cursor
from timeline.posts.entities import Post
from timeline.posts.html import age, beginning_of, cards, phrases, words_of

ToldAs = Literal["reporter", "reported"]


# What a decision is to those who are told. Another page names the sanction.
SANCTIONED = "sanctioned"
OUTCOMES = (*(action for action in Action if action not in SANCTIONS), SANCTIONED, *TOLD)

BEGINNING = 80  # characters of the text of a post
NAMED = 2  # people of a group

NOTIFICATIONS = Page("timeline/notifications/notifications.html", here="notifications", shape={"only": tuple(Only)})
GROUPED = (NoticeKind.FOLLOW, NoticeKind.LIKE, NoticeKind.REPOST)
GROUP = Fragment("timeline/notifications/_group.html", shape={"kind": GROUPED})
SENTENCE = Fragment("timeline/notifications/_sentence.html", shape={"kind": GROUPED, "named": (1, 2)})
BY_POST = Fragment("timeline/notifications/_by_post.html", shape={"kind": BY_POSTS})
STOPPED = Fragment("timeline/notifications/_stopped.html")
DECISION = Fragment("timeline/notifications/_decision.html", shape={"told": get_args(ToldAs), "action": OUTCOMES})


def _with_line(items: Sequence[Item], by: Rendering, read: int, line_after: int | None) -> bytes:
    """The items, with a line between new and read ones when the page has both: after so many."""
    now = int(time.time())
    html = [_item(item, by, read, now) for item in items]
    if line_after is not None:
        html.insert(line_after, STOPPED.fill_as_sent(by.language))
    return b"".join(html)


def _item(item: Item, by: Rendering, read: int, now: int) -> bytes:
    if item.post is not None and item.group.kind in BY_POSTS:
        return _by_post(item.post, item, by, read)
    if item.decided is not None:
        return _decision(item, item.decided, by, read, now)
    if item.act is not None:
        return _told(item, item.act, by, read, now)
    return GROUP.fill_as_sent(
        by.language,
        kind=item.group.kind,
        avatars=joined(map(avatar, item.people[:NAMED])),
        sentence=_sentence(item, by.language),
        own_at=at(item.post.author.username) if item.post is not None else "",
        pid=item.group.what,
        beginning=beginning_of(words_of(item.post.body, item.post.media), BEGINNING) if item.post is not None else "",
        **_dated(item, by, read, now),
    )


def _by_post(post: Post, item: Item, by: Rendering, read: int) -> bytes:
    return BY_POST.fill_as_sent(
        by.language,
        kind=item.group.kind,
        is_new=item.group.place.score > read,
        name=post.author.shown_name,
        at=at(post.author.username),
        card=cards([post], by),
    )


def _sentence(item: Item, language: str) -> str:
    named = item.people[:NAMED]
    others = item.number - len(named)
    return SENTENCE.fill(
        language,
        kind=item.group.kind,
        named=len(named),
        has_others=others > 0,
        **first_two(named),
        others=others,
    )


def _decision(item: Item, decided: Decided, by: Rendering, read: int, now: int) -> bytes:
    report, person = decided
    told: ToldAs = "reported" if report.about.whom == by.me else "reporter"
    text = words_of(report.about.body, report.about.media) if report.about.pid else ""
    return DECISION.fill_as_sent(
        by.language,
        told=told,
        action=SANCTIONED if report.action in SANCTIONS else report.action or Action.DISMISS,
        has_deletion=bool(report.deleted),
        deleted=len(report.deleted),
        has_reason=bool(_said(report, told)),
        has_person=person is not None,
        has_post=bool(text) and (not report.deleted or report.about.pid in report.deleted),
        username=person.username if person is not None else "",
        person_at=at(person.username) if person is not None else "",
        reason=_said(report, told),
        beginning=beginning_of(text, BEGINNING),
        **_dated(item, by, read, now),
    )


def _told(item: Item, act: Act, by: Rendering, read: int, now: int) -> bytes:
    about_no_report = {"has_deletion": False, "deleted": 0, "has_post": False, "beginning": ""}
    about_no_report |= {"has_person": False, "username": "", "person_at": ""}
    return DECISION.fill_as_sent(
        by.language,
        told="reported",
        action=act.what,
        has_reason=bool(act.reason),
        reason=act.reason,
        **about_no_report,
        **_dated(item, by, read, now),
    )


def _dated(item: Item, by: Rendering, read: int, now: int) -> dict[str, Any]:
    """What a notice says of its date."""
    when = item.group.place.score
    iso, in_words = moment(when, by.language)
    return {"is_new": when > read, "iso": iso, "moment": in_words, "age": age(when, now, by.language).short}


def _said(report: Report, told: ToldAs) -> str:
    """The moderator's words to a person who is told; empty for none."""
    if report.decision is None:
        return ""
    if told == "reporter" and (report.decision.told or report.action is not Action.DISMISS):
        return report.decision.told
    return report.decision.reason


# ---- The form of the settings of notices.


class KindsForm(forms.Form):
    """The kinds of notices that a user gets: a box for each, so that an error page keeps them all."""

    follow = forms.BooleanField(label=gettext_lazy("Someone follows you"), required=False)
    like = forms.BooleanField(label=gettext_lazy("Someone likes your post"), required=False)
    repost = forms.BooleanField(label=gettext_lazy("Someone reposts your post"), required=False)
    reply = forms.BooleanField(label=gettext_lazy("Someone replies to you"), required=False)
    quote = forms.BooleanField(label=gettext_lazy("Someone quotes your post"), required=False)
    mention = forms.BooleanField(label=gettext_lazy("Someone mentions you"), required=False)


# ---- Views


@require_safe
def notifications(request: RetwisRequest) -> HttpResponse:
    only, before = choice(Only, request.GET.get("only")), cursor(request.GET.get("before"), parse_notice)
    said = read_cursor(request.GET.get("read"))
    found = Notifications(connect()).page(request.viewer, only, before)
    by = rendering(request)
    if only is Only.ALL and before is None:
        by = by.without_news()  # this page has made them read
    read = found.read if said is None else said  # notices up to here had been read before
    new = sum(item.group.place.score > read for item in found.items)
    has_line = 0 < new < len(found.items)
    return NOTIFICATIONS.response(
        request,
        by,
        only=only,
        later=before is not None,
        has_items=bool(found.items),
        has_line=has_line,
        more=found.older is not None,
        items=_with_line(found.items, by, read, new if has_line else None),
        ages=phrases(by.language),
        older=str(found.older or ""),
        read=read,
    )


@require_safe
def news(request: RetwisRequest) -> HttpResponse:
    """What an open page asks from time to time: the number of new notices; 204 when the page shows it (`?known=`)."""
    if (other := of_another_session(request)) is not None:
        return other
    if request.viewer.uid is None:
        return HttpResponse(status=204)
    number = request.viewer.checked.numbers["news"]
    if shown_number(number) == request.GET.get("known", ""):
        return HttpResponse(status=204)
    language = active_language()
    return html_response(news_number(number, language, "polls").encode(), language)


@open_to_frozen
@for_own_forms
@login_required
def kinds(request: RetwisRequest, me: User) -> HttpResponse:
    """Which kinds of notices the user gets."""
    quiet = QuietKinds(connect())
    if request.method != "POST":
        form = KindsForm(initial=dict.fromkeys(quiet.wanted(me.uid), True))
        return form_page(request, "timeline/notifications/kinds.html", {"form": form})
    EDITS.count(connect(), me.uid)
    form = KindsForm(request.POST)
    form.full_clean()  # boxes cannot be filled wrongly
    quiet.want(me.uid, [kind for kind, wanted in form.cleaned_data.items() if wanted])
    return done(request, _("Saved."), "notification_settings")


# ---- Addresses


urlpatterns = [
    path("notifications/", notifications, name="notifications"),
    path("notifications/number/", news, name="news"),
    path("settings/notifications/", kinds, name="notification_settings"),
]
