"""Words next to each other, found by one search for a text in a text."""

from collections.abc import Iterable, Sequence
from typing import Protocol

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
