"""Checks of the ranking: `users_by_followers` must have the sizes of the `followers:` sets."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from accounts.users.checks.unknown_users import unknown
from retwis_site.jobs.outbox import Outbox
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, ids_of
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import parse_id
from retwis_site.store.replies import Answer
from timeline.relations.checks.count_checks import miscounted
from timeline.relations.follow import FOLLOW
from timeline.relations.protocol.counts import Counts
from timeline.relations.ranking import RANKING


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
