"""The lines about notices in the personal download and in the file of a whole site."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

from accounts.users.repository import Users
from retwis_site.features import AddressOf, Line, LineField, Owner, SiteLines
from retwis_site.maintenance.lines import ID, TIME, TIME_OR_NULL, fields_of_users, rows_of_users, seconds
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import Writes, newest_first
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_time
from timeline.notices.entities import ABOUT_POSTS, CAN_BE_QUIET, Kind, Notice
from timeline.notices.inbox import MARK, rows_of, turned_off

SETTINGS = ("quiet", "noticed")  # the fields of `user:<uid>`


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
    line = _settings(owner.uid, *store.hmget(keys.user(owner.uid), SETTINGS))
    if line:
        yield [{"type": "notice_settings", **line}]


def _settings(uid: int, quiet: str | None, noticed: str | None) -> Line:
    """The kinds that a user has turned off, and until when the notices are read; empty when neither is stored."""
    kinds, read = sorted(kind.value for kind in turned_off(quiet)), stored_time(keys.user(uid), noticed)
    return {"turned_off": kinds, "read_until": iso(read) if read else None} if kinds or read else {}


# ---- The file of a whole site. A member of `notices:` names the kind, the cause and the person: code reads it.


def _read(store: Store, kinds: Collection[Kind], names: Mapping[str, str]) -> Iterator[Line]:
    """A line for each notice of these kinds, by the uid of their owner, newest first. `names`: what a line has of a
    notice. Round trips as for `rows_of_users`."""
    for uid, member, score in rows_of_users(store, keys.notices):
        for notice, when in rows_of(keys.notices(uid), [(member, score)]):
            if notice.kind in kinds:
                yield {"user": uid, **{name: getattr(notice, of) for name, of in names.items()}, "time": iso(when)}


def _write(writes: Writes, lines: Sequence[Line], notice_of: Callable[[Line], Notice]) -> None:
    for line in lines:
        writes.zadd(keys.notices(line["user"]), {notice_of(line).member: seconds(line, "time")})


def _lines(
    type_: str,
    kinds: Collection[Kind],
    names: Mapping[str, str],
    notice_of: Callable[[Line], Notice],
    posts: Sequence[str] = (),
) -> SiteLines:
    fields = {"user": ID, **{name: KIND if name == "kind" else ID for name in names}, "time": TIME}
    return SiteLines(
        type_,
        fields=lambda line: fields,
        read=partial(_read, kinds=kinds, names=names),
        write=partial(_write, notice_of=notice_of),
        users=("user", "by") if "by" in names else ("user",),
        posts=posts,
    )


def _read_settings(store: Store) -> Iterator[Line]:
    """A line for each user who has turned off kinds of notices or has read notices. One round trip for each AT_ONCE
    users."""
    for users in fields_of_users(store, SETTINGS):
        yield from ({"user": uid, **line} for uid, fields in users if (line := _settings(uid, *fields)))


def _write_settings(writes: Writes, lines: Sequence[Line]) -> None:
    """Until when notices are read stands in the hash, and as the mark."""
    for line in lines:
        uid, quiet = line["user"], " ".join(line["turned_off"])
        writes.hset(keys.user(uid), {"quiet": quiet} if quiet else {})
        if line["read_until"] is not None:
            read = seconds(line, "read_until")
            writes.hset(keys.user(uid), {"noticed": str(read)})
            writes.zadd(keys.notices(uid), {MARK: read})


ALL = (
    _lines(
        "notice",
        ABOUT_POSTS,
        {"kind": "kind", "by": "who", "post": "what"},
        lambda line: Notice(Kind(line["kind"]), line["post"], line["by"]),
        posts=("post",),
    ),
    _lines(
        "notice_of_follow",
        {Kind.FOLLOW},
        {"by": "who"},
        lambda line: Notice(Kind.FOLLOW, line["user"], line["by"]),
    ),
    _lines(
        "notice_of_report",
        {Kind.REPORT},
        {"report": "what"},
        lambda line: Notice(Kind.REPORT, line["report"], line["user"]),
    ),
    SiteLines(
        "notice_settings",
        lambda line: {"user": ID, "turned_off": KINDS, "read_until": TIME_OR_NULL},
        _read_settings,
        _write_settings,
        users=("user",),
    ),
)
