"""Where somebody stopped reading when they last were here, and how much has come since.

Redis has one number for each user: the highest post that their home has shown. A visit that finds higher ones begins
there, and takes that along in a cookie for some minutes: else the next page, or a reload, would have forgotten it. The
cookie says whose it is, as others may use the browser next.
"""

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from retwis_site.http import cookies
from retwis_site.store.ids import parse_id
from timeline.timelines.entities import HomePage

COOKIE = f"{settings.COOKIE_PREFIX}since"
LIVES = 600  # seconds that a visit lasts, as far as this goes


@dataclass(frozen=True, slots=True)
class Unread:
    """What has come since a visit began, told above the posts."""

    count: int
    more: bool  # perhaps there are more: the list ends before it gets there
    back: int | None  # the cursor of the page that begins where they stopped; None where this page reaches it
    is_here: bool = False  # whether this page has the line: something stands below it


NOTHING_UNREAD = Unread(0, more=False, back=None)


def stopped_at(request: HttpRequest, found: HomePage) -> int | None:
    """The highest post that they had seen when this visit began; None when they have never been here."""
    return _began(request, found) or found.seen


def _began(request: HttpRequest, found: HomePage) -> int | None:
    """What the cookie of this visit says; None without one, or with another's."""
    whose, _, pid = request.COOKIES.get(COOKIE, "").partition("-")
    return parse_id(pid) if parse_id(whose) == found.viewer.uid else None


def news(found: HomePage, stopped: int) -> Unread:
    """What a first page has to tell. Own posts are no news, nor is what is not shown, as far as this page knows."""
    if not found.page.posts or found.page.posts[0].pid <= stopped:
        return NOTHING_UNREAD
    shown = [post for post in found.page.posts if post.pid > stopped]
    others = sum(post.author.uid != found.viewer.uid for post in shown)
    if len(shown) < len(found.page.posts) or found.page.older is None:
        return Unread(others, more=False, back=None, is_here=len(shown) < len(found.page.posts))
    beyond = [pid for pid in found.listed if stopped < pid < shown[-1].pid]
    more = found.goes_on and all(pid > stopped for pid in found.listed)
    return Unread(others + len(beyond), more, stopped + 1)


def begins_there(found: HomePage, before: int | None, stopped: int | None) -> bool:
    """Whether a later page begins where they stopped: what came since ends with the page before it."""
    if before is None or stopped is None or before <= stopped:
        return False
    return not found.page.posts or found.page.posts[0].pid <= stopped


def take_along(request: HttpRequest, response: HttpResponse, found: HomePage) -> None:
    """Keep where this visit began, if it found something new."""
    newest = found.page.posts[0].pid if found.page.posts else 0
    if found.seen is None or newest <= found.seen or _began(request, found) is not None:
        return
    value = f"{found.viewer.uid}-{found.seen}"
    cookies.keep(response, COOKIE, value, LIVES)
