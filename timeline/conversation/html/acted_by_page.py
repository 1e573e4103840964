"""The pages of the people who like a post, and of those who have reposted it."""

from django.http import HttpRequest, HttpResponse

from accounts.signing_in.html.pages import Page, Rendering
from accounts.users.html import at
from accounts.users.names import isolated
from retwis_site.rendering.fragments import EITHER
from timeline.conversation.acted_by import ActedByPage
from timeline.people.html import listed

ACTED_BY = {
    name: Page(
        "timeline/conversation/acted_by.html",
        here=name,
        slots=("at", "pid", "title_name", "shown_name", "rows", "older"),
        shape={"which": (name,), "has_rows": EITHER, "more": EITHER},
    )
    for name in ("likes_of", "reposts_of")
}


def acted_by_page(request: HttpRequest, by: Rendering, found: ActedByPage, which: str) -> HttpResponse:
    """`which`: `likes_of` or `reposts_of`."""
    return ACTED_BY[which].answer(
        request,
        by,
        which=which,
        has_rows=bool(found.people),
        more=found.older is not None,
        at=at(found.author.username),
        pid=found.pid,
        title_name=isolated(found.author),
        shown_name=found.author.shown_name,
        rows=listed(found.people, by),
        older=found.older or "",
    )
