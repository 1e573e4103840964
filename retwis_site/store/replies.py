"""Handles of queued commands. `followers = pipe.zcard(key)`; after `pipe.execute()` the number is `followers.value`.

A page queues up to 60 commands, so a handle is one small object.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from retwis_site.store.connection.recorder import Command
from retwis_site.store.connection.transport import Queued

if TYPE_CHECKING:
    from retwis_site.store.client import Pipe, Store
    from retwis_site.store.commands import Commands

P = ParamSpec("P")
T = TypeVar("T")


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


_NO_OPTIONS: dict[str, Any] = {}  # redis-py reads the reply in its usual way
_UNREAD: Reply[Any] = Reply()  # the handle of commands whose replies are read together


@dataclass(slots=True)
class Batch:
    """Queued commands, with the handles that get their replies."""

    queued: list[Queued] = field(default_factory=list)
    handles: list[Reply[Any]] = field(default_factory=list)  # one for each command
    lists: list[tuple[Reply[list[Any]], slice]] = field(default_factory=list)  # one handle for several commands

    def add_each(self, commands: Sequence[Command]) -> Reply[list[Any]]:
        """Queue commands whose replies are read together."""
        replies: Reply[list[Any]] = Reply()
        first = len(self.queued)
        self.queued += [(command, _NO_OPTIONS) for command in commands]
        self.handles += [_UNREAD] * len(commands)
        self.lists.append((replies, slice(first, len(self.queued))))
        return replies

    def fill(self, replies: list[Any]) -> None:
        for handle, reply in zip(self.handles, replies, strict=True):
            handle.value = reply
        for handle, part in self.lists:
            handle.value = replies[part]


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
