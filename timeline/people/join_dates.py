"""Join dates, in unix seconds. A join date never changes, so a process caches it."""

from collections.abc import Iterable

from accounts.users.entities import User
from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.ids import stored_score
from retwis_site.store.local_cache import Memory
from retwis_site.store.replies import Answer

_join_dates: Memory[int, int] = Memory(size=5000, seconds=3600)  # by uid; 250 bytes an entry, 1.2 MB in all


def ask_join_dates(pipe: Pipe, people: Iterable[User]) -> Answer[dict[int, int]]:
    """The join dates by uid, without users that have none. At most one command, for those that are not cached."""
    people = list(people)
    dates = _join_dates.some(user.uid for user in people)
    missing = [user for user in people if user.uid not in dates]
    if not missing:
        return Answer(lambda: dates)
    scores = pipe.zmscore(keys.users_by_time(), [user.username for user in missing])

    def read() -> dict[int, int]:
        for user, when in zip(missing, scores.value, strict=True):
            if when is not None:
                dates[user.uid] = stored_score(keys.users_by_time(), user.username, when)
                _join_dates.put(user.uid, dates[user.uid])
        return dates

    return Answer(read)
