"""How many of its cases a test tries."""

import os
from collections.abc import Sequence
from typing import TypeVar

from django.conf import settings

Case = TypeVar("Case")


def tries_all() -> bool:
    """Whether tests try all of their cases: on fakeredis with EXAMPLES=all, as in `make nightly`. What varies is the
    order of the site's own round trips, or what it reads: a real server has nothing to say about it, only about the
    answer to each command."""
    return os.environ.get("EXAMPLES") == "all" and not settings.REAL_SERVER


def examples(number: int) -> int:
    """How many random cases a test tries: `number`, or a tenth."""
    return number if tries_all() else -(-number // 10)


def cases(every: Sequence[Case], some: Sequence[Case]) -> Sequence[Case]:
    """The cases of a test: `every` one of a product, or `some`, which have each of its parts."""
    return every if tries_all() else some


def stride() -> int:
    """A test that kills at each round trip in turn kills at each of them, or at every third one."""
    return 1 if tries_all() else 3
