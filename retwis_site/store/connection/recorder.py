"""Records what is sent to the store: every round trip and its commands.

`with Recording() as recorded:` records this thread or asyncio task. Tests check with it how many round trips a page
makes, and that each command names one key. Each request is measured by one that keeps MOST_KEPT commands.
`with watching() as watch:` also notes who asked for each command and how many bytes travelled: the inspector shows both
at the end of every page, so they are noted in little time.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any, Generic, Self, TypeVar

from retwis_site.store.commands import FACTS

Command = tuple[object, ...]  # such as ("HGET", "users", "alice")

# Commands without a key. Management commands and checks may send them, pages never do.
KEYLESS = frozenset({"PING", "SCAN", "DBSIZE", "INFO", "CONFIG", "SYNC"})
# Commands whose first argument says what they do, and whose second is the key.
KEY_IS_SECOND = frozenset({"MEMORY", "OBJECT"})


C = TypeVar("C")


@dataclass(slots=True)
class RoundTrip(Generic[C]):
    """One round trip: the commands that were sent together, and the seconds until the last reply was read. While
    `watching`, also the bytes of the commands and of the replies, on the wire. `number`: of all commands, also those
    that were not kept. A `RoundTrip[Command]` is as it was sent; `redaction.py` makes of it one that may be shown."""

    commands: tuple[C, ...]
    number: int
    seconds: float = 0.0
    sent: int = 0
    received: int = 0


MOST_KEPT = 1000  # commands of a request; a post for a million followers sends as many more


@dataclass
class Recording:
    """A block, and the round trips that were recorded in it, in order. Of very many commands it keeps the first `most`,
    and counts the others. It is a class, since a generator costs more."""

    most: int = sys.maxsize
    round_trips: list[RoundTrip[Command]] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)  # how many commands of each name are not kept
    kept: int = 0

    def __enter__(self) -> Self:
        self._token = _of_this_thread.set((*_of_this_thread.get(), self))
        return self

    def __exit__(self, *failure: object) -> None:
        _of_this_thread.reset(self._token)

    @property
    def commands(self) -> list[Command]:
        return [command for round_trip in self.round_trips for command in round_trip.commands]

    @property
    def number(self) -> int:
        """How many commands were sent."""
        return self.kept + sum(self.left_out.values())

    def add(self, commands: Sequence[Command]) -> RoundTrip[Command]:
        """Record a round trip that begins now."""
        free, number = self.most - self.kept, len(commands)
        if number > free:
            self.left_out = dict(Counter(self.left_out) + Counter(str(command[0]) for command in commands[free:]))
            commands = commands[:free]
        self.kept += len(commands)
        round_trip = RoundTrip(tuple(commands), number)
        self.round_trips.append(round_trip)
        return round_trip


_of_this_thread: ContextVar[tuple[Recording, ...]] = ContextVar("retwis_recordings", default=())
of_the_process: list[Recording] = []  # those of all threads and tasks: tests add theirs
_is_watched: ContextVar[bool] = ContextVar("retwis_watched", default=False)
is_watched = _is_watched.get  # whether this thread's commands shall be `WatchedCommand`


@contextmanager
def watching() -> Iterator[Recording]:
    """A recording that also has who asked for each command, and how many bytes travelled."""
    was_watched = _is_watched.set(True)
    try:
        with Recording(MOST_KEPT) as watch:
            yield watch
    finally:
        _is_watched.reset(was_watched)


def note(commands: Sequence[Command]) -> Sequence[RoundTrip[Command]]:
    """Record a round trip: as it stands in each recording. The store calls it before it sends the commands, and says
    how long it took."""
    recordings = (*_of_this_thread.get(), *of_the_process)
    return [recorded.add(commands) for recorded in recordings]


def add_bytes(sent: int = 0, received: int = 0) -> None:
    """Add bytes to the newest round trip."""
    for recorded in _of_this_thread.get():
        if recorded.round_trips:
            newest = recorded.round_trips[-1]
            newest.sent += sent
            newest.received += received


def add_seconds(seconds: float) -> None:
    """Add time to the newest round trip: the store has waited for replies to commands that were sent before it."""
    for recorded in (*_of_this_thread.get(), *of_the_process):
        if recorded.round_trips:
            recorded.round_trips[-1].seconds += seconds


def keys_of(command: Command) -> tuple[str, ...]:
    """The keys that a command names.

    Raises ValueError for a command that the site never sends, such as MULTI, Lua, or a command made for several keys.
    """
    name = str(command[0])
    if name not in FACTS:
        raise ValueError(f"{name} is not for this site: one command, one key, no transactions, no scripts")
    if name in KEYLESS:
        return ()
    if name == "UNLINK":
        return tuple(str(key) for key in command[1:])
    return (str(command[2 if name in KEY_IS_SECOND else 1]),)


# ---- What a watch notes beside the commands. Commands that nobody watches are plain tuples.

_STORE = str(Path(__file__).parents[1])  # the code of this folder asks for somebody else


class WatchedCommand(tuple[object, ...]):
    """A command that is watched. `code`: of the method that asked for it."""

    code: CodeType | None = None

    @property
    def asker(self) -> str:
        """Such as `Homes.page`."""
        return _name(self.code) if self.code is not None else ""


def asked(command: Command) -> WatchedCommand:
    """This command, asked for by the first caller outside of the store: of a method of `Commands`, of `Pipe` or
    `Store`."""
    watched = WatchedCommand(command)
    frame = sys._getframe(2)
    code = frame.f_code
    while code.co_filename.startswith(_STORE) and frame.f_back is not None:
        frame = frame.f_back
        code = frame.f_code
    watched.code = code
    return watched


class CountedSocket:
    """The socket of a connection while replies are read from it. `received`: their bytes."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self.received = 0

    def recv_into(self, buffer: bytearray) -> int:
        length: int = self._socket.recv_into(buffer)
        self.received += length
        return length

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)


@cache
def _name(code: CodeType) -> str:
    """`Homes.page` for a method, `inbox.ask_new` for a function of inbox.py."""
    name = code.co_qualname.partition(".<locals>")[0]
    return name if "." in name else f"{Path(code.co_filename).stem}.{name}"
