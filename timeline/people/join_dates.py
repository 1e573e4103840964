"""Join dates, in unix seconds. A join date never changes, so a process caches it."""

from collections.abc import Iterable, Sequence

from accounts.users.entities import User
from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.ids import whole
from retwis_site.store.local_cache import Memory

_join_dates: Memory[int, int] = Memory(size=20_000, seconds=3600)  # by uid


def cached_join_dates(people: Iterable[User]) -> dict[int, int]:
    """The join dates that this process has cached, by uid. No round trip."""
    return _join_dates.some(user.uid for user in people)


def queue_join_dates(pipe: Pipe, people: Sequence[User]) -> None:
    """Ask for join dates of at least one user; `join_dates(people, reply)` reads the reply."""
    pipe.zmscore(keys.users_by_time(), [user.username for user in people])


def join_dates(people: Sequence[User], reply: Sequence[float | None]) -> dict[int, int]:
    """The join dates by uid, from the reply to `queue_join_dates`, without users that have none; caches them."""
    dates = {user.uid: whole(when) for user, when in zip(people, reply, strict=True) if when is not None}
    for uid, when in dates.items():
        _join_dates.put(uid, when)
    return dates
