"""Checks that any Redis application could use: keys of the wrong type, counters below the largest id."""

from functools import partial

from django.conf import settings

from retwis_site.features import features
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, fields, looking, move_away
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import LONGEST_LOGGED, parse_id, parse_number
from retwis_site.store.kinds import KINDS, Kind, id_in, kind_of, matching, may_be
from retwis_site.store.replies import Result

COUNTERS = "counters below the largest id"


class KeyChecks:
    """Searches over all keys of the site."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def inconsistencies(self) -> list[Check]:
        return [Check("keys of the wrong type", at_end=self.wrong_types)]

    def counters_first(self) -> list[Check]:
        """The check of `next_post_id`: the checks of timelines rely on it."""
        return self._counter(keys.next_post_id(), (keys.post,))

    def counters_last(self) -> list[Check]:
        """The check of `next_user_id`. It reads `users`, so it runs after the checks that repair names."""
        return self._counter(keys.next_user_id(), (keys.users, keys.user))

    def orphans(self) -> list[Check]:
        """Temporary keys that have no expiry. The repair sets one."""
        windows = [limit.seconds for feature in features() for limit in feature.limits]
        lives = {kind: kind.lives for kind in KINDS.values() if kind.lives}
        lives[keys.throttle] = max(windows, default=keys.throttle.lives)

        def ask(pipe: Pipe, key: str) -> Result[bool]:
            seconds = pipe.ttl(key)
            return Result(lambda: seconds.value == -1)

        look = looking(self._store, ask)

        def find(names: list[str]) -> Chunks:
            kind = may_be(names[0])
            assert kind is not None  # they were found as keys of one of these kinds
            yield [Finding(key, partial(self._store.expire, key, lives[kind])) for key in look(names)]

        return [Check("temporary keys without an expiry", tuple(lives), find)]

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

    def _counter(self, counter: str, of: tuple[Kind, ...]) -> list[Check]:
        """A counter below the largest id in use: it would assign ids a second time. Nothing is checked when ids are
        made from the time: then the counters are not used."""
        if settings.POST_IDS != "incr":
            return []
        largest = 0

        def see(names: list[str]) -> Chunks:
            nonlocal largest
            largest = max(largest, *(number for name in names if (number := id_in(name))), 0)
            for chunk in fields(self._store, names) if names == [keys.users()] else ():
                largest = max(largest, *(uid for _, text in chunk if (uid := parse_id(text))), 0)
            yield []

        def compare() -> Chunks:
            # Read last: an operation increments the counter before it writes the id.
            current = self._store.get(counter)
            number = parse_number(current or "")
            if largest > (number or 0) or (current is not None and number is None):
                shown = current and current[:LONGEST_LOGGED]
                what = f"{counter} is {shown}, but the id {largest} is in use"
                yield [Finding(what, partial(self._raise, counter, largest))]

        return [Check(COUNTERS, of, see, compare)]

    def _raise(self, counter: str, largest: int) -> None:
        stored = self._store.get(counter)
        current = 0 if stored is None else parse_number(stored)
        if current is None:
            self._store.set(counter, str(largest))
        elif current < largest:  # not SET: it would undo an INCR of the site, and an id would be assigned twice
            self._store.incrby(counter, largest - current)
