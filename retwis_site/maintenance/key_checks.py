"""Checks that any Redis application could use: keys of the wrong type, counters below the largest id."""

from collections.abc import Callable, Iterator
from functools import partial

from django.conf import settings

from retwis_site.features import features
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, ids_of, move_away
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import LONGEST_LOGGED, parse_id, parse_number
from retwis_site.store.kinds import KINDS, kind_of, matching

COUNTERS = "counters below the largest id"


class KeyChecks:
    """Searches over all keys of the site."""

    def __init__(self, store: Store) -> None:
        self._store = store
        windows = [limit.seconds for feature in features() for limit in feature.limits]
        self._temporary = {kind.pattern: kind.lives for kind in KINDS.values() if kind.lives}
        self._temporary[keys.throttle.pattern] = max(windows, default=keys.throttle.lives)

    def inconsistencies(self) -> list[Check]:
        return [Check("keys of the wrong type", self.wrong_types, self._store.dbsize)]

    def counters_first(self) -> list[Check]:
        """The check of `next_post_id`: the checks of timelines rely on it."""
        return [Check(COUNTERS, self.post_counter, self._store.dbsize)]

    def counters_last(self) -> list[Check]:
        """The check of `next_user_id`. It reads `users`, so it runs after the checks that repair names."""
        return [Check(COUNTERS, self.user_counter, self._store.dbsize)]

    def orphans(self) -> list[Check]:
        patterns = len(self._temporary)
        return [Check("temporary keys without an expiry", self.without_expiry, lambda: patterns * self._store.dbsize())]

    def wrong_types(self) -> Chunks:
        """Keys whose type is not that of the key table. The store refuses every command on them."""
        for names in self._store.scan_keys(matching("*"), AT_ONCE):
            expected = {key: kind.type for key in names if (kind := kind_of(key))}
            pipe = self._store.pipeline()
            asked = [(key, wanted, pipe.type(key)) for key, wanted in expected.items()]
            pipe.execute()
            yield [
                Finding(f"{key} is a {found.value}, expected a {wanted}", partial(move_away, self._store, key))
                for key, wanted, found in asked
                if found.value not in {wanted, "none"}
            ]

    def post_counter(self) -> Chunks:
        """`next_post_id` below the largest id in use: it would assign ids a second time."""
        return self._counter(keys.next_post_id(), "post:*", lambda: iter(()))

    def user_counter(self) -> Chunks:
        """The same for `next_user_id`."""
        return self._counter(keys.next_user_id(), "user:*", self._users)

    def _users(self) -> Iterator[list[int]]:
        for chunk in self._store.hash_fields(keys.users(), AT_ONCE):
            yield [uid for _, text in chunk if (uid := parse_id(text))]

    def _counter(self, counter: str, pattern: str, more: Callable[[], Iterator[list[int]]]) -> Chunks:
        """Nothing is checked when ids are made from the time: then the counters are not used."""
        if settings.POST_IDS != "incr":
            return
        largest = 0
        for numbers in ids_of(self._store, pattern):
            largest = max(largest, *numbers, 0)
            yield []
        for numbers in more():
            largest = max(largest, *numbers, 0)
        # Read last: an operation increments the counter before it writes the id.
        current = self._store.get(counter)
        number = parse_number(current or "")
        if largest > (number or 0) or (current is not None and number is None):
            shown = current and current[:LONGEST_LOGGED]
            what = f"{counter} is {shown}, but the id {largest} is in use"
            yield [Finding(what, lambda: self._raise(counter, largest))]

    def _raise(self, counter: str, largest: int) -> None:
        stored = self._store.get(counter)
        current = 0 if stored is None else parse_number(stored)
        if current is None:
            self._store.set(counter, str(largest))
        elif current < largest:  # not SET: it would undo an INCR of the site, and an id would be assigned twice
            self._store.incrby(counter, largest - current)

    def without_expiry(self) -> Chunks:
        """Temporary keys that have no expiry. The repair sets one."""
        for pattern, seconds in self._temporary.items():
            for names in self._store.scan_keys(matching(pattern), AT_ONCE):
                pipe = self._store.pipeline()
                asked = [(key, pipe.ttl(key)) for key in names]
                pipe.execute()
                yield [Finding(key, partial(self._store.expire, key, seconds)) for key, ttl in asked if ttl.value == -1]
