"""How often somebody may do something, counted in Redis.

Each time is a member of a sorted set, its score when it was; what has left the window is removed before counting. So
any hour is an hour: a counter for each clock hour would let twice as many through around its turn. A set holds no more
than a limit's times, and goes with its window.
"""

import time
from dataclasses import dataclass

from django.conf import settings
from django.utils.functional import Promise

from retwis_site.exceptions import TooOften
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import nonce


@dataclass(frozen=True)
class Limit:
    """So many times within so many seconds, what the log calls them, and what is said to who comes once more."""

    name: str
    times: int
    seconds: int
    what: str
    text: Promise

    def refusal(self) -> str:
        """In the language that is spoken."""
        return str(self.text % {"times": self.times})


@dataclass(frozen=True)
class CountedTime:
    """One time that was counted, to take back."""

    key: str
    member: str


class RateLimits:
    """Counts, unless THROTTLE=0."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def count(self, limit: Limit, who: str) -> CountedTime:
        """Count one more time. One round trip; two for one too many, which does not count. Raises TooOften.

        CountedTime before it is done, so that many at once cannot all find room; what fails can be taken back.
        """
        counted = CountedTime(keys.throttle(limit.name, who), nonce())
        if not settings.THROTTLE:
            return counted
        now = int(time.time())
        pipe = self._store.pipeline()
        pipe.zremrangebyscore(counted.key, "-inf", str(now - limit.seconds))
        pipe.zadd(counted.key, {counted.member: now})
        pipe.expire(counted.key, limit.seconds)
        pipe.zcard(counted.key)
        pipe.zrange_withscores(counted.key, 0, 0)
        *_, times, [(_, oldest)] = pipe.execute()
        if times <= limit.times:
            return counted
        self.take_back(counted)
        raise TooOften(f"{limit.times} {limit.what}", limit.refusal(), max(1, int(oldest) + limit.seconds - now))

    def take_back(self, counted: CountedTime) -> None:
        """It came to nothing, so it does not count. One round trip."""
        if settings.THROTTLE:
            self._store.zrem(counted.key, counted.member)

    def forget(self, limit: Limit, who: str) -> None:
        """Begin anew. One round trip."""
        if settings.THROTTLE:
            self._store.unlink(keys.throttle(limit.name, who))
