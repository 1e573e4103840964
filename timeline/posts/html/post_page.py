"""The page of one post."""

from django.http import HttpRequest, HttpResponse

from accounts.signing_in.html.pages import Page, Rendering
from accounts.users.html import at
from accounts.users.names import isolated
from retwis_site.rendering.dates import iso
from retwis_site.rendering.pages import origin_of
from timeline.posts.entities import Post
from timeline.posts.html.post_cards import cards
from timeline.posts.html.texts import beginning_of, shortened

IN_TITLE = 60  # characters of the text
IN_DESCRIPTION = 300  # characters of the text; longer than a post, but a foreign database may have longer ones

POST = Page(
    "timeline/posts/post.html",
    here="post",
    slots=("at", "pid", "title_name", "title_text", "shown_name", "origin", "description", "iso", "posts"),
)


def post_page(request: HttpRequest, by: Rendering, post: Post) -> HttpResponse:
    """One post on a page of its own."""
    return POST.answer(
        request,
        by,
        at=at(post.author.username),
        pid=post.pid,
        title_name=isolated(post.author),
        title_text=beginning_of(post.body, IN_TITLE),
        shown_name=post.author.shown_name,
        origin=origin_of(request),
        description=shortened(post.body, IN_DESCRIPTION),
        iso=iso(post.time),
        posts=cards([post], by),
    )
