"""Filling a page from a list of ids of which some may be dead; where the next page of a sorted set begins."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from timeline.posts.entities import Post

POSTS_A_PAGE = 20
READ_ON = 180  # ids that are looked at in one go when the first ones leave a page short

# Reads posts: those to show, and the ids of those that no longer exist.
Shown = Callable[[Sequence[int]], tuple[list[Post], list[int]]]


@dataclass(frozen=True, slots=True)
class Filled:
    """At most a page of posts, newest first."""

    posts: list[Post]
    dead: list[int]  # ids that the list may drop
    last: int | None  # the last id that was looked at
    older: int | None  # the next page's cursor, None when the list has no more


def fill(candidates: Sequence[int], size: int, shown: Shown) -> Filled:
    """The first `size` posts that can be shown. Calls `shown` once, and once more when that left the page short.

    After that a page may stay short, or even empty, with a cursor below what was looked at: a fixed number of round
    trips, whatever has been deleted.
    """
    looked_at = candidates[:size]
    posts, dead = shown(looked_at) if looked_at else ([], [])
    if len(posts) < size and len(candidates) > size:
        further = candidates[size : size + READ_ON]
        more, more_dead = shown(further)
        looked_at, posts, dead = [*looked_at, *further], [*posts, *more], [*dead, *more_dead]
    last = looked_at[-1] if looked_at else None
    if len(posts) > size:
        return Filled(posts[:size], dead, last, posts[size - 1].pid)
    return Filled(posts, dead, last, last if len(candidates) > len(looked_at) else None)


def goes_on(score: int, rank: int | None, now: float | None, higher: int) -> int:
    """The place of the row after the one that a cursor names: member and score, of which any number may have the same.

    Its rank tells; `now` is its score. When it has gone, or has another score by now, the page begins with the rows of
    that score, before which `higher` stand, so that none is left out.
    """
    return higher if rank is None or now is None or int(now) != score else rank + 1
