"""A page of posts with its links to other pages, as all timelines show it (`_posts.html`)."""

from typing import Any

from django.http import HttpRequest

from accounts.signing_in.html.pages import Rendering
from retwis_site.rendering.fragments import EITHER, Fragment
from retwis_site.store import snowflake
from timeline.posts.entities import Page
from timeline.posts.html.ages import phrases
from timeline.posts.html.post_cards import cards

SLOTS = ("posts", "older", "newest_at", "ages")
SHAPE = {"later": EITHER, "has_posts": EITHER, "end": ("older", "cap", "beginning"), "is_empty": EITHER}

STOPPED = Fragment("timeline/timelines/_stopped.html")


def listing(
    request: HttpRequest, page: Page, by: Rendering, *, last_read: int | None = None, at_the_cap: bool = False
) -> dict[str, Any]:
    """The shape and the slots of a page of posts. `last_read`: the newest id that the viewer had read; a line separates
    the posts above it from the others. `at_the_cap`: older posts exist, but this list does not keep them."""
    later = "before" in request.GET
    end = "beginning"
    if page.older is not None:
        end = "older"
    elif at_the_cap:
        end = "cap"
    return {
        "later": later,
        "has_posts": bool(page.posts),
        "end": end,
        "is_empty": not page.posts and page.older is None and not later,
        "posts": _with_line(page, by, last_read),
        "older": page.older or "",
        "newest_at": request.path,
        "ages": phrases(by.language),
    }


def _with_line(page: Page, by: Rendering, last_read: int | None) -> bytes:
    posts = page.posts
    if last_read is None or not snowflake.newest(post.listed for post in posts) > last_read >= posts[-1].listed:
        return cards(posts, by)
    above = sum(post.listed > last_read for post in posts)
    return cards(posts[:above], by) + STOPPED.fill_as_sent(by.language) + cards(posts[above:], by)
