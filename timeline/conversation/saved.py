"""A user's own lists of posts: those that they like, and their bookmarks."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from accounts.signing_in.viewer import Viewer
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.commands import Scored
from retwis_site.store.ids import stored_rows
from timeline.people.cursors import ScoreCursor, ask_start_rank
from timeline.posts.entities import Post
from timeline.posts.reading.acted import LatestActed, ask_latest_acted
from timeline.posts.reading.post_reader import PostReader
from timeline.timelines.pagination import POSTS_A_PAGE, READ_MORE, fill

MOST = POSTS_A_PAGE + READ_MORE + 1  # rows that are read for a page


@dataclass(frozen=True, slots=True)
class SavedPage:
    """A page of posts, the latest like or bookmark first."""

    posts: list[Post]
    older: ScoreCursor | None  # None on the last page


class SavedPosts:
    """The lists of the viewer. Only reads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def likes(self, viewer: Viewer, before: ScoreCursor | None) -> SavedPage:
        """The posts that the viewer likes. Two round trips with cached uids, three for a later page; one more where
        many are deleted or hidden, and those of `PostReader.read`. Raises NotSignedIn."""
        return self._page(viewer, keys.likes, before)

    def bookmarks(self, viewer: Viewer, before: ScoreCursor | None) -> SavedPage:
        """The viewer's bookmarks, as `likes`."""
        return self._page(viewer, keys.bookmarks, before)

    def _page(self, viewer: Viewer, key: Callable[[int], str], before: ScoreCursor | None) -> SavedPage:
        me, asked = viewer.ask_as_user(partial(_Question, key, before))
        scored = asked.rows
        if before is not None:
            scored = self._store.zrevrange_withscores(key(me.uid), asked.start, asked.start + MOST - 1)
        scores = dict(stored_rows(key(me.uid), scored))
        reader = PostReader(self._store, me, acted=asked.acted, fresh=viewer.just_changed)
        filled = fill([*scores], POSTS_A_PAGE, reader.read)
        older = filled.older
        return SavedPage(filled.posts, None if older is None else ScoreCursor(scores[older], older))


@dataclass(frozen=True, slots=True)
class _Asked:
    rows: Scored  # of the first page
    start: int  # the rank of the first row of a later page
    acted: LatestActed


class _Question:
    def __init__(self, key: Callable[[int], str], before: ScoreCursor | None) -> None:
        self._key = key
        self._before = before

    def queue(self, pipe: Pipe, me: int) -> None:
        if self._before is None:
            self._rows = pipe.zrevrange_withscores(self._key(me), 0, MOST - 1)
        else:
            self._start = ask_start_rank(pipe, self._key(me), str(self._before.uid), self._before.score)
        self._acted = ask_latest_acted(pipe, me)

    def result(self) -> _Asked:
        if self._before is None:
            return _Asked(self._rows.value, 0, self._acted.value)
        return _Asked([], self._start.value, self._acted.value)
