"""What was sent to the store: every round trip and the commands in it.

`with watching() as watch:` sees what this thread of control sends, `with watching_process() as watch:` what any thread
does. Tests hold pages to their budget with it and check that each command names one key. With nobody watching, it
costs one lookup a trip.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

Command = tuple[object, ...]  # as handed to the client: ("HGET", "users", "alice")

# Commands that name no key; management commands and checks may send them, pages never do.
KEYLESS = frozenset({"PING", "SCAN", "DBSIZE", "INFO"})
# Commands that may name several keys, and how the keys stand among the arguments.
_ALL_ARGUMENTS = frozenset({"DEL", "UNLINK", "EXISTS", "TOUCH", "MGET"})
_NEVER = frozenset(
    {"MULTI", "EXEC", "WATCH", "EVAL", "EVALSHA", "FCALL", "MSET", "MSETNX", "RENAME", "KEYS", "FLUSHDB"}
)
_STORING = ("STORE", "INTER", "UNION", "DIFF", "COPY", "MOVE", "RPOPLPUSH", "BLPOP", "BRPOP", "MPOP", "XREAD", "SORT")


@dataclass(frozen=True)
class RoundTrip:
    """One round trip: the commands that went out together."""

    commands: tuple[Command, ...]


@dataclass
class Recording:
    """What was sent while it watched, in order."""

    round_trips: list[RoundTrip] = field(default_factory=list)

    @property
    def commands(self) -> list[Command]:
        return [command for round_trip in self.round_trips for command in round_trip.commands]


_here: ContextVar[tuple[Recording, ...]] = ContextVar("retwis_watches", default=())
_everywhere: list[Recording] = []


@contextmanager
def recording() -> Iterator[Recording]:
    recorded = Recording()
    token = _here.set((*_here.get(), recorded))
    try:
        yield recorded
    finally:
        _here.reset(token)


@contextmanager
def recording_process() -> Iterator[Recording]:
    recorded = Recording()
    _everywhere.append(recorded)
    try:
        yield recorded
    finally:
        _everywhere.remove(recorded)


def note(commands: Sequence[Command]) -> None:
    """Called by the store, once for each round trip, before it sends."""
    recordings = (*_here.get(), *_everywhere)
    if not recordings:
        return
    round_trip = RoundTrip(tuple(commands))
    for recorded in recordings:
        recorded.round_trips.append(round_trip)


def keys_of(command: Command) -> tuple[str, ...]:
    """The keys that a command names: none, or what rule 3 wants: one.

    Raises ValueError for a command that the site must never send (MULTI, Lua, one made for several keys).
    """
    name, *arguments = (str(part) for part in command)
    if name in KEYLESS:
        return ()
    if name in _NEVER or (name != "RESTORE" and any(part in name for part in _STORING)):
        raise ValueError(f"{name} is not for this site: one command, one key, no transactions, no scripts")
    if name in _ALL_ARGUMENTS:
        return tuple(arguments)
    return (arguments[0],)
