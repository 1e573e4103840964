"""The page of the posts that quote a post."""

from django.http import HttpRequest, HttpResponse

from accounts.signing_in.html.pages import Page, Rendering
from accounts.users.html import at
from accounts.users.names import isolated
from retwis_site.rendering.fragments import Html
from timeline.conversation.quotes import QuotesPage
from timeline.timelines.html import listing

QUOTES = Page(
    "timeline/conversation/quotes.html",
    here="quotes",
    slots=("at", "pid", "title_name", "shown_name", "composer", *listing.SLOTS),
    shape=listing.SHAPE,
)


def quotes_page(request: HttpRequest, by: Rendering, found: QuotesPage, composer: Html) -> HttpResponse:
    return QUOTES.answer(
        request,
        by,
        at=at(found.author.username),
        pid=found.pid,
        title_name=isolated(found.author),
        shown_name=found.author.shown_name,
        composer=composer,
        **listing.listing(request, found.page, by),
    )
