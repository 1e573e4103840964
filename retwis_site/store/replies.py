"""What a page asks the store, and how it reads the replies: handles, questions and readers.

`followers = pipe.zcard(key)` queues a command and returns its handle; after `pipe.execute()`, or the `with` block of
the pipe, the number is `followers.value`. A page queues up to 60 commands, so a handle is one small object.

A reader is a generator: what it asks stands in the order in which it is asked. Each `yield` is a round trip.

    def profile(pipe: Pipe, uid: int) -> Reading[Profile]:
        name, counts = yield from trip(pipe.hget(keys.user(uid), "name"), ask_follow_counts(pipe, uid))
        [best] = yield from trip(ask_best(pipe, name))
        return Profile(name, counts, best)

A reader queues commands in the pipe that it gets, and yields at least once. Its caller sends the pipe: `Viewer.ask`
sends the check of the viewer in the first round trip, too. A StoreError is raised in the caller, not in the reader.
"""

from collections.abc import Callable, Generator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from retwis_site.store.kinds import OfId

if TYPE_CHECKING:
    from retwis_site.store.client import Pipe, Store
    from retwis_site.store.commands import Commands

P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")
G = TypeVar("G")
T_co = TypeVar("T_co", covariant=True)


class NoReplyYet(Exception):
    """The value of a queued command was read before `execute()` had its reply."""


class Reply(Generic[T]):
    """The handle of a queued command. `execute()` sets its `value`."""

    __slots__ = ("value",)

    value: T

    if not TYPE_CHECKING:  # to mypy, any other name stays an error

        def __getattr__(self, name: str) -> object:
            """Called for a `value` that is not set. Raises NoReplyYet."""
            if name == "value":
                raise NoReplyYet("the command is queued, but has no reply yet: call execute() on its pipe first")
            raise AttributeError(name)


class Result(Generic[T]):
    """A handle of what is read from one or more replies: a user, from the fields of a hash."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[], T]) -> None:
        """`read` reads the values of the replies. It is called once for each use of `value`."""
        self._read = read

    @property
    def value(self) -> T:
        """Raises NoReplyYet before `execute()`."""
        return self._read()


# A command's name, the kind of its key or what comes before the uid in it, and what follows the key.
AboutUser = tuple[str, OfId | str, *tuple[str | int, ...]]


class Question(Generic[T]):
    """Commands about a user that pages send again and again: for another user, only their keys differ.

        COUNTS = Question(("ZCARD", keys.following), ("ZCARD", keys.followers), read=lambda uid, both: Counts(*both))

    `pipe.ask(COUNTS, uid)` queues all of them at once, and its handle has what `read` returns. The same commands one by
    one, each with its method and its handle, take three times as many Python calls.
    """

    def __init__(self, *commands: AboutUser, read: Callable[[int, Sequence[Any]], T]) -> None:
        """`read`: from the uid and the replies. These are as the server sends them in RESP2: members with scores are
        one flat list."""
        self.commands = commands
        self.read = read
        self.parts = [
            (name, kind if isinstance(kind, str) else kind.word, [*map(str, rest)]) for name, kind, *rest in commands
        ]
        # What stands around the uid where the commands are packed: by the prefix of keys, and the length of the uid.
        self.around: dict[tuple[str, int], list[bytes]] = {}


def together(*questions: Question[Any], read: Callable[..., T]) -> Question[T]:
    """Several questions about the same user as one. `read` gets the value of each, in this order."""
    ends = accumulate(len(one.commands) for one in questions)
    parts = [(one.read, slice(end - len(one.commands), end)) for one, end in zip(questions, ends, strict=True)]
    return Question(
        *(command for one in questions for command in one.commands),
        read=lambda uid, replies: read(*[read_one(uid, replies[part]) for read_one, part in parts]),
    )


Scored = list[tuple[str, float]]  # members with their scores


def scored(reply: Sequence[str]) -> Scored:
    """From the reply of a question."""
    return [*zip(reply[::2], map(float, reply[1::2]), strict=True)]


# ---- Readers


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


def both(one: Reading[A], other: Reading[B]) -> Reading[tuple[A, B]]:
    """What two readers return. They share their round trips, for as long as both make any."""
    found: dict[Reading[Any], Any] = {}
    while len(found) < 2:
        for reading in (one, other):
            if reading not in found:
                try:
                    next(reading)
                except StopIteration as end:
                    found[reading] = end.value
        if len(found) < 2:
            yield
    return found[one], found[other]


def rest(pipe: "Pipe", reading: Reading[T]) -> T:
    """What a reader returns. It makes the round trips that are left: all, unless the reader was `begun`."""
    try:
        while True:
            next(reading)
            pipe.execute()
    except StopIteration as end:
        result: T = end.value
        return result


# ---- What a `Store` and a `Pipe` have in common.


if TYPE_CHECKING:

    class command(Generic[P, T]):  # noqa: N801
        """A method that a `Store` and a `Pipe` have with two types: one returns the reply, the other a handle of it."""

        def __init__(self, method: Callable[Concatenate[Commands, P], T]) -> None: ...
        @overload
        def __get__(self, commands: Store, owner: type) -> Callable[P, T]: ...
        @overload
        def __get__(self, commands: Pipe, owner: type) -> Callable[P, Reply[T]]: ...
        def __get__(self, commands: Any, owner: type) -> Any: ...

else:

    def command(method):
        """When the site runs, it is a plain method."""
        return method
