"""What follows the deletion of an account: whom they followed, who followed them, what they wrote is taken away.

The deletion is `user:<uid>`'s field `deleted`; a worker makes all else follow from it, a chunk at a time, so that an
account of any size takes the same memory. The set by which a chunk was found is what it leaves last: whoever is killed,
another finds there what is left to do. And whoever follows or posts at the same time looks for `deleted` after the
write: so either they see it, and take back what they wrote, or it is found here.
"""

from collections.abc import Callable, Iterator
from itertools import chain

from accounts.users.entities import User
from accounts.users.repository import Users
from retwis_site.jobs.outbox import Claim, Outbox
from retwis_site.store import keys
from retwis_site.store.client import Store
from timeline.posts.repository import Posts
from timeline.relations.ranking import Ranking
from timeline.timelines.cursors import parse_id

AT_ONCE = 500  # edges or posts


class Departures:
    """Accounts whose owner has left."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._users = Users(store)
        self._posts = Posts(store)
        self._ranking = Ranking(store)

    def finish(self, claim: Claim, stopping: Callable[[], bool]) -> bool:
        """What the worker does for `gone:<uid>:<nonce>`; whether all was done before it had to stop. Four to six
        round trips a chunk. Where the account is not deleted, its deletion never got to its commit.
        """
        uid = int(claim.name.split(":")[1])
        username, deleted = self._store.hmget(keys.user(uid), ["username", "deleted"])
        if deleted is not None:
            if not claim.carry_out(chain(self._leave(uid), self._be_left(uid), self._take_back(uid)), stopping):
                return False
            self._store.unlink(keys.home(uid))
            self._ranking.recount([uid])
            self._users.unlist(User(uid, username or ""))
            self._users.strip(uid)
        Outbox(self._store).done(claim.name)
        return True

    def _leave(self, uid: int) -> Iterator[int]:
        """Stop following everybody: mirror and ranking first, the truth last, which leads to them. Yields how many
        after each chunk."""
        pipe = self._store.pipeline()
        while members := self._store.zrange(keys.following(uid), 0, AT_ONCE - 1):
            followed = [them for member in members if (them := parse_id(member)) is not None]
            for them in followed:
                pipe.zrem(keys.followers(them), str(uid))
            pipe.execute()
            self._ranking.recount(followed)
            self._strike(keys.following(uid), members)
            yield len(members)

    def _be_left(self, uid: int) -> Iterator[int]:
        """Have nobody follow them: the truth first, the mirror last, which leads to it; likewise.

        The followers' homes are dropped as after an unfollow. Posts that have gone would not be shown anyway, but a
        home that is full of them would have one short page after the other, until all of them are found to be dead.
        """
        pipe = self._store.pipeline()
        while members := self._store.zrange(keys.followers(uid), 0, AT_ONCE - 1):
            followers = [them for member in members if (them := parse_id(member)) is not None]
            for follower in followers:
                pipe.zrem(keys.following(follower), str(uid))
            pipe.execute()
            for follower in followers:
                pipe.unlink(keys.home(follower))
            pipe.execute()
            self._strike(keys.followers(uid), members)
            yield len(members)

    def _take_back(self, uid: int) -> Iterator[int]:
        """Delete all posts; likewise. What stands among theirs by mistake, and is another's, only leaves."""
        pipe = self._store.pipeline()
        while members := self._store.zrange(keys.updates(uid), 0, AT_ONCE - 1):
            pids = [pid for member in members if (pid := parse_id(member)) is not None]
            for pid in pids:
                pipe.hget(keys.post(pid), "user_id")
            authors = pipe.execute()
            self._posts.mark_deleted([pid for pid, author in zip(pids, authors, strict=True) if author == str(uid)])
            self._strike(keys.updates(uid), members)
            yield len(members)

    def _strike(self, key: str, members: list[str]) -> None:
        pipe = self._store.pipeline()
        for member in members:
            pipe.zrem(key, member)
        pipe.execute()
