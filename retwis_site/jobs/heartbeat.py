"""When a worker last ran, so that people notice when none does."""

import time
from contextlib import suppress

from retwis_site.exceptions import StoreReadOnly
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import parse_number

BEATS_EVERY = 10.0  # seconds
SILENT_AFTER = 60  # seconds


class Heartbeat:
    """The heartbeat of one worker."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._next = 0.0  # monotonic seconds

    def beat(self) -> bool:
        """Note that a worker runs, at most every BEATS_EVERY seconds. Returns whether it was time. One round trip, else
        none. In a store that takes no writes nothing is noted: `/readyz` reports that."""
        if time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + BEATS_EVERY
        pipe = self._store.pipeline()
        queue_beat(pipe)
        with suppress(StoreReadOnly):
            pipe.execute()
        return True


def queue_beat(pipe: Pipe) -> None:
    """Note that a worker runs."""
    pipe.set(keys.worker_seen(), str(int(time.time())))


def seen_at(noted: str | None) -> int | None:
    """When a worker last ran, in unix seconds, from what `worker_seen` holds. None: no worker has run yet."""
    return parse_number(noted or "")


def silence(noted: str | None) -> str:
    """A sentence when no worker has run for SILENT_AFTER seconds, from what `worker_seen` holds; else empty."""
    seen = seen_at(noted)
    if seen is None:
        return "no worker has run yet"
    seconds = int(time.time()) - seen
    return f"no worker has run for {seconds} seconds" if seconds > SILENT_AFTER else ""
