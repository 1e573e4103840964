"""The seam of the store client: every round trip of every store goes through `Store.round_trip`.

A test can do something before a round trip, or let the process die there.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from retwis_site.store.client import Store
from retwis_site.store.recorder import Command

RoundTripMaker = Callable[[list[Command]], AbstractContextManager[Any]]

_AS_IT_IS = Store.round_trip


class Killed(BaseException):
    """A process that died. No code of the site catches it, just as none catches SIGKILL."""


@contextmanager
def before_each_round_trip(does: Callable[[], None]) -> Iterator[None]:
    """In this block `does` runs before each round trip; what it raises keeps the commands from being sent."""
    previous = Store.round_trip

    @contextmanager
    def made(real: RoundTripMaker, commands: list[Command]) -> Iterator[None]:
        does()
        with real(commands):
            yield

    Store.round_trip = lambda store, commands: made(partial(previous, store), commands)  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Store.round_trip = previous  # type: ignore[method-assign]


@contextmanager
def undisturbed() -> Iterator[None]:
    """In this block round trips are made as they are."""
    previous, Store.round_trip = Store.round_trip, _AS_IT_IS  # type: ignore[method-assign]
    try:
        yield
    finally:
        Store.round_trip = previous  # type: ignore[method-assign]


@contextmanager
def before_round_trip(number: int, happens: Callable[[], object]) -> Iterator[None]:
    """In this block `happens` runs, undisturbed, right before the round trip `number`; the first one is 0."""
    made = 0

    def count() -> None:
        nonlocal made
        made += 1
        if made == number + 1:
            with undisturbed():
                happens()

    with before_each_round_trip(count):
        yield


def killed_before_round_trip(number: int, work: Callable[[], object]) -> bool:
    """Run `work`, which dies before its round trip `number`; whether it got that far."""
    left = iter(range(number))

    def die() -> None:
        if next(left, None) is None:
            raise Killed

    try:
        with before_each_round_trip(die):
            work()
    except Killed:
        return True
    return False
