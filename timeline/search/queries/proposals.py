"""The posts that the index proposes: those that stand under all terms of a query, in some ranges of ids."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from retwis_site.store.client import Pipe
from retwis_site.store.replies import Answer
from timeline.language.stems import asked_terms
from timeline.language.words import Word
from timeline.search.index.postings import Postings, ask_postings, in_all
from timeline.search.index.ranges import Range
from timeline.search.index.terms import HAS_LINK, IS_REPLY, from_user, tag, to_user
from timeline.search.queries.entities import (
    ByPerson,
    ByViewer,
    Kind,
    OneWord,
    Part,
    Phrase,
    Query,
    Role,
    Scope,
    WithTag,
)

MOST_TERMS = 8  # that are looked up; the parts of the query with other terms are only checked


class Proposals(NamedTuple):
    """What the index says about some ranges, the newest first."""

    ranges: Sequence[Range]
    terms: Sequence[str]
    found: Sequence[Sequence[Postings]]  # for each range, the posts under each term

    def ids(self) -> Iterator[int]:
        """The posts that stand under all terms, the newest first."""
        for postings in self.found:
            yield from sorted(in_all(postings), reverse=True)

    def rarest(self, number: int) -> dict[str, int]:
        """The rarest terms, each with the most posts that it has in a range."""
        most = {term: max(len(postings[place]) for postings in self.found) for place, term in enumerate(self.terms)}
        return {term: most[term] for term in sorted(most, key=lambda term: most[term])[:number]}


def ask_proposals(pipe: Pipe, ranges: Sequence[Range], terms: Sequence[str]) -> Answer[Proposals]:
    """Ask which posts stand under these terms, at least one. One command for each range and term."""
    asked = [[ask_postings(pipe, each, term) for term in terms] for each in ranges]
    return Answer(lambda: Proposals(ranges, terms, [[answer.value for answer in answers] for answers in asked]))


def terms(query: Query, scope: Scope, uids: Mapping[str, int], me: int | None) -> list[str]:
    """The terms under which a post must stand to fit the query, at most MOST_TERMS: people and tags first, then the
    longest words, which are the rarest. None for a query without a wanted word, person, tag or kind."""
    found: dict[str, None] = {}
    if scope is Scope.MINE and me is not None:
        found[from_user(me)] = None
    words: set[str] = set()
    for part in query.wanted:
        match part:
            case OneWord():
                words |= _of_word(part)
            case Phrase():
                words = words.union(*map(_of_word, part.words))
            case _:
                found.update(dict.fromkeys(_of_other(part, uids, me)))
    return [*found, *sorted(words, key=lambda term: (-len(term), term))][:MOST_TERMS]


def _of_word(word: OneWord) -> set[str]:
    return asked_terms(Word(0, 0, word.folded, word.is_run))


def _of_other(part: Part, uids: Mapping[str, int], me: int | None) -> list[str]:
    match part:
        case WithTag():
            return [tag(part.folded)]
        case Kind.HAS_LINK:
            return [HAS_LINK]
        case Kind.IS_REPLY:
            return [IS_REPLY]
        case ByPerson():
            return [_of_person(part.role, uids[part.name])]
        case ByViewer() if me is not None:
            return [_of_person(part.role, me)]
    return []


def _of_person(role: Role, uid: int) -> str:
    return from_user(uid) if role is Role.FROM else to_user(uid)
