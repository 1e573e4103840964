"""Between which ids of posts a moment is.

An id that was made from the time says it. Ids of a counter are in the order of time, so a few posts are asked when they
were written, first all over the site and then around the moment. A site that has changed to ids from the time has both:
those of the counter are lower and older. A post with an older date than its neighbours, one that `import_account` has
brought from another site, may stand on the other side.
"""

from itertools import takewhile
from typing import NamedTuple

from retwis_site.store import keys
from retwis_site.store.client import Store, answers
from retwis_site.store.ids import stored_time
from retwis_site.store.snowflake import SMALLEST, first_of

LOOKS = 2  # round trips
POSTS_A_LOOK = 64  # after two looks at a million posts, the moment is between two that are 250 ids apart


class Bounds(NamedTuple):
    """The ids from `first` to below `after`."""

    first: int
    after: int


def bounds_of(store: Store, seconds: int, newest: int, counted: int) -> Bounds:
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
    """Closer bounds: of the posts between that are asked, up to which all are older, and from which on none is."""
    step, highest = max(1, (after - first) // POSTS_A_LOOK), after - 1
    pids = [*range(first + step, highest, step), highest] if highest > first else []
    stored = answers(store, lambda pipe, pid: pipe.hget(keys.post(pid), "time"), pids)
    times = [(pid, stored_time(keys.post(pid), when)) for pid, when in stored.items() if when is not None]
    older = takewhile(lambda one: one[1] < seconds, times)
    newer = takewhile(lambda one: one[1] >= seconds, reversed(times))
    return Bounds(max((pid for pid, _ in older), default=first), min((pid for pid, _ in newer), default=after))
