"""The pinned post of a user: it stands first on the profile. `pinned` in `user:<uid>` has its id."""

from accounts.users.repository import Users
from retwis_site.store import keys
from retwis_site.store.client import Store
from timeline.posts.entities import NoSuchPost, PostDeleted


class Pins:
    """The pinned posts of all users, one of each."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def pin(self, uid: int, pid: int) -> None:
        """Pin a post of user `uid`, instead of the one before. Two round trips. Raises NoSuchPost (also for another
        author's post, and for a repost), PostDeleted.

        A post that is deleted meanwhile stays pinned and is not shown."""
        author, deleted, repost_of = self._store.hmget(keys.post(pid), ["user_id", "deleted", "repost_of"])
        if author != str(uid) or repost_of is not None:
            raise NoSuchPost(pid)
        if deleted is not None:
            raise PostDeleted(pid)
        Users(self._store).write(uid, {"pinned": str(pid)})

    def unpin(self, uid: int, pid: int) -> None:
        """Pin this post no longer. Two round trips; one when another post is pinned."""
        if self._store.hget(keys.user(uid), "pinned") == str(pid):
            self._store.hdel(keys.user(uid), "pinned")
