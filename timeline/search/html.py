"""The page of the search as HTML."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse

from accounts.signing_in.html import Page, Rendering
from retwis_site.rendering.fragments import NOTHING, Fragment, Html, joined
from timeline.people.html import listed
from timeline.posts.html.post_cards import cards_found, phrases, tag_in_path
from timeline.search.names import Names
from timeline.search.queries.matching import marks
from timeline.search.queries.parsing import LONGEST_QUERY, Problem, Query, Scope, SearchPage
from timeline.tags.tag_pages import UsedTag

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
    return SEARCH.answer(
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
    return SEARCH.answer(
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
