"""What a search asks for, and what it finds."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from timeline.posts.entities import Post


class OneWord(NamedTuple):
    """A word, or another form of it. Of a run of Chinese, Japanese, Korean or Thai text: any text that has it."""

    folded: str
    is_run: bool


class Phrase(NamedTuple):
    """These words, one after the other, exactly. At its ends, a run may be a part of a longer one."""

    words: tuple[OneWord, ...]


class Role(StrEnum):
    """What a person has to do with a post."""

    FROM = "from"  # its author
    TO = "to"  # the author whose post it answers


class ByPerson(NamedTuple):
    role: Role
    name: str  # as typed, without `@`


class ByViewer(NamedTuple):
    """`from:me`, `to:me`."""

    role: Role


class WithTag(NamedTuple):
    folded: str


class Kind(StrEnum):
    """What a post may be or have."""

    HAS_LINK = "has:link"
    IS_REPLY = "is:reply"


class Before(NamedTuple):
    seconds: int  # unix; the post is older


class NotBefore(NamedTuple):
    seconds: int  # unix; the post is not older


Part = OneWord | Phrase | ByPerson | ByViewer | WithTag | Kind | Before | NotBefore
DATES = (Before, NotBefore)


@dataclass(frozen=True, slots=True)
class Query:
    """A post is found when it fits all `wanted` parts and none of the `unwanted`."""

    wanted: tuple[Part, ...]
    unwanted: tuple[Part, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.wanted + self.unwanted

    @property
    def names(self) -> list[str]:
        """The people that it names, as typed, none twice."""
        return list(dict.fromkeys(part.name for part in self.parts if isinstance(part, ByPerson)))

    @property
    def words(self) -> list[str] | None:
        """The folded words, when it asks for words alone; None when it asks for anything else."""
        if self.unwanted or not all(isinstance(part, OneWord) for part in self.wanted):
            return None
        return [part.folded for part in self.wanted if isinstance(part, OneWord)]


class Scope(StrEnum):
    """Among which posts a search looks, by the value of `?in=`."""

    EVERYONE = "everyone"
    FOLLOWING = "following"  # by people whom the viewer follows
    MINE = "mine"
    SAVED = "saved"  # that the viewer likes or has bookmarked


class Problem(StrEnum):
    """Why a text is no query."""

    TOO_LONG = "too_long"
    BAD_DATE = "bad_date"
    BAD_HAS = "bad_has"
    BAD_IS = "bad_is"


class BadQuery(Exception):
    """This text is no query."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


class NothingToFind(Exception):
    """The query says only what a post must not be, or only when it was written."""


class UnknownPerson(Exception):
    """The query names a person whom nobody is."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Span(NamedTuple):
    """A part of a text: `text[start:end]`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SearchPage:
    posts: list[Post]  # newest first
    older: int | None  # the cursor of the next page; None when all posts were searched
    complete: bool  # no post above the cursor was left out; else the page is short because the search was cut
