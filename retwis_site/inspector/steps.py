"""What was sent to Redis, as people may read it: round trips with their commands, without secrets."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from retwis_site.inspector.complexity import COMPLEXITY
from retwis_site.store.connection.recorder import Command, Recording
from retwis_site.store.connection.watch import Asked
from retwis_site.telemetry.redaction import shown_command


class SentCommand(NamedTuple):
    """A command as it may be shown."""

    name: str  # such as `GET` or `MEMORY USAGE`
    key: str  # empty for a command without a key; a key with a secret in it has HIDDEN there
    arguments: tuple[str, ...]  # those after the key; what is secret is HIDDEN
    asker: str  # the method that asked for it, such as `HomeTimelines.page`

    @property
    def complexity(self) -> str:
        """As Redis documents it, such as `O(log(N))`."""
        return COMPLEXITY.get(self.name.partition(" ")[0], "")

    def __str__(self) -> str:
        return " ".join(filter(None, (self.name, self.key, *self.arguments)))


@dataclass(frozen=True, slots=True)
class Step:
    """One round trip: commands that were sent together. The bytes are those of the commands and of the replies, on the
    wire."""

    commands: tuple[SentCommand, ...]
    seconds: float
    sent: int
    received: int


def recorded_steps(recorded: Recording) -> Iterator[Step]:
    """The round trips of a recording, in order. Those of `watching()` have askers and bytes."""
    for one in recorded.round_trips:
        yield Step(tuple(map(sent_command, one.commands)), one.seconds, one.sent, one.received)


def sent_command(command: Command) -> SentCommand:
    """A command of this process as it may be shown."""
    return SentCommand(*shown_command(command), _asker(command))


def _asker(command: Command) -> str:
    return command.asker if isinstance(command, Asked) else ""
