"""What has happened about a person: reports, and acts of staff."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from accounts.community.log import Act, Log
from retwis_site.rendering.dates import moment
from retwis_site.rendering.fragments import active_language
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_ids
from timeline.moderation.reporting.forms import label_of
from timeline.moderation.reports.entities import Report
from timeline.moderation.reports.repository import Reports
from timeline.moderation.staff.acts import in_words
from timeline.moderation.staff.queue import names_of
from timeline.posts.repository import Posts

REPORTS_SHOWN = 50  # about one person
POSTS_SHOWN = 10


class NamedAct(NamedTuple):
    """An act of staff as a page shows it."""

    words: str
    reason: str
    iso: str  # when, for a machine
    when: str
    by: str  # username; empty for the operator
    whom: str  # username; empty for an act about no person


def about_person(store: Store, uid: int) -> dict[str, Any]:
    """The name of a person, what staff has done about them, and the reports about them. Five round trips."""
    reports: list[Report] = Reports(store).about(uid, REPORTS_SHOWN)
    return {
        "name": names_of(store, {uid})[uid],
        "reports": [
            (
                one,
                label_of(one.about.reason, one.about.rule),
                in_words(one.decision.what) if one.decision is not None else "",
            )
            for one in reports
        ],
        "acts": named(store, Log(store).about(uid).acts),
    }


class ShownPost(NamedTuple):
    """A post of a person as a page of staff shows it."""

    pid: int
    body: str
    iso: str  # when, for a machine
    when: str


def posts_of(store: Store, uid: int, before: int | None) -> dict[str, Any]:
    """The newest posts of a person below this id, also of a suspended one, without reposts; and the cursor of the older
    ones. Two round trips."""
    key, high = keys.updates(uid), "+inf" if before is None else f"({before}"
    pids = stored_ids(key, store.zrevrangebyscore(key, high, "-inf", POSTS_SHOWN))
    found, _missing = Posts(store).read(pids)
    return {
        "posts": [
            ShownPost(one.pid, one.body, *moment(one.time, active_language()))
            for one in found
            if one.links.repost_of is None
        ],
        "older": pids[-1] if len(pids) == POSTS_SHOWN else None,
    }


def named(store: Store, acts: Iterable[Act]) -> list[NamedAct]:
    """Acts in words, with the names of who has done them, and to whom. One round trip."""
    acts = [*acts]
    names = names_of(store, {uid for act in acts for uid in (act.by, act.whom) if uid})
    return [
        NamedAct(
            in_words(act.what),
            act.reason,
            *moment(act.when, active_language()),
            names.get(act.by, ""),
            names.get(act.whom, ""),
        )
        for act in acts
    ]
