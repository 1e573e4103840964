"""Whether a post fits a query.

The index only proposes posts: it keeps the words of deleted posts and of earlier texts, and different words may share a
term. So each proposed post is read as it is now, and checked.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, assert_never

from retwis_site.store.client import Pipe
from retwis_site.store.local_cache import Memory
from timeline.language import Word, joined, phrase, same_word, words
from timeline.posts.entities import Post
from timeline.posts.links import folded, may_have_links, may_have_tags, segments, tags
from timeline.search.queries.parsing import (
    Before,
    ByPerson,
    ByViewer,
    Kind,
    NotBefore,
    OneWord,
    Part,
    Phrase,
    Query,
    Role,
    Span,
    WithTag,
)

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

    def has_word(self, word: OneWord) -> bool:
        """Whether the text has this word or another form of it; of a run, whether a run of the text has it."""
        if word.is_run:
            return word.folded in self.joined
        return word.folded in self.distinct or bool(self.forms_of(word))

    def forms_of(self, word: OneWord) -> list[str]:
        """The words of the text that are this word, or another form of it."""
        group = _group(word.folded)
        alike = (*self.by_group.get(group, ()), *self.by_group.get(ANY, ())) if group != ANY else self.distinct
        return [one for one in alike if same_word(word.folded, one)]

    def has_phrase(self, wanted: Phrase) -> bool:
        return phrase(wanted.words) in self.joined


# An entry has some 5 KB, so all have 10 MB.
_texts: Memory[str, SearchedText] = Memory(size=2000, seconds=3600)


def searched(text: str) -> SearchedText:
    kept = _texts.get(text)
    if kept is None:
        kept = _read(text)
        _texts.put(text, kept)
    return kept


def _read(text: str) -> SearchedText:
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


# ---- Matching


Test = Callable[[Post, SearchedText], bool]


class Matching:
    """The posts that fit a query. It is a rule of `PostReader`."""

    def __init__(self, query: Query, uids: Mapping[str, int], me: int | None) -> None:
        """`uids`: those of the people that the query names. `me`: the viewer."""
        self._wanted = [_test(part, uids, me) for part in query.wanted]
        self._unwanted = [_test(part, uids, me) for part in query.unwanted]

    def ask(self, pipe: Pipe, people: set[int]) -> None:
        """Nothing to ask."""

    def visible(self, posts: list[Post]) -> list[Post]:
        return [post for post in posts if self.fits(post)]

    def fits(self, post: Post) -> bool:
        """Whether a post that is no repost fits the query."""
        if post.links.repost_of is not None:
            return False
        text = searched(post.body)
        return all(test(post, text) for test in self._wanted) and not any(test(post, text) for test in self._unwanted)


def _test(part: Part, uids: Mapping[str, int], me: int | None) -> Test:
    match part:
        case OneWord():
            return lambda post, text: text.has_word(part)
        case Phrase():
            return lambda post, text: text.has_phrase(part)
        case WithTag():
            return lambda post, text: part.folded in text.tags
        case Kind.HAS_LINK:
            return lambda post, text: text.has_link
        case Kind.IS_REPLY:
            return lambda post, text: post.links.reply_to is not None
        case Before():
            return lambda post, text: post.time < part.seconds
        case NotBefore():
            return lambda post, text: post.time >= part.seconds
        case ByPerson():
            return _by(part.role, uids[part.name])
        case ByViewer():
            return _by(part.role, me)
    assert_never(part)


def _by(role: Role, uid: int | None) -> Test:
    if role is Role.FROM:
        return lambda post, text: post.author.uid == uid
    return lambda post, text: uid is not None and post.links.reply_to_user == uid


# ---- The parts of a text for which a post was found: pages highlight them.


def marks(query: Query, text: str) -> tuple[Span, ...]:
    """In their order; none overlap."""
    known = searched(text)
    forms = {form for part in query.wanted if isinstance(part, OneWord) for form in known.forms_of(part)}
    spans = [Span(word.start, word.end) for word in known.words if word.folded in forms]
    spans += [span for part in query.wanted for span in _spans(part, text, known.words)]
    return tuple(_without_overlaps(sorted(spans)))


def _spans(part: Part, text: str, found: Sequence[Word]) -> Iterable[Span]:
    """Of a part that is no word."""
    match part:
        case OneWord(is_run=True):
            return [span for word in found for span in _inside(word, part)]
        case Phrase(words=(run,)) if run.is_run:
            return [span for word in found for span in _inside(word, run)]
        case Phrase():
            return _of_phrase(part.words, found)
        case WithTag() if may_have_tags(text):
            found_tags = tags(text, 0, len(text))
            return [Span(one.start, one.end) for one in found_tags if folded(one.name) == part.folded]
    return ()


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
