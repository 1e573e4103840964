"""Texts of natural length for very many posts: those of the demo, in which every second word is drawn by a power law.

So there are words in every second post, and words in very few.
"""

import random
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from benchmarks.raw import BODIES
from timeline.language import stem_key, words, written_terms

COMMON, RARE = 12, 20  # words that are searched
COPIES = 3  # posts with a rare word
_SYLLABLES = [consonant + vowel for consonant in "bdfghjklmnprstvz" for vowel in "aeiou"]


class Vocabulary(NamedTuple):
    """Words, none of which a search takes for a form of another one, or of a word of the demo."""

    drawn: list[str]  # the most common first
    rare: list[str]  # never drawn

    @property
    def common(self) -> list[str]:
        return self.drawn[:COMMON]


def vocabulary(size: int) -> Vocabulary:
    """So many words, always the same."""
    rng = random.Random(6)
    taken = {term for body in BODIES for word in words(body) for term in written_terms(word)}
    found: list[str] = []
    while len(found) < size:
        word = "".join(rng.choices(_SYLLABLES, k=rng.choice((2, 3, 3, 4))))
        term = stem_key(word)
        if term not in taken:
            taken.add(term)
            found.append(word)
    found.sort(key=len)
    return Vocabulary(found[:-RARE], found[-RARE:])


def rare_posts(number: int, count: int) -> list[int]:
    """The ids of the posts with the rare word of this number, the newest first."""
    return [count * part // (2 * COPIES) + number for part in range(2 * COPIES - 1, 0, -2)]


def texts(known: Vocabulary, count: int) -> Iterator[str]:
    """The texts of the posts from id 1 on, always the same."""
    rng = random.Random(7)
    weights = list(accumulate(1 / rank for rank in range(1, len(known.drawn) + 1)))
    added = {pid: word for number, word in enumerate(known.rare) for pid in rare_posts(number, count)}
    for pid in range(1, count + 1):
        said = BODIES[pid % len(BODIES)].split(" ")
        said[1::2] = rng.choices(known.drawn, cum_weights=weights, k=len(said) // 2)
        if pid in added:
            said.append(added[pid])
        yield " ".join(said)
