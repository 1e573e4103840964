"""One post of a user. It says why a post is not there, so it reads the post itself and caches nothing."""

from functools import partial

from accounts.signing_in.viewer import Viewer
from retwis_site.exceptions import NotShown
from retwis_site.store import keys
from retwis_site.store.client import Pipe
from timeline.posts.entities import NoSuchPost, Post, PostDeleted, Unavailable
from timeline.posts.reading.records import (
    FIELDS,
    Record,
    Version,
    ask_versions,
    deleted_by,
    post_deleted,
    record_from,
    tombstone,
)
from timeline.relations.protocol.blocks import ask_blocks


def one_post(viewer: Viewer, username: str, pid: int) -> Post:
    """One post of the user `username`. One round trip with cached uids. Raises NoSuchUser, AccountDeleted, NoSuchPost,
    PostDeleted, NotShown."""

    author, found = viewer.ask_about(username, partial(OnePost, pid))
    return found.by(author)


def one_post_or_hidden(viewer: Viewer, username: str, pid: int) -> tuple[Post, bool]:
    """As `one_post`, also when a block hides the post from the viewer, and whether one does."""
    author, (found, is_hidden) = viewer.ask_about(username, partial(OnePostOrHidden, pid))
    return found.by(author), is_hidden


def texts_of_post(viewer: Viewer, username: str, pid: int) -> tuple[Post, tuple[Version, ...]]:
    """A post and all its texts, the one that stands now as the last. Round trips and errors as for `one_post`."""
    author, (found, versions) = viewer.ask_about(username, partial(PostWithTexts, pid))
    return found.by(author), versions or (Version(found.time, found.body),)


class OnePost:
    """Asks for one post of a user. Its `result` raises NoSuchPost, PostDeleted, NotShown."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def queue(self, pipe: Pipe, me: int | None, them: int) -> None:
        self._author = them
        self._pipe = pipe
        self._fields = pipe.hmget(keys.post(self._pid), FIELDS)
        self._score = pipe.zscore(keys.updates(them), str(self._pid))
        self._blocks = ask_blocks(pipe, me, them)

    def result(self) -> Record:
        if self.is_hidden():
            raise NotShown
        return self.behind_blocks()

    def is_hidden(self) -> bool:
        """Whether one of the viewer and the author blocks the other."""
        return any(self._blocks.value)

    def behind_blocks(self) -> Record:
        """The post, also behind a block between its author and the viewer. Raises NoSuchPost, PostDeleted."""
        author, when, body, deleted, *further = self._fields.value
        if author != str(self._author):
            raise NoSuchPost(self._pid)
        if deleted is not None:
            raise post_deleted(self._pid, deleted_by(deleted))
        found = record_from(self._pid, author, when, body, deleted, *further)
        if found is None:
            raise NoSuchPost(self._pid)
        # Without the entry, its request died before the commit. The official Retwis has no `updates:`.
        if self._score.value is None and not self._pipe.is_gated:
            raise NoSuchPost(self._pid)
        return found

    def or_unavailable(self) -> Record | Unavailable:
        """The post, also when it is deleted: then its place in a thread. Raises NoSuchPost, NotShown."""
        try:
            return self.result()
        except PostDeleted:
            found = tombstone(self._pid, self._fields.value)
            if found is None:
                raise
            return found


class OnePostOrHidden:
    """Asks for one post, and whether a block hides it. Its `result` raises NoSuchPost, PostDeleted."""

    def __init__(self, pid: int) -> None:
        self._post = OnePost(pid)

    def queue(self, pipe: Pipe, me: int | None, them: int) -> None:
        self._post.queue(pipe, me, them)

    def result(self) -> tuple[Record, bool]:
        return self._post.behind_blocks(), self._post.is_hidden()


class PostWithTexts:
    """Asks for one post of a user, and its texts; none for one that was never edited. Raises as OnePost."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._post = OnePost(pid)

    def queue(self, pipe: Pipe, me: int | None, them: int) -> None:
        self._post.queue(pipe, me, them)
        self._versions = ask_versions(pipe, self._pid)

    def result(self) -> tuple[Record, tuple[Version, ...]]:
        return self._post.result(), self._versions.value
