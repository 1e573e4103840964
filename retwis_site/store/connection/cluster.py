"""Redis Cluster: each command goes to the server that has its key's slot; those of one pipeline go at the same time.

A command is not sent again after a lost reply. When a server refuses a command because the slot has moved, it did not
run it: so the command is sent once more, to the server that the refusal names.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any

import redis
from redis.exceptions import AskError, ClusterDownError, MovedError

from retwis_site.store.connection.cluster_slots import Address, SlotMap, address_of
from retwis_site.store.connection.recorder import KEY_IS_SECOND
from retwis_site.store.connection.transport import BorrowedConnection, Queued

REDIRECTIONS = 8  # a slot moves once; more often only while the servers themselves disagree
ASKING: Queued = (("ASKING",), {})


class ClusterTransport:
    """Sends commands to a cluster. The first use asks for the slot map."""

    def __init__(self, slots: SlotMap) -> None:
        self.slots = slots

    def exchange(self, queued: Sequence[Queued]) -> list[Any]:
        """Like `Transport.exchange`. One round trip for any number of servers. When a slot has moved, one more; and
        another for the slot map, at most twice a second."""
        replies: list[Any] = [None] * len(queued)
        waiting = list(range(len(queued)))  # places in the pipeline
        for _ in range(REDIRECTIONS):
            asked = {place: self._holder(queued[place]) for place in waiting}
            self._ask(asked, queued, replies)
            for place in waiting:
                if _is_ask(replies[place]):
                    replies[place] = self._send_asking(_target(replies[place], asked[place]), queued[place])
            waiting = [place for place in waiting if isinstance(replies[place], MovedError)]
            if not waiting:
                return replies
            self.slots.refresh()
            for place in waiting:  # MOVED is newer than the map
                self.slots.move(replies[place].slot_id, _target(replies[place], asked[place]))
        raise redis.ConnectionError("the servers of the cluster redirect a slot to each other")

    def conversation(self) -> "ClusterConversation":
        return ClusterConversation(self)

    def servers(self) -> list["redis.Redis"]:
        return self.slots.primaries()

    def _holder(self, queued: Queued) -> Address:
        (name, key, *rest), _ = queued
        return self.slots.holder(str(rest[0] if name in KEY_IS_SECOND else key))

    def _ask(self, asked: dict[int, Address], queued: Sequence[Queued], replies: list[Any]) -> None:
        """Send to all servers, then read from all; the replies are put into `replies`."""
        shares: dict[Address, list[int]] = defaultdict(list)
        for place, address in asked.items():
            shares[address].append(place)
        unread: dict[Address, BorrowedConnection] = {}
        try:
            for address, places in shares.items():
                with self.slots.watching(address):
                    unread[address] = self.slots.connection(address)
                    unread[address].write([queued[place] for place in places])
            for address, places in shares.items():
                with self.slots.watching(address):
                    received = unread[address].read([queued[place] for place in places])
                unread.pop(address).give_back()
                for place, reply in zip(places, received, strict=True):
                    replies[place] = reply
                self._notice_cluster_down(address, received)
        finally:
            for connection in unread.values():
                connection.cut()
                connection.give_back()

    def _notice_cluster_down(self, address: Address, received: Sequence[Any]) -> None:
        """A server that replies CLUSTERDOWN may be cut off from the others, and another server may replace it."""
        if any(isinstance(reply, ClusterDownError) for reply in received):
            self.slots.note_failure(address)
            self.slots.refresh()

    def _send_asking(self, address: Address, queued: Queued) -> Any:
        """While a slot moves, a key that has left its old server is asked for at the new one. One round trip."""
        with self.slots.watching(address):
            permitted, reply = self.slots.connection(address).exchange([ASKING, queued])
        return permitted if isinstance(permitted, redis.ResponseError) else reply


class ClusterConversation:
    """A conversation with a cluster. `write` waits for the replies, since any command may be redirected."""

    def __init__(self, transport: ClusterTransport) -> None:
        self.transport = transport
        self._replies: deque[list[Any]] = deque()

    def write(self, queued: Sequence[Queued]) -> None:
        self._replies.append(self.transport.exchange(queued))

    def read(self) -> list[Any]:
        return self._replies.popleft()

    def close(self) -> None:
        """Nothing to do: all replies are read."""


def _is_ask(reply: Any) -> bool:
    """Whether the reply is ASK: one key is at another server for now. In redis-py MOVED is a subclass of ASK."""
    return isinstance(reply, AskError) and not isinstance(reply, MovedError)


def _target(error: MovedError, asked: Address) -> Address:
    return address_of((error.host, error.port), asked)
