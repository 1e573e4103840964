"""What a reader takes from the database of another Retwis. Ids are whole numbers, times are unix seconds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from timeline.other_retwises.passwords import Password


@dataclass(frozen=True, slots=True)
class Account:
    """A person. An empty username: the source has none."""

    uid: int
    username: str
    password: Password | None = None  # None: the source has none that can be verified
    registered: int | None = None
    name: str = ""
    bio: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """A follow, from a person to a person; or a like, from a person to a post."""

    person: int
    target: int
    time: int | None


@dataclass(frozen=True, slots=True)
class ReplyTo:
    """What a reply answers."""

    pid: int
    root: int  # the first post of the thread
    author: int  # of the answered post


@dataclass(frozen=True, slots=True)
class SourcePost:
    """A post. `author` is None when the source does not lead to one."""

    pid: int
    author: int | None
    time: int | None
    text: str
    reply: ReplyTo | None = None


class CannotImport(Exception):
    """The import was refused. The message names the fix."""


class Reader(Protocol):
    """Reads one layout. Every method yields chunks of at most `AT_ONCE`, and holds no more posts than one chunk."""

    def accounts(self) -> Iterator[list[Account]]:
        """Every person. It may be called again."""

    def follows(self, uids: Sequence[int]) -> Iterator[list[Edge]]:
        """Whom these people follow."""

    def posts(self) -> Iterator[list[SourcePost]]:
        """Every post, by ascending id."""

    def likes(self, uids: Sequence[int]) -> Iterator[list[Edge]]:
        """What these people like."""
