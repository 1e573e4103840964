"""The page of the search."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe

from accounts.signing_in.guards import to_login
from accounts.signing_in.html import Page, Rendering, rendering
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import NotSignedIn
from retwis_site.http.client_ip import client_address
from retwis_site.rendering.fragments import NOTHING, Fragment, Html, joined
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits
from timeline.people.html import listed
from timeline.people.lists import choice
from timeline.posts.html.post_cards import cards_found, phrases, tag_in_path
from timeline.search.feature import SEARCHES, VISITORS_SEARCHES
from timeline.search.names import Meant, Names, ask_meant, ask_no_names
from timeline.search.queries.matching import marks
from timeline.search.queries.parsing import (
    LONGEST_QUERY,
    BadQuery,
    NothingToFind,
    Problem,
    Query,
    Scope,
    SearchPage,
    UnknownPerson,
    parse,
)
from timeline.search.queries.searching import Search, Searching
from timeline.tags.tags import UsedTag
from timeline.timelines.pagination import post_cursor

# Why nothing was searched: a text that is no query, or one that finds nothing; empty without a text.
REASONS = ("", *Problem, "nothing_to_find", "unknown_person")

SEARCH = Page(
    "timeline/search/search.html",
    here="search",
    shape={"reason": REASONS, "scope": tuple(Scope), "end": ("older", "unsearched", "all")},
)
FOUND_TAG = Fragment("timeline/search/_found_tag.html")


class Asked(NamedTuple):
    """What the address of the page asks for."""

    typed: str
    scope: Scope
    before: int | None


def results_page(
    request: HttpRequest, by: Rendering, asked: Asked, query: Query, found: SearchPage, above: Names
) -> HttpResponse:
    """The posts that were found, and the names above them."""
    marked = {post.pid: its for post in found.posts if (its := marks(query, post.body))}
    end = "all"
    if found.older is not None:
        end = "older" if found.complete else "unsearched"
    return SEARCH.response(
        request,
        by,
        **_asked(asked),
        searched=True,
        reason="",
        name="",
        later=asked.before is not None,
        has_people=bool(above.people),
        more_people=above.more_people,
        people=listed(above.people, by),
        has_tags=bool(above.tags),
        tags=_tags(above.tags, by.language),
        has_posts=bool(found.posts),
        posts=cards_found(found.posts, by, marked),
        end=end,
        older=found.older or "",
        ages=phrases(by.language),
    )


def not_searched_page(
    request: HttpRequest, by: Rendering, asked: Asked, reason: str, *, name: str = "", status: int = 200
) -> HttpResponse:
    """The page with the field alone. `reason`: one of REASONS. `name`: the person whom nobody is."""
    return SEARCH.response(
        request,
        by,
        status=status,
        **_asked(asked),
        searched=False,
        reason=reason,
        name=name,
        later=False,
        **dict.fromkeys(("has_people", "more_people", "has_tags", "has_posts"), False),
        **dict.fromkeys(("people", "tags", "posts", "older", "ages"), NOTHING),
        end="all",
    )


def _asked(asked: Asked) -> dict[str, Any]:
    typed = asked.typed[:LONGEST_QUERY]
    return {
        "q": typed,
        "is_typed": bool(typed),
        "in_address": urlencode({"q": typed}),
        "scope": asked.scope,
        "longest": LONGEST_QUERY,
    }


def _tags(tags: Sequence[UsedTag], language: str) -> Html:
    return joined(
        FOUND_TAG.fill(language, tag=tag_in_path(one.tag.folded), spelling=one.tag.spelling, posts=one.posts)
        for one in tags
    )


# ---- Views


@require_safe
def search(request: RetwisRequest) -> HttpResponse:
    """The posts that `?q=` asks for, and above them the people and tags. A text that is no query is a 400."""
    typed, before = request.GET.get("q", "").strip(), post_cursor(request.GET.get("before"))
    asked = Asked(typed, choice(Scope, request.GET.get("in", Scope.EVERYONE)), before)
    if asked.scope is not Scope.EVERYONE:
        try:
            request.viewer.require_user()
        except NotSignedIn:
            return to_login(request.get_full_path())
    if not typed:
        return not_searched_page(request, rendering(request), asked, "")
    first = before is None and asked.scope is Scope.EVERYONE
    try:
        query = parse(typed)
        beside = partial(ask_meant, typed, query) if first else ask_no_names
        search, meant = Searching(connect()).begin(request.viewer, query, asked.scope, before, beside)
    except BadQuery as error:
        return not_searched_page(request, rendering(request), asked, error.problem, status=400)
    except NothingToFind:
        return not_searched_page(request, rendering(request), asked, "nothing_to_find")
    except UnknownPerson as error:
        return not_searched_page(request, rendering(request), asked, "unknown_person", name=error.name)
    above = _counted(request, search, meant)
    return results_page(request, rendering(request), asked, query, search.page(), above)


def _counted(request: RetwisRequest, search: Search, meant: Meant) -> Names:
    """Count a search of the viewer, who has been checked, and ask for the names above the posts and for what the search
    needs next. One round trip. Raises TooOften."""
    uid = request.viewer.uid
    limit, who = (VISITORS_SEARCHES, client_address(request)) if uid is None else (SEARCHES, str(uid))
    pipe = connect().pipeline()
    counted, above = RateLimits(connect()).ask_count(pipe, limit, who), meant.ask(pipe, uid)
    search.ask(pipe)
    pipe.execute()
    _ = counted.value
    return above.value


# ---- Addresses


urlpatterns = [path("search/", search, name="search")]
