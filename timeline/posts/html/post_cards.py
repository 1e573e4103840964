"""Posts as HTML: each rendered once for its content, and then remembered but for its age."""

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
    """A post's HTML, whole for as long as its age reads the same, and what comes before and after the age."""

    post: Post
    whole: Pieces
    until: int  # unix seconds
    before: bytes
    after: Pieces


Key = tuple[int, bool, str]  # a post's id, whether the viewer wrote it and so can delete it, and their language

_cards: PageMemory[Key, PostCard] = PageMemory(size=10_000, seconds=3600)  # some 25 MB


def posts_as_html(posts: Sequence[Post], viewer: User | Visitor) -> Pieces:
    """As `_post.html` has them."""
    me = viewer.uid if isinstance(viewer, User) else None
    language = get_language() or ""
    keys = [(post.pid, post.author.uid == me, language) for post in posts]
    known = _cards.some(keys)
    now = int(time.time())
    pieces: list[bytes | str] = []
    for key, post in zip(keys, posts, strict=True):
        card = known.get(key)
        if card is None or card.post is not post or card.until <= now:
            card = _card(key, post, now, card)
        pieces += card.whole
    return pieces


def _card(key: Key, post: Post, now: int, known: PostCard | None) -> PostCard:
    before, after = (known.before, known.after) if known and known.post == post else _rendered(post, own=key[1])
    age = age_of(now - post.time, key[2])
    first, *rest = after
    assert isinstance(first, bytes)
    card = PostCard(post, (before + age.words.encode() + first, *rest), now + age.lasts, before, after)
    _cards.put(key, card)
    return card


def _rendered(post: Post, own: bool) -> tuple[bytes, Pieces]:
    """What comes before a post's age, and what after."""
    context = {"post": post, "own": own, "age": slot("age"), "csrf_token": CSRF_TOKEN}
    before, _, *after = cut_at_slots(loader.render_to_string("timeline/posts/_post.html", context))
    assert isinstance(before, bytes)
    return before, after


def slots(page: Page, viewer: User | Visitor, stopped: int | None = None) -> Slots:
    """What a page of posts shows in the holes of its template: the posts, and the next page's cursor. Between what is
    above the id where somebody had stopped reading and what is not, a line tells so."""
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
    lasts: int  # seconds, until the words are others


def age_of(seconds: int, language: str) -> Age:
    """In words, as the official Retwis tells it: `posted 0 seconds ago via web`, `1 minute`, `2 hours`, `3 days`. HTML,
    in the language that is spoken."""
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
    # As the official Retwis has it, also after one second.
    "second": lambda n: ngettext("posted %(number)d seconds ago via web", "posted %(number)d seconds ago via web", n),
    "minute": lambda n: ngettext("posted %(number)d minute ago via web", "posted %(number)d minutes ago via web", n),
    "hour": lambda n: ngettext("posted %(number)d hour ago via web", "posted %(number)d hours ago via web", n),
    "day": lambda n: ngettext("posted %(number)d day ago via web", "posted %(number)d days ago via web", n),
}
_phrases: PageMemory[tuple[int, str, str], str] = PageMemory(size=10_000, seconds=3600)


def _words(number: int, unit: str, language: str) -> str:
    """Remembered, since gettext works out anew each time which plural form a number takes."""
    key = (number, unit, language)
    words = _phrases.get(key)
    if words is None:
        words = escape(_PHRASES[unit](number) % {"number": number})
        _phrases.put(key, words)
    return words
