"""Redis Cluster: each command goes to the server that holds its key's slot, and those of one pipeline go at once.

redis-py's `RedisCluster` knows which server has which slot. It does not send: it would repeat a command whose reply was
lost. What a server refuses because the slot has moved was not carried out, and is sent once more, to where it says.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any

import redis
from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import AskError, MovedError, RedisClusterException, SlotNotCoveredError

from retwis_site.wire import Line, Queued

REDIRECTIONS = 8  # a slot moves once; more often only while the servers themselves disagree
LOOKS_EVERY = 0.5  # seconds from one question for who has which slot to the next, while a server does not answer
ASKING: Queued = (("ASKING",), {})

Places = list[int]  # where commands stand in the pipeline


class ClusterWire:
    """A cluster. `connect` makes the client, which asks a server for the others: not before the first use."""

    def __init__(self, connect: Callable[[], RedisCluster]) -> None:
        self._connect = connect
        self._known: RedisCluster | None = None
        self._lock = Lock()
        self._looked = 0.0

    def exchange(self, queued: Sequence[Queued]) -> list[Any]:
        """As `Wire.exchange`; one round trip, however many servers it takes, and one more where a slot has moved."""
        replies: list[Any] = [None] * len(queued)
        waiting: Places = list(range(len(queued)))
        for _ in range(REDIRECTIONS):
            holders: dict[ClusterNode, Places] = defaultdict(list)
            for place in waiting:
                holders[self._holder(queued[place])].append(place)
            self._ask(holders, queued, replies)
            self._ask_in_passing([place for place in waiting if isinstance(replies[place], AskError)], queued, replies)
            moved = [place for place in waiting if isinstance(replies[place], MovedError)]
            if not moved:
                return replies
            for place in moved:
                self._cluster().nodes_manager.move_slot(replies[place])
            waiting = moved
        raise redis.ConnectionError("the servers of the cluster send each other for one slot")

    def servers(self) -> list["redis.Redis"]:
        cluster = self._cluster()
        return [cluster.get_redis_connection(node) for node in cluster.get_primaries()]

    def _cluster(self) -> RedisCluster:
        with self._lock:
            if self._known is None:
                try:
                    self._known = self._connect()
                except RedisClusterException as error:  # no RedisError, although it is one
                    raise redis.ConnectionError(str(error)) from error
            return self._known

    def _holder(self, queued: Queued) -> ClusterNode:
        (_, key, *_), _ = queued
        cluster = self._cluster()
        try:
            return cluster.nodes_manager.get_node_from_slot(cluster.keyslot(str(key)))
        except SlotNotCoveredError as error:
            self._look_again()
            raise redis.ConnectionError("no server of the cluster has that slot") from error

    def _ask(self, holders: dict[ClusterNode, Places], queued: Sequence[Queued], replies: list[Any]) -> None:
        """Send to all, then read from all."""
        unread: dict[ClusterNode, Line] = {}
        try:
            for node, places in holders.items():
                unread[node] = Line(self._cluster().get_redis_connection(node))
                unread[node].write([queued[place][0] for place in places])
            for node, places in holders.items():
                for place, reply in zip(places, unread[node].read([queued[at] for at in places]), strict=True):
                    replies[place] = reply
                unread.pop(node).give_back()
        except (redis.ConnectionError, redis.TimeoutError):
            self._look_again()
            raise
        finally:
            for line in unread.values():
                line.cut()
                line.give_back()

    def _ask_in_passing(self, places: Places, queued: Sequence[Queued], replies: list[Any]) -> None:
        """While a slot moves, the keys that are not at its old server any more are asked for at the new one."""
        for place in places:
            error: AskError = replies[place]
            node = self._cluster().get_node(host=error.host, port=error.port)
            if node is None:
                self._look_again()
                raise redis.ConnectionError("a server of the cluster names one that nobody knows yet")
            line = Line(self._cluster().get_redis_connection(node))
            try:
                line.write([ASKING[0], queued[place][0]])
                _, replies[place] = line.read([ASKING, queued[place]])
            finally:
                line.give_back()

    def _look_again(self) -> None:
        """Ask who has which slot now: a server that does not answer may have been replaced."""
        if time.monotonic() < self._looked + LOOKS_EVERY:
            return
        self._looked = time.monotonic()
        with suppress(redis.RedisError, RedisClusterException):  # the failure that led here is the one that is told
            self._cluster().nodes_manager.initialize()
