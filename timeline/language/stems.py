"""Under which terms a word stands in the index, and when two words are the same.

A word has one term, so that the index stays small: `walk`, `walks` and `walking` share one. A post does not say in
which language it is, and a Latin word may be of any. So its term is the shortest stem that the stemmers of all Latin
languages reach, each applied to what the others leave. That puts some other words under the term too. It does no harm:
every result is compared with `same_word`.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from threading import Lock

import regex
import Stemmer

from timeline.language.words import Word

CACHED_WORDS = 20_000  # some 500 bytes each
SHORTEST_STEM = 3  # letters: a shorter one says too little
LONGEST_STEMMED = 60  # letters: a longer word has no inflections

Stem = Callable[[str], str]

# By script, the languages whose stemmers are asked.
_LANGUAGES: dict[str, Sequence[str]] = {
    "Latin": (
        *("english", "german", "french", "spanish", "italian", "portuguese", "dutch_porter"),
        *("swedish", "danish", "norwegian"),
    ),
    "Arabic": ("arabic",),
    "Cyrillic": ("russian",),
    "Greek": ("greek",),
    "Devanagari": ("hindi",),
    "Tamil": ("tamil",),
    "Armenian": ("armenian",),
}
_script = regex.compile("|".join(rf"(?P<{script}>\p{{{script}}})" for script in _LANGUAGES)).match
# What French and Italian put before a vowel: l'homme, dell'arte.
_elided = regex.compile(
    "(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|(?:d|n|s)?[ae]ll|sull|un|quest|quell)'(?=[aeiouyh])"
).match
_lock = Lock()  # a stemmer is not safe for threads


def _stem_of(language: str) -> Stem:
    """What finds the stem of a word in a language."""
    stemmer = Stemmer.Stemmer(language, 0)

    def stem(folded: str) -> str:
        before = _elided(folded)
        word = folded[before.end() :] if before is not None else folded
        with _lock:
            found: str = stemmer.stemWord(word)
        return found if len(found) >= SHORTEST_STEM else word

    return stem


_STEMS = {script: tuple(map(_stem_of, languages)) for script, languages in _LANGUAGES.items()}


def written_terms(word: Word) -> set[str]:
    """The terms under which a word of a post stands in the index."""
    if not word.is_run:
        return {stem_key(word.folded)}
    return {letter for letter in word.folded if letter.isalnum()} | set(_pairs(word.folded))


def asked_terms(word: Word) -> set[str]:
    """The terms under which a post must stand to have this word; it may still be another one, or a part of another
    run."""
    if not word.is_run:
        return {stem_key(word.folded)}
    return set(_pairs(word.folded)) or {word.folded}


def _pairs(run: str) -> Iterator[str]:
    return map("".join, pairwise(run))


@lru_cache(CACHED_WORDS)
def stem_key(folded: str) -> str:
    """The one term for a word: nearly all inflections of a word share it, and some other words."""
    reached, left = {folded}, [folded]
    while left:
        word = left.pop()
        new = {stem(word) for stem in _stems_by_script(word)} - reached
        reached |= new
        left += new
    return min(reached, key=lambda stem: (len(stem), stem))


def same_word(query_folded: str, text_folded: str) -> bool:
    """Whether two folded words are equal, or have equal stems in at least one language of their script."""
    if query_folded == text_folded:
        return True
    if stem_key(query_folded) != stem_key(text_folded):
        return False
    pairs = zip(stems(query_folded), stems(text_folded), strict=False)
    return any(query_stem == text_stem for query_stem, text_stem in pairs)


@lru_cache(CACHED_WORDS)
def stems(folded: str) -> tuple[str, ...]:
    """The stems of a folded word, one for each language of its script; none for a script without a stemmer."""
    distinct: dict[str, str] = {}  # most stems are equal: one object for all takes a fifth of the memory
    shortest = (_shortest(stem, folded) for stem in _stems_by_script(folded))
    return tuple(distinct.setdefault(stem, stem) for stem in shortest)


def _shortest(stem: Stem, word: str) -> str:
    """The stem of the stem, until nothing goes: without accents, a long French ending goes in several steps."""
    found = stem(word)
    while len(shorter := stem(found)) < len(found):
        found = shorter
    return found


def _stems_by_script(folded: str) -> Sequence[Stem]:
    """What finds the stem of such a word, for each language of its script."""
    script = _script(folded) if len(folded) <= LONGEST_STEMMED else None
    return _STEMS[script.lastgroup or ""] if script is not None else ()
