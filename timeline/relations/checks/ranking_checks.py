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
from timeline.relations.ranking import Ranking


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
        self._ranking = Ranking(store)

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
                    partial(self._ranking.recount, [place.uid]),
                )
                for place in wrong
            ]

    def _rank_all(self) -> None:
        for uids in ids_of(self._store, "followers:*"):
            self._ranking.recount(uids)

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
            self._ranking.recount([uid])  # the user may have followers by now

    def _wrong(self, uids: Sequence[int]) -> list[Place]:
        """The users that are miscounted in the same way twice, with no job at work on their followers in between.

        One look alone may find a job in progress: a user with many followers is followed all the time."""
        suspects = self._look(uids)
        if not suspects:
            return []
        jobs = [beginning.split(":") for beginning in Outbox(self._store).under_way()]
        in_progress = {job[2] for job in jobs if job[0] == "follow" and len(job) == 3}
        deleted = sorted({job[1] for job in jobs if job[0] == "gone" and len(job) == 2})
        in_progress |= self._removed_from([str(place.uid) for place in suspects], deleted)
        again = self._look([place.uid for place in suspects if str(place.uid) not in in_progress])
        return [place for place in again if place in suspects]

    def _removed_from(self, members: Sequence[str], deleted: Sequence[str]) -> set[str]:
        """The accounts under deletion, and the members that they still follow: a member is recounted before that edge
        is removed. At most one round trip; none without an account under deletion."""
        pipe = self._store.pipeline()
        asked = [pipe.zmscore(keys.following(parse_id(uid) or 0), members) for uid in deleted]
        pipe.execute()
        followed = {member for scores in asked for member in _with_scores(members, scores.value)}
        return followed.union(deleted)

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


def _with_scores(members: Sequence[str], scores: Sequence[float | None]) -> list[str]:
    return [member for member, score in zip(members, scores, strict=True) if score is not None]
