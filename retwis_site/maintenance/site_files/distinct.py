"""Finds a value that stands twice among millions, in 8 bytes for each."""

from array import array
from hashlib import blake2b
from heapq import merge
from itertools import pairwise

SORTED_AT_ONCE = 100_000  # values


class Distinct:
    """Values that should all be different. Upper and lower case count as the same."""

    def __init__(self) -> None:
        self._hashes = array("q")

    def add(self, value: object) -> None:
        digest = blake2b(str(value).lower().encode(), digest_size=8).digest()
        self._hashes.append(int.from_bytes(digest, "big", signed=True))

    def repeated(self) -> int | None:
        """How many values were added before one that stood there already; None when all are different."""
        ordered = [
            array("q", sorted(self._hashes[start : start + SORTED_AT_ONCE]))
            for start in range(0, len(self._hashes), SORTED_AT_ONCE)
        ]
        for one, other in pairwise(merge(*ordered)):
            if one == other:
                return self._hashes.index(one, self._hashes.index(one) + 1)
        return None
