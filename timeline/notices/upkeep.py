"""The upkeep of notices: their lines in the personal download and in the file of a whole site, and their checks."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

from accounts.users.repository import Users
from retwis_site.features import AddressOf, Line, LineField, Owner, SiteLines
from retwis_site.maintenance.checks import Check, Searcher, looking, rows
from retwis_site.maintenance.lines import ID, TIME, TIME_OR_NULL, fields_of_users, rows_of_users, seconds
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import Writes, newest_first
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import stored_time
from retwis_site.store.replies import Result
from timeline.notices.inbox import (
    ABOUT_POSTS,
    BY_POSTS,
    CAN_BE_QUIET,
    KEPT,
    MARK,
    Kind,
    Notice,
    ask_seen,
    parse_notice,
    rows_of,
    turned_off,
)

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


# ---- Checks of `notices:`: each notice has a cause, and the mark stands where the user has stopped reading.
#
# A notice that is missing is no error: its kind may have been turned off, or the two may have blocked each other.


TRUTHS: dict[Kind, Callable[[int], str]] = {
    Kind.FOLLOW: keys.following,
    Kind.LIKE: keys.likes,
    Kind.REPOST: keys.reposts,
}


SAYS = "{key} has {1:.40}"
Entry = tuple[int, str, float]  # of `notices:`: whose, the member, its score


class NoticeChecks(Searcher):
    """Searches `notices:`. It relies on the checks of accounts, posts and relations, which run before."""

    def inconsistencies(self) -> list[Check]:
        return [
            self._check_of("members of notices: that are no notices", keys.notices, _bad, SAYS, read=rows),
            self._check_of(
                "marks of read notices that differ from user:",
                keys.notices,
                looking(self._store, _ask_wrong_mark),
                "{key} has a wrong mark",
                self._mend_mark,
            ),
            self._check_of(
                "notices of people whom staff has hidden from their owner",
                keys.notices,
                looking(self._store, _ask_unseen),
                SAYS,
                read=rows,
                jobs=lambda owner, member, _: at_work_on(owner, member),
            ),
        ]

    def orphans(self) -> list[Check]:
        """Notices of follows, likes and reposts that do not stand, of posts that are deleted, and of reports that are
        gone."""
        return [
            self._check_of(
                "notices whose cause is gone",
                keys.notices,
                looking(self._store, _ask_causeless),
                SAYS,
                read=rows,
                jobs=lambda owner, member, _: at_work_on(owner, member),
            )
        ]

    def _mend_mark(self, uid: int) -> None:
        noticed = self._store.hget(keys.user(uid), "noticed")
        if noticed is None:
            self._store.zrem(keys.notices(uid), MARK)
        else:
            self._store.zadd(keys.notices(uid), {MARK: stored_time(keys.user(uid), noticed)})


def _bad(entries: Sequence[Entry]) -> list[Entry]:
    """Members that name no notice. Readers skip them."""
    return [one for one in entries if one[1] != MARK and parse_notice(one[1]) is None]


def _ask_wrong_mark(pipe: Pipe, uid: int) -> Result[bool]:
    """Whether the mark is at another date than `noticed`, which is the truth, and not older than all that is kept."""
    mark, size = pipe.zscore(keys.notices(uid), MARK), pipe.zcard(keys.notices(uid))
    noticed = pipe.hget(keys.user(uid), "noticed")
    return Result(
        lambda: (
            (mark.value or 0) != stored_time(keys.user(uid), noticed.value)
            and not (mark.value is None and size.value > KEPT)
        )
    )


def _ask_unseen(pipe: Pipe, one: Entry) -> Result[bool]:
    owner, member, _ = one
    notice = parse_notice(member)
    if notice is None or notice.who == owner:
        return Result(lambda: False)
    score, seen = pipe.zscore(keys.notices(owner), member), ask_seen(pipe, owner, notice.who)
    return Result(lambda: score.value is not None and not seen.value)


def _ask_causeless(pipe: Pipe, one: Entry) -> Result[bool]:
    owner, member, _ = one
    notice = parse_notice(member)
    if notice is None:  # it has a check of its own
        return Result(lambda: False)
    score, cause = pipe.zscore(keys.notices(owner), member), _ask_cause(pipe, owner, notice)
    return Result(lambda: score.value is not None and not cause.value)


def _ask_cause(pipe: Pipe, owner: int, notice: Notice) -> Result[bool]:
    """Whether what the notice says is so. One command."""
    if notice.kind is Kind.REPORT:
        decision = pipe.hget(keys.report(notice.what), "decision")
        return Result(lambda: decision.value is not None and notice.who == owner)
    if notice.kind in BY_POSTS:
        fields = pipe.hmget(keys.post(notice.what), ["user_id", "deleted"])
        return Result(lambda: fields.value == [str(notice.who), None])
    score = pipe.zscore(TRUTHS[notice.kind](notice.who), str(notice.what))
    return Result(lambda: score.value is not None and (notice.kind is not Kind.FOLLOW or notice.what == owner))


def at_work_on(owner: int, member: str) -> set[str]:
    """The beginnings of the jobs that may be about to write or remove a member."""
    notice = parse_notice(member)
    if notice is None:
        return {f"gone:{owner}"}
    kind, what, who = notice
    if kind is Kind.REPORT:
        return {f"gone:{owner}", f"report:{what}"}
    jobs = {f"{job}:{what}" for job in ("post", "fan", "edit", "del")} if kind in BY_POSTS else {f"{kind}:{who}:{what}"}
    return {f"gone:{owner}", f"gone:{who}", f"recount:{who}", f"follow:{owner}:{who}", f"del:{what}", *jobs}
