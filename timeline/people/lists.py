"""People in lists and on profiles: their rows, the viewer's relation to them, and the cursors of the pages."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeVar

from accounts.facts.facts import Fact
from accounts.users.entities import NoSuchUser, State, User
from accounts.users.repository import PERSON, ask_user, person
from retwis_site.exceptions import BadCursor
from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.commands import Scored
from retwis_site.store.ids import integer, parse_id, parse_number, stored_score
from retwis_site.store.local_cache import Memory
from retwis_site.store.replies import Handle, Reading, Result, trip
from timeline.relations.relation import BlocksViewer, ask_number
from timeline.relations.relations import HIDES_NOTHING, Hiding, InCommon, ask_blocks, ask_followed, ask_hidden

# ---- Join dates, in unix seconds. A join date never changes, so a process caches it.


_join_dates: Memory[int, int] = Memory(size=2500, seconds=3600)  # by uid; 250 bytes an entry, 600 KB in all


def ask_join_dates(pipe: Pipe, people: Iterable[User]) -> Result[dict[int, int]]:
    """The join dates by uid, without users that have none. At most one command, for those that are not cached."""
    people = list(people)
    dates = _join_dates.some([user.uid for user in people])
    missing = [user for user in people if user.uid not in dates]
    if not missing:
        return Result(lambda: dates)
    scores = pipe.zmscore(keys.users_by_time(), [user.username for user in missing])

    def read() -> dict[int, int]:
        for user, when in zip(missing, scores.value, strict=True):
            if when is not None:
                dates[user.uid] = stored_score(keys.users_by_time(), user.username, when)
                _join_dates.put(user.uid, dates[user.uid])
        return dates

    return Result(read)


# ---- People


@dataclass(frozen=True, slots=True)
class KnownFollowers:
    """The followers of a user that the viewer follows: one or two by name, and the number of the others."""

    people: tuple[User, ...]
    others: InCommon


@dataclass(frozen=True, slots=True)
class Relation:
    """The viewer's relation to the owner of a profile."""

    is_me: bool = False
    following: bool = False  # the viewer follows the owner
    hiding: Hiding = HIDES_NOTHING
    common_followers: InCommon | None = None  # None for a visitor, and on the viewer's own profile
    common_following: InCommon | None = None  # None in the same cases
    follows_me: bool = False  # the owner follows the viewer
    known: KnownFollowers | None = None  # None without such followers


@dataclass(frozen=True, slots=True)
class About:
    """The texts of a profile, and its header."""

    bio: str  # empty without one
    joined: int | None  # unix seconds; None when the store has no date
    facts: tuple[Fact, ...] = ()
    header: str = ""  # the digest of the wide picture above it; empty without one


class Show(StrEnum):
    """The rows of a followers or following page, by the value of `?show=`."""

    ALL = ""
    MUTUAL = "mutual"  # the edge exists in both directions
    NOT_FOLLOWED_BACK = "not-followed-back"  # the edge exists in this direction only


@dataclass(frozen=True, slots=True)
class ListedPerson:
    """One row of a list of people."""

    user: User
    bio: str
    followers: int
    joined: int | None  # unix seconds; None in search results, and when the store has no date
    is_me: bool
    following: bool  # the viewer follows this user
    muted: bool = False  # the viewer mutes this user: on their own pages of follows alone


@dataclass(frozen=True, slots=True)
class FollowRow:
    """One row of a followers or following page."""

    listed: ListedPerson
    since: int  # unix seconds
    follows_me: bool = False  # this user follows the viewer


@dataclass(frozen=True, slots=True)
class PeoplePage:
    """A page of followers or following, newest first."""

    person: User
    edges: list[FollowRow]
    older: str | None  # the cursor of the next page; None on the last page
    further: bool = False  # COMPARED rows were read and there are more; the next page may have no rows


class By(StrEnum):
    """The order of a list of people, by the value of `?by=`."""

    NEWEST = ""
    FOLLOWERS = "followers"


@dataclass(frozen=True, slots=True)
class PeopleList:
    """A page of people."""

    people: list[ListedPerson]
    older: str | None  # the cursor of the next page; None on the last page


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The people that a search has found, at most a page."""

    people: list[ListedPerson]
    more: bool  # there may be more


@dataclass(frozen=True, slots=True)
class Suggested:
    """A user to follow."""

    user: User
    followers: int
    voter: User | None = None  # a follower of theirs whom the viewer follows


# ---- The cursors of pages: a score and a member, never an offset.


Choice = TypeVar("Choice", bound=StrEnum)
Beside = TypeVar("Beside")

PEOPLE_A_PAGE = 20


class Cursor(NamedTuple):
    """The last row of the page before. Of two rows of a sorted set the greater is shown first."""

    score: int  # such as the second of a follow, or a number of followers; many rows may have the same
    member: str

    def __str__(self) -> str:
        return f"{self.score}-{self.member}"


def cursor(text: str | None, is_member: Callable[[str], object]) -> Cursor | None:
    """The cursor in `?before=`; None for the first page. Raises BadCursor, also for what is no member of the set."""
    if text is None:
        return None
    score_text, dash, member = text.partition("-")
    score = parse_number(score_text)
    if score is None or not dash or not is_member(member):
        raise BadCursor(text)
    return Cursor(score, member)


def id_cursor(text: str | None) -> Cursor | None:
    """A `cursor` whose member is an id."""
    return cursor(text, parse_id)


def name_cursor(text: str | None) -> Cursor | None:
    """A `cursor` whose member is a username, which may be any text in a foreign database."""
    return cursor(text, lambda name: True)


def choice(of: type[Choice], text: str | None) -> Choice:
    """The member of an enum that a query parameter names, such as `?show=`. Raises BadCursor."""
    try:
        return of(text or "")
    except ValueError:
        raise BadCursor(text) from None


def read_rows(
    pipe: Pipe, key: str, before: Cursor | None, number: int, beside: Handle[Beside]
) -> Reading[tuple[Beside, Scored]]:
    """The rows of a sorted set below the cursor, the highest score first, and what else the first round trip asks. One
    round trip, two below a cursor."""
    if before is None:
        return (yield from trip(beside, pipe.zrevrange_withscores(key, 0, number - 1)))
    other, start = yield from trip(beside, ask_start_rank(pipe, key, before))
    [rows] = yield from trip(pipe.zrevrange_withscores(key, start, start + number - 1))
    return other, rows


def ask_start_rank(pipe: Pipe, key: str, before: Cursor) -> Result[int]:
    """The rank at which a page begins. Three commands.

    When the member was removed, or has another score by now, the page begins with all rows of the old score, so that no
    row is left out.
    """
    rank = pipe.zrevrank(key, before.member)
    now = pipe.zscore(key, before.member)
    higher = pipe.zcount(key, str(before.score + 1), "+inf")

    def read() -> int:
        if rank.value is None or now.value is None or integer(now.value) != before.score:
            return higher.value
        return rank.value + 1

    return Result(read)


def ask_seen_person(pipe: Pipe, me: int | None, uid: int) -> Result[User]:
    """The user with this uid, whose profile the viewer sees. Three commands. Raises NoSuchUser, also for a deleted
    account, and NotShown for a user who blocks the viewer."""
    asked, blocks = ask_user(pipe, uid), ask_blocks(pipe, me, uid)

    def read() -> User:
        person = asked.value
        if person is None:
            raise NoSuchUser(str(uid))
        if blocks.value.theirs:
            raise BlocksViewer
        return person

    return Result(read)


# ---- People as rows of a list: name, bio, number of followers, and whether the viewer follows them.


# Asks whom of these people a list leaves out for a viewer.
AskLeftOut = Callable[[Pipe, int, Collection[int]], Result[set[int]]]


def ask_listed(
    pipe: Pipe, me: int | None, uids: Collection[int], ask_left_out: AskLeftOut = ask_hidden
) -> Result[dict[int, ListedPerson]]:
    """People by uid, in the order of `uids`, without unknown uids, deleted accounts, those whom `ask_left_out` finds,
    and those whom staff has hidden from people who do not follow them. `joined` is None. Three commands a person,
    and four more for a signed-in viewer; none without uids."""
    uids = list(dict.fromkeys(uids))
    asked = {uid: (pipe.hmget(keys.user(uid), (*PERSON, "bio")), ask_number(pipe, keys.followers(uid))) for uid in uids}
    followed = ask_followed(pipe, me, uids) if me is not None and uids else None
    left_out = ask_left_out(pipe, me, uids) if me is not None else None

    def read() -> dict[int, ListedPerson]:
        following = followed.value if followed else set()
        without = left_out.value if left_out else set()
        listed = {}
        for uid, (fields, followers) in asked.items():
            *stored, bio = fields.value
            user = person(uid, stored)
            if user is None or uid in without:
                continue
            if user.state is not State.HIDDEN or uid == me or uid in following:
                listed[uid] = ListedPerson(user, bio or "", followers.value, None, uid == me, uid in following)
        return listed

    return Result(read)
