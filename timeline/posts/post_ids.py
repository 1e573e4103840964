"""Where a post's id comes from: a counter of the whole site, or the time.

The counter is one key, which every new post increments. An id from the time (`snowflake.py`) needs no round trip.
Another process may make the same id, so the id is claimed with HSETNX on `user_id`, the first field of a post's hash.
"""

import time

from django.conf import settings

from retwis_site.store import keys, snowflake
from retwis_site.store.chunks import ask_has_keys
from retwis_site.store.client import Pipe, Repository, Result, Store
from retwis_site.store.ids import counted_id, parse_number
from retwis_site.store.kinds import KINDS

RECENT = 2000  # ids in each `recent`


def ask_given_out(pipe: Pipe) -> Result[int]:
    """How many ids the counter has given out, which is the last of them: to posts and reposts, also to those that are
    deleted by now. Ids from the time are not counted, and are all above these. One command."""
    counter = pipe.get(keys.next_post_id())
    return Result(lambda: min(parse_number(counter.value or "") or 0, snowflake.SMALLEST - 1))


class CounterIds(Repository):
    """`POST_IDS=incr`: counting down from the counter finds the newest posts."""

    def take(self, uid: int) -> int:
        """A new id for a post of `uid`. One round trip. Raises IdInUse."""
        return counted_id(keys.next_post_id(), self._store.incr(keys.next_post_id()))

    def ask_unused(self, pipe: Pipe, pid: int) -> Result[bool]:
        """Whether no post has an id from `take`, and nothing is left of one. A counter gives ids out again when it was
        lost, or when a server that lacks its last numbers has taken over. A command for each kind of key that posts
        have."""
        others = [kind for kind in KINDS.values() if kind.of_posts and kind is not keys.post]
        author, left = pipe.hget(keys.post(pid), "user_id"), ask_has_keys(pipe, pid, others)
        return Result(lambda: author.value is None and not left.value)

    def some(self, number: int) -> list[int]:
        """So many ids that no post has. The caller must claim each with HSETNX. One round trip. Raises IdInUse."""
        last = counted_id(keys.next_post_id(), self._store.incrby(keys.next_post_id(), number))
        return list(range(counted_id(keys.next_post_id(), last - number + 1), last + 1))

    def give_back(self, pid: int) -> None:
        """Does nothing: a number is not counted twice. No round trip."""

    def queue_as_recent(self, pipe: Pipe, pid: int) -> None:
        """Queues nothing: counting down finds the post."""

    def recents(self) -> list[str]:
        """No keys."""
        return []


class SnowflakeIds(Repository):
    """`POST_IDS=snowflake`: new ids are kept in `recent`, because the newest ones cannot be guessed."""

    def take(self, uid: int) -> int:
        """A new id for a post of `uid`, claimed in its hash. One round trip; one more when another process had the id.
        Raises WrongClock.

        The time is written with the claim, so that `cleanup` can tell a post under way from an orphan.
        """

        def claim(pid: int) -> int | None:
            with self._store.pipeline() as pipe:
                claimed = pipe.hsetnx(keys.post(pid), "user_id", str(uid))
                pipe.hsetnx(keys.post(pid), "time", str(int(time.time())))
            return pid if claimed.value else None

        return snowflake.claimed(claim)

    def ask_unused(self, pipe: Pipe, pid: int) -> Result[bool]:
        """True: `take` has claimed the id. No command."""
        return Result(lambda: True)

    def some(self, number: int) -> list[int]:
        """So many ids. The caller must claim each with HSETNX: another process may make the same. No round trip."""
        return [snowflake.make() for _ in range(number)]

    def give_back(self, pid: int) -> None:
        """Remove the claim of an unused id. One round trip."""
        self._store.unlink(keys.post(pid))

    def queue_as_recent(self, pipe: Pipe, pid: int) -> None:
        """Add a post to `recent`, and remove the lowest id when it holds more than RECENT. Two commands."""
        pipe.zadd(keys.recent(pid), {str(pid): pid})
        pipe.zremrangebyrank(keys.recent(pid), 0, -RECENT - 1)

    def recents(self) -> list[str]:
        """The `recent` keys of every possible number of TIMELINE_SHARDS."""
        return keys.recent.whatever_shards()


def post_ids(store: Store) -> CounterIds | SnowflakeIds:
    """The source of ids that the setting POST_IDS names."""
    return CounterIds(store) if settings.POST_IDS == "incr" else SnowflakeIds(store)
