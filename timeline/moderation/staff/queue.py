"""The queue of open reports, by what is reported; and names for the pages of staff."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from retwis_site.store import keys
from retwis_site.store.client import Store
from timeline.moderation.reports.entities import Report
from timeline.moderation.reports.repository import Reports

READ = 200  # reports of a page


class Reported(NamedTuple):
    """A person or a post with its open reports."""

    newest: Report
    name: str  # of the person; empty for an unknown one
    reporters: int


class Queue(NamedTuple):
    things: list[Reported]
    older: int | None  # the cursor of the next page


def queue(store: Store, before: int | None) -> Queue:
    """The newest READ open reports below this id, grouped. Three round trips."""
    reports = Reports(store).open(before, READ)
    names = names_of(store, {report.about.whom for report in reports})
    return Queue(_grouped(reports, names), reports[-1].rid if len(reports) == READ else None)


def names_of(store: Store, uids: Collection[int]) -> dict[int, str]:
    """Usernames by uid, also of suspended and deleted accounts. One round trip."""
    pipe = store.pipeline()
    asked = {uid: pipe.hget(keys.user(uid), "username") for uid in uids}
    pipe.execute()
    return {uid: name.value or "" for uid, name in asked.items()}


def _grouped(reports: Sequence[Report], names: dict[int, str]) -> list[Reported]:
    groups: dict[str, list[Report]] = {}
    for report in reports:
        groups.setdefault(report.about.thing, []).append(report)
    return [
        Reported(some[0], names[some[0].about.whom], len({report.who for report in some})) for some in groups.values()
    ]
