"""What crashes leave behind: harmless, and found by going through the keys.

Each search yields what it found in batches, looks again at whatever might just be coming into being, and has a way to
remove it. Memory stays bounded however many keys there are.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from retwis_site import keys
from retwis_site.outbox import LEASE
from retwis_site.store import Store
from timeline.repositories.posts import FIELDS, record

BATCH = 500  # keys looked at in one round trip
REMEMBERED = 100_000  # ids of posts that are known to stand, while lists are gone through


@dataclass(frozen=True)
class StaleSecret:
    """An entry of `auths` that opens nothing: its user has another secret, or does not exist."""

    secret: str


@dataclass(frozen=True)
class OrphanedKey:
    """A `user:` hash that no name leads to, or a `post:` hash that never got as far as its commit."""

    key: str


@dataclass(frozen=True)
class DeadIds:
    """Ids in a list of which no post stands."""

    key: str
    pids: tuple[int, ...]


class Debris:
    """Searches, and the removal of what they find."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def stale_secrets(self) -> Iterator[StaleSecret]:
        """Entries of `auths` against the users' own secrets, the truth. A secret is never used twice, so one that is
        stale stays so."""
        for batch in self._store.hash_fields(keys.auths(), BATCH):
            pipe = self._store.pipeline()
            for _, uid in batch:
                pipe.hget(keys.user(int(uid)), "auth")
            for (secret, _), current in zip(batch, pipe.execute(), strict=True):
                if current != secret:
                    yield StaleSecret(secret)

    def orphaned_users(self) -> Iterator[OrphanedKey]:
        """`user:` hashes to which `users` does not lead. The outbox is asked first: a registration under way has its
        intent there until `users` leads to it."""
        for batch in self._numbered("user:*"):
            pipe = self._store.pipeline()
            for uid in batch:
                pipe.zscore(keys.outbox(), f"user:{uid}")
                pipe.hget(keys.user(uid), "username")
            replies = pipe.execute()
            suspects = [
                (uid, name or "")
                for uid, under_way, name in zip(batch, replies[::2], replies[1::2], strict=True)
                if under_way is None
            ]
            for _, name in suspects:
                pipe.hmget(keys.users(), [name, name.lower()])
            for (uid, _), found in zip(suspects, pipe.execute(), strict=True):
                if str(uid) not in found:
                    yield OrphanedKey(keys.user(uid))

    def orphaned_posts(self) -> Iterator[OrphanedKey]:
        """`post:` hashes, older than an owner's lease, that stand in no `updates:` and wait in no outbox."""
        for batch in self._numbered("post:*"):
            pipe = self._store.pipeline()
            for pid in batch:
                pipe.hmget(keys.post(pid), FIELDS)
            records = [(pid, *reply) for pid, reply in zip(batch, pipe.execute(), strict=True)]
            before = time.time() - LEASE
            yield from self._not_standing(
                [
                    (pid, int(uid or 0))
                    for pid, uid, when, _, deleted in records
                    if not deleted and int(when or 0) < before
                ]
            )

    def dead_ids(self) -> Iterator[DeadIds]:
        """Ids in homes and the global timeline whose post does not exist or is deleted."""
        alive: set[int] = set()
        for pattern in ("posts:*", "timeline"):
            for found in self._store.scan_keys(keys.matching(pattern), BATCH):
                for key in found:
                    listed = {int(entry) for entry in self._store.lrange(key, 0, -1) if entry.isdigit()} - {0}
                    dead = self._dead(listed - alive)
                    alive = (alive if len(alive) < REMEMBERED else set()) | listed - dead
                    if dead:
                        yield DeadIds(key, tuple(sorted(dead)))

    def remove(self, found: StaleSecret | OrphanedKey | DeadIds) -> int:
        """Remove it; returns how many entries or keys that freed. One round trip."""
        match found:
            case StaleSecret(secret):
                return int(self._store.hdel(keys.auths(), secret))
            case OrphanedKey(key):
                return int(self._store.unlink(key))
            case DeadIds(key, pids):
                pipe = self._store.pipeline()
                for pid in pids:
                    pipe.lrem_all(key, str(pid))
                return sum(pipe.execute())

    def _numbered(self, pattern: str) -> Iterator[list[int]]:
        for found in self._store.scan_keys(keys.matching(pattern), BATCH):
            yield [number for key in found if (number := keys.number(key)) is not None]

    def _not_standing(self, suspects: list[tuple[int, int]]) -> Iterator[OrphanedKey]:
        """Of (pid, author): those that stand nowhere. A post's intent leaves the outbox only after the post stands, so
        what is missing from the outbox, and then from `updates:`, never got to its commit."""
        missing = self._missing(suspects)
        if not missing:
            return
        waiting = {
            int(intent.split(":")[1])
            for intents in self._store.zset_members(keys.outbox(), BATCH)
            for intent in intents
            if intent.startswith("post:")
        }
        for pid, _ in self._missing([one for one in missing if one[0] not in waiting]):
            yield OrphanedKey(keys.post(pid))

    def _missing(self, suspects: list[tuple[int, int]]) -> list[tuple[int, int]]:
        pipe = self._store.pipeline()
        for pid, author in suspects:
            pipe.zscore(keys.updates(author), str(pid))
        return [one for one, score in zip(suspects, pipe.execute(), strict=True) if score is None]

    def _dead(self, pids: set[int]) -> set[int]:
        pipe = self._store.pipeline()
        for pid in pids:
            pipe.hmget(keys.post(pid), FIELDS)
        return {pid for pid, reply in zip(pids, pipe.execute(), strict=True) if record(pid, reply) is None}
