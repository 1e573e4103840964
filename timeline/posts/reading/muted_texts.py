"""Which texts have words that a viewer mutes."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from retwis_site.store.local_cache import Memory
from timeline.language.phrases import joined, phrase
from timeline.language.words import words
from timeline.relations.words.muted_words import How, MutedWord, Where

CACHED_VIEWERS = 200  # with muted words; at most 50 KB each

# The words of texts, as phrases are looked for. An entry has some 1 KB, so all have 5 MB.
_texts: Memory[str, str] = Memory(size=5000, seconds=3600)


class MutedTexts(NamedTuple):
    """What hides and folds posts of one viewer."""

    hiding: Sequence[tuple[str, str]] = ()  # the words as a text has them, and as typed
    folding: Sequence[tuple[str, str]] = ()
    besides: int | None = None  # the id of a post that is shown whatever it says: the viewer has asked for it

    def hide(self, text: str) -> bool:
        return bool(self.hiding) and _first(self.hiding, text) is not None

    def folded_for(self, text: str) -> str | None:
        """The words, as typed, for which a post with this text is folded; None for most."""
        return _first(self.folding, text) if self.folding else None


NO_WORDS = MutedTexts()


def muted_texts(muted: Iterable[MutedWord], where: Where) -> MutedTexts:
    """What the words mute on a page: HOME for the viewer's home, EVERYWHERE for any other."""
    here = tuple((one.how, one.words) for one in muted if one.where in (where, Where.EVERYWHERE))
    return _muted_texts(here) if here else NO_WORDS


@lru_cache(CACHED_VIEWERS)
def _muted_texts(here: Sequence[tuple[How, str]]) -> MutedTexts:
    hiding, folding = (
        tuple((phrase(words(typed)), typed) for how, typed in here if how is wanted) for wanted in (How.HIDE, How.FOLD)
    )
    return MutedTexts(hiding, folding)


def _first(muted: Sequence[tuple[str, str]], text: str) -> str | None:
    in_text = _texts.get(text)
    if in_text is None:
        in_text = joined(words(text))
        _texts.put(text, in_text)
    return next((typed for wanted, typed in muted if wanted in in_text), None)
