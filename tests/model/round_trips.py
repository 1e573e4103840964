"""Round trips of several commands."""

from collections.abc import Iterable

from tests.model.core import Command, Steps


class RoundTrips:
    """A protocol whose methods are generators of commands.

    `backwards`: the commands of one round trip run in the opposite order. Several servers give them no order.
    """

    def __init__(self, backwards: bool = False) -> None:
        self._backwards = backwards

    def _tell(self, commands: Iterable[Command]) -> Steps:
        """One round trip; the replies are ignored."""
        commands = tuple(dict.fromkeys(commands))[:: -1 if self._backwards else 1]
        for command in commands:  # noqa: UP028 (the explorer reads local variables)
            yield command

    def _ask(self, commands: Iterable[Command]) -> Steps:
        """One round trip; returns the replies in the order of `commands`."""
        step = -1 if self._backwards else 1
        commands, replies = tuple(commands)[::step], []
        for command in commands:
            replies.append((yield command))
        return tuple(replies[::step])
