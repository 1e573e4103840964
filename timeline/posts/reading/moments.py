"""Between which ids of posts a moment is.

An id that was made from the time says it. Ids of a counter are in the order of time, so a few posts are asked when they
were written, first all over the site and then around the moment. A site that has changed to ids from the time has both:
those of the counter are lower and older. A post with an older date than its neighbours, one that `import_account` has
brought from another site, may stand on the other side.
"""

from collections.abc import Sequence
from typing import NamedTuple

from retwis_site.store import keys
from retwis_site.store.chunks import answers
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_time
from retwis_site.store.snowflake import SMALLEST, first_of

LOOKS = 2  # round trips
POSTS_A_LOOK = 64  # after two looks at a million posts, the moment is between two that are 250 ids apart


class Bounds(NamedTuple):
    """The ids from `first` to below `after`."""

    first: int
    after: int


def moment(store: Store, seconds: int, newest: int, counted: int) -> Bounds:
    """Between which ids a moment (unix seconds) is: no post from `first` down is as new, and none from `after` up is
    older. `newest`: no post of the site has a higher id. `counted`: as for `ask_given_out`. LOOKS round trips; none
    where all ids are made from the time."""
    made, last = first_of(seconds), counted if newest > SMALLEST else newest
    first, after = 0, last + 1
    for _ in range(LOOKS):
        first, after = _closer(store, seconds, first, after)
    if newest <= SMALLEST or after <= last:
        return Bounds(first, after)
    return Bounds(made if first == last and made > SMALLEST else first, made)


def _closer(store: Store, seconds: int, first: int, after: int) -> Bounds:
    step, highest = max(1, (after - first) // POSTS_A_LOOK), after - 1
    pids = [*range(first + step, highest, step), highest] if highest > first else []
    stored = answers(store, lambda pipe, pid: pipe.hget(keys.post(pid), "time"), pids)
    times = [(pid, stored_time(keys.post(pid), when)) for pid, when in stored.items() if when is not None]
    return Bounds(_last_below(times, seconds, first), _first_above(times, seconds, after))


def _last_below(times: Sequence[tuple[int, int]], seconds: int, first: int) -> int:
    """The highest of these ids that is older than the moment, as are all lower ones; `first` without one."""
    for pid, when in times:
        if when >= seconds:
            break
        first = pid
    return first


def _first_above(times: Sequence[tuple[int, int]], seconds: int, after: int) -> int:
    """The lowest of these ids that is not older than the moment, as are all higher ones; `after` without one."""
    for pid, when in reversed(times):
        if when < seconds:
            break
        after = pid
    return after
