"""Markdown tables."""

import statistics
from collections.abc import Iterable, Mapping, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (heads, *rows)]
    return "\n".join([lines[0], f"|{'---|' * len(heads)}", *lines[1:]]) + "\n"


def times_table(what: str, times: Mapping[str, Sequence[float]], digits: int = 1) -> str:
    """A table of milliseconds by name: median, shortest and longest."""
    return table(
        [what, "median, ms", "shortest", "longest"],
        (
            [name, *(f"{value:.{digits}f}" for value in (statistics.median(measured), min(measured), max(measured)))]
            for name, measured in times.items()
        ),
    )
