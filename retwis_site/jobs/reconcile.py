"""Look, write, look again, until both agree: how all that follows from a commit is made to match it.

Several processes may change the same things at once, and each makes what the others have read out of date. So a process
looks again after it has written, and writes again while what it finds differs from what it has written. The last one to
write has thus seen that it is right. The second look takes its own round trip, because on several servers the commands
of one round trip have no order. `tests/protocols/` interleaves every use with others and with crashes.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def reconcile(
    found: Mapping[K, V],
    look: Callable[[Mapping[K, V]], Mapping[K, V]],
    write: Callable[[Mapping[K, V]], Mapping[K, V]],
) -> None:
    """`found`: what the first look has found, by what it is about. `write` writes what follows from it, and returns
    what it has written that for: others may be left out, or corrected. `look` reads it anew, in a round trip of its
    own. In a job, the store of both is that of the job, which looks at its lease before each round trip."""
    while found:
        written = write(found)
        found = {key: now for key, now in look(written).items() if now != written[key]}
