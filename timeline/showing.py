"""Posts as HTML: each rendered once for its content, and then remembered but for its age."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from django.template import loader

from accounts.entities import User, Visitor
from retwis_site.memory import PageMemory
from retwis_site.pages import CSRF_TOKEN, Holes, Pieces, cut, mark, part
from timeline.entities import Page, Post


@dataclass(frozen=True, slots=True)
class Card:
    """A post's HTML, whole for as long as its age reads the same, and what comes before and after the age."""

    post: Post
    whole: Pieces
    until: int  # unix seconds
    before: bytes
    after: Pieces


# By the post's id, and whether the viewer wrote it and so can delete it; some 25 MB.
_cards: PageMemory[tuple[int, bool], Card] = PageMemory(size=10_000, seconds=3600)


def posts_as_html(posts: Sequence[Post], viewer: User | Visitor) -> Pieces:
    """As `_post.html` has them."""
    me = viewer.uid if isinstance(viewer, User) else None
    keys = [(post.pid, post.author.uid == me) for post in posts]
    known = _cards.some(keys)
    now = int(time.time())
    pieces: list[bytes | str] = []
    for key, post in zip(keys, posts, strict=True):
        card = known.get(key)
        if card is None or card.post is not post or card.until <= now:
            card = _card(key, post, now, card)
        pieces += card.whole
    return pieces


def _card(key: tuple[int, bool], post: Post, now: int, known: Card | None) -> Card:
    before, after = (known.before, known.after) if known and known.post == post else _rendered(post, own=key[1])
    age = age_of(now - post.time)
    first, *rest = after
    assert isinstance(first, bytes)
    card = Card(post, (before + age.words.encode() + first, *rest), now + age.lasts, before, after)
    _cards.put(key, card)
    return card


def _rendered(post: Post, own: bool) -> tuple[bytes, Pieces]:
    """What comes before a post's age, and what after."""
    context = {"post": post, "own": own, "age": mark("age"), "csrf_token": CSRF_TOKEN}
    before, _, *after = cut(loader.render_to_string("timeline/_post.html", context))
    assert isinstance(before, bytes)
    return before, after


def holes(page: Page, viewer: User | Visitor, stopped: int | None = None) -> Holes:
    """What a page of posts shows in the holes of its template: the posts, and the next page's cursor. Between what is
    above the id where somebody had stopped reading and what is not, a line tells so."""
    older = [] if page.older is None else [str(page.older).encode()]
    return {"posts": _with_line(page.posts, viewer, stopped), "older": older}


def _with_line(posts: Sequence[Post], viewer: User | Visitor, stopped: int | None) -> Pieces:
    if stopped is None or not posts or posts[0].pid <= stopped or posts[-1].pid > stopped:
        return posts_as_html(posts, viewer)
    above = sum(post.pid > stopped for post in posts)
    line = part("timeline/_stopped.html", {})
    return [*posts_as_html(posts[:above], viewer), *line, *posts_as_html(posts[above:], viewer)]


@dataclass(frozen=True, slots=True)
class Age:
    words: str
    lasts: int  # seconds, until the words are others


def age_of(seconds: int) -> Age:
    """In words, as the official Retwis tells it: `0 seconds`, `1 minute`, `2 hours`, `3 days`."""
    if seconds < 60:
        return Age(f"{max(0, seconds)} seconds", max(1, 1 - seconds))
    if seconds < 3600:
        return _in(seconds, 60, "minute")
    if seconds < 86400:
        return _in(seconds, 3600, "hour")
    return _in(seconds, 86400, "day")


def _in(seconds: int, length: int, unit: str) -> Age:
    number = seconds // length
    return Age(f"{number} {unit}" if number == 1 else f"{number} {unit}s", length - seconds % length)
