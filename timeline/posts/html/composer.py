"""The composer: the form of a new post."""

from collections.abc import Sequence
from typing import Literal, get_args

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from accounts.signing_in.html import Page, Rendering
from retwis_site.rendering.dates import moment
from retwis_site.rendering.fragments import NOTHING, Fragment, Html, joined
from timeline.posts.entities import Post
from timeline.posts.forms import PostForm, kept_draft, new_token
from timeline.posts.html.pictures import chosen
from timeline.posts.html.post_cards import about_post, cards, html_of
from timeline.posts.reading.records import Version

Where = Literal["here", "elsewhere"]  # the fields for pictures: they take as many bytes as a card

TO = {"": "", "@": "person", "#": "tag"}  # for whom a text is, by the sign with which it begins

COMPOSER, REPLY, QUOTE = (
    Fragment(
        "timeline/posts/_composer.html",
        shape={"to": tuple(TO.values()), "pictures": ("", *get_args(Where))},
        constants={"form": PostForm(initial=named), "has_text": False, "chosen": NOTHING, "refused": ()},
    )
    for named in ({}, {"reply_to": 1}, {"quote": 1})  # any ids: only their words differ
)


def composer(
    request: HttpRequest,
    by: Rendering,
    *,
    reply_to: int | None = None,
    quote: int | None = None,
    begins: str = "",
    pictures: Where = "elsewhere",
) -> Html:
    """The composer with the viewer's draft, if one waits; empty for a visitor and for a frozen user. `reply_to`,
    `quote`: the posts that the new one answers and quotes. `begins`: the text begins with this name or tag, such as
    `@bob`. `pictures`: where the fields for them are. Each has a token of its own: a second click sends the same token,
    and so gives the same post."""
    if not by.can_act:
        return NOTHING
    draft = kept_draft(request, by.me, reply_to, quote)
    if draft is not None:
        return composer_with(PostForm.of(draft.post), by)
    empty = REPLY if reply_to is not None else QUOTE if quote is not None else COMPOSER
    return empty.fill(
        by.language,
        quotes=quote is not None,
        pictures=pictures if settings.MEDIA_MEMORY else "",
        to=TO[begins[:1]],
        begins=begins,
        uid=by.me,
        token=new_token(),
        csrf_token=by.token,
        reply_to=reply_to or "",
        quote=quote or "",
    )


def composer_with(form: PostForm, by: Rendering, refused: Sequence[str] = ()) -> Html:
    """The composer with what was typed and its pictures, its errors, and what is wrong with pictures that are not
    among them. It is rendered now."""
    context = {
        "form": form,
        "has_text": True,
        "uid": by.me,
        "token": form["token"].value() or new_token(),
        "csrf_token": by.token,
        "reply_to": form["reply_to"].value() or "",
        "quote": form["quote"].value() or "",
        "quotes": bool(form["quote"].value()),
        "pictures": "here" if settings.MEDIA_MEMORY else "",
        "chosen": chosen(form.pictures, by.language),
        "refused": refused,
        "to": "",
    }
    return render_to_string(COMPOSER.template, context)


# ---- The composer on a page of its own.


COMPOSE = Page("timeline/posts/compose.html", here="compose")


def compose_page(
    request: HttpRequest, by: Rendering, composer: Html, above: Sequence[Post], status: int = 200
) -> HttpResponse:
    """`composer`: from `timeline/posts/html/composer.py`. `above`: the posts that the new one answers and quotes."""
    return COMPOSE.response(
        request, by, status=status, has_above=bool(above), above=cards(above, by), composer=composer
    )


# ---- The page with all texts of a post.


HISTORY = Page("timeline/posts/history.html", here="history")
TEXT = Fragment("timeline/posts/_version.html")


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
    return HISTORY.response(
        request,
        by,
        **about_post(post.author, post.pid),
        texts=joined(rows),
    )
