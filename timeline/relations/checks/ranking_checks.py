"""A ranking that does not agree with what it is counted from: `users_by_followers` with `followers:`."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from accounts.users.checks.unknown_users import unknown
from retwis_site.jobs.outbox import Outbox
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, ids_of
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_id
from timeline.relations.ranking import Ranking


@dataclass(frozen=True)
class Place:
    """How many followers the ranking gives somebody, and how many they have; None: none."""

    member: str
    ranked: float | None
    followers: int | None


class RankingChecks:
    """Searches in the ranking. Edges must be right before."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ranking = Ranking(store)

    def inconsistencies(self) -> list[Check]:
        def ranked() -> int:
            return self._store.zcard(keys.users_by_followers())

        return [
            Check("users whom users_by_followers miscounts", self.miscounted, self._store.dbsize),
            Check("strangers in users_by_followers", self.strangers, ranked),
        ]

    def miscounted(self) -> Chunks:
        """Users who have followers. Where nobody is ranked, as in a database from elsewhere, one finding stands for
        all."""
        for uids in ids_of(self._store, "followers:*"):
            wrong = [place for place in self._wrong([str(uid) for uid in uids]) if place.followers]
            if wrong and not self._store.zcard(keys.users_by_followers()):
                yield [Finding("there is no users_by_followers, as in a database from elsewhere", self._rank_all)]
                return
            yield [
                Finding(
                    f"user {place.member} has {place.followers} followers, and is ranked with {place.ranked or 0:.0f}",
                    partial(self._ranking.recount, [int(place.member)]),
                )
                for place in wrong
            ]

    def _rank_all(self) -> None:
        for uids in ids_of(self._store, "followers:*"):
            self._ranking.recount(uids)

    def strangers(self) -> Chunks:
        """Members whom nobody follows, or that are no user."""
        for members in self._store.zset_members(keys.users_by_followers(), AT_ONCE):
            yield [
                Finding(f"{place.member!r} is ranked, and has no followers", partial(self._take_out, place.member))
                for place in self._wrong(members)
                if not place.followers
            ]

    def _take_out(self, member: str) -> None:
        if _is_uid(member) and not unknown(self._store, [int(member)]):
            self._ranking.recount([int(member)])  # somebody may follow them by now
        else:
            self._store.zrem(keys.users_by_followers(), member)

    def _wrong(self, members: Sequence[str]) -> list[Place]:
        """Of these members, those that two looks find miscounted in the same way, and whose followers nobody is at work
        on between the two: where many follow one person, each look alone may find one of them at it."""
        suspects = self._look(members)
        if not suspects:
            return []
        jobs = [beginning.split(":") for beginning in Outbox(self._store).under_way()]
        at_work_on = {job[2] for job in jobs if job[0] == "follow" and len(job) == 3}
        leaving = sorted({job[1] for job in jobs if job[0] == "gone" and len(job) == 2})
        at_work_on |= self._being_left([place.member for place in suspects], leaving)
        again = self._look([place.member for place in suspects if place.member not in at_work_on])
        return [place for place in again if place in suspects]

    def _being_left(self, members: Sequence[str], leaving: Sequence[str]) -> set[str]:
        """Whose account is being deleted, and whom these still follow: they are counted anew before that edge goes. One
        round trip, if anybody's account is."""
        pipe = self._store.pipeline()
        for uid in leaving:
            pipe.zmscore(keys.following(parse_id(uid) or 0), members)
        followed = {member for scores in pipe.execute() for member in _standing(members, scores)}
        return followed.union(leaving)

    def _look(self, members: Sequence[str]) -> list[Place]:
        """Those that are miscounted now. One round trip."""
        pipe = self._store.pipeline()
        for member in members:
            uid = parse_id(member) or 0
            pipe.zscore(keys.users_by_followers(), member)
            self._ranking.queue_count(pipe, uid)
            pipe.hexists(keys.user(uid), "username")
        replies = pipe.execute()
        found = zip(members, replies[::3], replies[1::3], replies[2::3], strict=True)
        places = [
            Place(member, ranked, followers if followers and exists and _is_uid(member) else None)
            for member, ranked, followers, exists in found
        ]
        return [place for place in places if place.ranked != place.followers]


def _standing(members: Sequence[str], scores: Sequence[float | None]) -> list[str]:
    return [member for member, score in zip(members, scores, strict=True) if score is not None]


def _is_uid(member: str) -> bool:
    """Whether it can be a member of ours; `007` cannot."""
    uid = parse_id(member)
    return uid is not None and member == str(uid)
