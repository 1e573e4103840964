"""Who is followed by how many: `users_by_followers`, which whoever changes an edge counts anew from `followers:`.

Several may change the followers of one person at once, each with a count that the next makes out of date. So whoever
writes one looks once more, and writes again while it has changed: the last to write has also seen that it is right. The
look has a round trip of its own, since on several servers the commands of one trip have no order.
"""

from collections.abc import Collection, Mapping

from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store


class Ranking:
    """How many follow each; nobody is in it whom nobody follows."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def queue_count(self, pipe: Pipe, uid: int) -> None:
        """Ask how many follow somebody; for `queue_place`."""
        pipe.zcard(keys.followers(uid))

    def queue_place(self, pipe: Pipe, uid: int, count: int) -> None:
        """Write that so many follow them; then `settle` it."""
        if count:
            pipe.zadd(keys.users_by_followers(), {str(uid): count})
        else:
            pipe.zrem(keys.users_by_followers(), str(uid))

    def settle(self, placed: Mapping[int, int]) -> None:
        """See to it that the counts that were written, by uid, are right. One round trip; two more each time that one
        has changed meanwhile."""
        while changed := {uid: count for uid, count in self._counts(placed).items() if count != placed[uid]}:
            self._place(changed)
            placed = changed

    def recount(self, uids: Collection[int]) -> None:
        """Count the followers of these anew. Three round trips for all together; two more as above."""
        counts = self._counts(uids)
        self._place(counts)
        self.settle(counts)

    def _counts(self, uids: Collection[int]) -> dict[int, int]:
        pipe = self._store.pipeline()
        for uid in uids:
            self.queue_count(pipe, uid)
        return dict(zip(uids, pipe.execute(), strict=True))

    def _place(self, counts: Mapping[int, int]) -> None:
        pipe = self._store.pipeline()
        for uid, count in counts.items():
            self.queue_place(pipe, uid, count)
        pipe.execute()
