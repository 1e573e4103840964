"""What crashes leave behind: harmless, and found by going through the keys.

Each search yields what it found in batches, looks again at whatever might just be coming into being, and has a way to
remove it. Memory stays bounded however many keys there are.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from django.contrib.auth.hashers import identify_hasher, is_password_usable

from retwis_site import keys
from retwis_site.outbox import OWNER_GIVES_UP
from retwis_site.store import Store
from timeline.repositories.lists import TimelineList
from timeline.repositories.posts import Posts, record

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
    """Ids in a list of which no post stands, each as often as it is there."""

    key: str
    pids: tuple[int, ...]


class Debris:
    """Searches, and the removal of what they find."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._posts = Posts(store)

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
        intent there until `users` leads to it. None in a store without any name: it is being seeded."""
        if not self._store.hlen(keys.users()):
            return
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
        """`post:` hashes that stand in no `updates:` and wait in no outbox.

        One that was written just now may be a post under way: it is looked at again when its owner has given up,
        OWNER_GIVES_UP seconds later. None in a database that another Retwis wrote and nobody has adopted: it has no
        `updates:`, so that all of its posts would look like orphans. None in a store that is being seeded.
        """
        if self.is_from_elsewhere or not self._store.hlen(keys.users()):
            return
        young: list[tuple[int, int]] = []
        for batch in self._numbered("post:*"):
            pipe = self._store.pipeline()
            for pid in batch:
                self._posts.queue(pipe, pid)
            suspects = [
                (pid, int(uid or 0), int(when or 0))
                for pid, (uid, when, _, deleted) in zip(batch, pipe.execute(), strict=True)
                if not deleted
            ]
            settled = time.time() - OWNER_GIVES_UP - 1
            young += self._missing([(pid, author) for pid, author, when in suspects if when >= settled])
            yield from self._not_standing([(pid, author) for pid, author, when in suspects if when < settled])
        if young:
            time.sleep(OWNER_GIVES_UP + 1)
            yield from self._not_standing(young)

    def dead_ids(self) -> Iterator[DeadIds]:
        """Ids in homes and the global timeline whose post does not exist or is deleted."""
        alive: set[int] = set()
        for pattern in ("posts:*", "timeline"):
            for found in self._store.scan_keys(keys.matching(pattern), BATCH):
                for key in found:
                    entries = self._store.lrange(key, 0, -1)
                    listed = [int(entry) for entry in entries if entry.isdigit() and entry != "0"]
                    dead = self._dead(set(listed) - alive)
                    alive = (alive if len(alive) < REMEMBERED else set()) | set(listed) - dead
                    if dead:
                        yield DeadIds(key, tuple(pid for pid in listed if pid in dead))

    def remove(self, found: StaleSecret | OrphanedKey | DeadIds) -> int:
        """Remove it; returns how many entries or keys that freed. One round trip."""
        match found:
            case StaleSecret(secret):
                return int(self._store.hdel(keys.auths(), secret))
            case OrphanedKey(key):
                return int(self._store.unlink(key))
            case DeadIds(key, pids):
                return TimelineList(self._store, key, lives=None).drop(pids)

    def _numbered(self, pattern: str) -> Iterator[list[int]]:
        for found in self._store.scan_keys(keys.matching(pattern), BATCH):
            yield [number for key in found if (number := keys.number(key)) is not None]

    @cached_property
    def is_from_elsewhere(self) -> bool:
        """Whether somebody who can be found by name has a password that is no Django hash: the official Retwis keeps
        them as typed."""
        for batch in self._numbered("user:*"):
            pipe = self._store.pipeline()
            for uid in batch:
                pipe.hmget(keys.user(uid), ["username", "password"])
            accounts = list(zip(batch, pipe.execute(), strict=True))
            strange = [(uid, name) for uid, (name, password) in accounts if name and password and not _hashed(password)]
            for _, name in strange:
                pipe.hmget(keys.users(), [name, name.lower()])
            if any(str(uid) in found for (uid, _), found in zip(strange, pipe.execute(), strict=True)):
                return True
        return False

    def _not_standing(self, suspects: list[tuple[int, int]]) -> Iterator[OrphanedKey]:
        """Of (pid, author): those that stand nowhere. A post's intent leaves the outbox only after the post stands, so
        what is missing from the outbox, and then from `updates:`, never got to its commit."""
        missing = self._missing(suspects)
        if not missing:
            return
        waiting = {
            intent.split(":")[1]
            for intents in self._store.zset_members(keys.outbox(), BATCH)
            for intent in intents
            if intent.startswith("post:")
        }
        for pid, _ in self._missing([one for one in missing if str(one[0]) not in waiting]):
            yield OrphanedKey(keys.post(pid))

    def _missing(self, suspects: list[tuple[int, int]]) -> list[tuple[int, int]]:
        pipe = self._store.pipeline()
        for pid, author in suspects:
            pipe.zscore(keys.updates(author), str(pid))
        return [one for one, score in zip(suspects, pipe.execute(), strict=True) if score is None]

    def _dead(self, pids: set[int]) -> set[int]:
        pipe = self._store.pipeline()
        for pid in pids:
            self._posts.queue(pipe, pid)
        return {pid for pid, reply in zip(pids, pipe.execute(), strict=True) if record(pid, reply) is None}


def _hashed(password: str) -> bool:
    """Whether Django made it: a hash of one of PASSWORD_HASHERS, or the mark of an account without a password."""
    try:
        identify_hasher(password)
    except ValueError:
        return not is_password_usable(password)
    return True
