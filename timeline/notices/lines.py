"""The lines about notices in the personal download and in the file of a whole site."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from accounts.users.repository import Users
from accounts.users.site_lines import uids_in_order
from retwis_site.features import AddressOf, Line, LineField, Owner, SiteLines
from retwis_site.maintenance.filling import ID, TIME, TIME_OR_NULL, seconds
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE, batches, newest_first, newest_first_of_each
from retwis_site.store.client import Pipe, Store
from retwis_site.store.replies import Answer
from timeline.notices.entities import ABOUT_POSTS, CAN_BE_QUIET, Kind, Notice
from timeline.notices.inbox import MARK, Row, ask_noticed, rows_of, turned_off


def _are_kinds(value: object) -> bool:
    return isinstance(value, list) and all(one in CAN_BE_QUIET for one in value)


KIND = LineField(f"one of {', '.join(ABOUT_POSTS)}", lambda value: value in ABOUT_POSTS)
KINDS = LineField(f"a list with some of {', '.join(CAN_BE_QUIET)}", _are_kinds)


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """The owner's notices, newest first, without those of deleted accounts; then the settings, if the owner has any.
    Two round trips a chunk, and one more."""
    key = keys.notices(owner.uid)
    for scored in newest_first(store, key):
        rows = rows_of(key, scored)
        people = Users(store).people({row.notice.who for row in rows})
        yield [
            {
                "type": "notice",
                "kind": notice.kind.value,
                "id": notice.who,
                "username": people[notice.who].username,
                "post": notice.what if notice.kind in ABOUT_POSTS else None,
                "time": iso(when),
            }
            for notice, when in rows
            if notice.who in people
        ]
    pipe = store.pipeline()
    settings = _ask_settings(pipe, owner.uid)
    pipe.execute()
    if settings.value:
        yield [{"type": "notice_settings", **settings.value}]


def _ask_settings(pipe: Pipe, uid: int) -> Answer[Line]:
    """The kinds that a user has turned off, and until when the notices are read; empty when neither is stored. Two
    commands."""
    quiet, noticed = pipe.hget(keys.user(uid), "quiet"), ask_noticed(pipe, uid)

    def read() -> Line:
        kinds = sorted(kind.value for kind in turned_off(quiet.value))
        if not kinds and not noticed.value:
            return {}
        return {"turned_off": kinds, "read_until": iso(noticed.value) if noticed.value else None}

    return Answer(read)


def _read(store: Store) -> Iterator[tuple[int, Row]]:
    """All notices by the uid of their owner, newest first. Round trips as for `newest_first_of_each`."""
    for uids in uids_in_order(store):
        for uid, member, score in newest_first_of_each(store, {uid: keys.notices(uid) for uid in uids}):
            for row in rows_of(keys.notices(uid), [(member, score)]):
                yield uid, row


def read_notices(store: Store) -> Iterator[list[Line]]:
    """A line for each notice about a post."""
    lines = (
        {"type": "notice", "user": uid, "kind": kind.value, "by": who, "post": what, "time": iso(when)}
        for uid, ((kind, what, who), when) in _read(store)
        if kind in ABOUT_POSTS
    )
    yield from batches(lines, AT_ONCE)


def read_notices_of_follows(store: Store) -> Iterator[list[Line]]:
    """A line for each notice about a follow."""
    lines = (
        {"type": "notice_of_follow", "user": uid, "by": who, "time": iso(when)}
        for uid, ((kind, _, who), when) in _read(store)
        if kind is Kind.FOLLOW
    )
    yield from batches(lines, AT_ONCE)


def read_notices_of_reports(store: Store) -> Iterator[list[Line]]:
    """A line for each notice about a report."""
    lines = (
        {"type": "notice_of_report", "user": uid, "report": what, "time": iso(when)}
        for uid, ((kind, what, _), when) in _read(store)
        if kind is Kind.REPORT
    )
    yield from batches(lines, AT_ONCE)


def read_settings(store: Store) -> Iterator[list[Line]]:
    """A line for each user who has turned off kinds of notices or has read notices. One round trip a chunk."""
    for uids in uids_in_order(store):
        pipe = store.pipeline()
        asked = [(uid, _ask_settings(pipe, uid)) for uid in uids]
        pipe.execute()
        yield [{"type": "notice_settings", "user": uid, **about.value} for uid, about in asked if about.value]


def write_notices(store: Store, lines: Sequence[Line]) -> None:
    """Write notices about posts. One round trip."""
    _write(store, lines, [Notice(Kind(line["kind"]), line["post"], line["by"]) for line in lines])


def write_notices_of_follows(store: Store, lines: Sequence[Line]) -> None:
    """Write notices about follows. One round trip."""
    _write(store, lines, [Notice(Kind.FOLLOW, line["user"], line["by"]) for line in lines])


def write_notices_of_reports(store: Store, lines: Sequence[Line]) -> None:
    """Write notices about reports. One round trip."""
    _write(store, lines, [Notice(Kind.REPORT, line["report"], line["user"]) for line in lines])


def _write(store: Store, lines: Sequence[Line], notices: Sequence[Notice]) -> None:
    members: dict[int, dict[str, int]] = defaultdict(dict)
    for line, notice in zip(lines, notices, strict=True):
        members[line["user"]][notice.member] = seconds(line, "time")
    pipe = store.pipeline()
    for uid, scores in members.items():
        pipe.zadd(keys.notices(uid), scores)
    pipe.execute()


def write_settings(store: Store, lines: Sequence[Line]) -> None:
    """Write the kinds that are turned off, and until when notices are read: in the hash, and as the mark. One round
    trip."""
    pipe = store.pipeline()
    for line in lines:
        uid, fields = line["user"], {"quiet": " ".join(line["turned_off"])}
        if line["read_until"] is not None:
            read = seconds(line, "read_until")
            fields["noticed"] = str(read)
            pipe.zadd(keys.notices(uid), {MARK: read})
        pipe.hset(keys.user(uid), {name: text for name, text in fields.items() if text})
    pipe.execute()


NOTICES = SiteLines(
    type="notice",
    fields=lambda line: {"user": ID, "kind": KIND, "by": ID, "post": ID, "time": TIME},
    read=read_notices,
    write=write_notices,
    users=("user", "by"),
    posts=("post",),
)
NOTICES_OF_FOLLOWS = SiteLines(
    type="notice_of_follow",
    fields=lambda line: {"user": ID, "by": ID, "time": TIME},
    read=read_notices_of_follows,
    write=write_notices_of_follows,
    users=("user", "by"),
)
NOTICES_OF_REPORTS = SiteLines(
    type="notice_of_report",
    fields=lambda line: {"user": ID, "report": ID, "time": TIME},
    read=read_notices_of_reports,
    write=write_notices_of_reports,
    users=("user",),
)
SETTINGS = SiteLines(
    type="notice_settings",
    fields=lambda line: {"user": ID, "turned_off": KINDS, "read_until": TIME_OR_NULL},
    read=read_settings,
    write=write_settings,
    users=("user",),
)
ALL = (NOTICES, NOTICES_OF_FOLLOWS, NOTICES_OF_REPORTS, SETTINGS)
