"""When a worker last ran, so that people notice when none does."""

import logging
import time

from retwis_site.exceptions import StoreRefused
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import parse_number

logger = logging.getLogger("retwis.deliver")

BEATS_EVERY = 10.0  # seconds
SILENT_AFTER = 60  # seconds


class Heartbeat:
    """The heartbeat of one worker."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._next = 0.0  # monotonic seconds
        self._has_complained = False

    def beat(self) -> bool:
        """Note that a worker runs, at most every BEATS_EVERY seconds. Returns whether it was time. One round trip, else
        none. A store that refuses the note stops no worker: there may be jobs that it takes."""
        if time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + BEATS_EVERY
        pipe = self._store.pipeline()
        queue_beat(pipe)
        try:
            pipe.execute()
        except StoreRefused as error:
            if not self._has_complained:
                self._has_complained = True
                logger.error("the store does not note that a worker runs: %s", error)
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
