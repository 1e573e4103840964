"""Unread posts: what has come to a home timeline since its owner's last visit.

Redis has one number for each user, `seen`: the highest post id that their home has shown. A visit that finds higher ids
keeps the old number in a cookie for some minutes. Otherwise the next page, or a reload, would not know it any more.
The cookie names its user, because another user may use the same browser next.
"""

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from retwis_site.http import cookies
from retwis_site.store import snowflake
from retwis_site.store.ids import parse_id
from timeline.timelines.entities import HomePage

COOKIE = f"{settings.COOKIE_PREFIX}since"
COOKIE_AGE = 600  # seconds


@dataclass(frozen=True, slots=True)
class UnreadPosts:
    """What the first page says about unread posts, above the posts."""

    count: int  # posts by others
    has_more: bool  # there may be more: the list ends before the last read post
    resume_before: int | None  # cursor of the page that begins with the last read post; None when it is on this page
    has_divider: bool = False  # whether this page has the line between unread and read posts


NO_UNREAD_POSTS = UnreadPosts(0, has_more=False, resume_before=None)


def last_read_post(request: HttpRequest, home: HomePage) -> int | None:
    """The highest post id that the user had seen before this visit; None on their first visit."""
    return _last_read_in_cookie(request, home) or home.seen


def _last_read_in_cookie(request: HttpRequest, home: HomePage) -> int | None:
    """None without a cookie, or with the cookie of another user."""
    uid, _, pid = request.COOKIES.get(COOKIE, "").partition("-")
    return parse_id(pid) if parse_id(uid) == home.viewer.uid else None


def unread_posts(home: HomePage, last_read: int) -> UnreadPosts:
    """The unread posts of a first page. Own posts do not count, and posts that this page knows to be dead or hidden."""
    if home.newest <= last_read:
        return NO_UNREAD_POSTS
    unread = [post for post in home.page.posts if post.listed > last_read]
    count = sum(post.listed_by.uid != home.viewer.uid and not snowflake.is_ahead(post.listed) for post in unread)
    if len(unread) < len(home.page.posts) or home.page.older is None:
        return UnreadPosts(count, has_more=False, resume_before=None, has_divider=len(unread) < len(home.page.posts))
    on_later_pages = [pid for pid in home.listed if last_read < pid < unread[-1].listed]
    has_more = home.has_more and all(pid > last_read for pid in home.listed)
    return UnreadPosts(count + len(on_later_pages), has_more, resume_before=last_read + 1)


def starts_at_last_read(home: HomePage, before: int | None, last_read: int | None) -> bool:
    """Whether a later page begins with the last read post: all unread posts are on the pages before it."""
    if before is None or last_read is None or before <= last_read:
        return False
    return not home.page.posts or home.page.posts[0].listed <= last_read


def keep_last_read(request: HttpRequest, response: HttpResponse, home: HomePage) -> None:
    """Set the cookie, when this visit has found unread posts and has no cookie yet."""
    if home.seen is None or home.newest <= home.seen or _last_read_in_cookie(request, home) is not None:
        return
    cookies.keep(response, COOKIE, f"{home.viewer.uid}-{home.seen}", COOKIE_AGE)
