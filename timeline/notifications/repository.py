"""A user's notices, with the people and the posts that they name."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from accounts.community.log import Act
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from accounts.users.repository import Users
from retwis_site.exceptions import BadCursor, StoreReadOnly
from retwis_site.rendering.dates import A_DAY
from retwis_site.store.client import Repository, begun, both, rest, trip
from retwis_site.store.ids import parse_number
from timeline.moderation.reports import Report, ask_reports
from timeline.notices import (
    ABOUT_POSTS,
    BY_POSTS,
    Inbox,
    NoticeKind,
    Row,
    ask_noticed,
    ask_rows,
    ask_told,
    people_of,
    read_new,
)
from timeline.people.lists import Cursor
from timeline.posts.entities import Post
from timeline.posts.reading.post_reader import PostReader
from timeline.posts.reading.visibility import LatestActed, ask_latest_acted, hidden_among, unseen_by

# ---- Notices in groups, as a page shows them. Pure: all notices of a user are at hand, so every group is whole.


class Only(StrEnum):
    """Which notices a page shows, by the value of `?only=`."""

    ALL = ""
    MENTIONS = "mentions"


class Group(NamedTuple):
    """The likes of one post, the reposts of one post, the follows of one day; or one reply, quote or mention."""

    kind: NoticeKind
    what: int  # the post; of follows, the day, counted from the epoch; of a sanction, as in its notice
    people: tuple[int, ...]  # uids, the newest first
    place: Cursor  # of the newest of its notices; the greatest is shown first


def grouped(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of each group, the newest first. `rows`: newest first, as the store has them."""
    groups: dict[str | int, list[Row]] = {}
    for row in rows:
        about, _, _ = row.member.rpartition(":")  # all but who did it
        groups.setdefault(row.when // A_DAY if about.startswith(NoticeKind.FOLLOW) else about, []).append(row)
    return [*groups.values()]


def group_of(rows: Sequence[Row]) -> Group:
    """The group that these rows are."""
    newest, notice = rows[0], rows[0].notice
    what = newest.when // A_DAY if notice.kind is NoticeKind.FOLLOW else notice.what
    return Group(notice.kind, what, tuple(dict.fromkeys(people_of(rows))), Cursor(*newest))


_BY_POSTS = tuple(f"{kind}:" for kind in BY_POSTS)


def below(groups: Sequence[list[Row]], before: Cursor | None, only: Only) -> list[list[Row]]:
    """The groups of this page and of all later ones."""
    return [
        rows
        for rows in groups
        if (before is None or rows[0] < before) and (only is Only.ALL or rows[0].member.startswith(_BY_POSTS))
    ]


def read_cursor(text: str | None) -> int | None:
    """The date in `?read=`, in unix seconds: what was read before the first page was opened. Raises BadCursor."""
    if text is None:
        return None
    when = parse_number(text)
    if when is None:
        raise BadCursor(text)
    return when


# ---- Repository


A_PAGE = 20  # groups
LOADED = 6  # people of a group: deleted accounts among them are neither named nor counted


class Decided(NamedTuple):
    """A report that is decided."""

    report: Report
    person: User | None  # whom it is about; None when their account is deleted or suspended


@dataclass(frozen=True, slots=True)
class Item:
    """A group with what it names."""

    group: Group
    people: tuple[User, ...]  # at most LOADED, the newest first
    number: int  # of all its people
    post: Post | None  # None for follows and decisions
    decided: Decided | None = None  # of a decision about a report
    act: Act | None = None  # of what staff has done about a sanction


@dataclass(frozen=True, slots=True)
class NotificationsPage:
    items: list[Item]
    read: int  # unix seconds: notices up to here had been read before
    older: Cursor | None  # the cursor of the next page; None on the last page


class FoundNotices(NamedTuple):
    """The notices of a user, as they were read."""

    owner: User
    rows: list[Row]  # newest first
    read: int  # unix seconds: notices up to here had been read before
    acted: LatestActed

    @property
    def shown(self) -> list[Row]:
        """Those by people who are not hidden."""
        return _not_hidden(self.rows, self.acted)


class Notifications(Repository):
    """The notices of a signed-in user."""

    def all(self, viewer: Viewer) -> FoundNotices:
        """All notices of the viewer. One round trip. It makes nothing read. Raises NotSignedIn."""
        owner, found = viewer.ask_as_user(
            lambda pipe, me: trip(ask_rows(pipe, me), ask_noticed(pipe, me), ask_latest_acted(pipe, me))
        )
        return FoundNotices(owner, *found)

    def new(self, viewer: Viewer) -> list[Row]:
        """Those of `FoundNotices.shown` that are not read. Round trips as for `read_new`. Raises NotSignedIn."""
        _, ([acted], rows) = viewer.ask_as_user(
            lambda pipe, me: both(trip(ask_latest_acted(pipe, me)), read_new(pipe, me))
        )
        return _not_hidden(rows, acted)

    def page(self, viewer: Viewer, only: Only, before: Cursor | None) -> NotificationsPage:
        """The notices below the cursor, newest first. Two round trips with cached uids, however many notices there are;
        as many more as `PostReader` needs where a post is not known yet, and one more with decisions. The first page of
        all notices makes them read: two more when there is a new one. Raises NotSignedIn."""
        found = self.all(viewer)
        groups = below(grouped(found.shown), before, only)
        items, unseen = self.items(viewer, found, [*map(group_of, groups[:A_PAGE])])
        newest = next((row.when for row in found.rows if row.notice.who not in unseen), 0)
        if only is Only.ALL and before is None and newest > found.read:
            with suppress(StoreReadOnly):  # it can wait
                Inbox(self._store, found.owner.uid).set_read(newest, found.rows)
        older = Cursor(*groups[A_PAGE - 1][0]) if len(groups) > A_PAGE else None
        return NotificationsPage(items, found.read, older)

    def items(self, viewer: Viewer, found: FoundNotices, groups: Sequence[Group]) -> tuple[list[Item], set[int]]:
        """The groups that the viewer may see: without hidden posts and people, and without deleted accounts. And the
        people among the groups whom staff hides from the viewer: what they did is not read when it is shown again. One
        round trip, and more as for `page`."""
        owner = found.owner
        pids = dict.fromkeys(group.what for group in groups if group.kind in ABOUT_POSTS)
        with self._store.pipeline() as pipe:
            reader = PostReader(self._store, viewer, acted=found.acted)
            reading = begun(reader.reading(pipe, list(pids)))
            people = reader.ask_about(pipe, {uid for group in groups for uid in group.people[:LOADED]})
            reports = ask_reports(pipe, [group.what for group in groups if group.kind is NoticeKind.REPORT])
            acts = {one.what: ask_told(pipe, owner.uid, one.what) for one in groups if one.kind is NoticeKind.SANCTION}
        posts = {post.pid: post for post in rest(pipe, reading).posts}
        unseen = rest(pipe, unseen_by(pipe, owner.uid, hidden_among(people.value.values())))
        hidden = reader.hidden() | unseen
        shown = {uid: user for uid, user in people.value.items() if uid not in hidden}
        decided = self._decided(reports.value)
        items = [
            _told(group, owner, decided.get(group.what), None)
            if group.kind is NoticeKind.REPORT
            else _told(group, owner, None, acts[group.what].value)
            if group.kind is NoticeKind.SANCTION
            else _item(group, [shown.get(uid) for uid in group.people[:LOADED]], posts)
            for group in groups
        ]
        gone = {uid for group in groups for uid in group.people[:LOADED]} - people.value.keys() - {owner.uid}
        return [item for item in items if item is not None], unseen | gone

    def _decided(self, reports: Mapping[int, Report]) -> dict[int, Decided]:
        """The decided ones of these reports; of those that were decided together, the first. At most one round trip."""
        people = Users(self._store).people({report.about.whom for report in reports.values()})
        decided = {report.decision: report for report in reversed([*reports.values()]) if report.action is not None}
        return {report.rid: Decided(report, people.get(report.about.whom)) for report in decided.values()}


def _not_hidden(rows: Sequence[Row], acted: LatestActed) -> list[Row]:
    """Without notices by people whom lists leave out."""
    hidden = acted.hidden.blocked_or_muted
    return [row for row, who in zip(rows, people_of(rows), strict=True) if who not in hidden]


def _told(group: Group, owner: User, decided: Decided | None, act: Act | None) -> Item | None:
    """What staff has decided about a report, or has done; None when it is gone."""
    return Item(group, (owner,), 1, None, decided, act) if decided or act else None


def _item(group: Group, loaded: Sequence[User | None], posts: dict[int, Post]) -> Item | None:
    """None when there is nothing to show: the post is hidden, or all people are hidden or deleted."""
    people = [user for user in loaded if user is not None]
    post = posts.get(group.what) if group.kind is not NoticeKind.FOLLOW else None
    if not people or (post is None and group.kind is not NoticeKind.FOLLOW):
        return None
    if group.kind in BY_POSTS and post is not None and post.author.uid not in group.people:
        return None
    deleted = len(loaded) - len(people)
    return Item(group, tuple(people), len(group.people) - deleted, post)
