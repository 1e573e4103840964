"""The ids of the posts that a query's dates leave. A search looks nowhere else.

Every post is checked besides: these bounds need not be exact, but must leave nothing out. They would leave out a post
with an older date than its neighbours: `before:` does not find it.
"""

from retwis_site.store.client import Store
from timeline.posts.reading.moments import Bounds, moment
from timeline.search.queries.entities import Before, NotBefore, Query


def bounds(store: Store, query: Query, below: int, newest: int) -> Bounds:
    """The bounds of a query's dates, below the cursor. Round trips for each date as for `moment`."""
    first, after = 0, below
    for part in query.wanted:
        if isinstance(part, NotBefore):
            first = max(first, moment(store, part.seconds, newest).first)
        elif isinstance(part, Before):
            after = min(after, moment(store, part.seconds, newest).after)
    return Bounds(first, after)
