"""What a search asks for: a typed text as a query, whether a post fits it, and which parts of the text are why.

Each part of a query says under which terms of the index its posts stand, which posts fit it, and what of a text a page
highlights. The index only proposes posts: it keeps the words of deleted posts and of earlier texts, and different words
may share a term. So each proposed post is read as it is now, and checked.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache, partial
from typing import NamedTuple

from retwis_site.rendering.dates import A_DAY
from timeline import language
from timeline.language import Word, asked_terms, joined, phrase, same_word, words
from timeline.posts.entities import Post
from timeline.posts.links import AT_SIGNS, HASH_SIGNS, folded, may_have_links, may_have_tags, segments, tags
from timeline.search.index import HAS_LINK, HAS_PICTURE, IS_REPLY, from_user, tag, to_user

# ---- What a search must know about a text. It follows from the text alone, so a process keeps it.


ANY = ""  # the group of words that may be forms of a word of any group
LAST_EUROPEAN = "\u0590"  # Latin, Greek, Cyrillic and Armenian letters come before it


class SearchedText(NamedTuple):
    words: list[Word]
    distinct: frozenset[str]  # the folded words, without runs
    by_group: Mapping[str, Sequence[str]]  # the distinct words by their `_group`
    joined: str  # all words, as `phrase` looks for them
    tags: frozenset[str]  # folded
    has_link: bool

    def has_word(self, word: "OneWord") -> bool:
        """Whether the text has this word or another form of it; of a run, whether a run of the text has it."""
        if word.is_run:
            return word.folded in self.joined
        return word.folded in self.distinct or bool(self.forms_of(word))

    def forms_of(self, word: "OneWord") -> list[str]:
        """The words of the text that are this word, or another form of it."""
        group = _group(word.folded)
        alike = (*self.by_group.get(group, ()), *self.by_group.get(ANY, ())) if group != ANY else self.distinct
        return [one for one in alike if same_word(word.folded, one)]


@lru_cache(maxsize=2000)  # some 5 KB each, so all have 10 MB
def searched(text: str) -> SearchedText:
    found = words(text)
    distinct = frozenset(word.folded for word in found if not word.is_run)
    parts = segments(text) if may_have_links(text) else []
    tags = frozenset(folded(part.tag) for part in parts if part.tag) if may_have_tags(text) else frozenset()
    has_link = any(part.address for part in parts)
    return SearchedText(found, distinct, _by_group(distinct), joined(found), tags, has_link)


def _by_group(distinct: Iterable[str]) -> Mapping[str, Sequence[str]]:
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for word in distinct:
        groups[_group(word)].append(word)
    return dict(groups)


def _group(word: str) -> str:
    """The first letter of a word, or ANY. Only words of a group, and of ANY, may be forms of one: to look at all words
    of a text would take their stems. European languages change the ends of words; l'arte and Arabic words also the
    beginnings."""
    return ANY if word[0] >= LAST_EUROPEAN or "'" in word else word[0]


# ---- The parts of a query.


class KnownPeople(NamedTuple):
    """The people whom a query may mean."""

    uids: Mapping[str, int]  # by the names in the query
    me: int | None  # the viewer; None: a visitor

    def uid_of(self, name: str | None) -> int | None:
        """None for the viewer's name, when there is none."""
        return self.me if name is None else self.uids[name]


class Span(NamedTuple):
    """A part of a text: `text[start:end]`."""

    start: int
    end: int


class QueryPart:
    """A part of a query."""

    def terms(self, known: KnownPeople) -> Iterable[str]:
        """The terms under which all posts stand that fit it; none where the index cannot tell."""
        return ()

    def fits(self, post: Post, text: SearchedText, known: KnownPeople) -> bool:
        raise NotImplementedError

    def spans(self, text: str, found: Sequence[Word]) -> Iterable[Span]:
        """What of a text that fits is highlighted. `found`: its words. Forms of a word are found by `marks`."""
        return ()


@dataclass(frozen=True)
class OneWord(QueryPart):
    """A word, or another form of it. Of a run of Chinese, Japanese, Korean or Thai text: any text that has it."""

    folded: str
    is_run: bool

    def terms(self, known: KnownPeople) -> set[str]:
        return asked_terms(Word(0, 0, self.folded, self.is_run))

    def fits(self, post: Post, text: SearchedText, known: KnownPeople) -> bool:
        return text.has_word(self)

    def spans(self, text: str, found: Sequence[Word]) -> Iterable[Span]:
        """Where a run is a part of a word."""
        return [span for word in found for span in _inside(word, self)] if self.is_run else ()


@dataclass(frozen=True)
class Phrase(QueryPart):
    """These words, one after the other, exactly. At its ends, a run may be a part of a longer one."""

    words: tuple[OneWord, ...]

    def terms(self, known: KnownPeople) -> set[str]:
        return {term for word in self.words for term in word.terms(known)}

    def fits(self, post: Post, text: SearchedText, known: KnownPeople) -> bool:
        return phrase(self.words) in text.joined

    def spans(self, text: str, found: Sequence[Word]) -> Iterable[Span]:
        first, *others = self.words
        return first.spans(text, found) if first.is_run and not others else _of_phrase(self.words, found)


class PostRole(StrEnum):
    """What a person has to do with a post."""

    FROM = "from"  # its author
    TO = "to"  # the author whose post it answers


@dataclass(frozen=True)
class ByPerson(QueryPart):
    role: PostRole
    name: str | None  # as typed, without `@`; None: the viewer, as in `from:me`

    def terms(self, known: KnownPeople) -> list[str]:
        uid = known.uid_of(self.name)
        return [] if uid is None else [from_user(uid) if self.role is PostRole.FROM else to_user(uid)]

    def fits(self, post: Post, text: SearchedText, known: KnownPeople) -> bool:
        uid = known.uid_of(self.name)
        return uid is not None and uid == (post.author.uid if self.role is PostRole.FROM else post.links.reply_to_user)


@dataclass(frozen=True)
class WithTag(QueryPart):
    folded: str

    def terms(self, known: KnownPeople) -> list[str]:
        return [tag(self.folded)]

    def fits(self, post: Post, text: SearchedText, known: KnownPeople) -> bool:
        return self.folded in text.tags

    def spans(self, text: str, found: Sequence[Word]) -> Iterable[Span]:
        shown = tags(text, 0, len(text)) if may_have_tags(text) else ()
        return [Span(at, at + len(one.text)) for at, one in shown if folded(one.tag) == self.folded]


KINDS: Mapping[str, Callable[[Post, SearchedText], bool]] = {
    HAS_LINK: lambda post, text: text.has_link,
    HAS_PICTURE: lambda post, text: bool(post.media.pictures),
    IS_REPLY: lambda post, text: post.links.reply_to is not None,
}


@dataclass(frozen=True)
class OfKind(QueryPart):
    term: str  # one of KINDS

    def terms(self, known: KnownPeople) -> list[str]:
        return [self.term]

    def fits(self, post: Post, text: SearchedText, known: KnownPeople) -> bool:
        return KINDS[self.term](post, text)


@dataclass(frozen=True)
class Before(QueryPart):
    seconds: int  # unix; the post is older

    def fits(self, post: Post, text: SearchedText, known: KnownPeople) -> bool:
        return post.time < self.seconds


@dataclass(frozen=True)
class NotBefore(QueryPart):
    seconds: int  # unix; the post is not older

    def fits(self, post: Post, text: SearchedText, known: KnownPeople) -> bool:
        return post.time >= self.seconds


@dataclass(frozen=True, slots=True)
class Query:
    """A post is found when it fits all `wanted` parts and none of the `unwanted`."""

    wanted: tuple[QueryPart, ...]
    unwanted: tuple[QueryPart, ...]

    @property
    def parts(self) -> tuple[QueryPart, ...]:
        return self.wanted + self.unwanted

    @property
    def names(self) -> list[str]:
        """The people that it names, as typed, none twice."""
        return list(
            dict.fromkeys(part.name for part in self.parts if isinstance(part, ByPerson) and part.name is not None)
        )

    @property
    def names_viewer(self) -> bool:
        return any(isinstance(part, ByPerson) and part.name is None for part in self.parts)

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
    """Why nothing is searched. The last two are queries all the same."""

    TOO_LONG = "too_long"
    BAD_DATE = "bad_date"
    BAD_HAS = "bad_has"
    BAD_IS = "bad_is"
    NOTHING_TO_FIND = "nothing_to_find"  # it says only what a post must not be, or only when it was written
    UNKNOWN_PERSON = "unknown_person"  # it names a person whom nobody is


class BadQuery(Exception):
    """This text is no query, or none that finds anything."""

    def __init__(self, problem: Problem, name: str = "") -> None:
        """`name`: of the person whom nobody is."""
        super().__init__(problem, name)
        self.problem = problem
        self.name = name


@dataclass(frozen=True, slots=True)
class SearchPage:
    posts: list[Post]  # newest first
    older: int | None  # the cursor of the next page; None when all posts were searched
    complete: bool  # no post above the cursor was left out; else the page is short because the search was cut


# ---- Parsing


LONGEST_QUERY = 300  # characters

# Phones and word processors type other quotes and another minus than a keyboard; some keyboards have fullwidth signs.
_AS_ON_KEYBOARDS = str.maketrans(
    {**dict.fromkeys("“”„‟＂", '"'), **dict.fromkeys("−－", "-"), **dict.fromkeys(AT_SIGNS, "@"), "：": ":"}
)
_TOKEN = re.compile(r'(?P<minus>-?)(?:"(?P<phrase>[^"]*)"?|(?P<plain>[^\s"]+))')
_OPERATOR = re.compile(r"(from|to|has|is|before|after):(?!@$)(.+)", re.IGNORECASE)  # `from:@` names nobody yet
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def parse(text: str) -> Query:
    """The query that a text means. A phrase without a closing quote goes on to the end. Raises BadQuery."""
    if len(text) > LONGEST_QUERY:
        raise BadQuery(Problem.TOO_LONG)
    wanted: dict[QueryPart, None] = {}
    unwanted: dict[QueryPart, None] = {}
    for token in _TOKEN.finditer(text.translate(_AS_ON_KEYBOARDS)):
        parts = _phrase(token["phrase"]) if token["phrase"] is not None else _parts(token["plain"])
        (unwanted if token["minus"] else wanted).update(dict.fromkeys(parts))
    return Query(tuple(wanted), tuple(unwanted))


def _parts(token: str) -> Iterator[QueryPart]:
    operator = _OPERATOR.fullmatch(token)
    if operator is not None:
        yield _OPERATORS[language.folded(operator[1])](operator[2])
    elif token[0] in HASH_SIGNS:
        yield from _tag(token)
    else:
        yield from _words(token)


def _words(text: str) -> Iterator[QueryPart]:
    """A word; several ones that are written together, such as an address, are a phrase."""
    for found in _phrase(text):
        yield found.words[0] if len(found.words) == 1 else found


def _phrase(text: str) -> Iterator[Phrase]:
    found = tuple(OneWord(word.folded, word.is_run) for word in words(text))
    if found:
        yield Phrase(found)


def _tag(token: str) -> Iterator[QueryPart]:
    at, found = next(tags(token, 0, len(token)), (0, None))
    if found is None or at > 0:
        yield from _words(token)
        return
    yield WithTag(folded(found.tag))
    # A tag may be the beginning of a word: of `#don't` no post has the rest as a word of its own.
    end = len(found.text)
    end = max([end, *(word.end for word in words(token) if word.start < end)])
    yield from _words(token[end:])


def _person(role: PostRole, value: str) -> QueryPart:
    return ByPerson(role, None if value.lower() == "me" else value.removeprefix("@"))


def _one_of(parts: Mapping[str, QueryPart], problem: Problem, value: str) -> QueryPart:
    found = parts.get(language.folded(value))
    if found is None:
        raise BadQuery(problem)
    return found


def _midnight(value: str) -> int:
    """The beginning of a day, UTC, in unix seconds. Raises BadQuery."""
    if _DATE.fullmatch(value) is None:
        raise BadQuery(Problem.BAD_DATE)
    try:
        return int(datetime.strptime(value, "%Y-%m-%d").replace(tzinfo=UTC).timestamp())
    except ValueError:
        raise BadQuery(Problem.BAD_DATE) from None


_OPERATORS: Mapping[str, Callable[[str], QueryPart]] = {
    "from": partial(_person, PostRole.FROM),
    "to": partial(_person, PostRole.TO),
    "has": partial(
        _one_of,
        {
            **dict.fromkeys(("link", "links"), OfKind(HAS_LINK)),
            **dict.fromkeys(("picture", "pictures", "image", "images", "media"), OfKind(HAS_PICTURE)),
        },
        Problem.BAD_HAS,
    ),
    "is": partial(_one_of, {"reply": OfKind(IS_REPLY)}, Problem.BAD_IS),
    "before": lambda value: Before(_midnight(value)),
    "after": lambda value: NotBefore(_midnight(value) + A_DAY),  # from the next day on
}


# ---- Matching


def fits(query: Query, known: KnownPeople, post: Post) -> bool:
    """Whether a post that is no repost fits a query."""
    if post.links.repost_of is not None:
        return False
    text = searched(post.body)
    wanted = all(part.fits(post, text, known) for part in query.wanted)
    return wanted and not any(part.fits(post, text, known) for part in query.unwanted)


# ---- The parts of a text for which a post was found: pages highlight them.


def marks(query: Query, text: str) -> tuple[Span, ...]:
    """In their order; none overlap."""
    known = searched(text)
    forms = {form for part in query.wanted if isinstance(part, OneWord) for form in known.forms_of(part)}
    spans = [Span(word.start, word.end) for word in known.words if word.folded in forms]
    spans += [span for part in query.wanted for span in part.spans(text, known.words)]
    return tuple(_without_overlaps(sorted(spans)))


def _inside(word: Word, part: OneWord) -> Iterator[Span]:
    """Where a run is a part of this word."""
    start = word.folded.find(part.folded)
    while start >= 0:
        end = start + len(part.folded)
        yield _span(word, start, end)
        start = word.folded.find(part.folded, end)


def _of_phrase(phrase: Sequence[OneWord], found: Sequence[Word]) -> Iterator[Span]:
    """Where the words of a phrase stand one after the other. A run at an end may be a part of a longer one."""
    first, last = phrase[0], phrase[-1]
    middle = [one.folded for one in phrase[1:-1]]
    folded_words = [one.folded for one in found]
    for at in range(len(found) - len(phrase) + 1):
        begin, end = found[at], found[at + len(phrase) - 1]
        if not begin.folded.endswith(first.folded) or not end.folded.startswith(last.folded):
            continue
        whole = (first.is_run or begin.folded == first.folded) and (last.is_run or end.folded == last.folded)
        if whole and folded_words[at + 1 : at + len(phrase) - 1] == middle:
            start = _span(begin, len(begin.folded) - len(first.folded), len(begin.folded)).start
            yield Span(start, _span(end, 0, len(last.folded)).end)


def _span(word: Word, start: int, end: int) -> Span:
    """Where a part of a folded word is in the text; the whole word when folding has changed its length."""
    if len(word.folded) != word.end - word.start:
        return Span(word.start, word.end)
    return Span(word.start + start, word.start + end)


def _without_overlaps(spans: Iterable[Span]) -> Iterator[Span]:
    last: Span | None = None
    for span in spans:
        if last is not None and span.start < last.end:
            last = Span(last.start, max(last.end, span.end))
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last
