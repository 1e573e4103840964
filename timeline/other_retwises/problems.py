"""What could not be imported, counted by its reason, with a few examples of each."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

EXAMPLES = 5
LONGEST_EXAMPLE = 100  # characters


class Problems:
    """Reasons, with the number of times that each was met. It holds EXAMPLES of each, however many there are."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._examples: dict[str, list[str]] = {}
        self._deaf = False

    def note(self, reason: str, example: str) -> None:
        """The example may hold any text of the source: it is cut, and a terminal can show it."""
        if self._deaf:
            return
        self.counts[reason] += 1
        examples = self._examples.setdefault(reason, [])
        if len(examples) < EXAMPLES:
            examples.append(_shown(example))

    def unheard(self, chunks: Iterable[T]) -> Iterator[T]:
        """Chunks that are read a second time: what reading them notes is not counted again."""
        reading = iter(chunks)
        while True:
            self._deaf = True
            try:
                chunk = next(reading)
            except StopIteration:
                return
            finally:
                self._deaf = False
            yield chunk

    def lines(self) -> Iterator[str]:
        """A line for each reason, such as `posts without a known author: 2 (post 7, post 9)`."""
        for reason, count in sorted(self.counts.items()):
            more = ", ..." if count > EXAMPLES else ""
            yield f"{reason}: {count} ({', '.join(self._examples[reason])}{more})"


def _shown(text: str) -> str:
    """Control characters and bytes that are not UTF-8 become escapes."""
    chars = text if len(text) <= LONGEST_EXAMPLE else f"{text[:LONGEST_EXAMPLE]}..."
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in chars)
