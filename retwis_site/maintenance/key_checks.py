"""Checks of single keys: their types, their values, and the counters. Any Redis application could use them."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from math import inf
from typing import Any

from django.conf import settings

from retwis_site.features import features
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, Searcher, fields, keep, looking, move_away
from retwis_site.store import keys
from retwis_site.store.cached_list import MARKS
from retwis_site.store.chunks import AS_BYTES, SETS_AT_ONCE, ask_part, batches, scanned
from retwis_site.store.client import Handle, Pipe, Result, answers
from retwis_site.store.ids import LONGEST_LOGGED, integer, is_digest, parse_id, parse_number
from retwis_site.store.keys import user
from retwis_site.store.kinds import COLOURS, KINDS, Anything, Kind, id_in, may_be
from retwis_site.store.schema import ADOPTING

COUNTERS = "counters below the largest id"


class KeyChecks(Searcher):
    """Searches over all keys of the site."""

    def types(self) -> Check:
        """Keys whose type is not that of the key table. The store refuses every command on them."""

        def find(names: list[str]) -> Chunks:
            wanted = _kind_of_all(names).type
            yield [
                Finding(f"{key} is a {found}, expected a {wanted}", partial(move_away, self._store, key))
                for key, found in answers(self._store, lambda pipe, key: pipe.type(key), names).items()
                if found not in {wanted, "none"}
            ]

        return Check("keys of the wrong type", _kinds(), find)

    def values(self) -> Check:
        """Values that the key table does not allow. It relies on the check of types, which sees each key before."""
        checked = tuple(kind for kind in _kinds() if kind.main.check or kind.checked_fields)
        return Check("values that are no id, number or text", checked, self._bad_values)

    def counters_first(self) -> list[Check]:
        """The check of `next_post_id`: the checks of timelines rely on it."""
        return self._counter(keys.next_post_id(), (keys.post,))

    def counters_last(self) -> list[Check]:
        """The check of `next_user_id`. It reads `users`, so it runs after the checks that repair names. An account
        may be lost while other servers still have its posts or its role, and these keys count too, even when a repair
        of this run removes them: a newcomer must not get that id."""
        truths = [kind for kind in _kinds() if kind.of_users and kind.truth]
        return self._counter(keys.next_user_id(), (keys.users, keys.staff, *truths))

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
            seconds = lives[_kind_of_all(names)]
            yield [Finding(key, partial(self._store.expire, key, seconds)) for key in look(names)]

        return [Check("temporary keys without an expiry", tuple(lives), find)]

    def _counter(self, counter: str, of: tuple[Kind, ...]) -> list[Check]:
        """A counter below the largest id in use: it would assign ids a second time. Nothing is checked when ids are
        made from the time: then the counters are not used."""
        if settings.POST_IDS != "incr":
            return []
        largest = 0

        def see(names: list[str]) -> Chunks:
            nonlocal largest
            largest = max(largest, *(number for name in names if (number := id_in(name))), 0)
            is_staff = names == [keys.staff()]  # a map of uids; `users` is a map to uids
            for chunk in fields(self._store, names) if is_staff or names == [keys.users()] else ():
                uids = [name if is_staff else text for name, text in chunk]
                largest = max(largest, *(uid for one in uids if (uid := parse_id(one))), 0)
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

    # ---- What should be an id, a number or a text by the key table, and is none. Readers skip it.
    #
    # It reads and removes bytes. As text, all bytes that are no UTF-8 look alike, and no command with such a text finds
    # them.

    def _bad_values(self, names: list[str]) -> Chunks:
        """The bad values in keys of one kind. The repair removes them, and keeps them under `damaged:`.

        One round trip reads SETS_AT_ONCE keys. A long key takes one more for each further AT_ONCE values."""
        kind = _kind_of_all(names)
        whole: set[str] = set()  # a list is moved away whole, for its first bad entry
        for some in batches(names, SETS_AT_ONCE):
            for parts in scanned(self._store, partial(_ask_part, kind), some):
                found = chain.from_iterable(self._findings(key, kind, part, whole) for key, part in parts)
                yield from batches(found, AT_ONCE)
        yield []  # a step, also where all is right

    def _findings(self, key: str, kind: Kind, part: Any, whole: set[str]) -> Iterator[Finding]:
        """The findings in a part of a key. `whole`: keys that were found before, and are not looked at again."""
        holds, type_ = kind.main.check, kind.type
        if kind.checked_fields:
            for (name, what), value in zip(kind.checked_fields.items(), part, strict=True):
                if value is not None and not _is(what, value):
                    yield self._bad_field(key, kind, name, value)
        elif type_ == "hash":
            for field, value in part.items():
                if not (_is(holds, value) and _is("text", field)):
                    yield Finding(f"{key} has {_shown(value)}", partial(self._remove, "HDEL", key, field, value))
        elif type_ == "zset":
            for member, score in part:
                yield from self._of_member(key, kind, member, score)
        else:
            values = part if type_ == "list" else [part]
            bad = next((value for value in values if value is not None and not _is(holds, value)), None)
            if bad is not None and key not in whole:
                whole.add(key)
                yield Finding(f"{key} has {_shown(bad)}", partial(move_away, self._store, key))

    def _bad_field(self, key: str, kind: Kind, field: str, value: bytes) -> Finding:
        """The repair removes an id. `deleted` of a post becomes 0, since the field says by itself that it is deleted.
        `deleted` of a user has no repair: the checks after this one would remove all that the user has."""
        what = f"{key} has {_shown(value)} as {field}"
        if field != "deleted":
            return Finding(what, partial(self._remove, "HDEL", key, field.encode(), value))
        if kind is user:
            how = f"HDEL {key} deleted; or, to delete the account: HSET {key} deleted 0"
            return Finding(f"{what}, so the account is hidden. To show it: {how}", None)
        return Finding(what, partial(self._mark_deleted, key, value))

    def _mark_deleted(self, key: str, value: bytes) -> None:
        keep(self._store, key, b"deleted", value)
        self._store.hset(key, {"deleted": "0"})

    def _of_member(self, key: str, kind: Kind, member: bytes, score: float) -> Iterator[Finding]:
        if not _is(kind.main.check, member):
            yield Finding(f"{key} has {_shown(member)}", partial(self._remove, "ZREM", key, member, score))
            return
        check = kind.score.check
        is_time = check == "seconds" or (check == "until" and score != inf)
        right = integer(score) if is_time else int(member) if check == "member" else score
        if abs(right - score) >= 1:
            what = f"{key} has the score {score:g}"
            # XX: a like that was taken back meanwhile must not come back.
            yield Finding(what, partial(self._store.send, "ZADD", key, "XX", right, member))

    def _remove(self, command: str, key: str, name: bytes, value: bytes | float) -> None:
        """Remove a member or a field, and keep it. Two round trips."""
        keep(self._store, key, name, value)
        self._store.send(command, key, name)


def _kinds() -> tuple[Kind, ...]:
    """All kinds of which the table knows the type."""
    return tuple(kind for kind in KINDS.values() if not isinstance(kind.holds, Anything))


def _kind_of_all(names: list[str]) -> Kind:
    """The kind of keys that were found as those of one kind."""
    kind = may_be(names[0])
    assert kind is not None
    return kind


def _is_entry(text: str) -> bool:
    return parse_number(text.removeprefix("-")) is not None or (text.startswith(MARKS) and not text.startswith("-"))


def _is_json(text: str) -> bool:
    try:
        json.loads(text or "null")
    except (ValueError, RecursionError):
        return False
    return True


# By the `check` of a value.
IS: dict[str, Callable[[str], bool]] = {
    "id": lambda text: parse_id(text) is not None,
    "number": lambda text: parse_number(text) is not None,
    "deletion": lambda text: parse_number(text.removesuffix(":staff")) is not None,
    "text": bool,
    "colour": lambda text: text in COLOURS,
    "digest": lambda text: not text or is_digest(text) is not None,
    "entry": _is_entry,
    "json": _is_json,
    "version": lambda text: text == ADOPTING or parse_id(text) is not None,
}


def _ask_part(kind: Kind, pipe: Pipe, key: str, cursor: int) -> Handle[tuple[int, Any]]:
    if not kind.checked_fields:
        return ask_part(pipe, kind.type, key, cursor)
    values = pipe.send("HMGET", key, *kind.checked_fields, **AS_BYTES)
    return Result(lambda: (0, values.value))


def _is(holds: str, value: bytes) -> bool:
    try:
        return IS[holds](value.decode())
    except UnicodeDecodeError:
        return False


def _shown(value: bytes) -> str:
    return repr(value[:LONGEST_LOGGED].decode(errors="replace"))
