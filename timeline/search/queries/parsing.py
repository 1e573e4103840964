"""A typed text as a query. Any text is a query or a BadQuery."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

from timeline.language.words import words
from timeline.posts.parsing.tags import HASH_SIGNS, folded, tags
from timeline.search.queries.entities import (
    BadQuery,
    Before,
    ByPerson,
    ByViewer,
    Kind,
    NotBefore,
    OneWord,
    Part,
    Phrase,
    Problem,
    Query,
    Role,
    WithTag,
)

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
