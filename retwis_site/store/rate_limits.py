"""How often somebody may do something, counted in Redis.

Each time is a member of a sorted set, its score when it was; what has left the window is removed before counting. So
any hour is an hour: a counter for each clock hour would let twice as many through around its turn. A set holds no more
than a limit's times, and goes with its window.
"""

import hashlib
import time
from dataclasses import dataclass

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import ngettext_lazy

from retwis_site.exceptions import TooOften
from retwis_site.jobs.outbox import nonce
from retwis_site.store import keys
from retwis_site.store.client import Store


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


LOGINS = Limit(  # an account and an address together
    *("login", 10, 15 * 60, "wrong passwords"),
    ngettext_lazy(
        "That would be more than %(times)d wrong password in a short time.",
        "That would be more than %(times)d wrong passwords in a short time.",
        "times",
    ),
)
GUESSES = Limit(  # an address, at whatever accounts
    *("guess", 200, 15 * 60, "guesses from your network"),
    ngettext_lazy(
        "That would be more than %(times)d guess from your network in a short time.",
        "That would be more than %(times)d guesses from your network in a short time.",
        "times",
    ),
)
REGISTRATIONS = Limit(
    *("register", 30, 3600, "new accounts from your network"),
    ngettext_lazy(
        "That would be more than %(times)d new account from your network in a short time.",
        "That would be more than %(times)d new accounts from your network in a short time.",
        "times",
    ),
)
POSTS = Limit(
    *("post", 60, 3600, "posts"),
    ngettext_lazy(
        "That would be more than %(times)d post in a short time.",
        "That would be more than %(times)d posts in a short time.",
        "times",
    ),
)
FOLLOWS = Limit(
    *("follow", 120, 3600, "follows"),
    ngettext_lazy(
        "That would be more than %(times)d follow in a short time.",
        "That would be more than %(times)d follows in a short time.",
        "times",
    ),
)
EDITS = Limit(
    *("edit", 60, 3600, "changes to a profile"),
    ngettext_lazy(
        "That would be more than %(times)d change to your profile in a short time.",
        "That would be more than %(times)d changes to your profile in a short time.",
        "times",
    ),
)
DOWNLOADS = Limit(
    *("download", 10, 3600, "downloads"),
    ngettext_lazy(
        "That would be more than %(times)d download in a short time.",
        "That would be more than %(times)d downloads in a short time.",
        "times",
    ),
)
LIMITS = (LOGINS, GUESSES, REGISTRATIONS, POSTS, FOLLOWS, EDITS, DOWNLOADS)


@dataclass(frozen=True)
class Counted:
    """One time that was counted, to take back."""

    key: str
    member: str


class Throttle:
    """Counts, unless THROTTLE=0."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def count(self, limit: Limit, who: str) -> Counted:
        """Count one more time. One round trip; two for one too many, which does not count. Raises TooOften.

        Counted before it is done, so that many at once cannot all find room; what fails can be taken back.
        """
        counted = Counted(keys.throttle(limit.name, who), nonce())
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

    def take_back(self, counted: Counted) -> None:
        """It came to nothing, so it does not count. One round trip."""
        if settings.THROTTLE:
            self._store.zrem(counted.key, counted.member)

    def forget(self, limit: Limit, who: str) -> None:
        """Begin anew. One round trip."""
        if settings.THROTTLE:
            self._store.unlink(keys.throttle(limit.name, who))


def somebody_at(name: str, address: str) -> str:
    """An account as tried from one address: so nobody elsewhere can lock its owner out. Of fixed length, whatever
    somebody types for a name."""
    return hashlib.sha256(f"{name.lower()}\0{address}".encode(errors="replace")).hexdigest()[:32]
