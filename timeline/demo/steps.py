"""The commands that write the demo community."""

from collections.abc import Iterator
from dataclasses import dataclass

from retwis_site.store.chunks import batches
from retwis_site.store.client import Pipe


@dataclass(frozen=True)
class Step:
    """One HSET or ZADD: a hash's fields, or a sorted set's members with their scores."""

    key: str
    fields: dict[str, str] | None = None
    members: dict[str, int] | None = None

    def parts(self, size: int) -> Iterator["Step"]:
        """Several commands of at most `size` fields or members, so that none keeps the server busy for long."""
        if len(self.fields or ()) + len(self.members or ()) in range(1, size + 1):  # most
            yield self
            return
        for fields in batches((self.fields or {}).items(), size):
            yield Step(self.key, fields=dict(fields))
        for members in batches((self.members or {}).items(), size):
            yield Step(self.key, members=dict(members))

    def queue(self, pipe: Pipe) -> None:
        if self.fields is not None:
            pipe.hset(self.key, self.fields)
        if self.members is not None:
            pipe.zadd(self.key, self.members)
