"""Records what is sent to the store: every round trip and its commands.

`with recording() as recorded:` records this thread or asyncio task, `with recording_process() as recorded:` all of
them. Tests check with it how many round trips a page makes, and that each command names one key. Without a recording
it costs one lookup a round trip.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

Command = tuple[object, ...]  # such as ("HGET", "users", "alice")

# Commands without a key. Management commands and checks may send them, pages never do.
KEYLESS = frozenset({"PING", "SCAN", "DBSIZE", "INFO", "CONFIG", "SYNC"})
# Commands whose arguments are all keys.
_ALL_ARGUMENTS = frozenset({"DEL", "UNLINK", "EXISTS", "TOUCH", "MGET"})
# Commands that the site must never send.
_FORBIDDEN = frozenset(
    {"MULTI", "EXEC", "WATCH", "EVAL", "EVALSHA", "FCALL", "MSET", "MSETNX", "RENAME", "KEYS", "FLUSHDB"}
)
# Parts of the names of commands for several keys.
_SEVERAL_KEYS = (
    "STORE",
    "INTER",
    "UNION",
    "DIFF",
    "COPY",
    "MOVE",
    "RPOPLPUSH",
    "BLPOP",
    "BRPOP",
    "MPOP",
    "XREAD",
    "SORT",
)


@dataclass(frozen=True)
class RoundTrip:
    """One round trip: the commands that were sent together."""

    commands: tuple[Command, ...]


@dataclass
class Recording:
    """The recorded round trips, in order."""

    round_trips: list[RoundTrip] = field(default_factory=list)

    @property
    def commands(self) -> list[Command]:
        return [command for round_trip in self.round_trips for command in round_trip.commands]


_of_this_thread: ContextVar[tuple[Recording, ...]] = ContextVar("retwis_recordings", default=())
_of_the_process: list[Recording] = []


@contextmanager
def recording() -> Iterator[Recording]:
    recorded = Recording()
    token = _of_this_thread.set((*_of_this_thread.get(), recorded))
    try:
        yield recorded
    finally:
        _of_this_thread.reset(token)


@contextmanager
def recording_process() -> Iterator[Recording]:
    recorded = Recording()
    _of_the_process.append(recorded)
    try:
        yield recorded
    finally:
        _of_the_process.remove(recorded)


def note(commands: Sequence[Command]) -> None:
    """Record a round trip. The store calls it before it sends the commands."""
    recordings = (*_of_this_thread.get(), *_of_the_process)
    if not recordings:
        return
    round_trip = RoundTrip(tuple(commands))
    for recorded in recordings:
        recorded.round_trips.append(round_trip)


def keys_of(command: Command) -> tuple[str, ...]:
    """The keys that a command names.

    Raises ValueError for a command that the site must never send: MULTI, Lua, or a command made for several keys.
    """
    name, *arguments = (str(part) for part in command)
    if name in KEYLESS:
        return ()
    if name in _FORBIDDEN or (name != "RESTORE" and any(part in name for part in _SEVERAL_KEYS)):
        raise ValueError(f"{name} is not for this site: one command, one key, no transactions, no scripts")
    if name in _ALL_ARGUMENTS:
        return tuple(arguments)
    return (arguments[0],)
