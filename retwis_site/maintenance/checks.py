"""How `doctor` and `cleanup` look for what is wrong: through all keys of a kind, in chunks, while the site runs.

A check goes through its keys and gives, for each chunk, what it found there. What an operation under way leaves
disagreeing for a moment is no finding: `settled` tells the two apart.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from retwis_site.jobs.outbox import Outbox
from retwis_site.store import keys
from retwis_site.store.client import Store

T = TypeVar("T")

AT_ONCE = 500  # keys, fields or members that are looked at in one round trip


@dataclass(frozen=True)
class Finding:
    """Something wrong, in words without secrets, and what puts it right. Doing that twice does no harm."""

    what: str
    repair: Callable[[], object] = field(repr=False)  # may have a secret for an argument


Chunks = Iterator[list[Finding]]


@dataclass(frozen=True)
class Check:
    """One invariant. `size`: about how many keys, fields or members `search` goes through."""

    label: str
    search: Callable[[], Chunks]
    size: Callable[[], int]


def confirmed(
    store: Store, suspects: Sequence[T], subjects: Callable[[T], set[str]], look: Callable[[Sequence[T]], Sequence[T]]
) -> Sequence[T]:
    """Of what looked wrong, what nobody is at work on and what a second look finds wrong again.

    An operation has its intent in the outbox from before the truth and its mirrors disagree until they agree again.
    `subjects`: the beginnings of the intents that would explain a suspect, as `Outbox.under_way` has them.
    """
    if not suspects:
        return []
    under_way = Outbox(store).under_way()
    return look([suspect for suspect in suspects if under_way.isdisjoint(subjects(suspect))])


def ids_of(store: Store, pattern: str) -> Iterator[list[int]]:
    """The ids of all keys of a kind, such as `user:*`, in chunks that may be empty."""
    for found in store.scan_keys(keys.matching(pattern), AT_ONCE):
        yield [number for key in found if (number := keys.number(key)) is not None]


def members_of(store: Store, pattern: str) -> Iterator[list[tuple[int, str, float]]]:
    """Of all sorted sets of a kind, such as `following:*`: whose, member and score. Most sets come whole in the round
    trip that asks for a chunk of them; long ones are read on in chunks of their own."""
    for found in store.scan_keys(keys.matching(pattern), AT_ONCE):
        owned = [(key, number) for key in found if (number := keys.number(key)) is not None]
        pipe = store.pipeline()
        for key, _ in owned:
            pipe.zscan(key, 0, AT_ONCE)
        chunk: list[tuple[int, str, float]] = []
        for (key, number), (cursor, scored) in zip(owned, pipe.execute(), strict=True):
            chunk += [(number, member, score) for member, score in scored]
            while cursor:
                yield chunk
                cursor, scored = store.zscan(key, cursor, AT_ONCE)
                chunk = [(number, member, score) for member, score in scored]
        yield chunk
