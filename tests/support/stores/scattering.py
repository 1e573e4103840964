"""Takes each round trip apart, as a cluster does: its commands have no order among themselves.

On a cluster the commands for each server arrive by themselves, and other clients' commands come between. Here the one
server stands for three: each slot belongs to one of them, by chance, and the groups of a round trip are sent in random
order. Commands for one key stay in order. `between` is called between two groups: an interleaving switches there.

A process may die between two groups, too.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from redis.crc import key_slot

from retwis_site.store.connection.recorder import KEY_IS_SECOND, KEYLESS, Command
from retwis_site.store.connection.transport import OneServer, Queued
from tests.support.runs.seed import SEED
from tests.support.stores.reading import may_write

SERVERS = 3

_WHOLE = OneServer.exchange


def nothing() -> None:
    """What happens between two parts, unless a test says otherwise."""


class Scattering:
    """One way to take round trips apart: what a seed decides."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        self._servers: dict[int, int] = {}  # by slot
        self.between: Callable[[], None] = nothing

    def deal(self) -> None:
        """Let each slot belong to another server, by chance."""
        self._servers.clear()

    def exchange(self, transport: OneServer, queued: Sequence[Queued]) -> list[Any]:
        """As `OneServer.exchange`, a server at a time. Commands that only read have no order in any case, unless
        something happens between them."""
        if self.between is nothing and not may_write([command for command, _ in queued]):
            return _WHOLE(transport, queued)
        places: dict[int, list[int]] = {}
        for place, (command, _) in enumerate(queued):
            places.setdefault(self._server_of(command), []).append(place)
        groups = list(places.values())
        self._random.shuffle(groups)
        replies: list[Any] = [None] * len(queued)
        for number, group in enumerate(groups):
            if number:
                self.between()
            for place, reply in zip(group, _WHOLE(transport, [queued[place] for place in group]), strict=True):
                replies[place] = reply
        return replies

    def _server_of(self, command: Command) -> int:
        name, *rest = command
        if name in KEYLESS or not rest:
            return 0
        key = rest[1] if name in KEY_IS_SECOND else rest[0]
        slot = key_slot(str(key).encode(errors="replace"))
        if slot not in self._servers:
            self._servers[slot] = self._random.randrange(SERVERS)
        return self._servers[slot]


_now: list[Scattering] = []  # the innermost is last


def present() -> Scattering | None:
    """What takes round trips apart now."""
    return _now[-1] if _now else None


@contextmanager
def switching(between: Callable[[], None]) -> Iterator[None]:
    """In this block `between` is called between two parts of a round trip. Not where a cluster takes them apart. The
    slots are dealt anew: keys that had one server may have two now."""
    scattering = present() or Scattering("")
    scattering.deal()
    previous, scattering.between = scattering.between, between
    try:
        yield
    finally:
        scattering.between = previous


@contextmanager
def scattered(seed: str) -> Iterator[Scattering]:
    """In this block each round trip to one server, a proxy or a primary is taken apart."""
    scattering = Scattering(f"{SEED}:{seed}")
    previous = OneServer.exchange
    OneServer.exchange = lambda transport, queued: scattering.exchange(transport, queued)  # type: ignore[method-assign]
    _now.append(scattering)
    try:
        yield scattering
    finally:
        _now.pop()
        OneServer.exchange = previous  # type: ignore[method-assign]
