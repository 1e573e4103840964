"""Explore as HTML."""

from django.http import HttpResponse

from accounts.signing_in.html import Page, rendering
from accounts.signing_in.middleware import RetwisRequest
from retwis_site.rendering.fragments import Fragment, Html, joined
from retwis_site.rendering.pages import origin_of
from timeline.explore.exploring import ExplorePage, TagOfTheWeek
from timeline.people.html import suggestions
from timeline.posts.html.composer import composer
from timeline.posts.html.post_cards import cards, phrases, tag_in_path

EXPLORE = Page("timeline/explore/explore.html", here="explore")
TAG = Fragment("timeline/explore/_tag.html")


def explore_page(request: RetwisRequest, found: ExplorePage) -> HttpResponse:
    by = rendering(request)
    return EXPLORE.answer(
        request,
        by,
        origin=origin_of(request),
        has_tags=bool(found.tags),
        tags=joined(_tag(one, by.language) for one in found.tags),
        has_posts=bool(found.posts),
        of_the_week=found.of_the_week,
        posts=cards(found.posts, by),
        people=suggestions(found.people, by),
        composer=composer(request, by),
        ages=phrases(by.language),
    )


def _tag(one: TagOfTheWeek, language: str) -> Html:
    return TAG.fill(
        language,
        all_counted=one.all_counted,
        tag=tag_in_path(one.tag.folded),
        spelling=one.tag.spelling,
        people=one.people,
        posts=one.posts,
    )
