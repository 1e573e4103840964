"""The words of a text, the form in which they are compared, and when two words are the same.

The words are those of Unicode's rules (UAX #29), with four differences, each for what people look for:
- A dot or a colon between letters separates words: `example` is found in `example.com`.
- A word neither begins nor ends with underscores.
- Letters of scripts without spaces between words are one word, a run. Any part of a run can be searched.
- Emoji are words.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial
from itertools import pairwise
from threading import Lock
from typing import NamedTuple, Protocol

import regex
import Stemmer

from accounts.users.names import without_accents

LONGEST_SEARCHED = 2000  # characters; only a foreign database has longer texts, of which the beginning is searched


class Word(NamedTuple):
    """`text[start:end]` is a word. `folded`: the word as it is compared. `is_run`: it may be several words."""

    start: int
    end: int
    folded: str
    is_run: bool


_ascii_words = re.compile(
    "[A-Za-z0-9]+(?:(?:_+|(?<=[A-Za-z])'(?=[A-Za-z])|(?<=[0-9])[.,'](?=[0-9]))[A-Za-z0-9]+)*"
).finditer

# Scripts without spaces between words. Korean has spaces, but particles without a space follow a word. Digits are words
# of their own, as those of other scripts are.
_RUN = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    "\u3005\u3006\u30fc\uff70"  # the signs for a repeated or a longer sound
    r"--[\p{P}\p{Sc}\p{Nd}]"
)
_LETTER = rf"[\p{{WB=ALetter}}\p{{WB=Hebrew_Letter}}]--[{_RUN}]"
_DIGIT = r"\p{WB=Numeric}"
_MARK = r"\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}"
_BETWEEN_LETTERS = "'\u00b7\u0387\u055f\u05f4\u2027"
# Where characters are, surrogates left out. Most texts have only those of the first plane, and maybe emoji.
_FIRST_PLANE = (range(0xD800), range(0xE000, 0x10000))
_ALL_PLANES = (*_FIRST_PLANE, range(0x10000, 0x34000), range(0xE0000, 0xE0200))


@cache
def _words_in(planes: tuple[range, ...]) -> Callable[[str], Iterator[re.Match[str]]]:
    """Finds the words of a text with characters of these planes.

    `regex` knows Unicode's properties, and `re` is faster: one says which characters are letters, the other finds
    words. Made when it is first needed: it takes 0.1 s."""
    characters = "".join(chr(code) for plane in planes for code in plane)

    def ranges(properties: str) -> str:
        parts = regex.findall(f"[{properties}]+", characters, regex.VERSION1)
        return "".join(f"{re.escape(part[0])}-{re.escape(part[-1])}" for part in parts)

    run, letter, digit, mark = map(ranges, (_RUN, _LETTER, _DIGIT, _MARK))
    picture = ranges(r"\p{Extended_Pictographic}")
    pattern = f"""
        [{letter}{digit}] [{letter}{digit}{mark}]*
        (?: (?: _+ | (?<=[{letter}{mark}])[{_BETWEEN_LETTERS}](?=[{letter}]) | (?<=[{digit}])[.,'](?=[{digit}]) )
            [{letter}{digit}{mark}]+ )*
        | (?P<run> [{run}] [{run}{mark}]* )
        | [\U0001f1e6-\U0001f1ff]{{2}}
        | [{picture}]
    """
    return re.compile(pattern, re.VERBOSE).finditer


# Vowel points of Arabic and Hebrew, the line that makes an Arabic word longer, and what nobody sees.
_unwritten = regex.compile(r"[\u0591-\u05c7&&\p{Mn}]|[\u064b-\u065f\u0670\u0640]|\p{DI}|\p{Cf}", regex.VERSION1)
# Punctuation -> what it was before a phone or a word processor set it; one character each.
_TYPED = str.maketrans(
    {**dict.fromkeys("\u2018\u2019\uff07", "'"), **dict.fromkeys("\u201c\u201d\u2013\u2014\u2026\xa0", " ")}
)


def words(text: str) -> list[Word]:
    """The words of a text, in their order. The work is linear."""
    searched = text[:LONGEST_SEARCHED]
    if not searched.isascii():
        searched = searched.translate(_TYPED)  # many texts are plain but for their quotation marks and dashes
    return list(_words_of_ascii(searched) if searched.isascii() else _words_of_any(searched))


def _words_of_ascii(text: str) -> Iterator[Word]:
    for found in _ascii_words(text):
        start, end = found.span()
        yield Word(start, end, found[0].lower(), False)


def _words_of_any(text: str) -> Iterator[Word]:
    planes = _FIRST_PLANE if max(text) < "\U00010000" else _ALL_PLANES
    for found in _words_in(planes)(text):
        start, end = found.span()
        if word := folded(found[0]):
            yield Word(start, end, word, found["run"] is not None)


def folded(word: str) -> str:
    """The form in which words are compared: in small letters, without accents where readers may leave them out. Folding
    a folded word changes nothing."""
    if word.isascii():
        return word.lower()
    caseless = unicodedata.normalize("NFKC", word).casefold()
    apart = unicodedata.normalize("NFKD", _unwritten.sub("", caseless))
    return unicodedata.normalize("NFC", without_accents(apart)).casefold()


# ---- Words next to each other, found by one search for a text in a text.


BETWEEN = "\n"  # stands between words; no word has it


class FoldedWord(Protocol):
    """A word as it is compared. `is_run`: it may be several words, of a script without spaces between them."""

    @property
    def folded(self) -> str: ...
    @property
    def is_run(self) -> bool: ...


def joined(found: Iterable[FoldedWord]) -> str:
    """All words of a text, each between two BETWEEN."""
    return BETWEEN.join(("", *(word.folded for word in found), ""))


def phrase(found: Sequence[FoldedWord]) -> str:
    """Some words, at least one, as `joined` has them where they stand next to each other. A run at an end may be a part
    of a longer one."""
    before = "" if found[0].is_run else BETWEEN
    after = "" if found[-1].is_run else BETWEEN
    return f"{before}{BETWEEN.join(word.folded for word in found)}{after}"


# ---- Under which terms a word stands in the index, and when two words are the same.
#
# A word has one term, so that the index stays small: `walk`, `walks` and `walking` share one. A post does not say in
# which language it is, and a Latin word may be of any. So its term is the shortest stem that the stemmers of all Latin
# languages reach, each applied to what the others leave. That puts some other words under the term too. It does no
# harm: every result is compared with `same_word`.


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


def _stem(stemmer: Stemmer.Stemmer, folded: str) -> str:
    before = _elided(folded)
    word = folded[before.end() :] if before is not None else folded
    with _lock:
        found: str = stemmer.stemWord(word)
    return found if len(found) >= SHORTEST_STEM else word


_STEMS: dict[str, Sequence[Stem]] = {
    script: [partial(_stem, Stemmer.Stemmer(language, 0)) for language in languages]
    for script, languages in _LANGUAGES.items()
}


def written_terms(word: Word) -> set[str]:
    """The terms under which a word of a post stands in the index."""
    if not word.is_run:
        return {stem_key(word.folded)}
    return _letters(word.folded) | set(_pairs(word.folded))


def asked_terms(word: Word) -> set[str]:
    """The terms under which a post must stand to have this word; it may still be another one, or a part of another
    run."""
    if not word.is_run:
        return {stem_key(word.folded)}
    return set(_pairs(word.folded)) or _letters(word.folded)


def _letters(run: str) -> set[str]:
    """Without the signs that stand above and below letters."""
    return {letter for letter in run if letter.isalnum()}


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
