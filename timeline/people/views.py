"""The pages of people: followers, following, the directory, and search."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from django.http import HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe

from accounts.signing_in.html import rendering
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.html import person
from accounts.users.names import isolated
from retwis_site.store.client import connect
from timeline.people import hidden_page, words
from timeline.people.cursors import choice, name_cursor, score_cursor
from timeline.people.directory import LONGEST_QUERY, People, search_query
from timeline.people.entities import By, ListedPerson, PeoplePage, Show
from timeline.people.follow_pages import FollowPages
from timeline.people.html import FOLLOW_PAGES, PEOPLE, follow_rows, listed


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
    return FOLLOW_PAGES[side].answer(
        request,
        by,
        show=which,
        later="before" in request.GET,
        has_rows=bool(found.edges),
        further=found.further,
        more=found.older is not None,
        **person(owner, by.language),
        title_name=isolated(owner),
        shown_name=owner.shown_name,
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
        request,
        found.people,
        searching=False,
        order=order,
        later=before is not None,
        more=found.older is not None,
        q="",
        newest_at=f"{request.path}?by={order}" if order else request.path,
        older=quote(found.older or ""),
    )


def _search(request: RetwisRequest, query: str) -> HttpResponse:
    found = People(connect()).search(request.viewer, query)
    return _people_page(
        request,
        found.people,
        searching=True,
        order=By.NEWEST,
        later=False,
        more=found.more,
        q=query,
        newest_at="",
        older="",
    )


def _people_page(request: RetwisRequest, people: Sequence[ListedPerson], **given: Any) -> HttpResponse:
    """The page of these people. `given`: what else PEOPLE shows."""
    by = rendering(request)
    rows = listed(people, by)
    number = len(people)
    return PEOPLE.answer(request, by, has_rows=number > 0, number=number, rows=rows, longest=LONGEST_QUERY, **given)


# ---- Addresses


urlpatterns = [
    path("people/", people, name="people"),
    path("@<username:username>/followers/", followers, name="followers"),
    path("@<username:username>/following/", following, name="following"),
    path("settings/blocks/", hidden_page.blocks, name="hidden_people"),
    path("settings/words/", words.muted_words, name="muted_words"),
]
