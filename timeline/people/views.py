"""The pages of people: followers, following, the directory, and search."""

from collections.abc import Sequence
from urllib.parse import quote

from django.http import HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe

from accounts.signing_in.html import rendering
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.html import person, titled
from retwis_site.store.client import connect
from timeline.people import hidden_page, words
from timeline.people.directory import LONGEST_QUERY, People, search_query
from timeline.people.entities import By, ListedPerson, PeoplePage, Show
from timeline.people.follow_pages import FollowPages
from timeline.people.html import FOLLOW_PAGES, PEOPLE, follow_rows, listed
from timeline.people.lists import choice, name_cursor, score_cursor


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
    by = rendering(request)
    owner = found.person
    return FOLLOW_PAGES[side].response(
        request,
        by,
        show=which,
        later="before" in request.GET,
        has_rows=bool(found.edges),
        further=found.further,
        more=found.older is not None,
        **person(owner, by.language),
        **titled(owner),
        rows=follow_rows(found.edges, by),
        newest_at=f"{request.path}?show={which}" if which else request.path,
        here_at=request.path,
        older=found.older or "",
    )


@require_safe
def people(request: RetwisRequest) -> HttpResponse:
    """The newest users, the most followed ones, or the results of a search (`?q=`)."""
    query = search_query(request.GET.get("q", ""))
    order = choice(By, request.GET.get("by"))
    if query:
        return _search(request, query)
    before = request.GET.get("before")
    directory = People(connect())
    if order is By.FOLLOWERS:
        found = directory.most_followed(request.viewer, score_cursor(before))
    else:
        found = directory.newest(request.viewer, name_cursor(before))
    return _people_page(
        request, found.people, order=order, later=before is not None, older=found.older, more=found.older is not None
    )


def _search(request: RetwisRequest, query: str) -> HttpResponse:
    found = People(connect()).search(request.viewer, query)
    return _people_page(request, found.people, q=query, more=found.more)


def _people_page(
    request: RetwisRequest,
    people: Sequence[ListedPerson],
    *,
    more: bool,
    q: str = "",
    order: By = By.NEWEST,
    later: bool = False,
    older: str | None = None,
) -> HttpResponse:
    """The page of these people. `more`: there are others."""
    by = rendering(request)
    return PEOPLE.response(
        request,
        by,
        searching=bool(q),
        q=q,
        longest=LONGEST_QUERY,
        order=order,
        later=later,
        newest_at=f"{request.path}?by={order}" if order else request.path,
        has_rows=bool(people),
        number=len(people),
        rows=listed(people, by),
        more=more,
        older=quote(older or ""),
    )


# ---- Addresses


urlpatterns = [
    path("people/", people, name="people"),
    path("@<username:username>/followers/", followers, name="followers"),
    path("@<username:username>/following/", following, name="following"),
    path("settings/blocks/", hidden_page.blocks, name="hidden_people"),
    path("settings/words/", words.muted_words, name="muted_words"),
]
