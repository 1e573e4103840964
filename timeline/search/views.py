"""The page of the search."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple
from urllib.parse import urlencode

from django.http import HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe

from accounts.signing_in.html import Page, rendering
from accounts.signing_in.middleware import RetwisRequest
from retwis_site.http.client_ip import client_address
from retwis_site.rendering.fragments import Fragment, Html, joined
from retwis_site.store.client import Pipe, Result, connect
from timeline.language import words
from timeline.people.directory import Candidates, ask_candidates, search_query
from timeline.people.html import listed
from timeline.people.lists import ListedPerson, choice
from timeline.posts.html import cards, phrases, tag_in_path
from timeline.search.feature import SEARCHES, VISITORS_SEARCHES
from timeline.search.query import (
    LONGEST_QUERY,
    BadQuery,
    OneWord,
    Problem,
    Query,
    Scope,
    SearchPage,
    WithTag,
    marks,
    parse,
)
from timeline.search.searching import Search, begin
from timeline.tags.tags import NamedTags, UsedTag, ask_named_tags
from timeline.timelines.pagination import post_cursor

# ---- The people and the tags whose names a query may mean. They stand above the posts.
#
# They are asked for in the round trips of the search: who may be meant in the first, what the page shows in the next.


MOST_PEOPLE = 3


class FoundNames(NamedTuple):
    people: list[ListedPerson]  # at most MOST_PEOPLE
    more_people: bool
    tags: list[UsedTag]


class Meant(NamedTuple):
    """The people and tags that a query may mean; None where it can mean none."""

    people: Candidates | None
    tags: NamedTags | None

    def ask(self, pipe: Pipe, me: int | None) -> Result[FoundNames]:
        """What the page shows of them. Commands as for `Candidates` and `NamedTags`."""
        found = self.people.ask(pipe, me) if self.people else None
        used = self.tags.ask(pipe) if self.tags else None

        def read() -> FoundNames:
            people, more = (found.value.people, found.value.more) if found else ([], False)
            return FoundNames(people[:MOST_PEOPLE], more or len(people) > MOST_PEOPLE, used.value if used else [])

        return Result(read)


def ask_meant(typed: str, query: Query, pipe: Pipe) -> Result[Meant]:
    """The people whom a query of words alone may mean, and the tags that one word or one tag may mean."""
    people = ask_candidates(pipe, search_query(typed)) if query.words else None
    match query.wanted, query.unwanted:
        case ((OneWord(),), ()):
            start, end, *_ = words(typed)[0]  # folded, a word has lost accents that tags have
            tags: Result[NamedTags] | None = ask_named_tags(pipe, typed[start:end])
        case ((WithTag(folded=tag),), ()):
            tags = ask_named_tags(pipe, tag)
        case _:
            tags = None
    return Result(lambda: Meant(people.value if people else None, tags.value if tags else None))


NOTHING_MEANT = Meant(None, None)


def ask_no_names(pipe: Pipe) -> Result[Meant]:
    """No names stand above later pages, and above what is not by everyone."""
    return Result(lambda: NOTHING_MEANT)


# ---- The page


REASONS = ("", *Problem)  # why nothing was searched; empty without a text

SEARCH = Page(
    "timeline/search/search.html",
    here="search",
    shape={"reason": REASONS, "scope": tuple(Scope), "end": ("older", "unsearched", "all")},
)
FOUND_TAG = Fragment("timeline/search/_found_tag.html")


class SearchRequest(NamedTuple):
    """What the address of the page asks for."""

    typed: str
    scope: Scope
    before: int | None


NO_QUERY, NOTHING_FOUND, NO_NAMES = Query((), ()), SearchPage([], None, complete=True), FoundNames([], False, [])


def search_page(
    request: RetwisRequest,
    asked: SearchRequest,
    query: Query = NO_QUERY,
    found: SearchPage = NOTHING_FOUND,
    above: FoundNames = NO_NAMES,
    *,
    reason: str = "",
    name: str = "",
    status: int = 200,
) -> HttpResponse:
    """The posts that were found, and the names above them. Without a text, and with a `reason`, one of REASONS, the
    field alone. `name`: the person whom nobody is."""
    by, typed = rendering(request), asked.typed[:LONGEST_QUERY]
    searched = bool(typed) and not reason
    end = "all"
    if found.older is not None:
        end = "older" if found.complete else "unsearched"
    return SEARCH.response(
        request,
        by,
        status=status,
        q=typed,
        is_typed=bool(typed),
        in_address=urlencode({"q": typed}),
        scope=asked.scope,
        longest=LONGEST_QUERY,
        searched=searched,
        reason=reason,
        name=name,
        later=searched and asked.before is not None,
        has_people=bool(above.people),
        more_people=above.more_people,
        people=listed(above.people, by),
        has_tags=bool(above.tags),
        tags=_tags(above.tags, by.language),
        has_posts=bool(found.posts),
        posts=cards(found.posts, by, marks={post.pid: its for post in found.posts if (its := marks(query, post.body))}),
        end=end,
        older=found.older or "",
        ages=phrases(by.language),
    )


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
    asked = SearchRequest(typed, choice(Scope, request.GET.get("in", Scope.EVERYONE)), before)
    if asked.scope is not Scope.EVERYONE:
        request.viewer.require_user()
    if not typed:
        return search_page(request, asked)
    first = before is None and asked.scope is Scope.EVERYONE
    try:
        query = parse(typed)
        beside = partial(ask_meant, typed, query) if first else ask_no_names
        search, meant = begin(connect(), request.viewer, query, asked.scope, before, beside)
    except BadQuery as error:
        status = 200 if error.problem in (Problem.NOTHING_TO_FIND, Problem.UNKNOWN_PERSON) else 400
        return search_page(request, asked, reason=error.problem, name=error.name, status=status)
    above = counted(request, search, meant)
    return search_page(request, asked, query, search.page(), above)


def counted(request: RetwisRequest, search: Search, meant: Meant) -> FoundNames:
    """Count a search of the viewer, who has been checked, and ask for the names above the posts and for what the search
    needs next. One round trip. Raises TooOften."""
    uid = request.viewer.uid
    limit, who = (VISITORS_SEARCHES, client_address(request)) if uid is None else (SEARCHES, uid)
    with connect().pipeline() as pipe:
        counted, above = limit.ask_count(pipe, who), meant.ask(pipe, uid)
        search.ask(pipe)
    _ = counted.value
    return above.value


# ---- Addresses


urlpatterns = [path("search/", search, name="search")]
