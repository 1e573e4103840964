"""Notices in groups, as a page shows them. Pure: all notices of a user are at hand, so every group is whole."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from retwis_site.exceptions import BadCursor
from retwis_site.rendering.dates import A_DAY
from retwis_site.store.ids import parse_number
from timeline.notices.entities import BY_POSTS, Kind, parse_notice
from timeline.notices.inbox import Row


class Only(StrEnum):
    """Which notices a page shows, by the value of `?only=`."""

    ALL = ""
    MENTIONS = "mentions"


class Place(NamedTuple):
    """Where a group stands: the newest of its notices. Of two places the greater is shown first."""

    when: int  # unix seconds
    member: str

    def __str__(self) -> str:
        return f"{self.when}-{self.member}"


class Group(NamedTuple):
    """The likes of one post, the reposts of one post, the follows of one day; or one reply, quote or mention."""

    kind: Kind
    what: int  # the post; of follows, the day, counted from the epoch
    people: tuple[int, ...]  # uids, the newest first
    place: Place


def grouped(rows: Sequence[Row]) -> list[Group]:
    """All notices in groups, the newest first. `rows`: newest first, as the store has them."""
    groups: dict[tuple[Kind, int], Group] = {}
    for notice, when in rows:
        what = when // A_DAY if notice.kind is Kind.FOLLOW else notice.what
        known = groups.get((notice.kind, what))
        if known is None:
            groups[notice.kind, what] = Group(notice.kind, what, (notice.who,), Place(when, notice.member))
        elif notice.who not in known.people:
            groups[notice.kind, what] = known._replace(people=(*known.people, notice.who))
    return list(groups.values())


def below(groups: Sequence[Group], before: Place | None, only: Only) -> list[Group]:
    """The groups of this page and of all later ones."""
    return [
        group
        for group in groups
        if (before is None or group.place < before) and (only is Only.ALL or group.kind in BY_POSTS)
    ]


def place_cursor(text: str | None) -> Place | None:
    """The place in `?before=`; None for the first page. Raises BadCursor."""
    if text is None:
        return None
    when_text, _, member = text.partition("-")
    when = parse_number(when_text)
    if when is None or parse_notice(member) is None:
        raise BadCursor(text)
    return Place(when, member)


def read_cursor(text: str | None) -> int | None:
    """The date in `?read=`, in unix seconds: what was read before the first page was opened. Raises BadCursor."""
    if text is None:
        return None
    when = parse_number(text)
    if when is None:
        raise BadCursor(text)
    return when
