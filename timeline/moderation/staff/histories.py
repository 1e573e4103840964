"""What has happened about a person: reports, and acts of staff."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from accounts.community.log import Act, Log
from retwis_site.rendering.dates import moment
from retwis_site.rendering.fragments import active_language
from retwis_site.store.client import Store
from timeline.moderation.reporting.forms import label_of
from timeline.moderation.reports.entities import Report
from timeline.moderation.reports.repository import Reports
from timeline.moderation.staff.acts import in_words
from timeline.moderation.staff.queue import names_of

REPORTS_SHOWN = 50  # about one person


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
