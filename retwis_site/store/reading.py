"""Readers as generators: what a page asks stands in the order in which it is asked. Each `yield` is a round trip.

    def profile(pipe: Pipe, uid: int) -> Reading[Profile]:
        name, counts = yield from trip(pipe.hget(keys.user(uid), "name"), ask_follow_counts(pipe, uid))
        [best] = yield from trip(ask_best(pipe, name))
        return Profile(name, counts, best)

A reader queues commands in a pipe that it was given, and yields at least once. Whoever runs it sends the pipe:
`Viewer.ask` with the check of the viewer in the first round trip. A StoreError is raised there, not in the reader.
"""

from collections.abc import Generator
from typing import Protocol, TypeVar, overload

from retwis_site.store.client import Pipe

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")
G = TypeVar("G")
T_co = TypeVar("T_co", covariant=True)

Reading = Generator[None, None, T]


class Handle(Protocol[T_co]):
    """What has a value after the round trip: a `Reply` or a `Result`."""

    @property
    def value(self) -> T_co: ...


@overload
def trip() -> Reading[tuple[()]]: ...
@overload
def trip(a: Handle[A], /) -> Reading[tuple[A]]: ...
@overload
def trip(a: Handle[A], b: Handle[B], /) -> Reading[tuple[A, B]]: ...
@overload
def trip(a: Handle[A], b: Handle[B], c: Handle[C], /) -> Reading[tuple[A, B, C]]: ...
@overload
def trip(a: Handle[A], b: Handle[B], c: Handle[C], d: Handle[D], /) -> Reading[tuple[A, B, C, D]]: ...
@overload
def trip(a: Handle[A], b: Handle[B], c: Handle[C], d: Handle[D], e: Handle[E], /) -> Reading[tuple[A, B, C, D, E]]: ...
@overload
def trip(
    a: Handle[A], b: Handle[B], c: Handle[C], d: Handle[D], e: Handle[E], f: Handle[F], /
) -> Reading[tuple[A, B, C, D, E, F]]: ...
@overload
def trip(
    a: Handle[A], b: Handle[B], c: Handle[C], d: Handle[D], e: Handle[E], f: Handle[F], g: Handle[G], /
) -> Reading[tuple[A, B, C, D, E, F, G]]: ...
def trip(*handles: Handle[object]) -> Reading[tuple[object, ...]]:
    """One round trip. The result has the value of each handle."""
    yield
    return tuple([handle.value for handle in handles])


def begun(reading: Reading[T]) -> Reading[T]:
    """Queue what a reader asks first, so that it shares the next round trip of another. After that, `yield from` it."""
    next(reading)
    return reading


def rest(pipe: Pipe, reading: Reading[T]) -> T:
    """What a reader returns whose first round trip is over. It makes those that follow."""
    try:
        while True:
            next(reading)
            pipe.execute()
    except StopIteration as end:
        result: T = end.value
        return result
