"""People to follow: users that are followed by the people a user follows, and the most followed users."""

from collections import Counter
from collections.abc import Collection, Mapping
from itertools import chain
from typing import TypeAlias

from accounts.users.entities import State
from accounts.users.repository import ask_owner, ask_user
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_ids
from retwis_site.store.local_cache import Memory
from timeline.people.lists import Suggested
from timeline.relations.relation import ask_number
from timeline.relations.relations import ask_followed, ask_hidden

VOTERS = 20  # people that the user follows, the latest first
VOTES_EACH = 100  # people that each voter follows, the latest first
MOST_FOLLOWED = 100  # users from the top of the ranking
NEWEST = 30  # users, when there is no ranking
ENOUGH = 5  # people that a user follows; then a home with posts suggests no others
BESIDE_HOME = 3  # suggestions beside a home with posts
SPARE = 10  # users that are loaded besides, in case some are deleted

# Uids, the best first, each with the latest person that votes for it, if any.
Candidates: TypeAlias = Mapping[int, int | None]

# By uid and the number of people that the user follows, so a follow changes the suggestions. Some 5 and 2 MB.
_candidates: Memory[tuple[int | None, int], Candidates] = Memory(size=5000, seconds=300)
_shown: Memory[tuple[int | None, int], tuple[Suggested, ...]] = Memory(size=1000, seconds=5)


class Suggestions:
    """People to follow. Only reads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def for_user(self, me: int, count: int = 5, first: Collection[int] = ()) -> list[Suggested]:
        """At most `count` people that `me` does not follow. Each person that `me` follows votes for the people that
        they follow. The candidates with the most votes come first, among equals the one with more followers. After
        them come the most followed users or, without a ranking as in a foreign database, the newest users. Of those
        with votes one voter is named. `first`: the uids of people who come before all others.

        At most four round trips. For a user that follows no one two, or three without a ranking.
        """
        return self._suggested(me, self._candidates(me, count + SPARE, first))[:count]

    def for_visitor(self, count: int = 5) -> list[Suggested]:
        """At most `count` of the most followed users or, without a ranking, of the newest. Who they are may be five
        minutes old, what is shown of them five seconds. At most three round trips, none while both are cached."""
        return list(self._kept(None, 0, count))

    def beside_home(self, me: int, following: int, hidden: Collection[int]) -> tuple[Suggested, ...]:
        """The same for a user that follows `following` people; none when these are ENOUGH. Who is suggested may be five
        minutes old, what is shown of them five seconds; `hidden`, whom this request has read, are never shown. No
        round trip while both are cached, one while the first is."""
        if following >= ENOUGH:
            return ()
        return tuple(one for one in self._kept(me, following, BESIDE_HOME) if one.user.uid not in hidden)

    def _kept(self, me: int | None, following: int, count: int) -> tuple[Suggested, ...]:
        """Suggestions that this process keeps. `me`: None for a visitor."""
        key = me, following
        shown = _shown.get(key)
        if shown is None:
            candidates = _candidates.get(key)
            if candidates is None:
                candidates = self._candidates(me, count + SPARE)
                _candidates.put(key, candidates)
            shown = tuple(self._suggested(me, candidates)[:count])
            _shown.put(key, shown)
        return shown

    def _candidates(self, me: int | None, count: int, first: Collection[int] = ()) -> Candidates:
        """At most `count`. At most three round trips."""
        pipe = self._store.pipeline()
        following = None if me is None else pipe.zrevrange(keys.following(me), 0, VOTERS - 1)
        most_followed = pipe.zrevrange(keys.users_by_followers(), 0, MOST_FOLLOWED - 1)
        newest = pipe.zrevrange(keys.users_by_time(), 0, NEWEST - 1)
        pipe.execute()
        followed = [] if me is None or following is None else stored_ids(keys.following(me), following.value)
        voters = {uid: pipe.zrevrange(keys.following(uid), 0, VOTES_EACH - 1) for uid in followed}
        owners = [ask_owner(pipe, name) for name in ([] if most_followed.value else newest.value)]
        pipe.execute()
        voted = {voter: stored_ids(keys.following(voter), members.value) for voter, members in voters.items()}
        votes = Counter(chain.from_iterable(voted.values()))
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
        pipe = self._store.pipeline()
        followed, hidden = ask_followed(pipe, me, candidates), ask_hidden(pipe, me, candidates)
        counts = pipe.zmscore(keys.users_by_followers(), [str(uid) for uid in candidates])
        pipe.execute()
        followers = dict(zip(candidates, counts.value, strict=True))
        left_out = followed.value | hidden.value
        rest = [uid for uid in candidates if uid not in left_out]
        return sorted(rest, key=lambda uid: (uid in first, votes[uid], followers[uid] or 0), reverse=True)

    def _suggested(self, me: int | None, candidates: Candidates) -> list[Suggested]:
        """Suggestions in the order of the candidates, without unknown uids, deleted accounts, people whom staff has
        hidden, and people whom `me` follows by now or lists leave out for `me`. At most one round trip."""
        if not candidates:
            return []
        pipe = self._store.pipeline()
        uids = {uid for uid in (*candidates, *candidates.values()) if uid is not None}
        users = {uid: ask_user(pipe, uid) for uid in uids}
        followers = {uid: ask_number(pipe, keys.followers(uid)) for uid in candidates}
        asked_hidden = None if me is None else ask_hidden(pipe, me, uids)
        asked_followed = None if me is None else ask_followed(pipe, me, candidates)
        pipe.execute()
        hidden = asked_hidden.value if asked_hidden else set()
        followed = asked_followed.value if asked_followed else set()
        known = {uid: user for uid, answer in users.items() if uid not in hidden and (user := answer.value)}
        return [
            Suggested(known[uid], followers[uid].value, known.get(voter) if voter else None)
            for uid, voter in candidates.items()
            if uid in known and uid not in followed and known[uid].state is not State.HIDDEN
        ]
