"""What `adopt` changes in the posts of an official database: it has no key of a user's own posts."""

from collections.abc import Sequence
from functools import partial

from retwis_site.maintenance.checks import Check, Chunks, Finding, ids_of
from retwis_site.store import keys
from retwis_site.store.client import Store
from timeline.posts.checks.post_checks import PostChecks, Written


class PostAdoption:
    """Searches the posts of an official database."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._checks = PostChecks(store)

    def checks(self) -> list[Check]:
        return [Check("posts that no updates: lists", self.unlisted, self._store.dbsize)]

    def unlisted(self) -> Chunks:
        """Posts with an author that are missing from the author's `updates:`."""
        for pids in ids_of(self._store, "post:*"):
            lacking = [written for written in self._checks.unlisted(pids) if written[1]]
            if lacking:
                what = f"post {lacking[0][0]}, and {len(lacking) - 1} more"
                yield [Finding(what, partial(self._list, lacking), len(lacking))]
            else:
                yield []

    def _list(self, posts: Sequence[Written]) -> None:
        pipe = self._store.pipeline()
        for pid, author in posts:
            pipe.zadd(keys.updates(author), {str(pid): pid})
        pipe.execute()
