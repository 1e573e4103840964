"""Redis Cluster: each command goes to the server that has its key's slot; those of one pipeline go at the same time.

A command is not sent again after a lost reply. When a server refuses a command because the slot has moved, it did not
run it: so the command is sent once more, to the server that the refusal names.
"""

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

import redis
from redis.crc import key_slot
from redis.exceptions import AskError, ClusterDownError, MovedError

from retwis_site.store.connection.recorder import KEY_IS_SECOND
from retwis_site.store.connection.transport import BeforeFirst, BorrowedConnection, Queued, borrow

SLOTS = 16384
REFRESH_EVERY = 0.5  # seconds between two questions for the map
GIVES_UP = 1.0  # seconds after which no other server is asked for the map
HANGS_FOR = 0.5  # seconds after a timeout in which a server gets no command
CLUSTER_SLOTS: Queued = (("CLUSTER", "SLOTS"), {})

ServerAddress = tuple[str, int]  # host and port


class SlotMap:
    """The slot map of a cluster: which server has which slot, and a connection pool for each server. Threads share it.

    The servers are asked for it at the first use, and again when a server does not answer or a slot has moved.
    redis-py's own map asks for more than it needs, forgets the servers in REDIS_URL, and hides refusals.

    `seeds`: the servers in REDIS_URL. `new_client(host, port)` makes a client and sends nothing.
    """

    def __init__(self, seeds: Sequence[ServerAddress], new_client: Callable[[str, int], "redis.Redis"]) -> None:
        self.seeds = seeds
        self.holders: dict[int, ServerAddress] = {}  # slot -> server; empty before the first use
        self._new_client = new_client
        self._clients: dict[ServerAddress, redis.Redis] = {}
        self._failed: dict[ServerAddress, float] = {}  # when (monotonic) a server last failed
        self._hangs: dict[ServerAddress, float] = {}  # until when (monotonic) a server gets no command
        self._refreshing = Lock()
        self._refreshed = -REFRESH_EVERY  # when (monotonic) the servers were last asked for the map
        self._failure: redis.RedisError | None = None  # of the last refresh

    def holder(self, key: str) -> ServerAddress:
        """The server that has the key's slot. Raises redis.RedisError when it is not known."""
        if not self.holders:
            self._load()
        slot = key_slot(key.encode(errors="replace"))
        if slot not in self.holders:
            self.refresh()
        address = self.holders.get(slot)
        if address is None:
            raise redis.ConnectionError("no server of the cluster has that slot")
        return address

    def primaries(self) -> list["redis.Redis"]:
        """Every server that has slots. Raises redis.RedisError when the map cannot be loaded."""
        if not self.holders:
            self._load()
        return [self.client(address) for address in dict.fromkeys(self.holders.values())]

    def client(self, address: ServerAddress) -> "redis.Redis":
        """The client of a server. It need not be on the map: a new server gets keys before it has its first slot."""
        return self._clients.get(address) or self._clients.setdefault(address, self._new_client(*address))

    @contextmanager
    def watching(self, address: ServerAddress) -> Iterator[None]:
        """A block that uses a server. When it fails, the others are asked for the map: another may have replaced it.

        The raised error names the server."""
        try:
            yield
        except (redis.ConnectionError, redis.TimeoutError) as error:
            self.note_failure(address)
            if isinstance(error, redis.TimeoutError):
                self._hangs[address] = time.monotonic() + HANGS_FOR
            self.refresh()
            if isinstance(error, redis.TimeoutError):  # TimeoutError would stop the whole store; the others answer
                raise redis.ConnectionError(str(_with_address(address, error))) from error
            raise _with_address(address, error) from error

    def connection(self, address: ServerAddress, before_first: BeforeFirst = None) -> BorrowedConnection:
        """A connection to a server. Raises redis.RedisError; at once when the server hangs."""
        if time.monotonic() < self._hangs.get(address, 0.0):
            raise redis.ConnectionError(f"{address[0]}:{address[1]} did not answer a moment ago")
        return borrow(self.client(address), before_first)

    def note_failure(self, address: ServerAddress) -> None:
        """From now on this server is the last to be asked for the map."""
        self._failed[address] = time.monotonic()

    def refresh(self) -> None:
        """Ask for the map again, unless another thread is asking or REFRESH_EVERY seconds have not passed."""
        if not self._refreshing.acquire(blocking=False):
            return
        try:
            if time.monotonic() >= self._refreshed + REFRESH_EVERY:
                with suppress(redis.RedisError):  # the caller reports the failure that made it refresh
                    self._refresh()
        finally:
            self._refreshing.release()

    def _load(self) -> None:
        """The first refresh. Threads that come meanwhile wait for its result."""
        with self._refreshing:
            if self.holders:
                return
            if self._failure and time.monotonic() < self._refreshed + REFRESH_EVERY:
                raise type(self._failure)(*self._failure.args)
            self._refresh()

    def _refresh(self) -> None:
        try:
            self.holders = self._ask_servers()
            self._failure = None
        except redis.RedisError as error:
            self._failure = error
            raise
        finally:
            self._refreshed = time.monotonic()
        known = {*self.holders.values(), *self.seeds}
        for address in {*self._clients} - known:
            del self._clients[address]  # its connections are closed with it

    def _ask_servers(self) -> dict[int, ServerAddress]:
        """The first map that has all slots, else the largest."""
        largest: dict[int, ServerAddress] = {}
        failures: list[redis.RedisError] = []
        begun = time.monotonic()
        known = dict.fromkeys([*self.holders.values(), *self.seeds])
        for address in sorted(known, key=lambda server: self._failed.get(server, 0.0)):
            try:
                largest = max(largest, self._ask_server(address), key=len)
            except redis.RedisError as error:
                self.note_failure(address)
                failures.append(_with_address(address, error))
            if len(largest) == SLOTS or time.monotonic() > begun + GIVES_UP:
                break
        if not largest:
            no_slots = redis.ConnectionError("the servers of the cluster have no slots")
            raise most_informative(failures or [no_slots], redis.ResponseError, redis.AuthenticationError)
        return largest

    def _ask_server(self, address: ServerAddress) -> dict[int, ServerAddress]:
        return {
            slot: address_of(primary, address)
            for first, last, primary, *_ in self.slot_ranges(address)
            for slot in range(first, last + 1)
        }

    def slot_ranges(self, address: ServerAddress) -> list[Any]:
        """A server's reply to CLUSTER SLOTS. One round trip. Raises redis.RedisError."""
        [reply] = self.connection(address).exchange([CLUSTER_SLOTS])
        if isinstance(reply, redis.ResponseError):
            raise reply
        return list(reply)


def address_of(node: Sequence[Any], asked: ServerAddress) -> ServerAddress:
    """The address of a server from the reply of another one: host, port; in CLUSTER SLOTS also id and metadata.

    An empty host means the host of the server that was asked. `?` means that no host name is known."""
    host, port, *more = node
    if host == "?" and len(more) > 1:
        pairs = more[1]
        host = dict(zip(pairs[::2], pairs[1::2], strict=True)).get("ip")
    return host or asked[0], int(port)


def _with_address(address: ServerAddress, error: redis.RedisError) -> redis.RedisError:
    """The same error, with the address of the server in its text."""
    name = f"{address[0]}:{address[1]}"
    return type(error)(str(error) if name in str(error) else f"{name}: {error}")


def most_informative(failures: Sequence[redis.RedisError], *kinds: type[redis.RedisError]) -> redis.RedisError:
    """The first failure of the first of these kinds that there is, else the first one. A reply about what was asked
    says more than a refusal, and a refusal more than no answer."""
    of_kinds = (error for kind in kinds for error in failures if isinstance(error, kind))
    return next(of_kinds, failures[0])


REDIRECTIONS = 8  # a slot moves once; more often only while the servers themselves disagree
ASKING: Queued = (("ASKING",), {})


class ClusterTransport:
    """Sends commands to a cluster. The first use asks for the slot map."""

    def __init__(self, slots: SlotMap) -> None:
        self.slots = slots
        self.before_first: BeforeFirst = None

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
                self.slots.holders[replies[place].slot_id] = _target(replies[place], asked[place])
        raise redis.ConnectionError("the servers of the cluster redirect a slot to each other")

    def conversation(self) -> "ClusterConversation":
        return ClusterConversation(self)

    def servers(self) -> list["redis.Redis"]:
        return self.slots.primaries()

    def leave_replica(self) -> None:
        """Nothing to do: a replica of a cluster names the primary."""

    def _holder(self, queued: Queued) -> ServerAddress:
        (name, key, *rest), _ = queued
        return self.slots.holder(str(rest[0] if name in KEY_IS_SECOND else key))

    def _ask(self, asked: dict[int, ServerAddress], queued: Sequence[Queued], replies: list[Any]) -> None:
        """Send to all servers, then read from all; the replies are put into `replies`."""
        shares: dict[ServerAddress, list[int]] = defaultdict(list)
        for place, address in asked.items():
            shares[address].append(place)
        unread: dict[ServerAddress, BorrowedConnection] = {}
        try:
            for address, places in shares.items():
                with self.slots.watching(address):
                    unread[address] = self.slots.connection(address, self.before_first)
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

    def _notice_cluster_down(self, address: ServerAddress, received: Sequence[Any]) -> None:
        """A server that replies CLUSTERDOWN may be cut off from the others, and another server may replace it."""
        if any(isinstance(reply, ClusterDownError) for reply in received):
            self.slots.note_failure(address)
            self.slots.refresh()

    def _send_asking(self, address: ServerAddress, queued: Queued) -> Any:
        """While a slot moves, a key that has left its old server is asked for at the new one. One round trip."""
        with self.slots.watching(address):
            permitted, reply = self.slots.connection(address, self.before_first).exchange([ASKING, queued])
        return permitted if isinstance(permitted, redis.ResponseError) else reply


class ClusterConversation:
    """A conversation with a cluster. `write` waits for the replies, since any command may be redirected."""

    def __init__(self, transport: ClusterTransport) -> None:
        self.transport = transport
        self._replies: deque[list[Any]] = deque()

    def write(self, queued: Sequence[Queued]) -> None:
        self._replies.append(self.transport.exchange(queued))

    def read(self, queued: Sequence[Queued]) -> list[Any]:
        return self._replies.popleft()

    def cut(self) -> None:
        """Nothing to do: all replies were read by `exchange`."""

    def give_back(self) -> None:
        """Nothing to do: `exchange` has given all connections back."""


def _is_ask(reply: Any) -> bool:
    """Whether the reply is ASK: one key is at another server for now. In redis-py MOVED is a subclass of ASK."""
    return isinstance(reply, AskError) and not isinstance(reply, MovedError)


def _target(error: MovedError, asked: ServerAddress) -> ServerAddress:
    return address_of((error.host, error.port), asked)
