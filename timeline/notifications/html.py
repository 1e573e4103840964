"""Notices as HTML."""

import time
from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, get_args

from django.http import HttpResponse

from accounts.signing_in.html import Page, Rendering
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.avatars import avatar
from accounts.users.html import at, first_two
from retwis_site.rendering.dates import moment
from retwis_site.rendering.fragments import Fragment, joined
from timeline.moderation.reports.repository import SANCTIONS, Action, Report
from timeline.notices.entities import BY_POSTS, Kind
from timeline.notifications.repository import Decided, Item, NotificationsPage, Only, Place
from timeline.posts.html.post_cards import age, beginning_of, cards, phrases
from timeline.timelines.html import STOPPED

Told = Literal["reporter", "reported"]


class Outcome(StrEnum):
    """What a decision means to those who are told."""

    DISMISSED = "dismissed"
    WARNED = "warned"
    POST_DELETED = "post_deleted"
    SANCTIONED = "sanctioned"


BEGINNING = 80  # characters of the text of a post

NOTIFICATIONS = Page("timeline/notifications/notifications.html", here="notifications", shape={"only": tuple(Only)})
GROUP = Fragment("timeline/notifications/_group.html", shape={"kind": (Kind.FOLLOW, Kind.LIKE, Kind.REPOST)})
SENTENCE = Fragment(
    "timeline/notifications/_sentence.html", shape={"kind": (Kind.FOLLOW, Kind.LIKE, Kind.REPOST), "named": (1, 2)}
)
DECISION = Fragment("timeline/notifications/_decision.html", shape={"told": get_args(Told), "action": tuple(Outcome)})


def notifications_page(
    request: RetwisRequest, by: Rendering, found: NotificationsPage, only: Only, before: Place | None, read: int
) -> HttpResponse:
    """The page. `read`: notices up to this date, in unix seconds, had been read before."""
    return NOTIFICATIONS.answer(
        request,
        by,
        only=only,
        later=before is not None,
        has_items=bool(found.items),
        more=found.older is not None,
        items=_with_line(found.items, by, read),
        ages=phrases(by.language),
        older=str(found.older or ""),
        read=read,
    )


def _with_line(items: Sequence[Item], by: Rendering, read: int) -> bytes:
    """The items, with a line between new and read ones when the page has both."""
    new = sum(item.group.place.when > read for item in items)
    now = int(time.time())
    html = [_item(item, by, read, now) for item in items]
    if 0 < new < len(items):
        html.insert(new, STOPPED.fill_as_sent(by.language))
    return b"".join(html)


def _item(item: Item, by: Rendering, read: int, now: int) -> bytes:
    if item.post is not None and item.group.kind in BY_POSTS:
        return cards([item.post], by)
    if item.decided is not None:
        return _decision(item, item.decided, by, read, now)
    iso, when = moment(item.group.place.when, by.language)
    return GROUP.fill_as_sent(
        by.language,
        kind=item.group.kind,
        is_new=item.group.place.when > read,
        avatars=joined(avatar(user.uid, user.shown_name) for user in item.people),
        sentence=_sentence(item, by.language),
        own_at=at(item.post.author.username) if item.post is not None else "",
        pid=item.group.what,
        beginning=beginning_of(item.post.body, BEGINNING) if item.post is not None else "",
        iso=iso,
        moment=when,
        age=age(item.group.place.when, now, by.language).short,
    )


def _sentence(item: Item, language: str) -> str:
    return SENTENCE.fill(
        language,
        kind=item.group.kind,
        named=len(item.people),
        has_others=item.others > 0,
        **first_two(item.people),
        others=item.others,
    )


def _decision(item: Item, decided: Decided, by: Rendering, read: int, now: int) -> bytes:
    report, person = decided
    told: Told = "reported" if report.about.whom == by.me else "reporter"
    iso, when = moment(item.group.place.when, by.language)
    return DECISION.fill_as_sent(
        by.language,
        is_new=item.group.place.when > read,
        told=told,
        action=_outcome(report),
        has_person=person is not None,
        has_post=bool(report.about.body),
        username=person.username if person is not None else "",
        person_at=at(person.username) if person is not None else "",
        reason=report.decision.reason if report.decision is not None else "",
        beginning=beginning_of(report.about.body, BEGINNING),
        iso=iso,
        moment=when,
        age=age(item.group.place.when, now, by.language).short,
    )


def _outcome(report: Report) -> Outcome:
    return Outcome.SANCTIONED if report.action in SANCTIONS else Outcome(report.action or Action.DISMISS)
