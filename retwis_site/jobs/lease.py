"""Leases: until when a process may write for a job.

LEASE seconds after a job was added or claimed, a worker may take it over. The process that had it may still run: it was
stopped, or the store was slow. What it writes then follows from what it has read before, and no job is left that would
correct it. So all that is written for a job goes through a `LeasedStore`, which sends nothing after the lease.

The clock is read right before the commands are sent, and a lease ends well before a worker may take the job: a round
trip may last REDIS_TIMEOUT.
"""

import time
from collections.abc import Sequence
from typing import Any

from retwis_site.exceptions import LeaseEnded
from retwis_site.store.client import Store
from retwis_site.store.connection.transport import Conversation, Queued, Transport


class Lease:
    """The right of this process to write for a job."""

    def __init__(self, seconds: float) -> None:
        self.renew(seconds)

    def renew(self, seconds: float) -> None:
        """It ends so many seconds from now."""
        self._ends = time.monotonic() + seconds

    def require(self) -> None:
        """Raises LeaseEnded when it has ended."""
        if time.monotonic() > self._ends:
            raise LeaseEnded("the store was too slow for this change: try again")


class LeasedStore(Store):
    """A store for what is written for a job. After the lease each command raises LeaseEnded, and is not sent."""

    def __init__(self, store: Store, lease: Lease) -> None:
        super().__init__(_Leased(store.transport, lease))
        self.gate = store.gate
        self._whole = store

    def refuse_while_hanging(self) -> None:
        self._whole.refuse_while_hanging()

    def note_timeout(self) -> None:
        self._whole.note_timeout()


class _Leased:
    """A `Transport` that looks at the lease before it sends."""

    def __init__(self, transport: Transport, lease: Lease) -> None:
        self._transport = transport
        self._lease = lease

    def exchange(self, queued: Sequence[Queued]) -> list[Any]:
        self._lease.require()
        return self._transport.exchange(queued)

    def conversation(self) -> Conversation:
        return _LeasedConversation(self._transport.conversation(), self._lease)

    def servers(self) -> list[Any]:
        return self._transport.servers()


class _LeasedConversation:
    """A `Conversation` that looks at the lease before it sends."""

    def __init__(self, conversation: Conversation, lease: Lease) -> None:
        self._conversation = conversation
        self._lease = lease

    def write(self, queued: Sequence[Queued]) -> None:
        self._lease.require()
        self._conversation.write(queued)

    def read(self) -> list[Any]:
        return self._conversation.read()

    def close(self) -> None:
        self._conversation.close()
