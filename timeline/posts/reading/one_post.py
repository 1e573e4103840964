"""One post of a user. It says why a post is not there, so it reads the post itself and caches nothing."""

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from accounts.users.repository import ask_user
from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.ids import stored_id
from retwis_site.store.replies import Reading, trip
from timeline.posts.entities import NoSuchPost, Post, PostDeleted, Unavailable
from timeline.posts.reading.records import (
    FIELDS,
    Record,
    Version,
    ask_versions,
    cached_author,
    deleted_by,
    post_deleted,
    record_from,
    tombstone,
)
from timeline.relations.relation import BlockedByViewer, BlocksViewer
from timeline.relations.relations import ask_blocks


def one_post(viewer: Viewer, username: str, pid: int) -> Post:
    """One post of the user `username`. One round trip with cached uids. Raises NoSuchUser, AccountDeleted, NoSuchPost,
    PostDeleted, NotShown."""
    author, [found] = viewer.ask_about(username, lambda pipe, me, them: trip(OnePost(pipe, me, them, pid)))
    return found.by(author)


def one_post_or_hidden(viewer: Viewer, username: str, pid: int) -> tuple[Post, bool]:
    """As `one_post`, also when a block hides the post from the viewer, and whether one does."""

    def reading(pipe: Pipe, me: int | None, them: int) -> Reading[tuple[Record, bool]]:
        post = OnePost(pipe, me, them, pid)
        yield
        return post.behind_blocks(), post.is_hidden()

    author, (found, is_hidden) = viewer.ask_about(username, reading)
    return found.by(author), is_hidden


def find_post(viewer: Viewer, pid: int) -> Post:
    """A post by its id alone. Round trips as for `read_by_id`. Raises NoSuchPost, PostDeleted, NotShown."""
    author, post = viewer.ask(lambda pipe, me: read_by_id(pipe, me, pid))
    return post.value.by(author)


def find_post_or_hidden(viewer: Viewer, pid: int) -> Post:
    """As `find_post`, also when a block hides the post from the viewer."""
    author, post = viewer.ask(lambda pipe, me: read_by_id(pipe, me, pid))
    return post.behind_blocks().by(author)


def read_by_id(pipe: Pipe, me: int | None, pid: int) -> Reading[tuple[User, "OnePost"]]:
    """The author of a post, and what was asked for it. One round trip; one more while its author is not cached. Raises
    NoSuchPost, also for a post of a deleted account."""
    author = cached_author(pid)
    while True:
        if author is None:
            [stored] = yield from trip(pipe.hget(keys.post(pid), "user_id"))
            author = stored_id(keys.post(pid), stored)
        if author is None:
            raise NoSuchPost(pid)
        user, post = ask_user(pipe, author), OnePost(pipe, me, author, pid)
        yield
        if post.fields[0] in (None, str(author)):
            break
        author = None  # a cached author is only a guess
    if user.value is None:
        raise NoSuchPost(pid)
    return user.value, post


def texts_of_post(viewer: Viewer, username: str, pid: int) -> tuple[Post, tuple[Version, ...]]:
    """A post and all its texts, the one that stands now as the last. Round trips and errors as for `one_post`."""
    author, (found, versions) = viewer.ask_about(
        username, lambda pipe, me, them: trip(OnePost(pipe, me, them, pid), ask_versions(pipe, pid))
    )
    return found.by(author), versions or (Version(found.time, found.body),)


class OnePost:
    """Asks for one post of the user `them`. Three commands."""

    def __init__(self, pipe: Pipe, me: int | None, them: int, pid: int) -> None:
        self._pid = pid
        self._author = them
        self._pipe = pipe
        self._fields = pipe.hmget(keys.post(pid), FIELDS)
        self._score = pipe.zscore(keys.updates(them), str(pid))
        self._blocks = ask_blocks(pipe, me, them)

    @property
    def value(self) -> Record:
        """Raises NoSuchPost, PostDeleted, NotShown."""
        if self.is_hidden():
            raise BlocksViewer if self._blocks.value.theirs else BlockedByViewer
        return self.behind_blocks()

    @property
    def fields(self) -> list[str | None]:
        return self._fields.value

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
        if self._score.value is None and not self._pipe.is_foreign:
            raise NoSuchPost(self._pid)
        return found


class PostOrPlace:
    """As OnePost, also for a deleted post: then its place in a thread."""

    def __init__(self, pipe: Pipe, me: int | None, them: int, pid: int) -> None:
        self._pid = pid
        self._post = OnePost(pipe, me, them, pid)

    @property
    def value(self) -> Record | Unavailable:
        """Raises NoSuchPost, NotShown, and PostDeleted for a deleted post without a place."""
        try:
            return self._post.value
        except PostDeleted:
            found = tombstone(self._pid, self._post.fields)
            if found is None:
                raise
            return found
