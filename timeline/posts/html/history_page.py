"""The page with all texts of a post."""

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse

from accounts.signing_in.html.pages import Page, Rendering
from accounts.users.html import at
from accounts.users.names import isolated
from retwis_site.rendering.dates import moment
from retwis_site.rendering.fragments import EITHER, Fragment, joined
from timeline.posts.entities import Post
from timeline.posts.html.texts import html_of
from timeline.posts.reading.history import Version

HISTORY = Page("timeline/posts/history.html", here="history", slots=("at", "pid", "title_name", "shown_name", "texts"))
TEXT = Fragment("timeline/posts/_version.html", slots=("iso", "moment", "text"), shape={"is_latest": EITHER})


def history_page(request: HttpRequest, by: Rendering, post: Post, texts: Sequence[Version]) -> HttpResponse:
    """`texts`: from the oldest to the one that stands now. The page has the newest first. The names that the newest
    text mentions are links in all of them; whom the others meant is not known any more."""
    names = post.context.mentioned
    if names is None and len(texts) > 1:
        names = frozenset()
    rows = []
    for number, version in enumerate(reversed(texts)):
        iso, when = moment(version.since, by.language)
        text = html_of(version.text, by.language, names=names)
        rows.append(TEXT.fill(by.language, is_latest=number == 0, iso=iso, moment=when, text=text))
    return HISTORY.answer(
        request,
        by,
        at=at(post.author.username),
        pid=post.pid,
        title_name=isolated(post.author),
        shown_name=post.author.shown_name,
        texts=joined(rows),
    )
