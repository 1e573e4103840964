"""Notices as Mastodon's notifications, one by one and in groups; and how far the viewer has read them and their home.

An id is the second of a notice, and six digits that tell the notices of one second apart. So ids have the order of time
as numbers and as texts, and all have the same length. The store knows none: they follow from the notices, all of which
are read at once.
"""

import time
from binascii import crc32
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf
from operator import itemgetter
from typing import NamedTuple

from accounts.users.entities import User
from retwis_site.exceptions import NotFound
from retwis_site.rendering.dates import A_DAY
from retwis_site.store import snowflake
from retwis_site.store.client import Pipe, Reading, answer, connect, trip
from timeline.api.calls import Call, Endpoint, Listed
from timeline.api.entities import Entity, date_time, mention_of
from timeline.api.reading import Statuses, accounts_of
from timeline.moderation.reports import Action, Reports
from timeline.notices import Inbox, NoticeKind, Row, ask_noticed, ask_rows, people_of
from timeline.notifications.repository import Decided, Item, Notifications, group_of
from timeline.people.lists import ask_listed
from timeline.posts.repository import Posts
from timeline.timelines.home import SEEN, Homes

# ---- Ids and types


A_SECOND = 10**6  # ids


def id_of(row: Row) -> int:
    return row.when * A_SECOND + crc32(row.member.encode()) % A_SECOND


# A quote is told as a mention: apps of this version of the API know no other word for it.
TYPES: Mapping[str, str] = {
    NoticeKind.FOLLOW: "follow",
    NoticeKind.LIKE: "favourite",
    NoticeKind.REPOST: "reblog",
    NoticeKind.REPLY: "mention",
    NoticeKind.QUOTE: "mention",
    NoticeKind.MENTION: "mention",
    NoticeKind.REPORT: "moderation_warning",
}
IN_GROUPS = ("favourite", "reblog", "follow")
ALONE = "ungrouped-"  # what the key of a notice begins with that is in no group


def _beginnings(types: Collection[str]) -> tuple[str, ...]:
    """With which the members of these types begin."""
    return tuple(f"{kind}:" for kind in TYPES if TYPES[kind] in types)


_IN_GROUPS, _OF_APPS = _beginnings(IN_GROUPS), _beginnings(TYPES.values())


def _group_key(row: Row, number: int, in_groups: tuple[str, ...] = _IN_GROUPS) -> str:
    """Equal for the likes of one post, the reposts of one post, and the follows of one day. `number`: its id."""
    if not row.member.startswith(in_groups):
        return f"{ALONE}{number}"
    kind, what, _ = row.member.split(":")
    return f"{TYPES[kind]}-{row.when // A_DAY if kind == NoticeKind.FOLLOW else what}"


# ---- Entities


ACTIONS = {Action.DELETE: "delete_statuses", Action.FREEZE: "disable", Action.HIDE: "silence"}


def _warned(decided: Decided, number: int, account: Entity) -> Entity:
    """What staff has decided about the viewer. https://docs.joinmastodon.org/entities/AccountWarning/ `number`: the id
    of the notification. That of the report says to the microsecond when somebody has reported the viewer."""
    report = decided.report
    return {
        "id": str(number),
        "action": ACTIONS.get(report.action or Action.WARN, "none"),
        "text": report.decision.reason if report.decision is not None else "",
        "status_ids": [str(pid) for pid in report.deleted],
        "target_account": account,
        "appeal": None,
        "created_at": date_time(number // A_SECOND),
    }


# ---- Which notices an app asks for


def _wanted(call: Call) -> Callable[[Sequence[Row]], list[Row]]:
    """Chooses those of some notices. Raises Invalid."""
    chosen, by = {*call.sent.texts("types")} or {*TYPES.values()}, call.sent.id("account_id")
    chosen -= {*call.sent.texts("exclude_types")}
    beginnings, ending = _beginnings(chosen), "" if by is None else f":{by}"
    return lambda rows: [row for row in rows if row.member.startswith(beginnings) and row.member.endswith(ending)]


class Together(NamedTuple):
    """Notices that are told as one, newest first."""

    key: str
    id: int  # of the newest
    rows: list[Row]


def _together(rows: Sequence[Row], in_groups: Collection[str]) -> Iterable[Together]:
    """The notices in groups, the newest first. Single ones are made as they are asked for."""
    groups: dict[str, Together] = {}
    beginnings = _beginnings(in_groups)
    numbered = sorted(zip(map(id_of, rows), rows, strict=True), key=itemgetter(0), reverse=True)
    if not beginnings:
        return (Together(f"{ALONE}{number}", number, [row]) for number, row in numbered)
    for number, row in numbered:
        key = _group_key(row, number, beginnings)
        if key in groups:
            groups[key].rows.append(row)
        else:
            groups[key] = Together(key, number, [row])
    return groups.values()


SETTLES = 2  # seconds: so long after a second has begun, notices of it may still be written


class GroupsPage(NamedTuple):
    """The groups that are told."""

    told: Sequence[Together]
    # The id down to which it has what was told, for apps that ask for the next one from there; 0 for a last page.
    lowest: int = 0


def _page(call: Call, in_groups: Collection[str]) -> Callable[[Sequence[Row]], GroupsPage]:
    """Returns what chooses the groups of one page from the notices. Raises Invalid.

    The ids of one second are in no order of time. So an app that asks for what is above an id gets no notice of a
    second that has not settled: a later one, with a lower id, would be passed over for ever."""
    wanted, part = _wanted(call), call.part(40, 80)
    is_above = any(call.sent.id(name) is not None for name in ("since_id", "min_id"))  # an id, which may be 0

    def choose(rows: Sequence[Row]) -> GroupsPage:
        until, has_more = time.time() - SETTLES if is_above else inf, False
        told: list[Together] = []
        for one in _together([row for row in wanted(rows) if row.when <= until], in_groups):
            if one.id <= part.above or (len(told) == part.size and not part.upwards):
                has_more = bool(told)
                break
            if part.below is None or one.id < part.below:
                told.append(one)
        told = told[-part.size :]
        return GroupsPage(told, told[-1].id if has_more else 0)

    return choose


class ReadGroups(NamedTuple):
    """Groups, with what they name."""

    page: GroupsPage
    items: list[tuple[Together, Item]]
    statuses: dict[int, Entity]
    accounts: dict[int, Entity]


def _read(call: Call, choose: Callable[[Sequence[Row]], GroupsPage]) -> ReadGroups:
    """What the viewer sees of the chosen groups. Two round trips, as the page of notices; one more with decisions of
    staff, and one while the accounts are not cached."""
    statuses, notices = Statuses(call), Notifications(connect())
    found = notices.all(call.viewer)
    page = choose(_told_to_apps(call, found.shown))
    chosen = {group_of(one.rows): one for one in page.told}
    items, _ = notices.items(call.viewer, found, list(chosen))
    posts = {item.post.pid: item.post for item in items if item.post is not None}
    made = dict(zip(posts, statuses.of([*posts.values()]), strict=True))
    for item in items:
        if item.post is not None and TYPES[item.group.kind] == "mention":
            made[item.post.pid] = _naming(found.owner, made[item.post.pid], statuses.origin)
    people = accounts_of(call, [user.uid for item in items for user in item.people])
    told = [(chosen[item.group], item) for item in items if item.people[0].uid in people]
    return ReadGroups(page, told, made, people)


def _naming(me: User, status: Entity, origin: str) -> Entity:
    """A status that mentions the viewer. A reply or a quote needs no name in its text; but of a mention without the
    viewer's, apps such as Tusky say that its author has posted something."""
    mentions = status["mentions"]
    if any(one["id"] == str(me.uid) for one in mentions):
        return status
    return {**status, "mentions": [*mentions, mention_of(origin, me)]}


def _told_to_apps(call: Call, rows: Sequence[Row]) -> Sequence[Row]:
    """What became of the viewer's own reports is on the page alone. One round trip; none without decisions."""
    told = {row: row.notice.what for row in rows if row.member.startswith(NoticeKind.REPORT)}
    reports = Reports(connect()).some([*told.values()])
    others = {row for row, rid in told.items() if rid not in reports or reports[rid].about.whom != call.viewer.uid}
    return [row for row in rows if row not in others] if others else rows


ONE_BY_ONE: tuple[str, ...] = ()


def _meant(call: Call, rows: Sequence[Row]) -> list[Together]:
    """The group that the address names, or the one notice, by its id or as an app has it alone; none without such."""
    key = call.named.get("group_key", f"{ALONE}{call.named.get('id')}")
    known = [row for row in rows if row.member.startswith(_OF_APPS)]  # of a sanction, the page alone tells
    return [one for one in _together(known, ONE_BY_ONE if key.startswith(ALONE) else IN_GROUPS) if one.key == key]


def _one(call: Call) -> tuple[ReadGroups, Together, Item]:
    """What the address names, and all that it names in turn. Raises NotFound."""
    found = _read(call, lambda rows: GroupsPage(_meant(call, rows)))
    if not found.items:
        raise NotFound
    return found, *found.items[0]


def dismiss(call: Call) -> object:
    """Remove the notices that the address names. Two round trips. Raises NotFound."""
    notices = Notifications(connect()).all(call.viewer)
    found = _meant(call, notices.shown)
    if not found:
        raise NotFound
    Inbox(connect(), notices.owner.uid).remove(row.notice for one in found for row in one.rows)
    return {}


def _unread(call: Call, in_groups: Collection[str]) -> object:
    """One round trip; one more with very many new ones, and one with decisions of staff."""
    wanted, most = _wanted(call), call.sent.number("limit", 100, 1000)
    new = _told_to_apps(call, wanted(Notifications(connect()).new(call.viewer)))
    return {"count": min(len([*_together(new, in_groups)]), most)}


# ---- Answers: one by one


def notifications(call: Call) -> object:
    found = _read(call, _page(call, ONE_BY_ONE))
    return _listed(found.page, [_notification(one.rows[0], item, found) for one, item in found.items])


def _listed(page: GroupsPage, items: object) -> Listed:
    return Listed(items, page.told[0].id if page.told else None, page.lowest or None)


def notification(call: Call) -> object:
    found, one, item = _one(call)
    return _notification(one.rows[0], item, found)


def _notification(row: Row, item: Item, found: ReadGroups) -> Entity:
    """https://docs.joinmastodon.org/entities/Notification/"""
    account = found.accounts[item.people[0].uid]
    told = {
        "id": str(id_of(row)),
        "type": TYPES[row.notice.kind],
        "group_key": _group_key(row, id_of(row)),
        "created_at": date_time(row.when),
        "account": account,
    }
    if item.post is not None:
        told["status"] = found.statuses[item.post.pid]
    if item.decided is not None:
        told["moderation_warning"] = _warned(item.decided, id_of(row), account)
    return told


def clear(call: Call) -> object:
    Inbox(connect(), call.viewer.require_user().uid).clear()
    return {}


def unread_count(call: Call) -> object:
    return _unread(call, ONE_BY_ONE)


# ---- Answers: in groups


def _in_groups(call: Call) -> Collection[str]:
    """The types that this app shows in groups."""
    asked = call.sent.texts("grouped_types")
    return [kind for kind in IN_GROUPS if kind in asked] if "grouped_types" in call.sent else IN_GROUPS


def groups(call: Call) -> object:
    found = _read(call, _page(call, _in_groups(call)))
    return _listed(found.page, _results(found))


def group(call: Call) -> object:
    found, *_ = _one(call)
    return _results(found)


def _results(found: ReadGroups) -> dict[str, object]:
    return {
        "accounts": [*found.accounts.values()],
        "statuses": [*found.statuses.values()],
        "notification_groups": [_group(one, item, found) for one, item in found.items],
    }


def _group(one: Together, item: Item, found: ReadGroups) -> Entity:
    """https://docs.joinmastodon.org/methods/grouped_notifications/#NotificationGroup"""
    ids, when = [id_of(row) for row in one.rows], one.rows[0].when
    told = {
        "group_key": one.key,
        "notifications_count": item.number,
        "type": TYPES[item.group.kind],
        "most_recent_notification_id": ids[0],  # a number, as Mastodon writes it: apps of typed languages read no text
        "page_min_id": str(min(each for each in ids if each >= found.page.lowest)),
        "page_max_id": str(ids[0]),
        "latest_page_notification_at": date_time(when),
        "sample_account_ids": [str(user.uid) for user in item.people if user.uid in found.accounts],
    }
    if item.post is not None:
        told["status_id"] = str(item.post.pid)
    if item.decided is not None:
        told["moderation_warning"] = _warned(item.decided, ids[0], found.accounts[item.people[0].uid])
    return told


MOST_OF_A_GROUP = 80  # people


def accounts_of_group(call: Call) -> object:
    """The people of one group. Three round trips at most."""
    notices = Notifications(connect()).all(call.viewer)
    uids = people_of(row for one in _meant(call, notices.shown) for row in one.rows)[:MOST_OF_A_GROUP]
    seen = answer(connect(), ask_listed, notices.owner.uid, uids)
    return [*accounts_of(call, seen).values()]


def unread_groups(call: Call) -> object:
    return _unread(call, _in_groups(call))


# ---- Markers: up to where the viewer has read. The site knows one of each, and moves it only forward.


def _ask_markers(pipe: Pipe, me: int) -> Reading[tuple[int | None, int, list[Row]]]:
    return (yield from trip(pipe.ask(SEEN, me), ask_noticed(pipe, me), ask_rows(pipe, me)))


def markers(call: Call) -> object:
    """Those that are asked for and set. One round trip, two for the home."""
    return _markers(call, call.sent.texts("timeline"))


def _markers(call: Call, asked: Collection[str]) -> dict[str, Entity]:
    """https://docs.joinmastodon.org/entities/Marker/ `version` is a second, since integers of some apps
    have 32 bits."""
    _, (seen, noticed, rows) = call.viewer.ask_as_user(_ask_markers)
    found: dict[str, Entity] = {}
    if "home" in asked and seen is not None:
        posts = Posts(connect()).read([seen])
        when = posts[0].time if posts else 0
        version = snowflake.made_at(seen) or seen
        found["home"] = {"last_read_id": str(seen), "version": version, "updated_at": date_time(when)}
    if "notifications" in asked and noticed:
        read = next((row.when for row in rows if row.when <= noticed), noticed)  # ids have the order of seconds
        newest = max((id_of(row) for row in rows if row.when == read), default=noticed * A_SECOND)
        found["notifications"] = {"last_read_id": str(newest), "version": noticed, "updated_at": date_time(noticed)}
    return found


def set_markers(call: Call) -> object:
    """Two round trips, one more when the home moves, two when the notifications do."""
    home, notice = call.sent.id("home[last_read_id]"), call.sent.id("notifications[last_read_id]")
    me, (seen, noticed, rows) = call.viewer.ask_as_user(_ask_markers)
    if home is not None and home > (seen or 0) and not snowflake.is_ahead(home):
        Homes(connect()).note_seen(me.uid, home)
    when = (notice or 0) // A_SECOND
    if noticed < when <= time.time():
        Inbox(connect(), me.uid).set_read(when, rows)
    sent = [name for name, one in (("home", home), ("notifications", notice)) if one is not None]
    return _markers(call, sent)


ENDPOINTS = (
    Endpoint("GET", "/api/v1/notifications", notifications, "read:notifications"),
    Endpoint("GET", "/api/v1/notifications/unread_count", unread_count, "read:notifications"),
    Endpoint("POST", "/api/v1/notifications/clear", clear, "write:notifications", open_to_frozen=True),
    Endpoint("GET", "/api/v1/notifications/:id", notification, "read:notifications"),
    Endpoint("POST", "/api/v1/notifications/:id/dismiss", dismiss, "write:notifications", open_to_frozen=True),
    Endpoint("GET", "/api/v2/notifications", groups, "read:notifications"),
    Endpoint("GET", "/api/v2/notifications/unread_count", unread_groups, "read:notifications"),
    Endpoint("GET", "/api/v2/notifications/:group_key", group, "read:notifications"),
    Endpoint("GET", "/api/v2/notifications/:group_key/accounts", accounts_of_group, "read:notifications"),
    Endpoint("POST", "/api/v2/notifications/:group_key/dismiss", dismiss, "write:notifications", open_to_frozen=True),
    Endpoint("GET", "/api/v1/markers", markers, "read:statuses"),
    Endpoint("POST", "/api/v1/markers", set_markers, "write:statuses", open_to_frozen=True),
)
