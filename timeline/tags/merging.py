"""Merges the newest posts of several tags into one list."""

from collections.abc import Sequence
from heapq import merge
from itertools import islice
from typing import NamedTuple


class Newest(NamedTuple):
    """The highest ids of a list, the highest first, none twice."""

    ids: list[int]
    has_more: bool  # whether the list may have lower ones


def merged(lists: Sequence[Newest], number: int) -> Newest:
    """The `number` highest ids of all lists together. Each list must have its own `number` highest, or all."""
    every = list(dict.fromkeys(merge(*(each.ids for each in lists), reverse=True)))
    ids = list(islice(every, number))
    return Newest(ids, len(every) > len(ids) or any(each.has_more for each in lists))
