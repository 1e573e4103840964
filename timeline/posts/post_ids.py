"""Where a post's id comes from: a counter that the whole site shares, or the time.

A counter is one key, which every post on the site increments. An id that is made from the time (`snowflake.py`) asks
nobody; another process may make the same one, so it is claimed: by the HSETNX that begins a post's hash anyway.
"""

import time

from django.conf import settings

from retwis_site.store import keys, snowflake
from retwis_site.store.client import Pipe, Store

RECENT = 2000  # ids that each `recent` keeps


class CounterIds:
    """`POST_IDS=incr`: what is newest is known by counting down."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def take(self, uid: int) -> int:
        """An id that nobody else has, for a post of `uid`. One round trip."""
        return self._store.incr(keys.next_post_id())

    def give_back(self, pid: int) -> None:
        """What was counted is not counted again. No round trip."""

    def queue_as_recent(self, pipe: Pipe, pid: int) -> None:
        """Nothing: whoever counts down meets it."""

    def recents(self) -> list[str]:
        """Where posts are noted: nowhere."""
        return []


class SnowflakeIds:
    """`POST_IDS=snowflake`: what is newest is noted, since nobody could guess it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def take(self, uid: int) -> int:
        """An id that nobody else has, its hash begun. One round trip; one more where another process had made the same.

        Its time is written at once, so that `cleanup` can tell a post under way from an orphan.
        """
        while True:
            pid = snowflake.make()
            pipe = self._store.pipeline()
            pipe.hsetnx(keys.post(pid), "user_id", str(uid))
            pipe.hsetnx(keys.post(pid), "time", str(int(time.time())))
            is_mine, _ = pipe.execute()
            if is_mine:
                return pid

    def give_back(self, pid: int) -> None:
        """Drop a claim that is not needed. One round trip."""
        self._store.unlink(keys.post(pid))

    def queue_as_recent(self, pipe: Pipe, pid: int) -> None:
        """Note a post beside its author's `updates:`, and drop the oldest note."""
        pipe.zadd(keys.recent(pid), {str(pid): pid})
        pipe.zremrangebyrank(keys.recent(pid), 0, -RECENT - 1)

    def recents(self) -> list[str]:
        """Where posts are noted, or were when TIMELINE_SHARDS was another number."""
        return keys.whatever_shards("recent")


def post_ids(store: Store) -> CounterIds | SnowflakeIds:
    """What POST_IDS says."""
    return CounterIds(store) if settings.POST_IDS == "incr" else SnowflakeIds(store)
