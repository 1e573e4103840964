"""Figures in seconds, which depend on the machine. Each run reports them. Only with ASSERT_SECONDS=1, as in
`make nightly`, a run asserts them: else a test counts, or compares with the same site in the same run."""

import os
from collections.abc import Callable, Mapping

ASSERTED = os.environ.get("ASSERT_SECONDS") == "1"
TRIES = 3  # the machine has other programs, and noise only makes things slower
ROOM = 4  # for a machine at a quarter of its speed

_noted: dict[str, tuple[float, float]] = {}


def _note(what: str, seconds: float, limit: float) -> None:
    """Of the same figure, the longest is reported."""
    _noted[what] = max(_noted.get(what, (0.0, limit)), (seconds, limit))


def taken() -> list[tuple[str, float, float]]:
    """What was measured since the last call: what it is, the seconds and the limit."""
    figures = [(what, *figure) for what, figure in _noted.items()]
    _noted.clear()
    return figures


def within(limit: float, measure: Callable[[], Mapping[str, float]]) -> Mapping[str, float]:
    """What `measure` returns: seconds by name. With ASSERT_SECONDS=1 it may try again, and fails when no try keeps to
    the limit."""
    tries = []
    for _ in range(TRIES if ASSERTED else 1):
        tries.append(measure())
        if all(seconds <= limit for seconds in tries[-1].values()):
            break
    for what, seconds in tries[-1].items():
        _note(what, seconds, limit)
        assert not ASSERTED or seconds <= limit, f"over {limit} s: {tries}"
    return tries[-1]


def assert_timeout(what: str, seconds: float, limit: float) -> None:
    """Fail when a timeout of the site itself has not ended something in time. Each run asserts it, with room."""
    _note(what, seconds, limit)
    assert seconds < (limit if ASSERTED else limit * ROOM), f"{what}: {seconds:.2f} s"
