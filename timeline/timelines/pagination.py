"""Fill a page from ids of which some may be dead; find where the next page of a sorted set begins."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from retwis_site.exceptions import BadCursor
from retwis_site.store.cached_list import Slice
from retwis_site.store.client import Pipe, Result
from retwis_site.store.ids import LARGEST_ID, parse_id, stored_ids
from timeline.posts.entities import Post, PostsPage

# ---- The cursor `?before=`: where a page begins. It is an id, never an offset, so new posts do not move the page.


def post_cursor(text: str | None) -> int | None:
    """The post id below which the page lies; None for the first page. Raises BadCursor."""
    if text is None:
        return None
    pid = parse_id(text)
    if pid is None:
        raise BadCursor(text)
    return pid


# ---- Pagination


POSTS_A_PAGE = 20
READ_MORE = 180  # ids that are read at most when the first ones do not fill a page


class Part(NamedTuple):
    """Which part of a list an answer has, newest first. Pages have those below a cursor; apps ask for others, too."""

    below: int | None = None  # only ids below this one
    above: int = 0  # only ids above this one
    upwards: bool = False  # the part begins just above `above`, not with the newest
    size: int = POSTS_A_PAGE  # posts

    @property
    def before(self) -> int | None:
        """The cursor below which a cached list must be read; None where its head has the part."""
        return (self.below or LARGEST_ID + 1) if self.upwards else self.below

    def of(self, ids: Sequence[int]) -> list[int]:
        """Those of these ids, newest first, of which the part may be, in the order in which they are looked at."""
        below = self.before
        if below is None and not self.above:
            return [*ids]
        some = [pid for pid in ids if (below is None or pid < below) and pid > self.above]
        return some[::-1] if self.upwards else some

    def ask(self, pipe: Pipe, key: str, number: int) -> Result[Slice]:
        """The ids of a sorted set of which the part may be, in the same order, at most `number`. Each member is its own
        score. A slice without any id has no end from which one could read on. One command."""
        high, low = "+inf" if self.below is None else f"({self.below}", f"({self.above}"
        if self.upwards:
            members = pipe.zrangebyscore(key, low, high, number)
        else:
            members = pipe.zrevrangebyscore(key, high, low, number)

        def read() -> Slice:
            pids = stored_ids(key, members.value)
            return Slice(pids, has_more=len(members.value) >= number and bool(pids))

        return Result(read)

    def fill(self, candidates: Sequence[int], shown: "ReadPosts", spare: int = 0) -> "Filled":
        """The first posts of the part that can be shown. Calls `shown` once, and once more when the page is still
        short. `spare`: how many ids more than `size` are read at first, where most pages have hidden posts. Upwards,
        too, a post that the list has several times stands at its highest place.

        After that a page may stay short, or even empty, with a cursor below the last id that was read. So the number of
        round trips is fixed, however many posts are deleted.
        """
        if self.upwards:
            shown = partial(_upwards, shown)
        read = candidates[: self.size + spare]
        posts, dead = shown(read) if read else ([], [])
        further = further_ids(candidates, len(read), len(posts), self.size)
        if further:
            more, more_dead = shown(further)
            read, posts, dead = [*read, *further], [*posts, *more], [*dead, *more_dead]
        return filled_page(candidates, self.size, read, posts, dead)

    def page(self, filled: "Filled", has_more: bool) -> PostsPage:
        """The part, newest first. `has_more`: whether the list has candidates that were not read. Below a part that was
        looked at upwards there is most likely the post from which the app came."""
        further = filled.older or (filled.last if has_more else None)
        if self.upwards:
            posts = filled.posts[::-1]
            return PostsPage(posts, posts[-1].listed if posts else None, further)
        return PostsPage(filled.posts, further)


# Reads posts by id. Returns the posts to show, and the ids of posts that no longer exist.
ReadPosts = Callable[[Sequence[int]], tuple[list[Post], list[int]]]


def _upwards(shown: ReadPosts, pids: Sequence[int]) -> tuple[list[Post], list[int]]:
    posts, dead = shown(pids[::-1])
    return posts[::-1], dead


@dataclass(frozen=True, slots=True)
class Filled:
    """At most one page of posts, newest first."""

    posts: list[Post]
    dead: list[int]  # ids of posts that no longer exist
    last: int | None  # the last id that was read
    older: int | None  # the cursor of the next page; None when no id is left


def further_ids(candidates: Sequence[int], read: int, shown: int, size: int) -> Sequence[int]:
    """The ids to read next, when the first `read` candidates have `shown` posts; none for a full page.

    Four times as many as would fill the page if as few of them are shown. To read a post costs as much as to show it,
    and most pages lack one or two.
    """
    if shown >= size:
        return ()
    wanted = 4 * -(-(size - shown) * read // shown) if shown else READ_MORE
    return candidates[read : read + min(wanted, READ_MORE)]


def filled_page(
    candidates: Sequence[int], size: int, read: Sequence[int], posts: list[Post], dead: list[int]
) -> Filled:
    """The page, when the first candidates, `read`, have been read."""
    last = read[-1] if read else None
    if len(posts) > size:
        return Filled(posts[:size], dead, last, posts[size - 1].listed)
    return Filled(posts, dead, last, last if len(candidates) > len(read) else None)
