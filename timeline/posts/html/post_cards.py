"""Posts as HTML."""

import time
from collections.abc import Callable, Sequence
from functools import lru_cache

from django.utils.text import Truncator
from django.utils.translation import ngettext, override

from accounts.signing_in.html.pages import Rendering
from accounts.users.avatars import avatar
from accounts.users.html import at, name_of
from retwis_site.rendering.dates import moment
from retwis_site.rendering.fragments import EITHER, Fragment, Html, escaped, joined
from timeline.posts.entities import Post
from timeline.posts.html.texts import html_of_post

BEGINNING = 40  # characters of a text that tell screen readers which post a button deletes

CARD = Fragment(
    "timeline/posts/_post.html",
    slots=("pid", "at", "avatar", "name", "text", "iso", "moment", "age", "beginning", "csrf_token"),
    shape={"own": EITHER},
)


def card(post: Post, by: Rendering, now: int) -> Html:
    """A post. `now`: unix seconds, for its age."""
    author, language = post.author, by.language
    iso, when = moment(post.time, language)
    own = author.uid == by.me
    return CARD.fill(
        language,
        own=own,
        pid=post.pid,
        at=at(author.username),
        avatar=avatar(author.uid),
        name=name_of(author, language),
        text=html_of_post(post, language),
        iso=iso,
        moment=when,
        age=age_of(now - post.time, language),
        beginning=beginning_of(post.body, BEGINNING) if own else "",
        csrf_token=by.token,
    )


def cards(posts: Sequence[Post], by: Rendering) -> Html:
    """Posts, in their order."""
    now = int(time.time())
    return joined([card(post, by, now) for post in posts])


def beginning_of(text: str, length: int) -> str:
    """The beginning of a text: at most `length` characters."""
    return text if len(text) <= length else Truncator(text).chars(length)


def age_of(seconds: int, language: str) -> Html:
    """A post's age in words, as in the official Retwis: `posted 0 seconds ago via web`, `1 minute`, `2 hours`,
    `3 days`."""
    if seconds < 60:
        return _words(max(0, seconds), "second", language)
    if seconds < 3600:
        return _words(seconds // 60, "minute", language)
    if seconds < 86400:
        return _words(seconds // 3600, "hour", language)
    return _words(seconds // 86400, "day", language)


_PHRASES: dict[str, Callable[[int], str]] = {
    # The official Retwis writes "seconds" also after one second.
    "second": lambda n: ngettext("posted %(number)d seconds ago via web", "posted %(number)d seconds ago via web", n),
    "minute": lambda n: ngettext("posted %(number)d minute ago via web", "posted %(number)d minutes ago via web", n),
    "hour": lambda n: ngettext("posted %(number)d hour ago via web", "posted %(number)d hours ago via web", n),
    "day": lambda n: ngettext("posted %(number)d day ago via web", "posted %(number)d days ago via web", n),
}


@lru_cache(maxsize=5000)
def _words(number: int, unit: str, language: str) -> Html:
    """The words for `number` units. gettext would compute the plural form each time."""
    with override(language):
        return escaped(_PHRASES[unit](number) % {"number": number})
