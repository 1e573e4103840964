"""Whom the viewer of a profile and its owner have in common: the followers of both, the users that both follow, and
the followers of the owner whom the viewer follows."""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from accounts.signing_in.viewer import Viewer
from accounts.users.repository import ask_people
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Reading, Result, Store, answer, answers, trip
from retwis_site.store.commands import AboutUser, Question, scored
from retwis_site.store.ids import stored_ids
from retwis_site.store.kinds import OfId
from retwis_site.store.local_cache import Hints, Memory
from timeline.people.lists import KnownFollowers, ViewerRelation
from timeline.posts.reading.visibility import HiddenPeople, LatestHidden
from timeline.relations.relation import ask_among
from timeline.relations.relations import (
    COMPARED,
    FOLLOW_COUNTS,
    Between,
    FollowCounts,
    InCommon,
    ask_between,
    ask_blocks,
    ask_follow_counts,
    follow_counts,
)

FIRST_SHARED = 4  # uids that a comparison returns
MOST_NAMED = 2  # followers that the viewer follows; a profile names these and counts the others
SETTLED_AFTER = 60  # seconds after a follow; the clocks of two servers never differ by so much
FORESEEN = 128  # members of a set that a profile reads before it knows how many there are

# ---- Two sorted sets of uids are compared.


class Members(NamedTuple):
    """What was read of a sorted set of uids."""

    uids: list[str]  # as text, without those that no number counts
    are_all: bool  # whether the set has no others
    are_enough: bool  # whether these are all, or as many as a comparison looks up


def ask_members(pipe: Pipe, key: str) -> Result[Members]:
    """Ask for the first COMPARED members of a set. Two commands."""
    members, unseen = (pipe.zrange(one, 0, COMPARED - 1) for one in (key, keys.unseen(key)))
    return Result(lambda: _members(members.value, unseen.value, COMPARED))


def _members(found: list[str], unseen: list[str], asked: int) -> Members:
    """`asked`: how many members were asked for, at most."""
    are_all = len(found) < asked
    left_out = set(unseen)
    counted = [member for member in found if member not in left_out] if left_out else found
    return Members(counted, are_all, are_all or asked == COMPARED)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Finds the members that two sorted sets of uids share, from the smaller set. They are looked up in the larger one,
    or compared with it where that was read whole, too."""

    smaller: str  # key
    larger: str  # key
    smaller_size: int

    def ask_shared(self, pipe: Pipe, sets: Mapping[str, Members]) -> "Result[Shared]":
        """Ask which members of the smaller set are also in the larger one. `sets`: by key, what was read; the smaller
        one is among them. One command; none without members, and where the larger set was read whole."""
        members, others = sets[self.smaller].uids, sets.get(self.larger)
        is_whole = others is not None and others.are_all
        asked = pipe.among(self.larger, members) if members and not is_whole else None

        def read() -> Shared:
            found = asked.value if asked else [*{*members}.intersection(others.uids if others else ())]
            uids = stored_ids(self.smaller, found)
            first = tuple(sorted(uids)[:FIRST_SHARED])
            return Shared(InCommon(len(uids), exact=self.smaller_size <= len(members)), first)

        return Result(read)


@dataclass(frozen=True, slots=True)
class Shared:
    """The result of a comparison."""

    number: InCommon
    first: tuple[int, ...]  # at most FIRST_SHARED shared uids, lowest first: the oldest accounts


def compare(one: str, one_size: int, other: str, other_size: int) -> Comparison:
    """A comparison of two sorted sets of uids, by their keys and sizes. No round trip."""
    if one_size <= other_size:
        return Comparison(one, other, one_size)
    return Comparison(other, one, other_size)


# ---- The comparisons of a profile. They are kept for seconds, and only while the viewer follows and unfollows nobody.


class FollowsVersion(NamedTuple):
    """Tells whether somebody has followed or unfollowed anybody since. An unfollow makes the number smaller, and only a
    new follow makes it larger again, with a newer time. So the same number and the same newest follow mean the same
    follows, unless that follow is only seconds old."""

    number: int
    newest: tuple[tuple[str, float], ...]  # the uid and the time (unix seconds) of the newest follow; empty for nobody

    def are_settled(self) -> bool:
        return all(when < time.time() - SETTLED_AFTER for _, when in self.newest)


class Common(NamedTuple):
    """The results of the comparisons of viewer and user: the followers of both, the users that both follow, and the
    users that the viewer follows and that follow the user."""

    followers: Shared
    following: Shared
    known: Shared


# The comparisons of a viewer with a user, by both uids, with the viewer's follows when they were made: 250 KB.
_compared: Memory[tuple[int, int], tuple[FollowsVersion, Common]] = Memory(size=250, seconds=5)
# By uid, how many followers a person had when a profile was shown last, and whom they followed, and one: 0 is no hint.
# A page that knows which sets are the smaller ones reads them at once, also large ones. 1 MB.
_followers: Hints[int] = Hints(1 << 15)
_following: Hints[int] = Hints(1 << 15)


class Mine(NamedTuple):
    """The viewer's side of the profile of another user."""

    uid: int
    them: int
    between: Between
    counts: FollowCounts  # of the viewer
    follows: FollowsVersion  # of the viewer
    made: tuple[FollowsVersion, Common] | None  # the comparisons that are cached
    sets: dict[str, Members]  # by key, what was read for the comparisons

    def relation(self, pipe: Pipe, theirs: FollowCounts, hidden: LatestHidden) -> Reading[ViewerRelation]:
        """What the profile says of both. `theirs`: the numbers of the user; `hidden`: whom the viewer has hidden last.

        One round trip for the comparisons where one of the sets was not read whole, two where not enough of the smaller
        one was read, else none; none where they are cached, and were made while the viewer had these follows. One more
        while the users that both know are not cached."""
        made = self.made
        common = made[1] if made and made[0] == self.follows else (yield from self._compare(pipe, theirs))
        return ViewerRelation(
            between=self.between,
            common_followers=common.followers.number,
            common_following=common.following.number,
            known=(yield from _known(pipe, common.known, HiddenPeople(self.uid, hidden))),
        )

    def _compare(self, pipe: Pipe, theirs: FollowCounts) -> Reading[Common]:
        comparisons, sets = _comparisons(self.uid, self.counts, self.them, theirs), self.sets
        lacking = {key for one in comparisons if (key := one.smaller) not in sets or not sets[key].are_enough}
        if lacking:
            [read] = yield from trip(_ask_sets(pipe, lacking))
            sets = sets | read
        shared = [one.ask_shared(pipe, sets) for one in comparisons]
        yield
        common = Common(*(one.value for one in shared))
        _note_counts(self.uid, self.counts)
        _note_counts(self.them, theirs)
        if self.follows.are_settled():
            _compared.put((self.uid, self.them), (self.follows, common))
        return common


def _follows(me: int, replies: Sequence[Any]) -> tuple[FollowCounts, FollowsVersion]:
    *sizes, newest = replies
    counts = follow_counts(me, sizes)
    return counts, FollowsVersion(counts.following, tuple(scored(newest)))


_FOLLOWS = Question(*FOLLOW_COUNTS.commands, ("ZREVRANGE", keys.following, 0, 0, "WITHSCORES"), read=_follows)


def _first(kind: OfId) -> list[AboutUser]:
    return [("ZRANGE", key, 0, FORESEEN - 1) for key in (kind, f"{keys.unseen.word}:{kind.word}")]


def _first_members(uid: int, replies: Sequence[Any]) -> dict[str, Members]:
    following, unseen, *followers = replies
    found = {keys.following(uid): _members(following, unseen, FORESEEN)}
    if followers:
        found[keys.followers(uid)] = _members(followers[0], followers[1], FORESEEN)
    return found


# By key, the first whom a user follows, and the first followers: of most users these are all.
_FIRST_FOLLOWING = Question(*_first(keys.following), read=_first_members)
_FIRST_MEMBERS = Question(*_first(keys.following), *_first(keys.followers), read=_first_members)


def ask_mine(pipe: Pipe, me: int, them: int) -> Result[Mine]:
    """Eleven commands; while no comparisons are cached, eight more at most, and two for each set that is foreseen to be
    large and the smaller one."""
    between, own = ask_between(pipe, me, them), pipe.ask(_FOLLOWS, me)
    made = _compared.get((me, them))
    if made is not None:
        return Result(lambda: Mine(me, them, between.value, *own.value, made, {}))
    has_many = (_followers.get(them) or 0) > FORESEEN  # then the first of them say nothing
    mine, theirs = pipe.ask(_FIRST_MEMBERS, me), pipe.ask(_FIRST_FOLLOWING if has_many else _FIRST_MEMBERS, them)
    large = _ask_sets(pipe, _foreseen(me, them))
    return Result(lambda: Mine(me, them, between.value, *own.value, None, mine.value | theirs.value | large.value))


def _ask_sets(pipe: Pipe, some: Iterable[str]) -> Result[dict[str, Members]]:
    """By key, sets. Two commands each."""
    asked = {key: ask_members(pipe, key) for key in some}
    return Result(lambda: {key: members.value for key, members in asked.items()})


def foreseen_people(me: int, them: int) -> tuple[int, ...]:
    """The people whom the profile most likely names among the known followers."""
    made = _compared.get((me, them))
    return () if made is None else made[1].known.first


def _known(pipe: Pipe, known: Shared, hides: HiddenPeople) -> Reading[KnownFollowers | None]:
    """Only the first few are loaded; deleted accounts and muted people among them are neither named nor counted. One
    round trip; none while these are cached."""
    asked = ask_people(pipe, known.first)
    hides.ask(pipe, set(known.first))
    yield
    people, (_, muted, _) = asked.value, hides.read()
    existing = [people[uid] for uid in known.first if uid in people and uid not in muted]
    count = known.number.count - len(known.first) + len(existing)
    if not count:
        return None
    named = tuple(existing[:MOST_NAMED])
    return KnownFollowers(named, InCommon(count - len(named), known.number.exact))


def _comparisons(me: int, own: FollowCounts, them: int, theirs: FollowCounts) -> list[Comparison]:
    """In the order of `Common`."""
    return [
        compare(keys.followers(me), own.followers, keys.followers(them), theirs.followers),
        compare(keys.following(me), own.following, keys.following(them), theirs.following),
        compare(keys.following(me), own.following, keys.followers(them), theirs.followers),
    ]


def _foreseen(me: int, them: int) -> set[str]:
    """The keys of large sets that the comparisons most likely look up."""
    own, theirs = _last_counts(me), _last_counts(them)
    if own is None or theirs is None:
        return set()
    return {one.smaller for one in _comparisons(me, own, them, theirs) if one.smaller_size >= FORESEEN}


def _last_counts(uid: int) -> FollowCounts | None:
    following, followers = _following.get(uid), _followers.get(uid)
    return FollowCounts(following - 1, followers - 1) if following and followers else None


def _note_counts(uid: int, counts: FollowCounts) -> None:
    _following.put(uid, counts.following + 1)
    _followers.put(uid, counts.followers + 1)


# ---- The same for many people at once.


def known_followers(store: Store, viewer: Viewer, people: Collection[int]) -> dict[int, tuple[int, ...]]:
    """By uid of these people, at least one, the first FIRST_SHARED of their followers that the viewer follows, without
    those whom the viewer mutes: as on their profiles. So there is nobody for a person who blocks the viewer, or whose
    account is suspended or deleted. Three round trips, four with such followers. Raises NotSignedIn."""

    def reading(pipe: Pipe, me: int) -> Reading[tuple[FollowCounts, dict[int, FollowCounts]]]:
        mine, known = ask_follow_counts(pipe, me), ask_people(pipe, people)
        theirs = {uid: (ask_follow_counts(pipe, uid), ask_blocks(pipe, me, uid)) for uid in people}
        yield
        shown = {uid for uid, (_, blocks) in theirs.items() if uid in known.value and not blocks.value.theirs}
        return mine.value, {uid: counts.value for uid, (counts, _) in theirs.items() if uid in shown}

    me, (own, theirs) = viewer.ask_as_user(reading)
    comparisons = {
        uid: compare(keys.following(me.uid), own.following, keys.followers(uid), counts.followers)
        for uid, counts in theirs.items()
    }
    smaller = answers(store, ask_members, {one.smaller for one in comparisons.values()})
    shared = answers(store, lambda pipe, one: one[1].ask_shared(pipe, smaller), comparisons.items())
    first = {uid: found.first for (uid, _), found in shared.items()}
    muted = answer(store, ask_among, keys.muted, me.uid, {one for some in first.values() for one in some})
    return {uid: tuple(one for one in some if one not in muted) for uid, some in first.items()}
