"""The posts that quote a post."""

from dataclasses import dataclass
from functools import partial

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import stored_ids
from timeline.posts.entities import Page
from timeline.posts.reading.acted import LatestActed, ask_latest_acted
from timeline.posts.reading.one_post import OnePost
from timeline.posts.reading.post_reader import PostReader
from timeline.timelines.pagination import POSTS_A_PAGE, READ_MORE, fill


@dataclass(frozen=True, slots=True)
class QuotesPage:
    author: User  # of the quoted post
    pid: int
    page: Page


class Quotes:
    """All quotes."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def page(self, viewer: Viewer, username: str, pid: int, before: int | None) -> QuotesPage:
        """The posts below the cursor that quote a post of `username`, newest first.

        Two round trips with cached uids; one more where many of the quotes are hidden, and those of `PostReader.read`
        while the author of a post is not cached. Raises NoSuchUser, AccountDeleted, NoSuchPost, PostDeleted.
        """
        author, (pids, acted) = viewer.ask_about(username, partial(_QuotesQuestion, pid, before))
        reader = PostReader(self._store, viewer.user, acted=acted, fresh=viewer.just_changed)
        filled = fill(pids, POSTS_A_PAGE, reader.read)
        return QuotesPage(author, pid, Page(filled.posts, filled.older))


class _QuotesQuestion:
    def __init__(self, pid: int, before: int | None) -> None:
        self._pid = pid
        self._below = "+inf" if before is None else f"({before}"
        self._post = OnePost(pid)

    def queue(self, pipe: Pipe, me: int | None, them: int) -> None:
        self._post.queue(pipe, me, them)
        most = POSTS_A_PAGE + READ_MORE + 1
        self._acted = ask_latest_acted(pipe, me)
        self._pids = pipe.zrevrangebyscore(keys.quotes_of(self._pid), self._below, "-inf", most)

    def result(self) -> tuple[list[int], LatestActed]:
        self._post.result()  # which raises for a post that is not there
        return stored_ids(keys.quotes_of(self._pid), self._pids.value), self._acted.value
