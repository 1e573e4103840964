"""A typed text as a query. Any text is a query or a BadQuery."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from timeline.language import words
from timeline.posts.entities import Post
from timeline.posts.links import HASH_SIGNS, folded, tags

# ---- What a search asks for, and what it finds.


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


# ---- Parsing


LONGEST_QUERY = 300  # characters

# Phones and word processors type other quotes and another minus than a keyboard.
_AS_ON_KEYBOARDS = str.maketrans({**dict.fromkeys("“”„‟＂", '"'), **dict.fromkeys("−－", "-"), "：": ":"})
_TOKEN = re.compile(r'(?P<minus>-?)(?:"(?P<phrase>[^"]*)"?|(?P<plain>[^\s"]+))')
_OPERATOR = re.compile(r"(from|to|has|is|before|after):(.+)", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def parse(text: str) -> Query:
    """The query that a text means. A phrase without a closing quote goes on to the end. Raises BadQuery."""
    if len(text) > LONGEST_QUERY:
        raise BadQuery(Problem.TOO_LONG)
    wanted: dict[Part, None] = {}
    unwanted: dict[Part, None] = {}
    for token in _TOKEN.finditer(text.translate(_AS_ON_KEYBOARDS)):
        parts = _phrase(token["phrase"]) if token["phrase"] is not None else _parts(token["plain"])
        (unwanted if token["minus"] else wanted).update(dict.fromkeys(parts))
    return Query(tuple(wanted), tuple(unwanted))


def _parts(token: str) -> Iterator[Part]:
    operator = _OPERATOR.fullmatch(token)
    if operator is not None:
        yield _OPERATORS[operator[1].lower()](operator[2])
    elif token[0] in HASH_SIGNS:
        yield from _tag(token)
    else:
        yield from _words(token)


def _words(text: str) -> Iterator[Part]:
    """A word; several ones that are written together, such as an address, are a phrase."""
    found = tuple(OneWord(word.folded, word.is_run) for word in words(text))
    if found:
        yield found[0] if len(found) == 1 else Phrase(found)


def _phrase(text: str) -> Iterator[Part]:
    found = tuple(OneWord(word.folded, word.is_run) for word in words(text))
    if found:
        yield Phrase(found)


def _tag(token: str) -> Iterator[Part]:
    tag = next(tags(token, 0, len(token)), None)
    if tag is None or tag.start > 0:
        yield from _words(token)
        return
    yield WithTag(folded(tag.name))
    yield from _words(token[tag.end :])


def _person(role: Role) -> Callable[[str], Part]:
    def part(value: str) -> Part:
        return ByViewer(role) if value.lower() == "me" else ByPerson(role, value.removeprefix("@"))

    return part


def _kind(names: Mapping[str, Kind], problem: Problem) -> Callable[[str], Part]:
    def part(value: str) -> Part:
        kind = names.get(value.lower())
        if kind is None:
            raise BadQuery(problem)
        return kind

    return part


def _before(value: str) -> Part:
    return Before(int(_midnight(value).timestamp()))


def _after(value: str) -> Part:
    """From the next day on."""
    return NotBefore(int(_midnight(value).timestamp()) + int(timedelta(days=1).total_seconds()))


def _midnight(value: str) -> datetime:
    """The beginning of a day, UTC. Raises BadQuery."""
    if _DATE.fullmatch(value) is None:
        raise BadQuery(Problem.BAD_DATE)
    try:
        return datetime.strptime(value, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise BadQuery(Problem.BAD_DATE) from None


_OPERATORS: Mapping[str, Callable[[str], Part]] = {
    "from": _person(Role.FROM),
    "to": _person(Role.TO),
    "has": _kind({"link": Kind.HAS_LINK, "links": Kind.HAS_LINK}, Problem.BAD_HAS),
    "is": _kind({"reply": Kind.IS_REPLY}, Problem.BAD_IS),
    "before": _before,
    "after": _after,
}
