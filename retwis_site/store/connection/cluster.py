"""Redis Cluster: each command goes to the server that holds its key's slot, and those of one pipeline go at once.

No command is repeated whose reply was lost. What a server refuses because the slot has moved was not carried out, and
is sent once more, to where it says.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any

import redis
from redis.exceptions import AskError, ClusterDownError, MovedError

from retwis_site.store.connection.cluster_slots import Address, Slots, address_of
from retwis_site.store.connection.transport import BorrowedConnection, Queued

REDIRECTIONS = 8  # a slot moves once; more often only while the servers themselves disagree
ASKING: Queued = (("ASKING",), {})


class ClusterTransport:
    """A cluster. Nothing is asked before the first use."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots

    def exchange(self, queued: Sequence[Queued]) -> list[Any]:
        """As `Wire.exchange`; one round trip, however many servers it takes. Where a slot has moved, one more, and at
        most twice a second another for the map."""
        replies: list[Any] = [None] * len(queued)
        waiting = list(range(len(queued)))  # places in the pipeline
        for _ in range(REDIRECTIONS):
            asked = {place: self._holder(queued[place]) for place in waiting}
            self._ask(asked, queued, replies)
            for place in waiting:
                if _is_elsewhere_for_now(replies[place]):
                    replies[place] = self._ask_in_passing(_target(replies[place], asked[place]), queued[place])
            waiting = [place for place in waiting if isinstance(replies[place], MovedError)]
            if not waiting:
                return replies
            self._slots.look_again()
            for place in waiting:  # newer than what was just told
                self._slots.move(replies[place].slot_id, _target(replies[place], asked[place]))
        raise redis.ConnectionError("the servers of the cluster send each other for one slot")

    def conversation(self) -> "ClusterConversation":
        return ClusterConversation(self)

    def servers(self) -> list["redis.Redis"]:
        return self._slots.primaries()

    def _holder(self, queued: Queued) -> Address:
        (_, key, *_), _ = queued
        return self._slots.holder(str(key))

    def _ask(self, asked: dict[int, Address], queued: Sequence[Queued], replies: list[Any]) -> None:
        """Send to all, then read from all."""
        shares: dict[Address, list[int]] = defaultdict(list)
        for place, address in asked.items():
            shares[address].append(place)
        unread: dict[Address, BorrowedConnection] = {}
        try:
            for address, places in shares.items():
                with self._slots.asking(address):
                    unread[address] = self._slots.line(address)
                    unread[address].write([queued[place] for place in places])
            for address, places in shares.items():
                with self._slots.asking(address):
                    said = unread[address].read([queued[place] for place in places])
                unread.pop(address).give_back()
                for place, reply in zip(places, said, strict=True):
                    replies[place] = reply
                self._believe(address, said)
        finally:
            for line in unread.values():
                line.cut()
                line.give_back()

    def _believe(self, address: Address, said: Sequence[Any]) -> None:
        """A server that takes the cluster for down may be cut off from the others, and replaced by one of them."""
        if any(isinstance(reply, ClusterDownError) for reply in said):
            self._slots.doubt(address)
            self._slots.look_again()

    def _ask_in_passing(self, address: Address, queued: Queued) -> Any:
        """While a slot moves, a key that is not at its old server any more is asked for at the new one."""
        with self._slots.asking(address):
            permitted, reply = self._slots.line(address).exchange([ASKING, queued])
        return permitted if isinstance(permitted, redis.ResponseError) else reply


class ClusterConversation:
    """A conversation with a cluster: one exchange after the other, since any may have to be sent on."""

    def __init__(self, transport: ClusterTransport) -> None:
        self.transport = transport
        self._replies: deque[list[Any]] = deque()

    def write(self, queued: Sequence[Queued]) -> None:
        self._replies.append(self.transport.exchange(queued))

    def read(self) -> list[Any]:
        return self._replies.popleft()

    def close(self) -> None:
        """Nothing is on its way."""


def _is_elsewhere_for_now(reply: Any) -> bool:
    """ASK. To redis-py MOVED is one too, but what has moved stays there."""
    return isinstance(reply, AskError) and not isinstance(reply, MovedError)


def _target(error: MovedError, asked: Address) -> Address:
    return address_of((error.host, error.port), asked)
