"""Since when people are here. That never changes, so a process remembers it."""

from collections.abc import Iterable, Sequence

from accounts.users.entities import User
from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.ids import whole
from retwis_site.store.local_cache import Memory

_joined: Memory[int, int] = Memory(size=20_000, seconds=3600)


def remembered(people: Iterable[User]) -> dict[int, int]:
    """When they registered (unix s), by uid, as far as this process has been told. No round trip."""
    return _joined.some(one.uid for one in people)


def queue_joined(pipe: Pipe, people: Sequence[User]) -> None:
    """Ask about some, at least one; for `joined(people, reply)`."""
    pipe.zmscore(keys.users_by_time(), [one.username for one in people])


def joined(people: Sequence[User], reply: Sequence[float | None]) -> dict[int, int]:
    """From the reply, by uid; remembers them. Whom the store has no time for is left out."""
    told = {one.uid: whole(when) for one, when in zip(people, reply, strict=True) if when is not None}
    for uid, when in told.items():
        _joined.put(uid, when)
    return told
