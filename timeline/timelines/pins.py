"""The pinned post of a user: it stands first on the profile. `pinned` in `user:<uid>` has its id."""

from collections.abc import Iterator, Sequence

from accounts.users.repository import Users
from accounts.users.site_lines import uids_in_order
from retwis_site.features import AddressOf, Line, Owner, SiteLines
from retwis_site.maintenance.line_fields import ID
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_id
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


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """The line of the pinned post in the personal download, if there is one. One round trip."""
    pid = stored_id(keys.user(owner.uid), store.hget(keys.user(owner.uid), "pinned"))
    if pid is not None:
        yield [{"type": "pin", "id": pid, "address": address_of("post", owner.username, pid)}]


def _read(store: Store) -> Iterator[list[Line]]:
    """A line for each pinned post, by user. One round trip a chunk."""
    for uids in uids_in_order(store):
        pipe = store.pipeline()
        asked = {uid: pipe.hget(keys.user(uid), "pinned") for uid in uids}
        pipe.execute()
        pinned = {uid: stored_id(keys.user(uid), field.value) for uid, field in asked.items()}
        yield [{"type": "pin", "user": uid, "post": pid} for uid, pid in pinned.items() if pid is not None]


def _write(store: Store, lines: Sequence[Line]) -> None:
    pipe = store.pipeline()
    for line in lines:
        pipe.hset(keys.user(line["user"]), {"pinned": str(line["post"])})
    pipe.execute()


PIN_LINES = SiteLines(
    type="pin",
    fields=lambda line: {"user": ID, "post": ID},
    read=_read,
    write=_write,
    unique=("user",),
    users=("user",),
    posts=("post",),
)
