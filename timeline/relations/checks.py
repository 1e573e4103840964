"""Checks of relations: truths and mirrors, counts, the ranking, reposts."""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeVar

from accounts.users.checks.account_checks import sets_of_unknown_users, unknown
from retwis_site.jobs.outbox import Outbox
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, ask_damaged, confirmed, ids_of, members_of
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import integer, parse_id, stored_id, stored_score
from retwis_site.store.kinds import OfId
from retwis_site.store.replies import Answer
from timeline.relations.follow import FOLLOW, RANKING
from timeline.relations.protocol.edges import Edges, edges_of, remove_mirrors
from timeline.relations.protocol.relation import Counts, Relation, Scores, ask_post_exists
from timeline.relations.repost import REPOST

# ---- Checks of counts: the number that is written of a target must be the number of its edges.


T = TypeVar("T")


def miscounted(
    targets: Sequence[int],
    look: Callable[[Sequence[int]], Sequence[T]],
    target_of: Callable[[T], int],
    at_work_on: Callable[[], Collection[int]],
) -> list[T]:
    """What `look` finds wrong about these targets in the same way twice, with no job at work on them in between.

    One look alone may find a job in progress: a user with many followers is followed all the time. `at_work_on` returns
    the targets that jobs may be at work on."""
    suspects = look(targets)
    if not suspects:
        return []
    at_work = at_work_on()
    again = look(list(dict.fromkeys(target for one in suspects if (target := target_of(one)) not in at_work)))
    return [one for one in again if one in suspects]


# ---- Checks of the ranking: `users_by_followers` must have the sizes of the `followers:` sets.


@dataclass(frozen=True)
class Place:
    """A user, with their score in the ranking and their real number of followers."""

    uid: int
    ranked: float | None  # None: not in the ranking
    followers: int | None  # None: no followers, or no user


class RankingChecks:
    """Searches the ranking. A repair relies on the checks of follows, which run before."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._counts = Counts(store, RANKING)

    def inconsistencies(self) -> list[Check]:
        def ranked() -> int:
            return self._store.zcard(keys.users_by_followers())

        return [
            Check("wrong counts in users_by_followers", self.miscounted, self._store.dbsize),
            Check("members of users_by_followers without followers", self.without_followers, ranked),
        ]

    def miscounted(self) -> Chunks:
        """Users with followers whose count in the ranking is missing or wrong. A foreign database has no ranking: then
        there is one finding for all users."""
        for uids in ids_of(self._store, "followers:*"):
            wrong = [place for place in self._wrong(uids) if place.followers]
            if wrong and not self._store.zcard(keys.users_by_followers()):
                yield [Finding("there is no users_by_followers, as in a foreign database", self._rank_all)]
                return
            yield [
                Finding(
                    f"user {place.uid} has {place.followers} followers, but is ranked with {place.ranked or 0:.0f}",
                    partial(self._counts.recount, [place.uid]),
                )
                for place in wrong
            ]

    def _rank_all(self) -> None:
        for uids in ids_of(self._store, "followers:*"):
            self._counts.recount(uids)

    def without_followers(self) -> Chunks:
        """Users without followers, or that do not exist."""
        for members in self._store.zset_members(keys.users_by_followers(), AT_ONCE):
            uids = [uid for member in members if (uid := parse_id(member))]
            yield [
                Finding(f"user {place.uid} is ranked, but has no followers", partial(self._recount, place.uid))
                for place in self._wrong(uids)
                if not place.followers
            ]

    def _recount(self, uid: int) -> None:
        if unknown(self._store, [uid]):
            self._store.zrem(keys.users_by_followers(), str(uid))
        else:
            self._counts.recount([uid])  # the user may have followers by now

    def _wrong(self, uids: Sequence[int]) -> list[Place]:
        return miscounted(uids, self._look, lambda place: place.uid, self._at_work_on)

    def _at_work_on(self) -> set[int]:
        """The users that a job may be at work on: it is about a follow of them, or removes them."""
        jobs = [job.split(":") for job in Outbox(self._store).under_way()]
        of_follows = [job[2] for job in jobs if job[0] == FOLLOW.kind and len(job) == 3]
        removed = [job[1] for job in jobs if job[0] == "gone" and len(job) == 2]
        return {uid for text in (*of_follows, *removed) if (uid := parse_id(text))}

    def _look(self, uids: Sequence[int]) -> list[Place]:
        """The users that are miscounted now. One round trip."""
        pipe = self._store.pipeline()
        asked = [self._ask_place(pipe, uid) for uid in uids]
        pipe.execute()
        return [place for answer in asked if (place := answer.value).ranked != place.followers]

    def _ask_place(self, pipe: Pipe, uid: int) -> Answer[Place]:
        ranked = pipe.zscore(keys.users_by_followers(), str(uid))
        followers = pipe.zcard(keys.followers(uid))
        exists = pipe.hexists(keys.user(uid), "username")

        def read() -> Place:
            is_ranked = followers.value and exists.value
            return Place(uid, ranked.value, followers.value if is_ranked else None)

        return Answer(read)


# ---- Checks of a relation: its truth and its mirror must agree, and no edge leads from or to what does not exist.


Entry = tuple[int, int]  # the id in the key of a set, and a member


@dataclass(frozen=True)
class Side:
    """One of the two sorted sets of an edge."""

    own: OfId
    other: OfId
    has_people: bool  # its members are uids
    ends: Callable[[int, int], tuple[int, int]]  # id of the set, member -> who acts, target

    @property
    def name(self) -> str:
        return self.pattern.removesuffix("*")

    @property
    def pattern(self) -> str:
        return self.own.pattern


class EdgeChecks:
    """Searches the edges of a relation with a mirror. A repair relies on the checks of accounts, which run before."""

    def __init__(self, store: Store, relation: Relation) -> None:
        assert relation.mirror is not None
        self._store = store
        self._relation = relation
        self._edges = Edges(store, relation)
        is_person = relation.target.is_person
        self._truth = Side(relation.truth, relation.mirror, is_person, lambda uid, target: (uid, target))
        self._mirror = Side(relation.mirror, relation.truth, True, lambda target, uid: (uid, target))

    def inconsistencies(self) -> list[Check]:
        size = self._store.dbsize
        truth, mirror = self._truth, self._mirror
        return [
            Check(f"{self._relation.kind}s of unknown users", self.of_unknown_users, lambda: 2 * size()),
            *(
                Check(
                    f"entries of {side.name} missing from {other.name}, or unknown", partial(self.entries, side), size
                )
                for side, other in ((truth, mirror), (mirror, truth))
            ),
        ]

    def orphans(self) -> list[Check]:
        """For a relation to posts."""
        label = f"{self._relation.kind}s of posts that do not exist"
        return [Check(label, self.of_missing_posts, self._store.dbsize)]

    def of_unknown_users(self) -> Chunks:
        """Sets whose owner does not exist."""
        for side in (self._truth, self._mirror) if self._relation.target.is_person else (self._truth,):
            yield from sets_of_unknown_users(self._store, side.pattern, side.own)

    def entries(self, side: Side) -> Chunks:
        """Entries of one side that are missing from the other side or have another date there, or whose user does not
        exist."""

        def under_way(entry: Entry) -> set[str]:
            who, target = side.ends(*entry)
            at_target = "gone" if self._relation.target.is_person else "del"
            return {f"{self._relation.kind}:{who}:{target}", f"gone:{who}", f"{at_target}:{target}"}

        look = partial(self._wrong, side)
        for chunk in members_of(self._store, side.pattern):
            entries = [(number, member) for number, member, _ in chunk]
            yield [
                Finding(f"{side.own(number)} has {member}", partial(self._repair, side, number, member))
                for number, member in confirmed(self._store, look(entries), under_way, look)
            ]

    def _wrong(self, side: Side, entries: Sequence[Entry]) -> list[Entry]:
        pipe = self._store.pipeline()
        asked = [
            (
                (number, member),
                pipe.zscore(side.own(number), str(member)),  # another process may have removed the edge
                pipe.zscore(side.other(member), str(number)),
                pipe.hexists(keys.user(member), "username") if side.has_people else None,
            )
            for number, member in entries
        ]
        pipe.execute()
        return [
            entry
            for entry, own, other, exists in asked
            if own.value is not None
            and (
                other.value is None
                or (side is self._truth and integer(own.value) != integer(other.value))  # the mirror has another date
                or (exists is not None and not exists.value)
            )
        ]

    def _repair(self, side: Side, number: int, member: int) -> None:
        if side.has_people and unknown(self._store, [member]):
            self._store.zrem(side.own(number), str(member))
            self._store.zrem(side.other(member), str(number))
            return
        who, target = side.ends(number, member)
        if side is self._mirror:
            self._restore(who, target)
        self._edges.mend(edges_of(self._store, self._relation, [(who, str(target))]))

    def _restore(self, who: int, target: int) -> None:
        """Where a repair has removed bad entries of the truth, its mirror is all that is left of an edge."""
        truth, mirror = self._truth.own(who), self._mirror.own(target)
        pipe = self._store.pipeline()
        since, damaged = pipe.zscore(mirror, str(who)), ask_damaged(pipe, truth)
        pipe.execute()
        if damaged.value and since.value is not None:
            self._store.zadd_nx(truth, {str(target): stored_score(mirror, str(who), since.value)})

    def of_missing_posts(self) -> Chunks:
        """Mirrors of posts that are deleted or do not exist. An older version left them."""
        for pids in ids_of(self._store, self._mirror.pattern):
            missing = confirmed(self._store, self._missing(pids), lambda pid: {f"del:{pid}"}, self._missing)
            yield [Finding(self._mirror.own(pid), partial(self._remove, pid)) for pid in missing]

    def _missing(self, pids: Sequence[int]) -> list[int]:
        pipe = self._store.pipeline()
        asked = [(pid, ask_post_exists(pipe, str(pid)), pipe.zcard(self._mirror.own(pid))) for pid in pids]
        pipe.execute()
        return [pid for pid, exists, size in asked if size.value and not exists.value]

    def _remove(self, pid: int) -> None:
        author = stored_id(keys.post(pid), self._store.hget(keys.post(pid), "user_id"))
        for _ in remove_mirrors(self._store, self._relation, {pid: author or 0}):
            pass


# ---- Checks of reposts: an edge and the post that it makes must stand together.
#
# `EdgeChecks` compare the two sides of the edge. These compare the edge with its post.


class Repost(NamedTuple):
    """A user, the post that they repost, and the post that the repost is."""

    who: int
    original: int
    own: int


class RepostChecks:
    """Searches the posts that reposts are. A repair relies on the checks of the edges, which run before."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def inconsistencies(self) -> list[Check]:
        size = self._store.dbsize
        return [
            Check("entries of reposts: whose own post is missing or not listed", self.edges, size),
            Check("listed reposts that reposts: does not name", self.posts, size),
        ]

    def edges(self) -> Chunks:
        for chunk in members_of(self._store, "reposts:*"):
            reposts = [Repost(who, original, integer(own)) for who, original, own in chunk]
            yield self._findings(reposts, self._without_post)

    def _without_post(self, reposts: Sequence[Repost]) -> list[Repost]:
        pipe = self._store.pipeline()
        asked = [
            (
                one,
                pipe.zscore(keys.reposts(one.who), str(one.original)),
                pipe.hexists(keys.post(one.own), "user_id"),
                pipe.zscore(keys.updates(one.who), str(one.own)),
            )
            for one in reposts
        ]
        pipe.execute()
        return [
            one
            for one, stands, has_hash, listed in asked
            if stands.value == one.own and not (has_hash.value and listed.value is not None)
        ]

    def posts(self) -> Chunks:
        for chunk in members_of(self._store, "updates:*"):
            pipe = self._store.pipeline()
            asked = [(who, own, pipe.hget(keys.post(own), "repost_of")) for who, own, _ in chunk]
            pipe.execute()
            reposts = [
                Repost(who, original, own)
                for who, own, named in asked
                if (original := stored_id(keys.post(own), named.value)) is not None
            ]
            yield self._findings(reposts, self._without_edge)

    def _without_edge(self, reposts: Sequence[Repost]) -> list[Repost]:
        pipe = self._store.pipeline()
        asked = [
            (
                one,
                pipe.zscore(keys.reposts(one.who), str(one.original)),
                pipe.zscore(keys.updates(one.who), str(one.own)),
            )
            for one in reposts
        ]
        pipe.execute()
        return [one for one, stands, listed in asked if listed.value is not None and stands.value != one.own]

    def _findings(self, reposts: Sequence[Repost], look: Callable[[Sequence[Repost]], list[Repost]]) -> list[Finding]:
        wrong = confirmed(
            self._store,
            look(reposts),
            lambda one: {f"repost:{one.who}:{one.original}", f"gone:{one.who}", f"del:{one.original}"},
            look,
        )
        return [
            Finding(f"{keys.post(one.own)}, repost of {one.original} by user {one.who}", partial(self._mend, one))
            for one in wrong
        ]

    def _mend(self, one: Repost) -> None:
        """An edge without its post is taken back; a post without its edge is withdrawn."""
        [edge] = edges_of(self._store, REPOST, [(one.who, str(one.original))])
        Edges(self._store, REPOST).mend([replace(edge, own_post=one.own)])


# ---- Checks of a relation without a mirror: no edge leads from whom or to what does not exist.


# the person, the target


class TruthChecks:
    """Searches the edges of a relation that has only its truth. Pages skip an edge to what is not there, so it is no
    more than an orphan."""

    def __init__(self, store: Store, relation: Relation) -> None:
        self._store = store
        self._relation = relation
        self._pattern = relation.truth.pattern

    def inconsistencies(self) -> list[Check]:
        """Sets whose owner does not exist."""
        search = partial(sets_of_unknown_users, self._store, self._pattern, self._relation.truth)
        return [Check(f"{self._pattern.removesuffix('*')} of unknown users", search, self._store.dbsize)]

    def orphans(self) -> list[Check]:
        """Edges to unknown users, or to posts that are deleted or do not exist, and edges that have ended."""
        if not (self._relation.target.is_person or self._relation.target.has_author):
            return []
        name = self._pattern.removesuffix("*")
        return [Check(f"entries of {name} that lead nowhere or have ended", self.useless, self._store.dbsize)]

    def useless(self) -> Chunks:
        for chunk in members_of(self._store, self._pattern):
            yield [
                Finding(f"{self._relation.truth(who)} has {target}", partial(self._remove, who, target))
                for who, target in sorted(self._ended(chunk) | self._to_nothing([entry[:2] for entry in chunk]))
            ]

    def _ended(self, chunk: Sequence[tuple[int, int, float]]) -> set[Entry]:
        if self._relation.scores is not Scores.UNTIL:
            return set()
        now = time.time()
        return {(who, target) for who, target, until in chunk if until < now}

    def _to_nothing(self, entries: Sequence[Entry]) -> set[Entry]:
        targets = sorted({target for _, target in entries})
        if self._relation.target.is_person:
            missing = set(unknown(self._store, targets))
        else:
            missing = self._missing_posts(targets)
        return {entry for entry in entries if entry[1] in missing}

    def _missing_posts(self, pids: Sequence[int]) -> set[int]:
        pipe = self._store.pipeline()
        exist = {pid: ask_post_exists(pipe, str(pid)) for pid in pids}
        pipe.execute()
        return {pid for pid, exists in exist.items() if not exists.value}

    def _remove(self, who: int, target: int) -> None:
        """Remove an entry; a mute only if it has not been set again meanwhile."""
        if self._relation.scores is Scores.UNTIL:
            until = self._store.zscore(self._relation.truth(who), str(target))
            if until is not None and until > time.time() and not unknown(self._store, [target]):
                return
        self._store.zrem(self._relation.truth(who), str(target))
