"""What was sent to Redis, as people may read it: round trips with their commands, without secrets."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from retwis_site.inspector.complexity import COMPLEXITY
from retwis_site.inspector.redaction import shown_arguments, shown_key
from retwis_site.store.connection.recorder import KEYLESS, Command, Recording
from retwis_site.store.connection.watch import Asked


class SentCommand(NamedTuple):
    """A command as it may be shown. The bytes are those of the command and of its reply, on the wire."""

    name: str
    key: str  # empty for a command without a key; a key with a secret in it has HIDDEN there
    arguments: tuple[str, ...]  # those after the key; what is secret is HIDDEN
    asker: str  # the method that asked for it, such as `HomeTimelines.page`
    bytes_sent: int
    bytes_received: int

    @property
    def complexity(self) -> str:
        """As Redis documents it, such as `O(log(N))`."""
        return COMPLEXITY.get(self.name, "")

    def __str__(self) -> str:
        return " ".join(filter(None, (self.name, self.key, *self.arguments)))


@dataclass(frozen=True, slots=True)
class Step:
    """One round trip: commands that were sent together."""

    commands: tuple[SentCommand, ...]
    seconds: float

    @property
    def bytes_sent(self) -> int:
        return sum([command.bytes_sent for command in self.commands])

    @property
    def bytes_received(self) -> int:
        return sum([command.bytes_received for command in self.commands])


def recorded_steps(recorded: Recording) -> Iterator[Step]:
    """The round trips of a recording, in order. Those of `watching()` have askers and bytes."""
    for round_trip in recorded.round_trips:
        yield Step(tuple([_shown(command) for command in round_trip.commands]), round_trip.seconds)


def _shown(command: Command) -> SentCommand:
    watched = command if isinstance(command, Asked) else Asked(command)
    name = str(command[0])
    key = "" if name in KEYLESS else shown_key(str(command[1]))
    return SentCommand(name, key, shown_arguments(command), watched.asker, watched.sent, watched.received)
