"""What could not be imported, counted by its reason, with a few examples of each."""

from collections import Counter
from collections.abc import Iterator

EXAMPLES = 5


class Problems:
    """Reasons, with the number of times that each was met. It holds EXAMPLES of each, however many there are."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._examples: dict[str, list[str]] = {}

    def note(self, reason: str, example: str) -> None:
        self.counts[reason] += 1
        examples = self._examples.setdefault(reason, [])
        if len(examples) < EXAMPLES:
            examples.append(example)

    def lines(self) -> Iterator[str]:
        """A line for each reason, such as `posts without a known author: 2 (post 7, post 9)`."""
        for reason, count in sorted(self.counts.items()):
            more = ", ..." if count > EXAMPLES else ""
            yield f"{reason}: {count} ({', '.join(self._examples[reason])}{more})"
