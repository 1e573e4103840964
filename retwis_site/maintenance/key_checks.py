"""Damage that any Redis application can have: keys of the wrong type, counters below what they have counted."""

from collections.abc import Callable, Iterator
from functools import partial

from django.conf import settings

from retwis_site.features import features
from retwis_site.jobs.outbox import LEASE
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, ids_of
from retwis_site.store import keys
from retwis_site.store.client import Store

# Keys of the ground that must expire, and after how many seconds. Features declare their own.
TEMPORARY = {"lease:*": LEASE, "health": keys.HEALTH_SECONDS}
COPY_STAYS = 30 * 24 * 3600  # seconds that what stood in a key's place is kept


class KeyChecks:
    """Searches over all keys of the site."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._temporary = TEMPORARY | {key: life for one in features() for key, life in one.temporary_keys.items()}
        windows = [limit.seconds for feature in features() for limit in feature.limits]
        if windows:
            self._temporary |= {"throttle:*": max(windows)}

    def inconsistencies(self) -> list[Check]:
        return [Check("keys of the wrong type", self.wrong_types, self._store.dbsize)]

    def counters_last(self) -> list[Check]:
        """What makes sense once names lead to where they should."""
        return [Check("counters below the largest id", self.counters, lambda: 2 * self._store.dbsize())]

    def orphans(self) -> list[Check]:
        patterns = len(self._temporary)
        return [Check("temporary keys without an expiry", self.lasting, lambda: patterns * self._store.dbsize())]

    def wrong_types(self) -> Chunks:
        """Keys of the key table that hold something else. Every command on them is refused."""
        for found in self._store.scan_keys(keys.matching("*"), AT_ONCE):
            expected = {key: wanted for key in found if (wanted := _type_of(key))}
            pipe = self._store.pipeline()
            for key in expected:
                pipe.type(key)
            yield [
                Finding(f"{key} is a {is_type}, where a {wanted} belongs", lambda key=key: self._put_away(key))  # type: ignore[misc]
                for (key, wanted), is_type in zip(expected.items(), pipe.execute(), strict=True)
                if is_type not in {wanted, "none"}
            ]

    def _put_away(self, key: str) -> None:
        dumped = self._store.dump(key)
        if dumped is not None:
            self._store.restore(keys.damaged(key), COPY_STAYS, dumped)
            self._store.unlink(key)

    def counters(self) -> Chunks:
        """`next_user_id` and `next_post_id` against the ids that are there: a lower one would give ids out again. Not
        while ids are made from the time, and nothing is counted."""
        if settings.POST_IDS != "incr":
            return
        yield from self._counter(keys.next_user_id(), "user:*", self._users)
        yield from self._counter(keys.next_post_id(), "post:*", lambda: iter(()))

    def _users(self) -> Iterator[list[int]]:
        for found in self._store.hash_fields(keys.users(), AT_ONCE):
            yield [int(uid) for _, uid in found if uid.isdecimal()]

    def _counter(self, counter: str, pattern: str, more: Callable[[], Iterator[list[int]]]) -> Chunks:
        largest = 0
        for numbers in ids_of(self._store, pattern):
            largest = max(largest, *numbers, 0)
            yield []
        for numbers in more():
            largest = max(largest, *numbers, 0)
        # Asked last: whoever wrote an id meanwhile had counted before.
        said = self._store.get(counter)
        if largest > (_number(said) or 0) or (said is not None and _number(said) is None):
            yield [Finding(f"{counter} is {said}, but {largest} is taken", lambda: self._raise(counter, largest))]

    def _raise(self, counter: str, largest: int) -> None:
        current = _number(self._store.get(counter) or "0")
        if current is None:
            self._store.set(counter, str(largest))
        elif current < largest:  # not SET: an id that is given out meanwhile would be given out again
            self._store.incrby(counter, largest - current)

    def lasting(self) -> Chunks:
        """Keys that must expire and have no expiry. The repair gives them one."""
        for pattern, seconds in self._temporary.items():
            for found in self._store.scan_keys(keys.matching(pattern), AT_ONCE):
                pipe = self._store.pipeline()
                for key in found:
                    pipe.ttl(key)
                yield [
                    Finding(key, partial(self._store.expire, key, seconds))
                    for key, left in zip(found, pipe.execute(), strict=True)
                    if left == -1
                ]


def _type_of(key: str) -> str | None:
    """What the key table says of a key; None for one that is not in it, such as `user:settings`."""
    own = key.removeprefix(keys.PREFIX)
    kind = own.partition(":")[0]
    if kind in {"lease", "idem", "throttle"} or keys.number(key) is not None:
        return keys.TYPES.get(f"{kind}:*")
    if kind in keys.SPLIT and key in keys.whatever_shards(kind):
        return keys.TYPES[kind]
    return keys.TYPES.get(own)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None
