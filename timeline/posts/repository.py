"""Posts in Redis: publish, edit, delete, and read many at once.

Each verb is a module of `writing/`. `tests/protocols/test_conversations.py` interleaves them, with crashes.
"""

from collections.abc import Collection

from retwis_site.store.client import Store
from timeline.posts.entities import DeletedBy, NewPost, Published
from timeline.posts.reading.records import Record, ask_post, existing
from timeline.posts.writing.deletion import Deletion
from timeline.posts.writing.editing import Editing
from timeline.posts.writing.publication import Publication


class Posts:
    """All posts."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def publish(self, uid: int, new: NewPost, token: str) -> Published:
        """As `Publication.publish`."""
        return Publication(self._store).publish(uid, new, token)

    def edit(self, uid: int, pid: int, body: str) -> bool:
        """As `Editing.edit`."""
        return Editing(self._store).edit(uid, pid, body)

    def delete(self, uid: int, pid: int, by: DeletedBy = DeletedBy.AUTHOR) -> None:
        """As `Deletion.delete`."""
        Deletion(self._store).delete(uid, pid, by)

    def read(self, pids: Collection[int]) -> tuple[list[Record], list[int]]:
        """The posts that exist, in the order of `pids`, and the ids of the missing or deleted ones. One round trip."""
        pipe = self._store.pipeline()
        asked = {pid: ask_post(pipe, pid) for pid in pids}
        pipe.execute()
        return existing(asked)
