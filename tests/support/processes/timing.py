"""Times against a limit. The machine has other programs, and noise only makes things slower."""

from collections.abc import Callable, Mapping

TRIES = 3


def within(limit: float, measure: Callable[[int], Mapping[str, float]]) -> Mapping[str, float]:
    """The first times (seconds by name) that all keep to the limit. `measure` gets the number of the try. Fails when
    no try keeps to it."""
    tries = []
    for number in range(TRIES):
        tries.append(measure(number))
        if all(seconds <= limit for seconds in tries[-1].values()):
            return tries[-1]
    raise AssertionError(f"over {limit} s: {tries}")
