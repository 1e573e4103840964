"""People to follow: users that are followed by the people a user follows, and the most followed users."""

from collections import Counter
from collections.abc import Sequence

from accounts.users.repository import Users, chosen, queue_person
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_ids
from timeline.people.entities import Suggested
from timeline.relations.follow import Follows, followed_uids

VOTERS = 20  # people that the user follows, the latest first
VOTES_EACH = 100  # people that each voter follows, the latest first
MOST_FOLLOWED = 100  # users from the top of the ranking
NEWEST = 30  # users, when there is no ranking
SPARE = 10  # users that are loaded besides, in case some are deleted


class Suggestions:
    """People to follow. Only reads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._follows = Follows(store)
        self._users = Users(store)

    def for_user(self, me: int, count: int = 5) -> list[Suggested]:
        """At most `count` people that `me` does not follow. Each person that `me` follows votes for the people that
        they follow. The candidates with the most votes come first, among equals the one with more followers. After
        them come the most followed users or, without a ranking as in a foreign database, the newest users.

        At most four round trips. For a user that follows no one two, or three without a ranking.
        """
        pipe = self._store.pipeline()
        pipe.zrevrange(keys.following(me), 0, VOTERS - 1)
        pipe.zrevrange(keys.users_by_followers(), 0, MOST_FOLLOWED - 1)
        pipe.zrevrange(keys.users_by_time(), 0, NEWEST - 1)
        following, most_followed, newest = pipe.execute()
        voters = parse_ids(following)
        for uid in voters:
            pipe.zrevrange(keys.following(uid), 0, VOTES_EACH - 1)
        for name in [] if most_followed else newest:
            pipe.hmget(keys.users(), [name, name.lower()])
        replies = pipe.execute()
        votes = Counter(uid for members in replies[: len(voters)] for uid in parse_ids(members))
        others = parse_ids(most_followed) or [found for pair in replies[len(voters) :] if (found := chosen(pair))]
        candidates = [uid for uid in dict.fromkeys([*votes, *others]) if uid != me]
        if voters and candidates:
            candidates = self._in_order(me, candidates, votes)
        return self._suggested(candidates[: count + SPARE])[:count]

    def _in_order(self, me: int, candidates: Sequence[int], votes: Counter[int]) -> list[int]:
        """The candidates that `me` does not follow, the best first; equals stay in their order. One round trip."""
        pipe = self._store.pipeline()
        self._follows.queue_which_followed(pipe, me, candidates)
        pipe.zmscore(keys.users_by_followers(), [str(uid) for uid in candidates])
        scores, counts = pipe.execute()
        followed = followed_uids(candidates, scores)
        followers = dict(zip(candidates, counts, strict=True))
        rest = [uid for uid in candidates if uid not in followed]
        return sorted(rest, key=lambda uid: (votes[uid], followers[uid] or 0), reverse=True)

    def _suggested(self, uids: Sequence[int]) -> list[Suggested]:
        """Suggestions in the order of `uids`, without unknown uids and deleted accounts. At most one round trip."""
        pipe = self._store.pipeline()
        for uid in uids:
            queue_person(pipe, uid)
            self._follows.queue_followers_count(pipe, uid)
        replies = pipe.execute()
        people = self._users.people_of(uids, replies[::2])
        counts = zip(uids, replies[1::2], strict=True)
        return [Suggested(people[uid], followers) for uid, followers in counts if uid in people]
