"""Which processors a web worker runs on.

Python runs one thread of a process at a time. So where there is a worker for each processor, each stays on its own:
what it has just used stays near, and its threads wake each other at once. Home reaches 1.13 of its rate (2026-11-24,
docs/decisions.md).
"""

import os
from collections.abc import Collection
from contextlib import suppress

# Those that this process may use; none where the system has no such choice, as on macOS.
EVERY = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset[int]()


def stay_on_one(number: int, workers: int) -> None:
    """Let this thread, and all that it will start, stay on one processor. `number`: of the worker, from 1 to `workers`.

    Only where each processor gets equally many: else one would be idle while pages wait for another."""
    if EVERY and workers % len(EVERY) == 0:
        _run_on({sorted(EVERY)[(number - 1) % len(EVERY)]})


def run_anywhere() -> None:
    """Let this thread use every processor: for work that Python's other threads do not wait for, such as a hash."""
    if EVERY:
        _run_on(EVERY)


def _run_on(some: Collection[int]) -> None:
    """A system that refuses it, or has taken these away, is no reason not to serve."""
    with suppress(OSError):
        os.sched_setaffinity(0, some)
