"""The seam of the store client for tests: every round trip of every store goes through `Store.round_trip`.

A test can run code before a round trip or instead of it, or let the process die there. Here stands, too, how many of
its cases a test tries.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, NoReturn, TypeVar

from django.conf import settings

from retwis_site.exceptions import LeaseEnded, StoreError
from retwis_site.store.client import Store
from retwis_site.store.connection.recorder import Command
from tests.support.stores import scattering
from tests.support.stores.reading import may_write

RoundTripMaker = Callable[[list[Command]], AbstractContextManager[Any]]
Around = Callable[[RoundTripMaker, list[Command]], AbstractContextManager[Any]]

_REAL_ROUND_TRIP = Store.round_trip


class Killed(BaseException):
    """The end of a process. No code of the site catches it, just as no code catches SIGKILL."""


@contextmanager
def _around_each_round_trip(around: Around) -> Iterator[None]:
    previous = Store.round_trip
    Store.round_trip = lambda store, commands: around(partial(previous, store), commands)  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Store.round_trip = previous  # type: ignore[method-assign]


def before_each_round_trip(does: Callable[[], None]) -> AbstractContextManager[None]:
    """In this block `does` runs before each round trip. When it raises, the commands are not sent."""

    @contextmanager
    def around(real: RoundTripMaker, commands: list[Command]) -> Iterator[None]:
        does()
        with real(commands):
            yield

    return _around_each_round_trip(around)


def away(*_: object) -> NoReturn:
    """For a method whose server is away, while others answer."""
    raise StoreError("away")


def failing_store(fails: Callable[[], object]) -> AbstractContextManager[None]:
    """In this block `fails` runs instead of sending commands. It raises what redis-py would raise."""

    @contextmanager
    def around(real: RoundTripMaker, commands: list[Command]) -> Iterator[None]:
        with real(commands):
            fails()
            yield

    return _around_each_round_trip(around)


def broken_store(error: BaseException) -> AbstractContextManager[None]:
    """In this block every round trip ends with this error of redis-py."""

    def fail() -> None:
        raise error

    return failing_store(fail)


@contextmanager
def undisturbed() -> Iterator[None]:
    """In this block round trips are made without any of these changes, and nothing comes between their parts."""
    previous, Store.round_trip = Store.round_trip, _REAL_ROUND_TRIP  # type: ignore[method-assign]
    try:
        with scattering.switching(scattering.nothing):
            yield
    finally:
        Store.round_trip = previous  # type: ignore[method-assign]


class Moment(int):
    """The number of a round trip, or of a part of one. `has_come`: what a test does has got so far."""

    has_come = False


def each_moment(first: int = 0, stride: int = 1, rounds: int = 1) -> Iterator[Moment]:
    """Moments for the functions below, one after the other. The last one is the first that does not come: with it, the
    test has done everything without a disturbance. In each round `scattering.py` takes the round trips apart in another
    way; of several rounds, a test tries as many as `examples` says."""
    for _ in range(examples(rounds)):
        moment = Moment(first)
        yield moment
        while moment.has_come:
            moment = Moment(moment + stride)
            yield moment


def _come(number: int) -> None:
    if isinstance(number, Moment):
        number.has_come = True


@contextmanager
def before_round_trip(number: int, happens: Callable[[], object]) -> Iterator[list[object]]:
    """In this block `happens` runs, undisturbed, right before the round trip `number`; the first is 0. What
    must wait there for the block runs after it. The list stays empty when the block makes fewer round trips."""
    happened: list[object] = []
    waits: list[Callable[[], object]] = []
    with before_each_round_trip(_once(number, happens, happened, waits)):
        yield happened
    happened += [work() for work in waits]


@contextmanager
def before_part(number: int, happens: Callable[[], object]) -> Iterator[list[object]]:
    """Like `before_round_trip`, but the parts count into which `scattering.py` takes each round trip."""
    happened: list[object] = []
    waits: list[Callable[[], object]] = []
    count = _once(number, happens, happened, waits)
    with before_each_round_trip(count), scattering.switching(count):
        yield happened
    happened += [work() for work in waits]


def _once(
    number: int, happens: Callable[[], object], happened: list[object], waits: list[Callable[[], object]]
) -> Callable[[], None]:
    made = 0

    def count() -> None:
        nonlocal made
        made += 1
        if made == number + 1:
            _come(number)
            with undisturbed():
                try:
                    happened.append(happens())
                except LeaseEnded:  # it waits for what is paused here
                    waits.append(happens)

    return count


def killed_before_round_trip(number: int, work: Callable[[], object]) -> bool:
    """Run `work` and kill it before its round trip `number`. Returns False when it makes fewer round trips."""
    return _killed_before(number, work, lambda commands: True)


def killed_before_part(number: int, work: Callable[[], object]) -> bool:
    """Like `killed_before_round_trip`, but the parts count into which `scattering.py` takes each round trip."""
    left = iter(range(number))

    def die() -> None:
        if next(left, None) is None:  # nor is anything sent after it
            _come(number)
            raise Killed

    try:
        with before_each_round_trip(die), scattering.switching(die):
            work()
    except Killed:
        return True
    return False


def killed_before_write(number: int, work: Callable[[], object]) -> bool:
    """Like `killed_before_round_trip`, but only round trips that may write count. So a long work dies in every state of
    the store in which it can die, and in each only once."""
    return _killed_before(number, work, may_write)


def _killed_before(number: int, work: Callable[[], object], counts: Callable[[list[Command]], bool]) -> bool:
    left = iter(range(number))

    @contextmanager
    def around(real: RoundTripMaker, commands: list[Command]) -> Iterator[None]:
        if counts(commands) and next(left, None) is None:
            _come(number)
            raise Killed
        with real(commands):
            yield

    try:
        with _around_each_round_trip(around):
            work()
    except Killed:
        return True
    return False


Case = TypeVar("Case")


def tries_all() -> bool:
    """Whether tests try all of their cases: on fakeredis with EXAMPLES=all, as in `make nightly`. What varies is the
    order of the site's own round trips, or what it reads: a real server has nothing to say about it, only about the
    answer to each command."""
    return os.environ.get("EXAMPLES") == "all" and not settings.REAL_SERVER


def examples(number: int) -> int:
    """How many random cases a test tries: `number`, or a tenth."""
    return number if tries_all() else -(-number // 10)


def cases(every: Sequence[Case], some: Sequence[Case]) -> Sequence[Case]:
    """The cases of a test: `every` one of a product, or `some`, which have each of its parts."""
    return every if tries_all() else some


def stride() -> int:
    """A test that kills at each round trip in turn kills at each of them, or at every third one."""
    return 1 if tries_all() else 3
