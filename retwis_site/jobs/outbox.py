"""Intents: what must follow a commit is noted before it, so whoever is killed in between, somebody else finishes.

An owner notes its intent, does the work, and marks it done. An intent that outlives its time belongs to whichever
worker claims it; every step of every kind of work can run twice, so two workers on one intent are harmless.
"""

import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store

LEASE = 60  # seconds until another may take over
READ_AT_ONCE = 500  # intents
KEEPS_EVERY = 20.0  # seconds after which a worker asks for more time
OWNER_GIVES_UP = 10.0  # seconds after which an owner leaves its work to others; well before anybody takes it over


@dataclass(frozen=True)
class Intent:
    """Work that was noted: its member in `outbox`, and until when (monotonic seconds) its owner may go on."""

    name: str = field(repr=False)  # a logout's holds a secret
    deadline: float

    def expired(self) -> bool:
        return time.monotonic() > self.deadline


def nonce() -> str:
    """Makes each operation's intent its own, so that nobody erases another's."""
    return secrets.token_hex(6)


class Outbox:
    """The intents that are not finished."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def note(self, name: str) -> Intent:
        """Write an intent down, for its writer to carry out at once. One round trip."""
        intent = Intent(name, time.monotonic() + OWNER_GIVES_UP)
        self._store.zadd(keys.outbox(name), {name: int(time.time()) + LEASE})
        return intent

    def hand_over(self, name: str, rest: str) -> None:
        """Strike an intent out and leave the rest of it, under another name about the same id, for a worker to carry
        out at once. One round trip: both commands are for one key, and so stay in order everywhere."""
        pipe = self._store.pipeline()
        pipe.zadd(keys.outbox(rest), {rest: int(time.time())})
        pipe.zrem(keys.outbox(name), name)
        pipe.execute()

    def queue_due(self, pipe: Pipe, name: str) -> None:
        """Leave an intent of one's own to a worker, to be carried out at once."""
        pipe.zadd(keys.outbox(name), {name: int(time.time())})

    def done(self, name: str) -> None:
        """Strike an intent out. One round trip."""
        self._store.zrem(keys.outbox(name), name)

    def due(self, limit: int) -> list[str]:
        """The intents that another may take over now, at most `limit` of each of the OUTBOX_SHARDS, where the oldest
        come first. One round trip."""
        pipe = self._store.pipeline()
        for key in keys.outboxes():
            pipe.zrangebyscore(key, "-inf", str(int(time.time())), limit)
        return [intent for found in pipe.execute() for intent in found]

    def under_way(self) -> set[str]:
        """What somebody is at work on: the beginnings of every intent, such as `follow:1` and `follow:1:2` for
        `follow:1:2:<nonce>`. One round trip for each READ_AT_ONCE intents."""
        return {
            beginning
            for key in keys.outboxes()
            for intents in self._store.zset_members(key, READ_AT_ONCE)
            for intent in intents
            for beginning in accumulate(intent.split(":"), lambda left, right: f"{left}:{right}")
        }

    def strays(self) -> Iterator[list[tuple[str, str, float]]]:
        """The intents that stand where another number of OUTBOX_SHARDS has put them, and no worker looks: in which key,
        their names and scores. MOST_SHARDS round trips and one more."""
        for key in keys.whatever_shards("outbox"):
            for scored in self._store.zset_scored(key, READ_AT_ONCE):
                yield [(key, name, score) for name, score in scored if keys.outbox(name) != key]

    def bring_in(self, key: str, name: str, score: float) -> None:
        """Put a stray intent where workers look. Two round trips."""
        self._store.zadd_nx(keys.outbox(name), {name: int(score)})
        self._store.zrem(key, name)

    def claim(self, name: str, worker: str) -> "Claim | None":
        """An intent for `worker` alone, for LEASE seconds; None when another has it. At most two round trips."""
        if not self._store.set_nx_ex(keys.lease(name), worker, LEASE):
            return None
        return Claim(self, name, self._store.hincrby(keys.attempts(), name, 1))

    def keep(self, name: str) -> None:
        """Have a claimed intent for another LEASE seconds. One round trip."""
        self._store.expire(keys.lease(name), LEASE)

    def give_back(self, name: str) -> None:
        """Leave a claimed intent, of which some is done, to whoever comes next, behind all that is due already. Three
        round trips. It has not failed, so its attempts are counted from this one on: the next is the second again.
        """
        self._store.hset(keys.attempts(), {name: "1"})
        self._store.zadd(keys.outbox(name), {name: int(time.time())})
        self._store.unlink(keys.lease(name))

    def forget(self, name: str) -> None:
        """A claimed intent is finished. One round trip."""
        pipe = self._store.pipeline()
        pipe.hdel(keys.attempts(), name)
        pipe.unlink(keys.lease(name))
        pipe.execute()

    def set_aside(self, name: str) -> None:
        """Let no worker try again what none could finish. Three round trips."""
        self._store.zadd(keys.set_aside(), {name: int(time.time())})
        self._store.zrem(keys.outbox(name), name)
        self.forget(name)


@dataclass(frozen=True)
class Claim:
    """An intent that a worker has, and the how many-th to have it the worker is."""

    outbox: Outbox
    name: str = field(repr=False)
    attempt: int

    def carry_out(self, chunks: Iterable[object], stopping: Callable[[], bool]) -> bool:
        """Go through work that is done in chunks, as its iterator goes on; whether all was done before the worker had
        to stop. However long it takes, nobody else has the intent meanwhile: one round trip each KEEPS_EVERY."""
        kept_at = time.monotonic()
        for _ in chunks:
            if stopping():
                return False
            if time.monotonic() - kept_at > KEEPS_EVERY:
                self.outbox.keep(self.name)
                kept_at = time.monotonic()
        return True
