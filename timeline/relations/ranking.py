"""The ranking `users_by_followers`: the number of followers of each user. Each change of an edge counts it anew.

Several processes may change the followers of one user at once, and each makes the others' counts out of date. So a
process counts again after it has written, and writes again while the count has changed. The last process to write has
thus seen that its count is right. Counting again takes its own round trip, because on several servers the commands of
one round trip have no order.
"""

from collections.abc import Collection, Mapping

from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store


class Ranking:
    """Numbers of followers by user. Users without followers are not in the ranking."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def queue_place(self, pipe: Pipe, uid: int, count: int) -> None:
        """Write the number of followers; `settle` must follow."""
        if count:
            pipe.zadd(keys.users_by_followers(), {str(uid): count})
        else:
            pipe.zrem(keys.users_by_followers(), str(uid))

    def settle(self, placed: Mapping[int, int]) -> None:
        """Correct counts (by uid) that have changed since they were written. One round trip; two more each time that
        one has changed meanwhile."""
        while changed := {uid: count for uid, count in self._counts(placed).items() if count != placed[uid]}:
            self._place(changed)
            placed = changed

    def recount(self, uids: Collection[int]) -> None:
        """Count the followers of users anew. Three round trips for all together; two more as for `settle`."""
        counts = self._counts(uids)
        self._place(counts)
        self.settle(counts)

    def _counts(self, uids: Collection[int]) -> dict[int, int]:
        pipe = self._store.pipeline()
        counts = {uid: pipe.zcard(keys.followers(uid)) for uid in uids}
        pipe.execute()
        return {uid: count.value for uid, count in counts.items()}

    def _place(self, counts: Mapping[int, int]) -> None:
        pipe = self._store.pipeline()
        for uid, count in counts.items():
            self.queue_place(pipe, uid, count)
        pipe.execute()
