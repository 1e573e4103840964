"""Posts as HTML: each post is rendered once and cached; only its age is written anew."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.template import loader
from django.utils.html import escape
from django.utils.translation import get_language, ngettext

from accounts.users.entities import User, Visitor
from retwis_site.rendering.pages import CSRF_TOKEN, Pieces, Slots, cut_at_slots, fragment, slot
from retwis_site.store.local_cache import PageMemory
from timeline.posts.entities import Page, Post


@dataclass(frozen=True, slots=True)
class PostCard:
    """A post's HTML with its present age, and the parts before and after the age."""

    post: Post
    whole: Pieces
    until: int  # unix seconds at which the words of the age change
    before: bytes
    after: Pieces


Key = tuple[int, bool, str]  # pid; whether the viewer wrote the post, and so can delete it; the viewer's language

_cards: PageMemory[Key, PostCard] = PageMemory(size=10_000, seconds=3600)  # some 25 MB


def posts_as_html(posts: Sequence[Post], viewer: User | Visitor) -> Pieces:
    """Each post as `_post.html` renders it."""
    me = viewer.uid if isinstance(viewer, User) else None
    language = get_language() or ""
    keys = [(post.pid, post.author.uid == me, language) for post in posts]
    cached = _cards.some(keys)
    now = int(time.time())
    pieces: list[bytes | str] = []
    for key, post in zip(keys, posts, strict=True):
        card = cached.get(key)
        if card is None or card.post is not post or card.until <= now:
            card = _card(key, post, now, card)
        pieces += card.whole
    return pieces


def _card(key: Key, post: Post, now: int, old: PostCard | None) -> PostCard:
    """A new card, which is cached. The parts of an old card for the same post are used again."""
    before, after = (old.before, old.after) if old and old.post == post else _rendered(post, own=key[1])
    age = age_of(now - post.time, key[2])
    first, *rest = after
    assert isinstance(first, bytes)
    card = PostCard(post, (before + age.words.encode() + first, *rest), now + age.lasts, before, after)
    _cards.put(key, card)
    return card


def _rendered(post: Post, own: bool) -> tuple[bytes, Pieces]:
    """The HTML before and after a post's age."""
    context = {"post": post, "own": own, "age": slot("age"), "csrf_token": CSRF_TOKEN}
    before, _, *after = cut_at_slots(loader.render_to_string("timeline/posts/_post.html", context))
    assert isinstance(before, bytes)
    return before, after


def slots(page: Page, viewer: User | Visitor, stopped: int | None = None) -> Slots:
    """The slots of a page of posts: the posts, and the cursor of the next page. `stopped`: the newest id that the
    viewer had read; a line separates the posts above it from the others."""
    older = [] if page.older is None else [str(page.older).encode()]
    return {"posts": _with_line(page.posts, viewer, stopped), "older": older}


def _with_line(posts: Sequence[Post], viewer: User | Visitor, stopped: int | None) -> Pieces:
    if stopped is None or not posts or posts[0].pid <= stopped or posts[-1].pid > stopped:
        return posts_as_html(posts, viewer)
    above = sum(post.pid > stopped for post in posts)
    line = fragment("timeline/timelines/_stopped.html", {})
    return [*posts_as_html(posts[:above], viewer), *line, *posts_as_html(posts[above:], viewer)]


@dataclass(frozen=True, slots=True)
class Age:
    words: str
    lasts: int  # seconds until the words change


def age_of(seconds: int, language: str) -> Age:
    """A post's age in words, as in the official Retwis: `posted 0 seconds ago via web`, `1 minute`, `2 hours`,
    `3 days`. HTML. `language`: the active language, under which the words are cached."""
    if seconds < 60:
        return Age(_words(max(0, seconds), "second", language), max(1, 1 - seconds))
    if seconds < 3600:
        return _in(seconds, 60, "minute", language)
    if seconds < 86400:
        return _in(seconds, 3600, "hour", language)
    return _in(seconds, 86400, "day", language)


def _in(seconds: int, length: int, unit: str, language: str) -> Age:
    return Age(_words(seconds // length, unit, language), length - seconds % length)


_PHRASES: dict[str, Callable[[int], str]] = {
    # The official Retwis writes "seconds" also after one second.
    "second": lambda n: ngettext("posted %(number)d seconds ago via web", "posted %(number)d seconds ago via web", n),
    "minute": lambda n: ngettext("posted %(number)d minute ago via web", "posted %(number)d minutes ago via web", n),
    "hour": lambda n: ngettext("posted %(number)d hour ago via web", "posted %(number)d hours ago via web", n),
    "day": lambda n: ngettext("posted %(number)d day ago via web", "posted %(number)d days ago via web", n),
}
_phrases: PageMemory[tuple[int, str, str], str] = PageMemory(size=10_000, seconds=3600)


def _words(number: int, unit: str, language: str) -> str:
    """The words for `number` units, cached: gettext would compute the plural form each time."""
    key = (number, unit, language)
    words = _phrases.get(key)
    if words is None:
        words = escape(_PHRASES[unit](number) % {"number": number})
        _phrases.put(key, words)
    return words
