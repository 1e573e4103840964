"""Whom somebody may want to follow: whom those follow whom they follow, and who is followed by most."""

from collections import Counter
from collections.abc import Sequence

from accounts.users.repository import Users, chosen, queue_person
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_id
from timeline.people.entities import Suggested
from timeline.relations.follow import Follows, followed_uids

ASKED = 20  # of those whom somebody follows: whom they followed last
TOLD = 100  # of those whom each of them follows, likewise
MOST_FOLLOWED = 100  # of all
NEWEST = 30  # of all, where nobody's followers are counted
SPARE = 10  # who are looked up besides, should some have no name


class Suggestions:
    """People to follow. Only reads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._follows = Follows(store)
        self._users = Users(store)

    def for_user(self, me: int, count: int = 5) -> list[Suggested]:
        """At most `count` people whom `me` does not follow. First come those whom most of the people follow whom `me`
        follows, of equals who has more followers; then the most followed of all. Where nobody's followers are counted,
        as in a database from elsewhere, the newest users stand for these.

        Four round trips at most, whatever there is to read. For somebody who follows nobody two, as a newcomer does; or
        three where nobody's followers are counted.
        """
        pipe = self._store.pipeline()
        pipe.zrevrange(keys.following(me), 0, ASKED - 1)
        pipe.zrevrange(keys.users_by_followers(), 0, MOST_FOLLOWED - 1)
        pipe.zrevrange(keys.users_by_time(), 0, NEWEST - 1)
        followed, most_followed, newest = pipe.execute()
        asked = _ids(followed)
        for uid in asked:
            pipe.zrevrange(keys.following(uid), 0, TOLD - 1)
        for name in [] if most_followed else newest:
            pipe.hmget(keys.users(), [name, name.lower()])
        replies = pipe.execute()
        votes = Counter(uid for told in replies[: len(asked)] for uid in _ids(told))
        others = _ids(most_followed) or [found for pair in replies[len(asked) :] if (found := chosen(pair))]
        people = [uid for uid in dict.fromkeys([*votes, *others]) if uid != me]
        if asked and people:
            people = self._in_order(me, people, votes)
        return self._named(people[: count + SPARE])[:count]

    def _in_order(self, me: int, people: Sequence[int], votes: Counter[int]) -> list[int]:
        """Those whom `me` does not follow, the best first; of equals, whoever stood first. One round trip."""
        pipe = self._store.pipeline()
        self._follows.queue_which_followed(pipe, me, people)
        pipe.zmscore(keys.users_by_followers(), [str(uid) for uid in people])
        followed, counted = pipe.execute()
        mine = followed_uids(people, followed)
        followers = dict(zip(people, counted, strict=True))
        rest = [uid for uid in people if uid not in mine]
        return sorted(rest, key=lambda uid: (votes[uid], followers[uid] or 0), reverse=True)

    def _named(self, uids: Sequence[int]) -> list[Suggested]:
        """Those who have a name. One round trip."""
        pipe = self._store.pipeline()
        for uid in uids:
            queue_person(pipe, uid)
            self._follows.queue_followers_count(pipe, uid)
        replies = pipe.execute()
        people = self._users.people_of(uids, replies[::2])
        counted = zip(uids, replies[1::2], strict=True)
        return [Suggested(people[uid], followers) for uid, followers in counted if uid in people]


def _ids(members: Sequence[str]) -> list[int]:
    """Without what is no user's, which `doctor` finds."""
    return [uid for member in members if (uid := parse_id(member)) is not None]
