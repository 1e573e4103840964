"""Notices: what others did that concerns a user, in `notices:<uid>`, and how far the user has read them.

`noticed` in the user's hash says how far. A mark in `notices:` says it too: a member with the same score. So one round
trip counts the new ones, without knowing the score before: they stand above the mark.
"""

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from accounts.community.log import Act, ask_acts_at
from accounts.community.sanctions import GRANTED, LIFTED, REFUSED
from accounts.users.entities import State
from accounts.users.repository import Users, is_deleted, state_now
from retwis_site.features import AddressOf, Line, LineField, Owner, SiteLines
from retwis_site.maintenance.checks import Check, Searcher, keep, looking, rows
from retwis_site.maintenance.lines import ID, TIME, TIME_OR_NULL, fields_of_users, rows_of_users, seconds
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import Writes, newest_first
from retwis_site.store.client import Pipe, Reading, Reply, Repository, Result, Scored, Store, answer, for_each, trip
from retwis_site.store.commands import Question
from retwis_site.store.ids import LARGEST_ID, integer, note_bad, parse_id, stored_score, stored_time
from retwis_site.store.kinds import mirror_of
from retwis_site.store.snowflake import STEP

# ---- What others did.


class NoticeKind(StrEnum):
    """The kinds of notices."""

    FOLLOW = "follow"
    LIKE = "like"
    REPOST = "repost"
    REPLY = "reply"
    QUOTE = "quote"
    MENTION = "mention"
    REPORT = "report"  # staff has decided about a report that the user has made, or that was about them
    SANCTION = "sanction"  # staff has lifted a sanction on the user, or decided their appeal against one


KINDS = {kind.value: kind for kind in NoticeKind}
# Each of these can be turned off in the settings.
CAN_BE_QUIET = tuple(kind for kind in NoticeKind if kind not in (NoticeKind.REPORT, NoticeKind.SANCTION))
ABOUT_POSTS = (NoticeKind.LIKE, NoticeKind.REPOST, NoticeKind.REPLY, NoticeKind.QUOTE, NoticeKind.MENTION)
# A post makes these. A person whom it concerns twice gets the first.
BY_POSTS = (NoticeKind.REPLY, NoticeKind.QUOTE, NoticeKind.MENTION)


class Notice(NamedTuple):
    """One notice. In `notices:` it stands as `<kind>:<what>:<who>`."""

    kind: NoticeKind
    # The liked or reposted post, the followed user; of BY_POSTS, the new post; the report; of a sanction, the moment of
    # the act in unix milliseconds.
    what: int
    who: int  # uid of the user who did it; of a report and a sanction, of the user who is told

    @property
    def member(self) -> str:
        return f"{self.kind}:{self.what}:{self.who}"


def parse_notice(member: str) -> Notice | None:
    """The notice that a member stands for; None for any other text."""
    kind, _, rest = member.partition(":")
    what, _, who = rest.partition(":")
    what_id, who_id = parse_id(what), parse_id(who)
    if kind not in KINDS or what_id is None or who_id is None:
        return None
    return Notice(KINDS[kind], what_id, who_id)


# ---- The kinds of notices that a user has turned off: the field `quiet` of the user's hash.


class QuietKinds(Repository):
    """Which kinds a user gets. What was written before stays."""

    def wanted(self, uid: int) -> list[NoticeKind]:
        """The kinds that are not turned off. One round trip."""
        quiet = turned_off(self._store.hget(keys.user(uid), "quiet"))
        return [kind for kind in CAN_BE_QUIET if kind not in quiet]

    def want(self, uid: int, kinds: Collection[str]) -> None:
        """Turn off all other kinds. One round trip, two for a deleted account."""
        Users(self._store).write(uid, {"quiet": " ".join(kind for kind in CAN_BE_QUIET if kind not in kinds)})


# ---- Inbox


KEPT = 1000  # the newest notices of each user
READ_FIRST = 100  # of them, where only new ones count
MARK = "up_to_here"  # after every kind of notice in the order of letters: notices of the same second are read


class Row(NamedTuple):
    """A notice with its date, as the store has it: of a thousand rows a page shows few, and reads only those."""

    when: int  # unix seconds
    member: str

    @property
    def notice(self) -> Notice:
        kind, what, who = self.member.split(":")
        return Notice(KINDS[kind], int(what), int(who))


def people_of(rows: Iterable[Row]) -> list[int]:
    """Who did it, of each."""
    return [int(member.rpartition(":")[2]) for _, member in rows]


def queue_add(pipe: Pipe, owner: int, notice: Notice, when: int) -> None:
    """Give the owner a notice; one that is there keeps its date. The oldest ones above KEPT go. Two commands."""
    pipe.zadd_nx(keys.notices(owner), {notice.member: when})
    pipe.zremrangebyrank(keys.notices(owner), 0, -KEPT - 2)  # the mark may be among those that stay


def queue_remove(pipe: Pipe, owner: int, notice: Notice) -> None:
    """Take a notice back. One command."""
    pipe.zrem(keys.notices(owner), notice.member)


def ask_rows(pipe: Pipe, owner: int) -> Result[list[Row]]:
    """All notices of a user, newest first. One command, of at most 40 KB."""
    scored = pipe.zrevrange_withscores(keys.notices(owner), 0, KEPT)
    return Result(lambda: rows_of(keys.notices(owner), scored.value))


_ID = "(?:[1-9][0-9]{0,14}|[1-8][0-9]{15})"  # but for the largest ones
_is_notice = re.compile(f"(?:{'|'.join(KINDS)}):{_ID}:{_ID}").fullmatch


def rows_of(key: str, scored: Scored) -> list[Row]:
    """The notices among members with scores, in their order. Nearly always all are good, so they are checked together:
    it takes a fifth of the time."""
    scores = {member: score for member, score in scored if member != MARK}
    if (
        all(map(_is_notice, scores))
        and 0 <= min(scores.values(), default=0) <= max(scores.values(), default=0) <= LARGEST_ID
    ):
        return [Row(int(score), member) for member, score in scores.items()]
    rows = []
    for member, score in scores.items():
        if parse_notice(member) is None:
            note_bad(key, member)
        else:
            rows.append(Row(stored_score(key, member, score), member))
    return rows


def _new(owner: int, replies: Sequence[int | None]) -> int:
    """Without the mark all are new: the user has never read any, or the mark is older than all that is kept."""
    above, size = replies
    return (size or 0) if above is None else above


_NEW = Question(("ZREVRANK", keys.notices, MARK), ("ZCARD", keys.notices), read=_new)


def ask_new(pipe: Pipe, owner: int) -> Reply[int]:
    """The number of notices that the user has not read. Two commands."""
    return pipe.ask(_NEW, owner)


def ask_noticed(pipe: Pipe, owner: int) -> Result[int]:
    """The date up to which the user has read the notices, in unix seconds; 0: never, or while a clock was ahead. Where
    the mark is older, as after a failure between the two, it is that of the mark, which the number of new ones follows.
    Two commands."""
    stored, mark = pipe.hget(keys.user(owner), "noticed"), pipe.zscore(keys.notices(owner), MARK)

    def read() -> int:
        noticed = min(stored_time(keys.user(owner), stored.value), integer(mark.value or 0))
        return noticed if noticed <= _latest() else 0

    return Result(read)


def _latest() -> int:
    """The latest date that a notice may have, in unix seconds: a clock may be ahead of this one by STEP."""
    return int(time.time()) + STEP


def read_new(pipe: Pipe, owner: int) -> Reading[list[Row]]:
    """The notices of a user above what `ask_noticed` finds, newest first. One round trip; two when there are READ_FIRST
    of them."""
    key = keys.notices(owner)
    noticed, scored = yield from trip(ask_noticed(pipe, owner), pipe.zrevrange_withscores(key, 0, READ_FIRST - 1))
    if len(scored) == READ_FIRST and integer(scored[-1][1]) > noticed:
        [scored] = yield from trip(pipe.zrevrange_withscores(key, 0, KEPT))
    return rows_of(key, [(member, score) for member, score in scored if integer(score) > noticed])


class Inbox:
    """The notices of one user."""

    def __init__(self, store: Store, owner: int) -> None:
        self._store = store
        self._owner = owner

    def set_read(self, when: int, rows: Iterable[Row] = ()) -> None:
        """Note that the notices up to this date are read. What a clock that was ahead has dated, also of the `rows`,
        gets the date of now: it would hide new ones until its own. Two round trips; four where the account is deleted:
        nothing stays then."""
        latest, key = _latest(), keys.notices(self._owner)
        now = latest - STEP
        when = when if when <= latest else now
        with self._store.pipeline() as pipe:
            pipe.hset(keys.user(self._owner), {"noticed": str(when)})
            pipe.zadd(key, {MARK: when})
            if ahead := {row.member: now for row in rows if row.when > latest}:
                pipe.zadd_xx(key, ahead)
        if not Users(self._store).keeps(self._owner, key):
            Users(self._store).take_back(self._owner, ["noticed"])

    def remove(self, notices: Iterable[Notice]) -> None:
        """Remove these: their owner has seen enough of them. One round trip."""
        for_each(self._store, lambda pipe, notice: queue_remove(pipe, self._owner, notice), notices)

    def clear(self) -> None:
        """Remove all that there are now. The mark stays: it stands where `noticed` says. Two round trips; one when
        there is nothing."""
        self.remove([row.notice for row in answer(self._store, ask_rows, self._owner)])

    def remove_those_by(self, others: Iterable[int]) -> None:
        """Remove all that these people have caused, as after a block. Two round trips; one when there is nothing."""
        by = set(others)
        rows = answer(self._store, ask_rows, self._owner)
        self.remove(row.notice for row, who in zip(rows, people_of(rows), strict=True) if who in by)


# ---- Who may cause a notice, and where: one look of a fixed number of commands.


THREADS_READ = 500  # threads that a user has muted last: 8 KB


class Welcome(NamedTuple):
    """Whether a notice may stand."""

    owner_exists: bool
    allowed: bool  # the owner sees who causes it
    is_wanted: bool = True  # the owner has not turned it off


UNWELCOME = Welcome(owner_exists=True, allowed=False)


def ask_welcome(pipe: Pipe, owner: int, notice: Notice, post: int | None) -> Result[Welcome]:
    """Whether `owner` sees who causes this notice, with no block between the two and no mute, and wants it: the kind is
    not turned off, and the thread of `post` is not muted. Six commands, eight with a post; none for one's own doing and
    for an unknown owner."""
    if not owner or owner == notice.who:
        return Result(lambda: UNWELCOME)
    blocks = [
        pipe.zscore(keys.blocked(owner), str(notice.who)),
        pipe.zscore(keys.blocked(notice.who), str(owner)),
    ]
    muted_until = pipe.zscore(keys.muted(owner), str(notice.who))
    fields = pipe.hmget(keys.user(owner), ["username", "deleted", "quiet"])
    thread = _ask_thread_muted(pipe, owner, post) if post else Result(lambda: False)
    seen = ask_seen(pipe, owner, notice.who)

    def read() -> Welcome:
        username, deleted, quiet = fields.value
        if username is None or is_deleted(deleted):
            return Welcome(owner_exists=False, allowed=False)
        blocked = any(block.value is not None for block in blocks)
        muted = muted_until.value is not None and muted_until.value > time.time()
        is_quiet = notice.kind in turned_off(quiet)
        return Welcome(True, allowed=seen.value and not (blocked or muted), is_wanted=not (is_quiet or thread.value))

    return Result(read)


def ask_seen(pipe: Pipe, owner: int, who: int) -> Result[bool]:
    """Whether `owner` sees a person, as far as staff decides: nobody sees one who is suspended, and only followers see
    one who is hidden. Two commands."""
    fields, follows = pipe.hmget(keys.user(who), ["state", "state_until"]), pipe.zscore(keys.following(owner), str(who))

    def read() -> bool:
        state = state_now(who, *fields.value)
        return state is not State.SUSPENDED and (state is not State.HIDDEN or follows.value is not None)

    return Result(read)


def _ask_thread_muted(pipe: Pipe, owner: int, post: int) -> Result[bool]:
    """Whether the owner has muted the thread of a post. Its first post is not known before the reply, so the threads
    are read that were muted last, THREADS_READ of them. Two commands."""
    root = pipe.hget(keys.post(post), "root")
    muted = pipe.zrevrange(keys.muted_threads(owner), 0, THREADS_READ - 1)
    return Result(lambda: (root.value or str(post)) in muted.value)


def queue_notice(pipe: Pipe, owner: int, notice: Notice, when: int | None, welcome: Welcome) -> None:
    """Write what a look has found: add the notice, or remove it. `when`: its date; None: its cause does not stand.

    What was written before its kind was turned off or its thread was muted stays: a second click of the other person
    takes nothing away. Nothing is left of a deleted owner's notices. At most two commands."""
    if not owner or owner == notice.who:
        return
    if not welcome.owner_exists:
        pipe.unlink(keys.notices(owner))
    elif when is None or not welcome.allowed:
        queue_remove(pipe, owner, notice)
    elif welcome.is_wanted:
        queue_add(pipe, owner, notice, when)


# ---- What staff tells a person of a sanction. The banner on each page tells of one that stands.


TOLD = (LIFTED, GRANTED, REFUSED)


def tell_of_act(store: Store, act: Act) -> None:
    """Tell a person that staff has lifted a sanction on them, or has decided their appeal; nothing of other acts. Two
    round trips; three where the account is deleted: nothing stays then."""
    if act.what not in TOLD:
        return
    notice = Notice(NoticeKind.SANCTION, act.at, act.whom)
    with store.pipeline() as pipe:
        queue_add(pipe, act.whom, notice, act.when)
    if not Users(store).keeps(act.whom):
        Inbox(store, act.whom).remove([notice])


def ask_told(pipe: Pipe, owner: int, when: int) -> Result[Act | None]:
    """The act of a moment in unix milliseconds of which a notice tells its owner; None when there is none. One
    command."""
    acts = ask_acts_at(pipe, owner, when)
    return Result(lambda: next((act for act in acts.value if act.what in TOLD), None))


def turned_off(quiet: str | None) -> frozenset[NoticeKind]:
    """The kinds that the field `quiet` of a user turns off."""
    return frozenset(kind for kind in CAN_BE_QUIET if kind in (quiet or "").split())


# ---- The upkeep of notices: their lines in the personal download and in the file of a whole site, and their checks.


SETTING_FIELDS = ("quiet", "noticed")  # the fields of `user:<uid>`


def _are_kinds(value: object) -> bool:
    return isinstance(value, list) and all(one in CAN_BE_QUIET for one in value)


KIND_FIELD = LineField(f"one of {', '.join(ABOUT_POSTS)}", lambda value: value in ABOUT_POSTS)
KINDS_FIELD = LineField(f"a list with some of {', '.join(CAN_BE_QUIET)}", _are_kinds)


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """The owner's notices, newest first, without those of deleted accounts; then the settings, if the owner has any.
    Two round trips a chunk, and one more."""
    key = keys.notices(owner.uid)
    for scored in newest_first(store, key):
        rows = rows_of(key, scored)
        people = Users(store).people({*people_of(rows)})
        yield [
            {
                "type": "notice",
                "kind": notice.kind.value,
                "id": notice.who,
                "username": people[notice.who].username,
                "post": notice.what if notice.kind in ABOUT_POSTS else None,
                "time": iso(when),
            }
            for when, notice in ((row.when, row.notice) for row in rows)
            if notice.who in people
        ]
    line = _settings(owner.uid, *store.hmget(keys.user(owner.uid), SETTING_FIELDS))
    if line:
        yield [{"type": "notice_settings", **line}]


def _settings(uid: int, quiet: str | None, noticed: str | None) -> Line:
    """The kinds that a user has turned off, and until when the notices are read; empty when neither is stored."""
    kinds, read = sorted(kind.value for kind in turned_off(quiet)), stored_time(keys.user(uid), noticed)
    return {"turned_off": kinds, "read_until": iso(read) if read else None} if kinds or read else {}


# ---- The file of a whole site. A member of `notices:` names the kind, the cause and the person: code reads it.


def _lines(type_: str, kinds: Sequence[NoticeKind], what: str, who: str) -> SiteLines:
    """A line for each notice of these kinds, by the uid of their owner, newest first. `what`, `who`: the fields that
    have these of a notice; `user` is its owner. Round trips as for `rows_of_users`."""
    kind_field = {"kind": KIND_FIELD} if len(kinds) > 1 else {}
    fields = {"user": ID, **kind_field, who: ID, what: ID, "time": TIME}

    def read(store: Store) -> Iterator[Line]:
        for uid, member, score in rows_of_users(store, keys.notices):
            for row in rows_of(keys.notices(uid), [(member, score)]):
                notice = row.notice
                if notice.kind in kinds:
                    told = {"kind": notice.kind, who: notice.who, what: notice.what, "time": iso(row.when), "user": uid}
                    yield {name: told[name] for name in fields}

    def write(writes: Writes, lines: Sequence[Line]) -> None:
        for line in lines:
            notice = Notice(NoticeKind(line.get("kind", kinds[0])), line[what], line[who])
            writes.zadd(keys.notices(line["user"]), {notice.member: seconds(line, "time")})

    users, posts = [name for name in ("user", "by") if name in fields], [name for name in fields if name == "post"]
    return SiteLines(type_, lambda line: fields, read, write, users=users, posts=posts)


def _read_settings(store: Store) -> Iterator[Line]:
    """A line for each user who has turned off kinds of notices or has read notices. One round trip for each AT_ONCE
    users."""
    for users in fields_of_users(store, SETTING_FIELDS):
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


SITE_LINES = (
    _lines("notice", ABOUT_POSTS, what="post", who="by"),
    _lines("notice_of_follow", [NoticeKind.FOLLOW], what="user", who="by"),
    _lines("notice_of_report", [NoticeKind.REPORT], what="report", who="user"),
    _lines("notice_of_sanction", [NoticeKind.SANCTION], what="at", who="user"),
    SiteLines(
        "notice_settings",
        lambda line: {"user": ID, "turned_off": KINDS_FIELD, "read_until": TIME_OR_NULL},
        _read_settings,
        _write_settings,
        users=("user",),
    ),
)


# ---- Checks of `notices:`: each notice has a cause, and the mark stands where the user has stopped reading.
#
# A notice that is missing is no error: its kind may have been turned off, or the two may have blocked each other.


# The truth of what is told of. Where it or its mirror is lost, `doctor` brings it back from the other one.
TRUTHS = {NoticeKind.FOLLOW: keys.following, NoticeKind.LIKE: keys.likes, NoticeKind.REPOST: keys.reposts}

SAYS = "{key} has {1:.40}"
NoticeEntry = tuple[int, str, float]  # of `notices:`: whose, the member, its score


class NoticeChecks(Searcher):
    """Searches `notices:`. It relies on the checks of accounts, posts and relations, which run before."""

    def inconsistencies(self) -> list[Check]:
        return [
            self._check_of(
                "members of notices: that are no notices", keys.notices, _bad, SAYS, self._move_away, read=rows
            ),
            self._check_of(
                "marks of read notices that differ from user:",
                keys.notices,
                looking(self._store, _ask_wrong_mark),
                "{key} has a wrong mark",
                self._mend_mark,
            ),
            self._standing_without("notices of people whom staff has hidden from their owner", _ask_seen_by),
        ]

    def _move_away(self, owner: int, member: str, at: float) -> None:
        """What is no notice is kept under `damaged:`. Two round trips."""
        keep(self._store, keys.notices(owner), member.encode(errors="replace"), at)
        self._store.zrem(keys.notices(owner), member)

    def orphans(self) -> list[Check]:
        """Notices of follows, likes and reposts that do not stand, of posts that are deleted, and of reports and acts
        that are gone."""
        return [self._standing_without("notices whose cause is gone", _ask_cause)]

    def _standing_without(self, label: str, ask_right: Callable[[Pipe, int, Notice], Result[bool]]) -> Check:
        """Notices that stand although `ask_right` says no. What is no notice has a check of its own."""

        def ask(pipe: Pipe, one: NoticeEntry) -> Result[bool]:
            owner, member, _ = one
            notice = parse_notice(member)
            if notice is None:
                return Result(bool)
            score, is_right = pipe.zscore(keys.notices(owner), member), ask_right(pipe, owner, notice)
            return Result(lambda: score.value is not None and not is_right.value)

        look, jobs = looking(self._store, ask), lambda owner, member, _: at_work_on(owner, member)
        return self._check_of(label, keys.notices, look, SAYS, read=rows, jobs=jobs)

    def _mend_mark(self, uid: int) -> None:
        noticed = self._store.hget(keys.user(uid), "noticed")
        if noticed is None:
            self._store.zrem(keys.notices(uid), MARK)
        else:
            rows = answer(self._store, ask_rows, uid)
            Inbox(self._store, uid).set_read(stored_time(keys.user(uid), noticed), rows)


def _bad(entries: Sequence[NoticeEntry]) -> list[NoticeEntry]:
    """Members that name no notice. Readers skip them."""
    return [one for one in entries if one[1] != MARK and parse_notice(one[1]) is None]


def _ask_wrong_mark(pipe: Pipe, uid: int) -> Result[bool]:
    """Whether the mark is at another date than `noticed`, which is the truth, and not older than all that is kept; or
    a clock that was ahead has written both."""
    mark, size = pipe.zscore(keys.notices(uid), MARK), pipe.zcard(keys.notices(uid))
    noticed = pipe.hget(keys.user(uid), "noticed")
    return Result(
        lambda: (
            (mark.value or 0) != min(stored_time(keys.user(uid), noticed.value), _latest())
            and not (mark.value is None and size.value > KEPT)
        )
    )


def _ask_seen_by(pipe: Pipe, owner: int, notice: Notice) -> Result[bool]:
    return Result(lambda: True) if notice.who == owner else ask_seen(pipe, owner, notice.who)


def _ask_cause(pipe: Pipe, owner: int, notice: Notice) -> Result[bool]:
    """Whether what the notice says is so, or will be so again after `doctor --fix`. Two commands at most."""
    if notice.kind is NoticeKind.REPORT:
        decision = pipe.hget(keys.report(notice.what), "decision")
        return Result(lambda: decision.value is not None and notice.who == owner)
    if notice.kind is NoticeKind.SANCTION:
        act = ask_told(pipe, owner, notice.what)
        return Result(lambda: act.value is not None and notice.who == owner)
    if notice.kind in BY_POSTS:
        fields = pipe.hmget(keys.post(notice.what), ["user_id", "time", "deleted"])

        def is_written() -> bool:
            author, when, deleted = fields.value
            return bool(author or when) and deleted is None and parse_id(author or "") in {notice.who, None}

        return Result(is_written)
    if notice.kind is NoticeKind.FOLLOW and notice.what != owner:
        return Result(bool)
    truth = TRUTHS[notice.kind]
    scores = [pipe.zscore(truth(notice.who), str(notice.what))]
    if (mirror := mirror_of(truth)) is not None:
        scores.append(pipe.zscore(mirror.of_member(str(notice.what)), str(notice.who)))
    return Result(lambda: any(score.value is not None for score in scores))


def at_work_on(owner: int, member: str) -> set[str]:
    """The beginnings of the jobs that may be about to write or remove a member."""
    notice = parse_notice(member)
    if notice is None:
        return {f"gone:{owner}"}
    kind, what, who = notice
    if kind is NoticeKind.REPORT:
        return {f"gone:{owner}", f"report:{what}"}
    if kind is NoticeKind.SANCTION:
        return {f"{job}:{owner}" for job in ("gone", "sanction", "answer")}
    jobs = {f"{job}:{what}" for job in ("post", "fan", "edit", "del")} if kind in BY_POSTS else {f"{kind}:{who}:{what}"}
    jobs |= {f"{job}:{who}" for job in ("gone", "recount", "sanction")}
    return {f"gone:{owner}", f"follow:{owner}:{who}", f"del:{what}", *jobs}
