"""The posts of a deleted account, removed by a worker a chunk at a time."""

from collections.abc import Iterator

from retwis_site.store import keys
from retwis_site.store.chunks import empty
from retwis_site.store.client import Store
from timeline.posts.repository import Posts


def remove_posts(store: Store, uid: int) -> Iterator[None]:
    """Delete all posts of a user, in chunks. Each chunk leaves `updates:` last, since `updates:` leads to the posts.

    A post of another author that is in the set by mistake is only removed from the set. Four round trips a chunk."""
    pipe = store.pipeline()

    def remove(pids: list[int]) -> None:
        authors = [(pid, pipe.hget(keys.post(pid), "user_id")) for pid in pids]
        pipe.execute()
        Posts(store).mark_deleted([pid for pid, author in authors if author.value == str(uid)])

    return empty(store, keys.updates(uid), remove)
