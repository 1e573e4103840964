"""Leases: until when a process may write for a job.

LEASE seconds after a job was added or claimed, a worker may take it over. The process that had it may still run: it was
stopped, or the store was slow. What it writes then follows from what it has read before, and no job is left that would
correct it. So all that is written for a job goes through a `LeasedStore`, which sends nothing after the lease.

The clock is read right before the commands are sent, and a lease ends well before a worker may take the job: a round
trip may last REDIS_TIMEOUT.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from redis import RedisError

from retwis_site.exceptions import LeaseEnded, StoreError
from retwis_site.store.client import Store


class LeasedStore(Store):
    """A store for what is written for a job. After the lease each command raises LeaseEnded, and is not sent."""

    def __init__(self, store: Store, seconds: float) -> None:
        """`seconds`: the lease, from now on; infinite where no other process may have the job."""
        super().__init__(store.transport)
        self.gate = store.gate
        self._whole = store
        self._ends = time.monotonic() + seconds

    @contextmanager
    def renewed(self, seconds: float) -> Iterator[None]:
        """The block renews the lease in the store. Then it ends so many seconds after the block began: the process may
        be stopped as soon as the store knows."""
        ends = time.monotonic() + seconds
        yield
        self._ends = max(self._ends, ends)

    def require(self) -> None:
        if time.monotonic() > self._ends:
            raise LeaseEnded("the store was too slow for this change: try again")
        self._whole.require()

    def failure(self, error: RedisError, of: str = "the connection") -> StoreError:
        return self._whole.failure(error, of)
