"""What a search must know about a text. It follows from the text alone, so a process keeps it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from retwis_site.store.local_cache import Memory
from timeline.language.phrases import joined, phrase
from timeline.language.stems import same_word
from timeline.language.words import Word, words
from timeline.posts.parsing.links import may_have_links, segments
from timeline.posts.parsing.tags import folded, may_have_tags
from timeline.search.queries.entities import OneWord, Phrase

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
