"""The composer on a page of its own."""

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse

from accounts.signing_in.html.pages import Page, Rendering
from retwis_site.rendering.fragments import EITHER, Html
from timeline.posts.entities import Post
from timeline.posts.html.post_cards import cards

COMPOSE = Page("timeline/posts/compose.html", here="compose", slots=("above", "composer"), shape={"has_above": EITHER})


def compose_page(
    request: HttpRequest, by: Rendering, composer: Html, above: Sequence[Post], status: int = 200
) -> HttpResponse:
    """`composer`: from `timeline/posts/html/composer.py`. `above`: the posts that the new one answers and quotes."""
    return COMPOSE.answer(request, by, status=status, has_above=bool(above), above=cards(above, by), composer=composer)
