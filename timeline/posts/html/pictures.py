"""The pictures of a post: on its card, in the composer, and each on a page of its own."""

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse

from accounts.signing_in.html import Page, Rendering
from accounts.users.html import at
from retwis_site.rendering.fragments import NOTHING, Fragment, Html, joined
from timeline.posts.entities import MOST_PICTURES, Media, Picture, Post

PICTURES = Fragment("timeline/posts/_pictures.html", shape={"number": tuple(range(1, MOST_PICTURES + 1))})
PICTURE = Fragment("timeline/posts/_picture.html")
CHOSEN = Fragment("timeline/posts/_chosen.html")
LARGE = Page("timeline/posts/picture.html", here="picture")


def pictures_of(username: str, pid: int, media: Media, language: str) -> Html:
    """The pictures of a post, small; nothing without any."""
    if not media.pictures:
        return NOTHING
    shown = [
        PICTURE.fill(
            language,
            has_alt=bool(one.alt),
            at=at(username),
            pid=pid,
            number=number,
            file=one.small,
            width=one.width,
            height=one.height,
            alt=one.alt,
        )
        for number, one in enumerate(media.pictures, 1)
    ]
    return PICTURES.fill(language, sensitive=media.sensitive, number=len(shown), pictures=joined(shown))


def chosen(pictures: Sequence[Picture], language: str) -> Html:
    """Those that a form has by now, each with a field for its description."""
    return joined(
        CHOSEN.fill(
            language,
            digest=one.digest,
            file=one.small,
            width=one.width,
            height=one.height,
            alt=one.alt,
            number=number,
        )
        for number, one in enumerate(pictures, 1)
    )


def picture_page(request: HttpRequest, by: Rendering, post: Post, number: int) -> HttpResponse:
    """`number`: from 1."""
    one = post.media.pictures[number - 1]
    return LARGE.response(
        request,
        by,
        at=at(post.author.username),
        pid=post.pid,
        shown_name=post.author.shown_name,
        has_alt=bool(one.alt),
        has_before=number > 1,
        has_next=number < len(post.media.pictures),
        before=number - 1,
        next=number + 1,
        file=one.digest,
        width=one.width,
        height=one.height,
        alt=one.alt,
    )
