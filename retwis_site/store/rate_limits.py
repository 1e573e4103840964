"""Rate limits, counted in Redis with a sliding window.

Each counted action is a member of a sorted set, scored with its time. Older members are removed before counting. A
counter for each clock hour would let twice as many actions through around the full hour. A set never holds more than
`times` members for long, and expires with its window.
"""

import time
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_network
from typing import Any

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from retwis_site.exceptions import TooOften
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Result, Store, answer
from retwis_site.store.ids import integer, nonce
from retwis_site.store.snowflake import STEP


@dataclass(frozen=True)
class Limit:
    """At most `times` actions in `seconds`, of each `who`: a uid, an address, or what else an action is counted by.
    With THROTTLE=0 it counts nothing."""

    name: str  # part of the key
    times: int
    seconds: int
    what: str  # the actions, for the log: "wrong passwords"
    text: Promise  # shown to a refused user, and then how many are allowed, unless it has a place for `times`

    @property
    def allowed(self) -> int:
        """How many times: `times`, or what THROTTLE_<NAME> says."""
        return int(settings.THROTTLES.get(self.name, self.times))

    def refusal(self) -> str:
        """The text for a refused user, in the active language."""
        text, limit = str(self.text), _("The limit is %(times)d.")
        return (text if "%(times)" in text else f"{text} {limit}") % {"times": self.allowed}

    def exceeded(self, seconds: int) -> TooOften:
        """The error for who may try again in so many seconds; at least one."""
        return TooOften(f"{self.allowed} {self.what}", self.refusal(), max(1, seconds))

    def count(self, store: Store, who: int | str) -> None:
        """Count an action of `who`. One round trip; two when the limit is exceeded. Raises TooOften; then the
        action does not count.

        Call it before the action, so that simultaneous actions cannot all pass.
        """
        answer(store, self.ask_count, who)

    def ask_count(self, pipe: Pipe, who: int | str) -> Result[None]:
        """As `count`, in the round trip of other reads: its value must be read before they are used, and raises
        TooOften. Then the same pipe has taken the action back."""
        if not settings.THROTTLE or is_trusted(str(who)):
            return Result(lambda: None)
        key, member, now = keys.throttle(self.name, who), nonce(), int(time.time())
        pipe.zremrangebyscore(key, "-inf", str(now - self.seconds))
        pipe.zadd(key, {member: now})
        pipe.expire(key, self.seconds)
        times = pipe.zcount(key, "-inf", str(now + STEP))  # not what a clock that was ahead has counted
        first = pipe.zrange_withscores(key, 0, 0)

        def read() -> None:
            if times.value <= self.allowed:
                return
            pipe.zrem(key, member)
            pipe.execute()
            oldest = min([now, *(integer(score) for _, score in first.value)])  # all may be forgotten meanwhile
            raise self.exceeded(oldest + self.seconds - now)

        return Result(read)

    def forget(self, store: Store, who: int | str) -> None:
        """Forget all counted actions of `who`. One round trip."""
        if settings.THROTTLE:
            store.unlink(keys.throttle(self.name, who))


@lru_cache(maxsize=4096)
def is_trusted(who: str) -> bool:
    """Whether `who` is an address, or an IPv6 network, within TRUSTED_NETWORKS."""
    if not settings.TRUSTED_NETWORKS:
        return False
    try:
        network: Any = ip_network(who)
    except ValueError:  # a user, or an account with an address
        return False
    return any(network.version == one.version and network.subnet_of(one) for one in settings.TRUSTED_NETWORKS)
