"""A second web process, as far as its caches matter: both have one store, and each has its own memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from retwis_site.store.local_cache import Hints, Memory


class OtherWorker:
    """`with other.running():` runs a block in the second process, with the caches that it has had there before."""

    def __init__(self) -> None:
        self._caches: dict[Memory | Hints, dict[str, Any]] = {}

    @contextmanager
    def running(self) -> Iterator[None]:
        here = {cache: vars(cache).copy() for cache in Memory.every}
        Memory.clear_all()
        for cache, state in self._caches.items():
            vars(cache).update(state)
        try:
            yield
        finally:
            self._caches = {cache: vars(cache).copy() for cache in Memory.every}
            for cache, state in here.items():
                vars(cache).update(state)
