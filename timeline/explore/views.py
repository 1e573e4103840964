"""The page of explore."""

from django.http import HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe

from accounts.signing_in.html import Page, rendering
from accounts.signing_in.middleware import RetwisRequest
from retwis_site.rendering.fragments import Fragment, Html, joined
from retwis_site.rendering.pages import origin_of
from retwis_site.store.client import connect
from timeline.explore.exploring import Explore, TagOfTheWeek
from timeline.people.html import suggestions
from timeline.posts.html import cards, phrases, tag_in_path

EXPLORE = Page("timeline/explore/explore.html", here="explore")
TAG = Fragment("timeline/explore/_tag.html")


@require_safe
def explore(request: RetwisRequest) -> HttpResponse:
    posts, explored, people = Explore(connect()).page(request.viewer)
    by = rendering(request)
    return EXPLORE.response(
        request,
        by,
        origin=origin_of(request),
        has_tags=bool(explored.tags),
        tags=joined(_tag(one, by.language) for one in explored.tags),
        has_posts=bool(posts),
        of_the_week=explored.best.of_the_week,
        posts=cards(posts, by),
        people=suggestions(people, by),
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


# ---- Addresses


urlpatterns = [path("explore/", explore, name="explore")]
