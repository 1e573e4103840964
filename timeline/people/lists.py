"""People in lists and on profiles: their rows, the viewer's relation to them, the cursors of the pages; and whom to
follow."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import NamedTuple, TypeAlias, TypeVar

from accounts.facts.facts import Fact
from accounts.users.entities import NoSuchUser, State, User
from accounts.users.repository import PERSON, ask_owner, ask_user, person
from retwis_site.exceptions import BadCursor
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Reading, Repository, Result, Scored, trip
from retwis_site.store.ids import LARGEST_ID, integer, parse_id, parse_number, stored_ids, stored_score
from retwis_site.store.local_cache import Memory
from timeline.relations.relation import BlocksViewer, ask_number
from timeline.relations.relations import NOTHING_BETWEEN, Between, InCommon, ask_blocks, ask_followed, ask_hidden

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


class ViewerRelation(NamedTuple):
    """The viewer's relation to the owner of a profile."""

    is_me: bool = False
    between: Between = NOTHING_BETWEEN  # the owner is the other user
    common_followers: InCommon | None = None  # None for a visitor, and on the viewer's own profile
    common_following: InCommon | None = None  # None in the same cases
    known: KnownFollowers | None = None  # None without such followers


class ProfileTexts(NamedTuple):
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
    older: "Cursor | None"  # the cursor of the next page; None on the last page
    further: bool = False  # COMPARED rows were read and there are more; the next page may have no rows


class By(StrEnum):
    """The order of a list of people, by the value of `?by=`."""

    NEWEST = ""
    FOLLOWERS = "followers"


@dataclass(frozen=True, slots=True)
class PeopleList:
    """A page of people."""

    people: list[ListedPerson]
    older: "Cursor | None"  # the cursor of the next page; None on the last page


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


def read_rows(pipe: Pipe, key: str, before: Cursor | None, number: int) -> Reading[Scored]:
    """The rows of a sorted set below the cursor, the highest score first. One round trip, two below a cursor."""
    start = 0
    if before is not None:
        [start] = yield from trip(ask_start_rank(pipe, key, before))
    [rows] = yield from trip(pipe.zrevrange_withscores(key, start, start + number - 1))
    return rows


def ask_start_rank(pipe: Pipe, key: str, before: Cursor) -> Result[int]:
    """The rank at which a page begins. Three commands.

    When the member was removed, or has another score by now, the page begins with all rows of the old score, so that no
    row is left out.
    """
    rank = pipe.zrevrank(key, before.member)
    now = pipe.zscore(key, before.member)
    higher = pipe.zcount(key, str(before.score + 1) if before.score < LARGEST_ID else "(+inf", "+inf")

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
AskLeftOut = Callable[[Pipe, int | None, Collection[int]], Result[set[int]]]


def ask_listed(
    pipe: Pipe, me: int | None, uids: Collection[int], ask_left_out: AskLeftOut = ask_hidden
) -> Result[dict[int, ListedPerson]]:
    """People by uid, in the order of `uids`, without unknown uids, deleted accounts, those whom `ask_left_out` finds,
    and those whom staff has hidden from people who do not follow them. `joined` is None. Three commands a person,
    and four more for a signed-in viewer; none without uids."""
    uids = list(dict.fromkeys(uids))
    asked = {uid: (pipe.hmget(keys.user(uid), (*PERSON, "bio")), ask_number(pipe, keys.followers(uid))) for uid in uids}
    followed, left_out = ask_followed(pipe, me, uids), ask_left_out(pipe, me, uids)

    def read() -> dict[int, ListedPerson]:
        following, without, listed = followed.value, left_out.value, {}
        for uid, (fields, followers) in asked.items():
            *stored, bio = fields.value
            user = person(uid, stored)
            if user is None or uid in without:
                continue
            if user.state is not State.HIDDEN or uid == me or uid in following:
                listed[uid] = ListedPerson(user, bio or "", followers.value, None, uid == me, uid in following)
        return listed

    return Result(read)


# ---- People to follow: users that are followed by the people a user follows, and the most followed users.


VOTERS = 20  # people that the user follows, the latest first
VOTES_EACH = 100  # people that each voter follows, the latest first
MOST_UNSEEN = 1000  # people that each voter follows and whom staff has hidden; there may be more
TOP_OF_RANKING = 100  # users from the top of the ranking
NEWEST = 30  # users, when there is no ranking
ENOUGH = 5  # people that a user follows; then a home with posts suggests no others
BESIDE_HOME = 3  # suggestions beside a home with posts
SPARE = 10  # users that are loaded besides, in case some are deleted

# Uids, the best first, each with the latest person that votes for it, if any.
Candidates: TypeAlias = Mapping[int, int | None]

# By uid and the number of people that the user follows, so a follow changes the suggestions. Some 5 and 2 MB.
_candidates: Memory[tuple[int | None, int], Candidates] = Memory(size=5000, seconds=300)
_shown: Memory[tuple[int | None, int], tuple[Suggested, ...]] = Memory(size=1000, seconds=5)


class Suggestions(Repository):
    """People to follow. Only reads."""

    def for_user(self, me: int, count: int = 5, first: Collection[int] = ()) -> list[Suggested]:
        """At most `count` people that `me` does not follow. Each person that `me` follows votes for the people that
        they follow, but for those whom staff has hidden. The candidates with the most votes come first, among equals
        the one with more followers. After them come the most followed users or, without a ranking as in a foreign
        database, the newest users. Of those with votes one voter is named. `first`: the uids of people who come before
        all others.

        At most four round trips. For a user that follows no one two, or three without a ranking. One more where too few
        of the best ones may be shown.
        """
        return self._suggested(me, self._candidates(me, count + TOP_OF_RANKING, first), count)

    def for_visitor(self) -> list[Suggested]:
        """Five of the most followed users or, without a ranking, of the newest, at most. Who they are may be five
        minutes old, what is shown of them five seconds. At most four round trips, none while both are cached."""
        return list(self._kept(None, 0, 5))

    def beside_home(self, me: int, following: int, hidden: Collection[int]) -> tuple[Suggested, ...]:
        """The same for a user that follows `following` people; none when these are ENOUGH. Who is suggested may be five
        minutes old, what is shown of them five seconds; `hidden`, whom this request has read, are never shown. No
        round trip while both are cached, one while the first is."""
        if following >= ENOUGH:
            return ()
        return tuple(one for one in self._kept(me, following, BESIDE_HOME) if one.user.uid not in hidden)

    def _kept(self, me: int | None, following: int, count: int) -> tuple[Suggested, ...]:
        """Suggestions that this process keeps. `me`: None for a visitor."""
        key, most = (me, following), count + (TOP_OF_RANKING if me is None else SPARE)

        def shown() -> tuple[Suggested, ...]:
            candidates = _candidates.get_or_make(key, lambda: self._candidates(me, most))
            return tuple(self._suggested(me, candidates, count))

        return _shown.get_or_make(key, shown)

    def _candidates(self, me: int | None, count: int, first: Collection[int] = ()) -> Candidates:
        """At most `count`. At most three round trips."""
        with self._store.pipeline() as pipe:
            following = None if me is None else pipe.zrevrange(keys.following(me), 0, VOTERS - 1)
            most_followed = pipe.zrevrange(keys.users_by_followers(), 0, TOP_OF_RANKING - 1)
            newest = pipe.zrevrange(keys.users_by_time(), 0, NEWEST - 1)
        followed = [] if me is None or following is None else stored_ids(keys.following(me), following.value)
        with self._store.pipeline() as pipe:
            voters = {uid: pipe.zrevrange(keys.following(uid), 0, VOTES_EACH - 1) for uid in followed}
            unseen = {
                key: pipe.zrange(key, 0, MOST_UNSEEN - 1) for key in map(keys.unseen, map(keys.following, followed))
            }
            owners = [ask_owner(pipe, name) for name in ([] if most_followed.value else newest.value)]
        voted = {voter: stored_ids(keys.following(voter), members.value) for voter, members in voters.items()}
        votes = Counter(chain.from_iterable(voted.values()))
        for key, members in unseen.items():
            for hidden in stored_ids(key, members.value):
                del votes[hidden]  # nobody is shown them, and there may be more of them than are loaded
        # The latest followed voter is the last one here, so it stays.
        voter_for = {uid: voter for voter in reversed(voted) for uid in voted[voter]}
        ranked = stored_ids(keys.users_by_followers(), most_followed.value)
        others = ranked or [uid for owner in owners if (uid := owner.value)]
        candidates = [uid for uid in dict.fromkeys([*first, *votes, *others]) if uid != me]
        if me is not None and voters and candidates:
            candidates = self._in_order(me, candidates, votes, first)
        return {uid: voter_for.get(uid) for uid in candidates[:count]}

    def _in_order(self, me: int, candidates: list[int], votes: Counter[int], first: Collection[int]) -> list[int]:
        """The candidates that `me` does not follow and that no list leaves out for `me`, the best first; equals stay in
        their order. One round trip."""
        with self._store.pipeline() as pipe:
            followed, hidden = ask_followed(pipe, me, candidates), ask_hidden(pipe, me, candidates)
            counts = pipe.zmscore(keys.users_by_followers(), [str(uid) for uid in candidates])
        followers = dict(zip(candidates, counts.value, strict=True))
        left_out = followed.value | hidden.value
        rest = [uid for uid in candidates if uid not in left_out]
        return sorted(rest, key=lambda uid: (uid in first, votes[uid], followers[uid] or 0), reverse=True)

    def _suggested(self, me: int | None, candidates: Candidates, count: int) -> list[Suggested]:
        """At most `count`, as for `_shown_of`: of the first candidates, and of all others where these are too few. At
        most two round trips."""
        order, first = [*candidates], count + SPARE
        found = self._shown_of(me, {uid: candidates[uid] for uid in order[:first]})
        if len(found) < count:
            found += self._shown_of(me, {uid: candidates[uid] for uid in order[first:]})
        return found[:count]

    def _shown_of(self, me: int | None, candidates: Candidates) -> list[Suggested]:
        """Suggestions in the order of the candidates, without unknown uids, deleted accounts, people whom staff has
        hidden, and people whom `me` follows by now or lists leave out for `me`. At most one round trip."""
        if not candidates:
            return []
        with self._store.pipeline() as pipe:
            uids = {uid for uid in (*candidates, *candidates.values()) if uid is not None}
            users = {uid: ask_user(pipe, uid) for uid in uids}
            followers = {uid: ask_number(pipe, keys.followers(uid)) for uid in candidates}
            asked_hidden, asked_followed = ask_hidden(pipe, me, uids), ask_followed(pipe, me, candidates)
        hidden, followed = asked_hidden.value, asked_followed.value
        known = {uid: user for uid, answer in users.items() if uid not in hidden and (user := answer.value)}
        return [
            Suggested(known[uid], followers[uid].value, known.get(voter) if voter else None)
            for uid, voter in candidates.items()
            if uid in known and uid not in followed and known[uid].state is not State.HIDDEN
        ]
