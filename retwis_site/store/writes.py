"""Writes that are collected, so that many of them are one command."""

from collections import defaultdict
from collections.abc import Mapping

from retwis_site.store.client import Store


class Writes:
    """Fields of hashes and members of sorted sets: one command for each key, all in one round trip."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.pipe = store.pipeline()  # for other commands
        self._fields: dict[str, dict[str, str]] = defaultdict(dict)  # by key
        self._scores: dict[str, dict[str, float]] = defaultdict(dict)

    def hset(self, key: str, fields: Mapping[str, str]) -> None:
        self._fields[key].update(fields)

    def zadd(self, key: str, scores: Mapping[str, float]) -> None:
        self._scores[key].update(scores)

    def execute(self) -> None:
        """One round trip; none when nothing was collected."""
        for key, fields in self._fields.items():
            if fields:
                self.pipe.hset(key, fields)
        for key, scores in self._scores.items():
            if scores:
                self.pipe.zadd(key, scores)
        self.pipe.execute()
