"""The number of edges to a target, where it is shown or sorted by. It is counted anew after each change, and counted
again after it was written."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from retwis_site.jobs.reconcile import reconcile
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import parse_number
from retwis_site.store.kinds import OfId
from retwis_site.store.replies import Answer, Reply
from timeline.relations.protocol.targets import ask_post_exists


class Count(Protocol):
    """Where the number of edges to a target stands."""

    def ask(self, pipe: Pipe, target: int) -> Reply[int] | Answer[int]:
        """What the number must be."""

    def ask_written(self, pipe: Pipe, target: int) -> Answer[float]:
        """What the number is; 0 where none is written."""

    def queue(self, pipe: Pipe, target: int, number: int) -> None:
        """Write the number. 0 is written by removing it."""


@dataclass(frozen=True)
class PostCount:
    """A number in a field of `post:<pid>`.

    A count makes no hash: a post that is deleted, or whose hash has expired, has the count 0, and 0 removes the field.
    When the hash expires just before a number is written, the next look finds no author and removes the field again.
    """

    mirror: OfId

    @property
    def name(self) -> str:
        """Of the field, as the key table says."""
        return self.mirror.counted

    def ask(self, pipe: Pipe, target: int) -> Answer[int]:
        size, exists = pipe.zcard(self.mirror(target)), ask_post_exists(pipe, str(target))
        return Answer(lambda: size.value if exists.value else 0)

    def ask_written(self, pipe: Pipe, target: int) -> Answer[float]:
        stored = pipe.hget(keys.post(target), self.name)
        return Answer(lambda: parse_number(stored.value or "") or 0)

    def queue(self, pipe: Pipe, target: int, number: int) -> None:
        if number:
            pipe.hset(keys.post(target), {self.name: str(number)})
        else:
            pipe.hdel(keys.post(target), self.name)


class Counts:
    """The numbers of edges of one relation."""

    def __init__(self, store: Store, count: Count) -> None:
        self._store = store
        self._count = count

    def write(self, numbers: Mapping[int, int]) -> None:
        """Write counts (by target), and correct those that have changed since they were read. Two round trips; two more
        each time that one has changed meanwhile. None without counts."""
        reconcile(numbers, self._read, self._write)

    def _write(self, numbers: Mapping[int, int]) -> Mapping[int, int]:
        pipe = self._store.pipeline()
        for target, number in numbers.items():
            self._count.queue(pipe, target, number)
        pipe.execute()
        return numbers

    def recount(self, targets: Collection[int]) -> None:
        """Count the edges to these targets anew. Three round trips for all together; two more as for `write`."""
        self.write(self._read(targets))

    def _read(self, targets: Collection[int]) -> dict[int, int]:
        pipe = self._store.pipeline()
        asked = {target: self._count.ask(pipe, target) for target in targets}
        pipe.execute()
        return {target: number.value for target, number in asked.items()}
