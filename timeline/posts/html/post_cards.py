"""Posts as HTML."""

import time
from collections.abc import Callable, Sequence
from functools import lru_cache

from django.conf import settings
from django.utils.translation import ngettext, override

from accounts.signing_in.html.pages import Rendering
from accounts.users.html import PERSON, person
from retwis_site.rendering.dates import moment
from retwis_site.rendering.fragments import EITHER, Fragment, Html, Refillable, Sendable, escaped
from retwis_site.store.local_cache import Memory
from timeline.posts.entities import Post
from timeline.posts.html.texts import beginning_of, html_of

BEGINNING = 40  # characters of a text that tell screen readers which post a button deletes

CARD = Fragment(
    "timeline/posts/_post.html",
    slots=("pid", *PERSON, "text", "iso", "moment", "age", "beginning", "csrf_token"),
    shape={"own": EITHER},
)


# What of a card follows from the post alone, by pid, language, and whether the post is the viewer's own; and the post
# that it was made of, since a text or a name may change. Some 11 MB.
_cards: Memory[tuple[int, str, bool], tuple[Post, Refillable | Sendable]] = Memory(size=6000, seconds=3600)
_NONE = (None, Refillable(b"", b""))


def cards(posts: Sequence[Post], by: Rendering) -> bytes:
    """Posts as HTML, in their order."""
    now, language, me = int(time.time()), by.language, by.me
    keys = [(post.pid, language, post.author.uid == me) for post in posts]
    known = _cards.some(keys)
    html = []
    for key, post in zip(keys, posts, strict=True):
        made_of, card = known.get(key, _NONE)
        if made_of is not post:
            if made_of != post:
                card = _prepared(post, language, own=key[2])
            if not settings.DEBUG:  # then a changed template shows at once
                _cards.put(key, (post, card))
        age = age_of(now - post.time, language)
        html.append(card.fill(age) if isinstance(card, Refillable) else card.fill(age=age, csrf_token=by.token))
    return b"".join(html)


def _prepared(post: Post, language: str, own: bool) -> Refillable | Sendable:
    """A card whose age is open, since it differs from page to page; and, for an own post, the token."""
    iso, when = moment(post.time, language)
    card = CARD.prepare(
        language,
        own=own,
        pid=post.pid,
        **person(post.author, language),
        text=html_of(post.body, language),
        iso=iso,
        moment=when,
        beginning=beginning_of(post.body, BEGINNING) if own else "",
    )
    return card if own else card.with_one_slot()


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
