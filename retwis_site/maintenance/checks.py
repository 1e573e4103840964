"""The parts of a check. `doctor` and `cleanup` search all keys of a kind, in chunks, while the site runs.

A check goes through its keys and yields the findings of each chunk. An operation under way leaves keys inconsistent for
a moment. That is no finding: `confirmed` leaves it out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import TypeVar

from retwis_site.jobs.outbox import Outbox
from retwis_site.store import keys, kinds
from retwis_site.store.client import Pipe, Store
from retwis_site.store.commands import Scored
from retwis_site.store.ids import parse_id
from retwis_site.store.replies import Answer

T = TypeVar("T")

AT_ONCE = 500  # keys, fields or members that are read in one round trip


@dataclass(frozen=True)
class Finding:
    """One inconsistency or orphan: a description without secrets, and its repair. A repair can run twice."""

    what: str
    # Its arguments may hold a secret. None: only the operator knows what is right, and the description says how.
    repair: Callable[[], object] | None = field(repr=False)
    number: int = 1  # of keys or fields, where one repair is for many


Chunks = Iterator[list[Finding]]


@dataclass(frozen=True)
class Check:
    """One invariant. `size` returns about how many keys, fields or members `search` reads."""

    label: str
    search: Callable[[], Chunks]
    size: Callable[[], int]


def confirmed(
    store: Store, suspects: Sequence[T], subjects: Callable[[T], set[str]], look: Callable[[Sequence[T]], Sequence[T]]
) -> Sequence[T]:
    """The suspects that no operation under way explains, and that a second `look` finds wrong again.

    The job of an operation is in the outbox before truth and mirrors disagree, and stays until they agree again.
    `subjects` returns the prefixes of the jobs that would explain a suspect, as `Outbox.under_way` has them.
    """
    if not suspects:
        return []
    under_way = Outbox(store).under_way()
    return look([suspect for suspect in suspects if under_way.isdisjoint(subjects(suspect))])


def ids_of(store: Store, pattern: str) -> Iterator[list[int]]:
    """The ids of all keys of a kind, such as `user:*`. Yields chunks, which may be empty."""
    for names in store.scan_keys(kinds.matching(pattern), AT_ONCE):
        yield [number for name in names if (number := kinds.id_in(name)) is not None]


def members_of(store: Store, pattern: str) -> Iterator[list[tuple[int, int, float]]]:
    """The ids in all sorted sets of a kind, such as `following:*`. Yields chunks of (id in the key, member, score).
    `ValueChecks` find what is no id.

    One round trip reads the first AT_ONCE members of each set in a chunk of keys. Longer sets take one round trip more
    for each further AT_ONCE members."""
    for names in store.scan_keys(kinds.matching(pattern), AT_ONCE):
        owned = [(name, number) for name in names if (number := kinds.id_in(name)) is not None]
        pipe = store.pipeline()
        first = [(key, number, pipe.zscan(key, 0, AT_ONCE)) for key, number in owned]
        pipe.execute()
        chunk: list[tuple[int, int, float]] = []
        for key, number, scan in first:
            cursor, scored = scan.value
            chunk += _ids_in(number, scored)
            while cursor:
                yield chunk
                cursor, scored = store.zscan(key, cursor, AT_ONCE)
                chunk = _ids_in(number, scored)
        yield chunk


def _ids_in(number: int, scored: Scored) -> list[tuple[int, int, float]]:
    return [(number, member, score) for text, score in scored if (member := parse_id(text)) is not None]


# ---- What `doctor --fix` removes because it is bad is kept under `damaged:`, until that expires.


def move_away(store: Store, key: str) -> None:
    """Move a key to the first name under `damaged:` that is free. Four round trips, one more for each name in use."""
    dumped = store.dump(key)
    if dumped is not None:
        names = chain([keys.damaged(key)], (keys.damaged_again(key, number) for number in count(2)))
        # The same content is there already when a repair was killed.
        free = next(name for name in names if store.dump(name) in {None, dumped})
        store.restore(free, keys.damaged.lives, dumped)
        store.unlink(key)


def keep(store: Store, key: str, name: bytes, value: bytes | float) -> None:
    """Keep a member of `key` with its score, or a field with its value. What is kept of this name already stays. One
    round trip."""
    kept = keys.damaged_values(key)
    pipe = store.pipeline()
    pipe.send("HSETNX", kept, name, value)
    pipe.expire(kept, keys.damaged.lives)
    pipe.execute()


def ask_damaged(pipe: Pipe, key: str) -> Answer[bool]:
    """Whether a repair has moved the key away or has removed values of it. Two commands."""
    types = [pipe.type(name) for name in (keys.damaged(key), keys.damaged_values(key))]
    return Answer(lambda: any(each.value != "none" for each in types))
