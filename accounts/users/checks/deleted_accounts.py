"""Check: deleted accounts with data left that no job will remove."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from accounts.users.deletion import is_deleted
from accounts.users.removal import finish_deletion
from retwis_site.features import AccountSet, features
from retwis_site.jobs.outbox import Claim, Outbox
from retwis_site.maintenance.checks import Check, Chunks, Finding, confirmed, ids_of
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import nonce
from retwis_site.store.replies import Reply

MEMBERS_READ = 20  # of each set; several, because a job may be at work on some of them


@dataclass(frozen=True)
class LeftData:
    """Data of a deleted account."""

    uid: int
    key: str
    explained_by: frozenset[str]  # the beginnings of the jobs that may be about to remove it


@dataclass(frozen=True)
class DeletedAccount:
    """What is asked about a deleted account."""

    uid: int
    members: list[tuple[AccountSet, Reply[list[str]]]]  # the first of each set
    listed: Reply[float | None]  # the score in `users_by_time`

    def left(self) -> Iterator[LeftData]:
        for account_set, members in self.members:
            for member in members.value:
                yield _left_data(self.uid, account_set.key(self.uid), account_set.explained_by(self.uid, member))
        if self.listed.value is not None:
            yield _left_data(self.uid, keys.users_by_time(), {f"user:{self.uid}"})


class DeletedAccountChecks:
    """The check of deleted accounts. It leaves their places in the ranking to `RankingChecks`.

    Home timelines that a page has just rebuilt are orphans, and so are fields that were written late to a hash.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sets: list[AccountSet] = [each for feature in features() for each in feature.account_sets]

    def inconsistencies(self) -> list[Check]:
        return [Check("deleted accounts with data left", self.left_data, self._store.dbsize)]

    def left_data(self) -> Chunks:
        """Members of the sets that features declare, and entries of `users_by_time`."""
        for uids in ids_of(self._store, "user:*"):
            found = confirmed(
                self._store, list(self._read(uids)), lambda data: set(data.explained_by), self._still_left
            )
            yield [
                Finding(f"deleted user {uid}: {key}", partial(self._remove, uid))
                for uid, key in {data.uid: data.key for data in found}.items()
            ]

    def _still_left(self, suspects: Sequence[LeftData]) -> list[LeftData]:
        """The data that a second look finds too."""
        again = set(self._read(sorted({data.uid for data in suspects})))
        return [data for data in suspects if data in again]

    def _read(self, uids: Sequence[int]) -> Iterator[LeftData]:
        """The data left of those users that are deleted. Two round trips."""
        pipe = self._store.pipeline()
        stored = {uid: pipe.hmget(keys.user(uid), ["username", "deleted"]) for uid in uids}
        pipe.execute()
        asked = [
            self._ask(pipe, uid, username or "")
            for uid, fields in stored.items()
            for username, deleted in [fields.value]
            if is_deleted(deleted)
        ]
        pipe.execute()
        for account in asked:
            yield from account.left()

    def _ask(self, pipe: Pipe, uid: int, username: str) -> DeletedAccount:
        members = [(each, pipe.zrange(each.key(uid), 0, MEMBERS_READ - 1)) for each in self._sets]
        return DeletedAccount(uid, members, pipe.zscore(keys.users_by_time(), username))

    def _remove(self, uid: int) -> None:
        """Add the job of the deletion again, and carry it out as a worker would."""
        job = Outbox(self._store).add(f"gone:{uid}:{nonce()}")
        while not finish_deletion(self._store, Claim(self._store, job.name, attempt=1)):
            pass  # its turn has ended; here it gets the next one at once


def _left_data(uid: int, key: str, jobs: set[str]) -> LeftData:
    return LeftData(uid, key, frozenset({f"gone:{uid}", *jobs}))
