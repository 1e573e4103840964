"""Check: deleted accounts of which something is left, with no job at work on it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from accounts.users.removal import finish_deletion
from retwis_site.features import AccountSet, features
from retwis_site.jobs.outbox import Claim, Outbox
from retwis_site.maintenance.checks import Check, Chunks, Finding, confirmed, ids_of
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import nonce

EVIDENCE = 20  # members of each set that are looked at: a job may be at work on some of them


@dataclass(frozen=True)
class Remains:
    """A piece of a deleted account, and the beginnings of the jobs that would explain it."""

    uid: int
    where: str
    explained_by: frozenset[str]


class DeletedAccountChecks:
    """Searches the deleted accounts. `RankingChecks` looks at their places in the ranking. Homes that a page
    may just have rebuilt are orphans, and so are late fields of the hashes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sets: list[AccountSet] = [one for feature in features() for one in feature.account_sets]

    def inconsistencies(self) -> list[Check]:
        return [Check("deleted accounts of which something is left", self.remains, self._store.dbsize)]

    def remains(self) -> Chunks:
        """Members of the sets that features declare, and places in `users_by_time`."""
        for uids in ids_of(self._store, "user:*"):
            found = confirmed(self._store, list(self._look(uids)), lambda one: set(one.explained_by), self._still)
            yield [
                Finding(f"user {uid}, whose account is deleted: {where}", partial(self._clear, uid))
                for uid, where in {one.uid: one.where for one in found}.items()
            ]

    def _still(self, pieces: Sequence[Remains]) -> list[Remains]:
        """The pieces that a second look finds too."""
        again = set(self._look(sorted({one.uid for one in pieces})))
        return [one for one in pieces if one in again]

    def _look(self, uids: Sequence[int]) -> Iterator[Remains]:
        """What is left of those users that are deleted. Two round trips."""
        pipe = self._store.pipeline()
        for uid in uids:
            pipe.hmget(keys.user(uid), ["username", "deleted"])
        stored = zip(uids, pipe.execute(), strict=True)
        deleted = [(uid, username or "") for uid, (username, since) in stored if since is not None]
        for uid, username in deleted:
            for one in self._sets:
                pipe.zrange(one.key(uid), 0, EVIDENCE - 1)
            pipe.zscore(keys.users_by_time(), username)
        replies = iter(pipe.execute())
        for uid, _ in deleted:
            for one in self._sets:
                for member in next(replies):
                    yield _remains(uid, one.key(uid), one.explained_by(uid, member))
            if next(replies) is not None:
                yield _remains(uid, keys.users_by_time(), {f"user:{uid}"})

    def _clear(self, uid: int) -> None:
        """Add the job again, and carry it out as a worker would."""
        outbox = Outbox(self._store)
        job = outbox.add(f"gone:{uid}:{nonce()}")
        while not finish_deletion(self._store, Claim(outbox, job.name, attempt=1)):
            pass  # its turn is over, and no other job waits here


def _remains(uid: int, where: str, jobs: set[str]) -> Remains:
    return Remains(uid, where, frozenset({f"gone:{uid}", *jobs}))
