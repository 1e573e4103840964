"""The pictures of a post: on its card, in the composer, and each on a page of its own."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.signing_in.html import Page, Rendering
from accounts.users.html import at
from retwis_site.rendering.fragments import NOTHING, Fragment, Html, joined
from timeline.posts.entities import MOST_PICTURES, Media, Picture, Post

PICTURES = Fragment("timeline/posts/_pictures.html", shape={"number": tuple(range(1, MOST_PICTURES + 1))})
PICTURE = Fragment("timeline/posts/_picture.html")
CHOSEN = Fragment("timeline/posts/_chosen.html")
IN_FEED = Fragment("timeline/feeds/_feed_picture.html")
COVERED_IN_FEED = Fragment("timeline/feeds/_feed_covered.html")
LARGE = Page("timeline/posts/picture.html", here="picture")


def pictures_of(username: str, pid: int, media: Media, language: str) -> Html:
    """The pictures of a post, small; nothing without any."""
    if not media.pictures:
        return NOTHING
    shown = [
        PICTURE.fill(
            language,
            has_alt=bool(one.alt),
            moves=bool(one.moving),
            moving=f"{one.digest}{one.moving}",
            at=at(username),
            pid=pid,
            number=number,
            file=one.small,
            **_size_and_words(one),
        )
        for number, one in enumerate(media.pictures, 1)
    ]
    return PICTURES.fill(language, sensitive=media.sensitive, number=len(shown), pictures=joined(shown))


def _size_and_words(one: Picture) -> dict[str, Any]:
    return {"width": one.width, "height": one.height, "alt": one.alt}


def chosen(pictures: Sequence[Picture], language: str) -> Html:
    """Those that the form of a new post has by now, each with a field for its description."""
    return _with_fields(pictures, language, is_new=True)


def described(pictures: Sequence[Picture], language: str) -> Html:
    """The same for the form of a post that is changed: its pictures stay."""
    return _with_fields(pictures, language, is_new=False)


def _with_fields(pictures: Sequence[Picture], language: str, *, is_new: bool) -> Html:
    return joined(
        CHOSEN.fill(
            language,
            is_new=is_new,
            digest=one.digest,
            file=one.small,
            number=number,
            **_size_and_words(one),
        )
        for number, one in enumerate(pictures, 1)
    )


def words_of(body: str, media: Media) -> str:
    """The text of a post, where it stands for the post. Of a post with pictures alone, what they show."""
    described = (one.alt for one in media.pictures if one.alt and not media.sensitive)
    return body or next(described, _("Picture") if media.pictures else "")


def preview_of(media: Media) -> dict[str, Any]:
    """The slots of the picture that other sites show with a link to a post. None of covered pictures."""
    first = media.pictures[0] if media.pictures and not media.sensitive else None
    return {
        "has_picture": first is not None,
        "picture": first.digest if first else "",
        "picture_width": first.width if first else "",
        "picture_height": first.height if first else "",
        "picture_alt": first.alt if first else "",
    }


def pictures_in_feed(media: Media, language: str, origin: str) -> Html:
    """The same for readers of feeds. Covered ones are left out: a feed has no button that shows them."""
    if media.sensitive:
        return COVERED_IN_FEED.fill(language)
    return joined(
        IN_FEED.fill(language, address=origin + reverse("media", args=[one.digest]), **_size_and_words(one))
        for one in media.pictures
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
        moves=bool(one.moving),
        moving=f"{one.digest}{one.moving}",
        has_before=number > 1,
        has_next=number < len(post.media.pictures),
        before=number - 1,
        next=number + 1,
        file=one.digest,
        **_size_and_words(one),
    )
