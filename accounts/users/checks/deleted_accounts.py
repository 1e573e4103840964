"""Deleted accounts of which something is left, and nobody is at work on it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from accounts.users.removal import Departures
from retwis_site.jobs.outbox import Claim, Outbox, nonce
from retwis_site.maintenance.checks import Check, Chunks, Finding, numbered, settled
from retwis_site.store import keys
from retwis_site.store.client import Store
from timeline.posts.checks.post_checks import at_work_on

EVIDENCE = 20  # members of each set that are looked at: one would do, but each may be somebody's who is at work on it


@dataclass(frozen=True)
class Left:
    """A piece of what should have gone with an account, and the beginnings of the intents that would explain it."""

    uid: int
    where: str
    explained_by: frozenset[str]


class Leftovers:
    """Searches among deleted accounts. Their places in the ranking are for `Miscounts`, as everybody's; their homes,
    which a page may rebuild that was under way, and what else a request writes to `user:<uid>`, are debris."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def checks(self) -> list[Check]:
        return [Check("deleted accounts of which something is left", self.left, self._store.dbsize)]

    def left(self) -> Chunks:
        """Edges, posts and entries of users whose account is deleted."""
        for uids in numbered(self._store, "user:*"):
            found = settled(self._store, list(self._look(uids)), lambda one: set(one.explained_by), self._still)
            yield [
                Finding(f"user {uid}, whose account is deleted: {where}", partial(self._clear, uid))
                for uid, where in {one.uid: one.where for one in found}.items()
            ]

    def _still(self, pieces: Sequence[Left]) -> list[Left]:
        """Those that are there at a second look: each may be a new one."""
        again = set(self._look(sorted({one.uid for one in pieces})))
        return [one for one in pieces if one in again]

    def _look(self, uids: Sequence[int]) -> Iterator[Left]:
        """What is left of these. Two round trips."""
        pipe = self._store.pipeline()
        for uid in uids:
            pipe.hmget(keys.user(uid), ["username", "deleted"])
        stored = zip(uids, pipe.execute(), strict=True)
        deleted = [(uid, username or "") for uid, (username, since) in stored if since is not None]
        for uid, username in deleted:
            pipe.zrange(keys.following(uid), 0, EVIDENCE - 1)
            pipe.zrange(keys.followers(uid), 0, EVIDENCE - 1)
            pipe.zrange(keys.updates(uid), 0, EVIDENCE - 1)
            pipe.zscore(keys.users_by_time(), username)
        replies = pipe.execute()
        for number, (uid, _) in enumerate(deleted):
            following, followers, pids, listed = replies[4 * number : 4 * number + 4]
            yield from (_left(uid, keys.following(uid), f"follow:{uid}:{them}") for them in following)
            yield from (_left(uid, keys.followers(uid), f"follow:{them}:{uid}") for them in followers)
            yield from (_left(uid, keys.updates(uid), *at_work_on(pid)) for pid in pids)
            if listed is not None:
                yield _left(uid, keys.users_by_time(), f"user:{uid}")

    def _clear(self, uid: int) -> None:
        """Note it anew, and carry it out as a worker would."""
        outbox = Outbox(self._store)
        intent = outbox.note(f"gone:{uid}:{nonce()}")
        Departures(self._store).finish(Claim(outbox, intent.name, attempt=1), stopping=lambda: False)


def _left(uid: int, where: str, *intents: str) -> Left:
    return Left(uid, where, frozenset({f"gone:{uid}", *intents}))
