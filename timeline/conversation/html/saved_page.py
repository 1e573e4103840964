"""The pages of the posts that the viewer likes, and of the viewer's bookmarks."""

from django.http import HttpRequest, HttpResponse

from accounts.signing_in.html.pages import Page, Rendering
from retwis_site.rendering.fragments import Html
from timeline.conversation.saved import SavedPage
from timeline.posts.entities import Page as PostsPage
from timeline.timelines.html import listing

SAVED = {
    name: Page(
        "timeline/conversation/saved.html",
        here=name,
        slots=("composer", *listing.SLOTS),
        shape={"which": (name,), **listing.SHAPE},
    )
    for name in ("likes", "bookmarks")
}


def saved_page(request: HttpRequest, by: Rendering, found: SavedPage, which: str, composer: Html) -> HttpResponse:
    """`which`: `likes` or `bookmarks`."""
    page = PostsPage(found.posts, found.older.uid if found.older else None)
    shown = listing.listing(request, page, by) | {"older": str(found.older or "")}
    return SAVED[which].answer(request, by, which=which, composer=composer, **shown)
