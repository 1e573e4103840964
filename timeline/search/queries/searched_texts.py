"""What a search must know about a text. It follows from the text alone, so a process keeps it."""

from collections.abc import Sequence
from typing import NamedTuple

from retwis_site.store.local_cache import Memory
from timeline.posts.parsing.links import may_have_links, segments
from timeline.posts.parsing.tags import folded, may_have_tags
from timeline.search.language.stems import same_word
from timeline.search.language.words import Word, words
from timeline.search.queries.entities import OneWord, Phrase

BETWEEN = "\n"  # stands between words; no word has it
LAST_EUROPEAN = "\u0590"  # Latin, Greek, Cyrillic and Armenian letters come before it


class SearchedText(NamedTuple):
    words: list[Word]
    distinct: frozenset[str]  # the folded words, without runs
    joined: str  # all folded words, each between two BETWEEN
    tags: frozenset[str]  # folded
    has_link: bool

    def has_word(self, word: OneWord) -> bool:
        """Whether the text has this word or another form of it; of a run, whether a run of the text has it."""
        if word.is_run:
            return word.folded in self.joined
        return word.folded in self.distinct or bool(self.forms_of(word))

    def forms_of(self, word: OneWord) -> list[str]:
        """The words of the text that are this word, or another form of it."""
        return [one for one in self.distinct if _may_be(word.folded, one) and same_word(word.folded, one)]

    def has_phrase(self, phrase: Phrase) -> bool:
        return _joined(phrase.words) in self.joined


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
    return SearchedText(found, distinct, _between(found), tags, any(part.address for part in parts))


def _may_be(word: str, other: str) -> bool:
    """Whether two words may be forms of one, as far as their first letters tell. It takes a thousandth of the time of
    stems. European languages change the ends of words; l'arte and Arabic words also the beginnings."""
    return word[0] == other[0] or word[0] >= LAST_EUROPEAN or "'" in word or "'" in other


def _between(found: Sequence[Word]) -> str:
    return BETWEEN.join(("", *(word.folded for word in found), ""))


def _joined(phrase: Sequence[OneWord]) -> str:
    """The words of a phrase as `SearchedText.joined` has them. A run at an end may be a part of a longer one."""
    joined = BETWEEN.join(word.folded for word in phrase)
    before = "" if phrase[0].is_run else BETWEEN
    after = "" if phrase[-1].is_run else BETWEEN
    return f"{before}{joined}{after}"
