"""Fill a page from ids of which some may be dead; find where the next page of a sorted set begins."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from retwis_site.exceptions import BadCursor
from retwis_site.store.ids import parse_id
from timeline.posts.entities import Post

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

# Reads posts by id. Returns the posts to show, and the ids of posts that no longer exist.
Shown = Callable[[Sequence[int]], tuple[list[Post], list[int]]]


@dataclass(frozen=True, slots=True)
class Filled:
    """At most one page of posts, newest first."""

    posts: list[Post]
    dead: list[int]  # ids of posts that no longer exist
    last: int | None  # the last id that was read
    older: int | None  # the cursor of the next page; None when no id is left


def fill(candidates: Sequence[int], size: int, shown: Shown, spare: int = 0) -> Filled:
    """The first `size` posts that can be shown. Calls `shown` once, and once more when the page is still short.
    `spare`: how many ids more than `size` are read at first, where most pages have hidden posts.

    After that a page may stay short, or even empty, with a cursor below the last id that was read. So the number of
    round trips is fixed, however many posts are deleted.
    """
    read = candidates[: size + spare]
    posts, dead = shown(read) if read else ([], [])
    further = further_ids(candidates, len(read), len(posts), size)
    if further:
        more, more_dead = shown(further)
        read, posts, dead = [*read, *further], [*posts, *more], [*dead, *more_dead]
    return filled_page(candidates, size, read, posts, dead)


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
