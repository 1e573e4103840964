"""Posts as cards. What follows from a post alone is made once and kept; its age, the counts, what the viewer has done,
who reposted it and the post that it quotes are filled in for each page."""

import time
from collections.abc import Mapping, Sequence
from typing import Literal

from django.conf import settings

from accounts.signing_in.html.pages import Rendering
from accounts.users.html import PERSON, at, name_of, person
from retwis_site.rendering.dates import moment
from retwis_site.rendering.fragments import EITHER, NOTHING, Fragment, Html
from retwis_site.rendering.refillable import Refillable
from retwis_site.store.local_cache import Memory
from timeline.posts.entities import Context, Post
from timeline.posts.html.actions import actions
from timeline.posts.html.ages import Age, age
from timeline.posts.html.texts import Marks, beginning_of, html_of, html_with_marks

OWN = ("own", "pinned")  # the viewers that wrote the post
BEGINNING = 40  # characters of a text that tell screen readers which post a button deletes

CARD = Fragment(
    "timeline/posts/_post.html",
    slots=(
        *("pid", "username", *PERSON, "text", "iso", "moment", "answered", "answered_at", "reply_to", "beginning"),
        *("age", "short_age", "reposted", "quoted", "actions"),
    ),
    shape={"viewer": ("visitor", "other", "own", "pinned"), "alone": EITHER, "is_reply": EITHER, "edited": EITHER},
)
QUOTED = Fragment(
    "timeline/posts/_quoted.html",
    slots=("at", "pid", "name", "text", "iso", "moment", "age", "short_age"),
    shape={"seen": EITHER},
)
REPOSTED = Fragment(
    "timeline/posts/_reposted.html",
    slots=("first", "first_at", "second", "second_at"),
    numbers=("others",),
    shape={"people": ("1", "2", "2+")},
)
MUTED = Fragment("timeline/posts/_muted.html", slots=("words", "post"))

Place = Literal["list", "alone", "found"]  # found: in a list, with highlights, for which its text stays open
CardKey = tuple[int, str, str, Place]  # pid, language, who looks at it, and where it stands
NO_MARKS: Mapping[int, Marks] = {}

# What of a card follows from the post alone, and what it was made of. Some 20 MB.
_cards: Memory[CardKey, tuple[object, Refillable]] = Memory(size=6000, seconds=3600)
# A post in a card that quotes it, by id and language, and what it was made of. Some 2 MB.
_quotes: Memory[tuple[int, str], tuple[object, Html]] = Memory(size=2000, seconds=3600)


def cards(posts: Sequence[Post], by: Rendering) -> bytes:
    """Posts as HTML, in their order."""
    return _cards_of(posts, by, "list", "own", NO_MARKS)


def cards_found(posts: Sequence[Post], by: Rendering, marks: Mapping[int, Marks]) -> bytes:
    """Posts that a search has found, with these parts of their texts, by the post's id, highlighted."""
    return _cards_of(posts, by, "list", "own", marks)


def card_alone(post: Post, by: Rendering) -> bytes:
    """A post on its own page."""
    return _cards_of([post], by, "alone", "own", NO_MARKS)


def card_pinned(post: Post, by: Rendering) -> bytes:
    """A post that is pinned to its author's profile, on that page."""
    return _cards_of([post], by, "list", "pinned", NO_MARKS)


def _cards_of(posts: Sequence[Post], by: Rendering, place: Place, own: str, marks: Mapping[int, Marks]) -> bytes:
    now, language, me = int(time.time()), by.language, by.me
    other = "visitor" if me is None else "other"
    keys: list[CardKey] = [
        (post.pid, language, own if post.author.uid == me else other, "found" if post.pid in marks else place)
        for post in posts
    ]
    known = _cards.some(keys)
    html = []
    for key, post in zip(keys, posts, strict=True):
        its_age = age(post.time, now, language)
        its_marks = marks.get(post.pid)
        quoted = _quoted(post.context.quoted, now, language) if post.links.quote else NOTHING
        # To most viewers a post looks the same, so the last HTML often serves again. Then `post` is the same object.
        state = (post, its_age, quoted)
        kept = known.get(key)
        if its_marks is None:
            text = NOTHING
            filled = kept[1].filled(state) if kept else None
        else:
            text = html_with_marks(post.body, language, post.context.mentioned, its_marks)
            filled = kept[1].filled_but(state, "text", text) if kept else None
        if filled is None:
            differing = {**_differing(post, by, its_age, quoted), "text": text}
            filled = _card(key, kept, post, by).fill(state, differing)
        muted = post.context.muted
        html.append(filled if muted is None else MUTED.fill_as_sent(language, words=muted, post=filled))
    return b"".join(html)


def _card(key: CardKey, kept: tuple[object, Refillable] | None, post: Post, by: Rendering) -> Refillable:
    """The card of a post, open where pages differ: `kept`, or a new one when it was made of something else."""
    made_of = (post.author, post.body, post.links, post.edited, post.context.answered, post.context.mentioned)
    if kept is None or kept[0] != made_of:
        _, _, viewer, place = key
        kept = (made_of, _kept(post, by.language, viewer, place))
        if not settings.DEBUG:  # then a changed template shows at once
            _cards.put(key, kept)
    return kept[1]


def _kept(post: Post, language: str, viewer: str, place: Place) -> Refillable:
    """A card that is open where pages differ."""
    date, when = moment(post.time, language)
    answered = post.context.answered
    text = {} if place == "found" else {"text": html_of(post.body, language, names=post.context.mentioned)}
    return CARD.prepare(
        language,
        viewer=viewer,
        alone=place == "alone",
        is_reply=answered is not None,
        edited=post.edited is not None,
        pid=post.pid,
        username=post.author.username,
        **person(post.author, language),
        **text,
        iso=date,
        moment=when,
        answered=answered.username if answered else "",
        answered_at=at(answered.username) if answered else "",
        reply_to=post.links.reply_to or "",
        beginning=beginning_of(post.body, BEGINNING) if viewer in OWN else "",
    ).to_keep()


def _differing(post: Post, by: Rendering, its_age: Age, quoted: Html) -> dict[str, Html]:
    """What may differ from page to page."""
    return {
        "age": its_age.words,
        "short_age": its_age.short,
        "reposted": _reposted(post.context, by.language) if post.context.reposted_by else NOTHING,
        "quoted": quoted,
        "actions": actions(post, by),
    }


def _reposted(context: Context, language: str) -> Html:
    first, second = (*context.reposted_by, context.reposted_by[0])[:2]
    others = len(context.reposted_by) - 2
    return REPOSTED.fill(
        language,
        people="2+" if others > 0 else str(len(context.reposted_by)),
        first=first.shown_name,
        first_at=at(first.username),
        second=second.shown_name,
        second_at=at(second.username),
        others=max(others, 0),
    )


def _quoted(post: Post | None, now: int, language: str) -> Html:
    if post is None:
        empty = dict.fromkeys(QUOTED.slots, NOTHING)
        return QUOTED.fill(language, seen=False, **empty)
    made_of = (post.author, post.body, post.context.mentioned, age(post.time, now, language))
    kept = _quotes.get((post.pid, language))
    if kept is None or kept[0] != made_of:
        kept = (made_of, _seen_quote(post, now, language))
        if not settings.DEBUG:
            _quotes.put((post.pid, language), kept)
    return kept[1]


def _seen_quote(post: Post, now: int, language: str) -> Html:
    its_age = age(post.time, now, language)
    date, when = moment(post.time, language)
    return QUOTED.fill(
        language,
        seen=True,
        at=at(post.author.username),
        pid=post.pid,
        name=name_of(post.author, language),
        text=html_of(post.body, language, names=post.context.mentioned),
        iso=date,
        moment=when,
        age=its_age.words,
        short_age=its_age.short,
    )
