"""Checks of counts: the number that is written of a target must be the number of its edges."""

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

T = TypeVar("T")


def miscounted(
    targets: Sequence[int],
    look: Callable[[Sequence[int]], Sequence[T]],
    target_of: Callable[[T], int],
    at_work_on: Callable[[], Collection[int]],
) -> list[T]:
    """What `look` finds wrong about these targets in the same way twice, with no job at work on them in between.

    One look alone may find a job in progress: a user with many followers is followed all the time. `at_work_on` returns
    the targets that jobs may be at work on."""
    suspects = look(targets)
    if not suspects:
        return []
    at_work = at_work_on()
    again = look(list(dict.fromkeys(target for one in suspects if (target := target_of(one)) not in at_work)))
    return [one for one in again if one in suspects]
