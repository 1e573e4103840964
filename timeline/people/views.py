"""The pages of people: followers, following, the directory, and search."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import chain
from urllib.parse import quote

from django.http import HttpResponse
from django.utils.html import escape
from django.views.decorators.http import require_safe

from accounts.signing_in.middleware import RetwisRequest
from retwis_site.rendering.pages import cached_page, first_page_at, fragment, page
from retwis_site.store.client import connect
from timeline.people.cursors import choice, name_cursor, score_cursor
from timeline.people.directory import LONGEST_QUERY, People, search_query
from timeline.people.entities import By, ListedPerson, PeoplePage, Show
from timeline.people.follow_pages import FollowPages


@require_safe
def followers(request: RetwisRequest, username: str) -> HttpResponse:
    before, which = score_cursor(request.GET.get("before")), choice(Show, request.GET.get("show"))
    found = FollowPages(connect()).followers_page(request.viewer, username, before, which)
    return _follow_page(request, found, which, "followers")


@require_safe
def following(request: RetwisRequest, username: str) -> HttpResponse:
    before, which = score_cursor(request.GET.get("before")), choice(Show, request.GET.get("show"))
    found = FollowPages(connect()).following_page(request.viewer, username, before, which)
    return _follow_page(request, found, which, "following")


def _follow_page(request: RetwisRequest, found: PeoplePage, which: Show, side: str) -> HttpResponse:
    newest_at = f"{request.path}?show={which}" if which and "before" in request.GET else first_page_at(request)
    shown = {"people": found, "side": side, "show": which, "newest_at": newest_at, "here_at": request.path}
    return page(request, "timeline/people/follow_page.html", shown)


@require_safe
def people(request: RetwisRequest) -> HttpResponse:
    """The newest users, the most followed ones, or the results of a search (`?q=`)."""
    query = search_query(request.GET.get("q", ""))
    order = choice(By, request.GET.get("by"))
    before = request.GET.get("before")
    directory = People(connect())
    if query:
        found = directory.search(request.viewer, query)
        return _people_page(request, found.people, {"searching": True, "by": None, "more": found.more}, {"q": query})
    if order is By.FOLLOWERS:
        listed = directory.most_followed(request.viewer, score_cursor(before))
    else:
        listed = directory.newest(request.viewer, name_cursor(before))
    newest_at = f"{request.path}?by={order}" if order and before is not None else first_page_at(request)
    context = {"searching": False, "by": order, "more": False, "newest_at": newest_at}
    return _people_page(request, listed.people, context, {"older": quote(listed.older or "")})


def _people_page(
    request: RetwisRequest, people: Sequence[ListedPerson], context: Mapping[str, Hashable], texts: Mapping[str, str]
) -> HttpResponse:
    """A page of people. Each row is cached, and so is the page around the rows; `texts` fill its slots."""
    user = request.viewer.user
    context = {"user": user, "newest_at": "", "number": len(people), "longest": LONGEST_QUERY, **context}
    slots = {"q": [], "older": [], **{name: [escape(text).encode()] for name, text in texts.items() if text}}
    rows = [
        fragment("timeline/people/_listed.html", {"one": person, "signed_in": user.is_authenticated})
        for person in people
    ]
    return cached_page(
        request, "timeline/people/people.html", context, {**slots, "rows": list(chain.from_iterable(rows))}
    )
