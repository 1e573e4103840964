"""A post as the HTML of an item in a feed: to whom it replies, its text, and the post that it quotes."""

from django.urls import reverse

from retwis_site.rendering.fragments import EITHER, Fragment, Html, with_line_breaks
from timeline.posts.entities import Post
from timeline.posts.html.texts import html_of

FEED_TEXT = Fragment(
    "timeline/feeds/_feed_text.html",
    slots=("text", "answered", "answered_address", "quoted_name", "quoted_address", "quoted_text"),
    shape={"replies": EITHER, "quotes": EITHER, "seen": EITHER},
)


def item_html(post: Post, language: str, origin: str) -> Html:
    """The whole text, with the same links as on pages. Addresses are absolute."""
    answered, quoted = post.context.answered, post.context.quoted
    return FEED_TEXT.fill(
        language,
        replies=answered is not None,
        quotes=post.links.quote is not None,
        seen=quoted is not None,
        text=_text(post, language, origin),
        answered=answered.username if answered else "",
        answered_address=address_answered(post, origin) or "",
        quoted_name=quoted.author.shown_name if quoted else "",
        quoted_address=address_quoted(post, origin) or "",
        quoted_text=_text(quoted, language, origin) if quoted else "",
    )


def address_answered(post: Post, origin: str) -> str | None:
    """The address of the post that it replies to; None for no reply, and when the account of that author is deleted."""
    if post.context.answered is None or post.links.reply_to is None:
        return None
    return origin + reverse("post", args=[post.context.answered.username, post.links.reply_to])


def address_quoted(post: Post, origin: str) -> str | None:
    """The address of the post that it quotes; None for none, and for one that nobody sees."""
    quoted = post.context.quoted
    return origin + reverse("post", args=[quoted.author.username, quoted.pid]) if quoted else None


def _text(post: Post, language: str, origin: str) -> Html:
    return with_line_breaks(html_of(post.body, language, origin, post.context.mentioned))
