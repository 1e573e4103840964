"""The pages of people: followers and following, everyone, and search."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import chain
from urllib.parse import quote

from django.http import HttpResponse
from django.utils.html import escape
from django.views.decorators.http import require_safe

from accounts.signing_in.middleware import RetwisRequest
from retwis_site.rendering.pages import cached_page, first_page_at, fragment, page
from retwis_site.store.client import connect
from timeline.people.cursors import by, name_cursor, score_cursor, show
from timeline.people.directory import LONGEST_WANTED, People, wanted
from timeline.people.entities import By, ListedPerson, PeoplePage, Show
from timeline.people.follow_pages import FollowPages


@require_safe
def followers(request: RetwisRequest, username: str) -> HttpResponse:
    before, which = score_cursor(request.GET.get("before")), show(request.GET.get("show"))
    found = FollowPages(connect()).followers_page(request.viewer, username, before, which)
    return _circle(request, found, which, "followers")


@require_safe
def following(request: RetwisRequest, username: str) -> HttpResponse:
    before, which = score_cursor(request.GET.get("before")), show(request.GET.get("show"))
    found = FollowPages(connect()).following_page(request.viewer, username, before, which)
    return _circle(request, found, which, "following")


def _circle(request: RetwisRequest, found: PeoplePage, which: Show, side: str) -> HttpResponse:
    newest_at = f"{request.path}?show={which}" if which and "before" in request.GET else first_page_at(request)
    shown = {"people": found, "side": side, "show": which, "newest_at": newest_at, "here_at": request.path}
    return page(request, "timeline/people/follow_page.html", shown)


@require_safe
def people(request: RetwisRequest) -> HttpResponse:
    """The newest, the most followed, or, with `?q=`, who has a name that begins so."""
    name = wanted(request.GET.get("q", ""))
    order = by(request.GET.get("by"))
    before = request.GET.get("before")
    everybody = People(connect())
    if name:
        found = everybody.found(request.viewer, name)
        return _people(request, found.people, {"searching": True, "by": None, "more": found.more}, {"q": name})
    if order is By.FOLLOWERS:
        page = everybody.most_followed(request.viewer, score_cursor(before))
    else:
        page = everybody.newest(request.viewer, name_cursor(before))
    newest_at = f"{request.path}?by={order}" if order and before is not None else first_page_at(request)
    shown = {"searching": False, "by": order, "more": False, "newest_at": newest_at}
    return _people(request, page.people, shown, {"older": quote(page.older or "")})


def _people(
    request: RetwisRequest, listed: Sequence[ListedPerson], shown: Mapping[str, Hashable], texts: Mapping[str, str]
) -> HttpResponse:
    """A page of people, each remembered; so is the page around them, whatever the texts in it."""
    user = request.viewer.user
    given = {"user": user, "newest_at": "", "number": len(listed), "longest": LONGEST_WANTED, **shown}
    slots = {"q": [], "older": [], **{name: [escape(text).encode()] for name, text in texts.items() if text}}
    rows = [
        fragment("timeline/people/_listed.html", {"one": one, "signed_in": user.is_authenticated}) for one in listed
    ]
    return cached_page(
        request, "timeline/people/people.html", given, {**slots, "rows": list(chain.from_iterable(rows))}
    )
