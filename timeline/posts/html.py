"""Posts as cards, and their pictures. What follows from a post alone is made once and kept; its age, the counts, what
the viewer has done, who reposted it and the post that it quotes are filled in for each page."""

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import regex
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext, ngettext, override

from accounts.signing_in.html import Page, Rendering
from accounts.users.entities import User
from accounts.users.html import at, first_two, name_of, person_slots, titled
from retwis_site.rendering.dates import A_DAY, moment, short_day
from retwis_site.rendering.fragments import (
    NEVER_FILLED,
    NOTHING,
    Fragment,
    Html,
    LastFill,
    Refillable,
    Values,
    escaped,
    halves,
    joined,
)
from retwis_site.store.local_cache import Memory
from timeline.posts.entities import MOST_PICTURES, NOT_ACTED, Media, Picture, Post
from timeline.posts.links import Segment, folded, may_have_links, segments

# ---- The pictures of a post: on its card, in the composer, and each on a page of its own


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


def picture_fields(pictures: Sequence[Picture], language: str, *, is_new: bool) -> Html:
    """The pictures that a form has by now, each with a field for its description. Those of a new post can be left
    out."""
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
    return body or next(described, gettext("Picture") if media.pictures else "")


def all_words_of(post: Post) -> str:
    """What a post says, in lines: its text, and what each picture shows."""
    without = gettext("Picture %(number)s, without a description")
    alts = [one.alt or without % {"number": number} for number, one in enumerate(post.media.pictures, 1)]
    return "\n".join([post.body, *alts] if post.body else alts)


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


# ---- The age of a post in words.


class Age(NamedTuple):
    """How old a post is."""

    words: Html  # as in the official Retwis: `posted 3 minutes ago via web`
    short: Html  # `now`, `3 min`, `2 h`; after a day the date: `14 Nov`, `14 Nov 2025`


# Which ages are counted in which unit: those below so many seconds, in so many seconds, by this name.
UNITS = ((60, 1, "second"), (3600, 60, "minute"), (A_DAY, 3600, "hour"))


def age(written: int, now: int, language: str) -> Age:
    """The age of what was written at `written`; both in unix seconds."""
    seconds = max(0, now - written)
    for below, length, name in UNITS:
        if seconds < below:
            return _young(seconds // length, name, language)
    return _old(seconds // A_DAY, written // A_DAY, now // A_DAY, language)


def holds_until(written: int, now: int) -> int:
    """The unix second from which on `age` may be another."""
    seconds = max(0, now - written)
    for below, length, _ in UNITS:
        if seconds < below:
            return written + (seconds // length + 1) * length
    return min(written + (seconds // A_DAY + 1) * A_DAY, (now // A_DAY + 1) * A_DAY)


_PHRASES: dict[str, Callable[[int], str]] = {
    # The official Retwis writes "seconds" also after one second.
    "second": lambda n: ngettext("posted %(number)d seconds ago via web", "posted %(number)d seconds ago via web", n),
    "minute": lambda n: ngettext("posted %(number)d minute ago via web", "posted %(number)d minutes ago via web", n),
    "hour": lambda n: ngettext("posted %(number)d hour ago via web", "posted %(number)d hours ago via web", n),
    "day": lambda n: ngettext("posted %(number)d day ago via web", "posted %(number)d days ago via web", n),
}
_SHORT: dict[str, Callable[[int], str]] = {
    # Translators: the age of a post of less than a minute, as short as it can be
    "second": lambda n: gettext("now"),
    # Translators: the age of a post, as short as it can be
    "minute": lambda n: ngettext("%(number)d min", "%(number)d min", n),
    # Translators: the age of a post, as short as it can be
    "hour": lambda n: ngettext("%(number)d h", "%(number)d h", n),
}


# Each age is made once, so it is the same object for the same words. gettext would compute the plural form each time.


@lru_cache(maxsize=5000)
def _young(number: int, unit: str, language: str) -> Age:
    with override(language):
        named = {"number": number}
        return Age(escaped(_PHRASES[unit](number) % named), escaped(_SHORT[unit](number) % named))


@lru_cache(maxsize=5000)
def _old(days: int, written: int, today: int, language: str) -> Age:
    """`written`, `today`: days since the epoch."""
    with override(language):
        return Age(escaped(_PHRASES["day"](days) % {"number": days}), escaped(short_day(written, today, language)))


# A whole number for each plural category of Unicode, in the languages that have the category.
_SAMPLES = {"other": 100, "zero": 0, "one": 1, "two": 2, "few": 3, "many": 11}


@cache
def phrases(language: str) -> Html:
    """What the script needs to let ages grow, in lines. By unit and plural category, as in `hour.one=`, the long and
    the short words of an age, with `#` for the number; categories with the words of `other` are left out. By month,
    the short words of a day in it, with `#` for the day."""
    with override(language):
        units = [unit for unit in _PHRASES if unit != "second"]
        lines = [f"{unit}.{category}={words}" for unit in units for category, words in _by_category(unit)]
        days = [int(datetime(2026, month, 17, tzinfo=UTC).timestamp()) // A_DAY for month in range(1, 13)]
        lines.append("months=" + "|".join(short_day(day, day, language).replace("17", "#") for day in days))
    return escaped("\n".join(lines))


def _by_category(unit: str) -> Iterable[tuple[str, str]]:
    says = [_PHRASES[unit], _SHORT[unit]] if unit in _SHORT else [_PHRASES[unit]]
    found: dict[str, str] = {}
    for category, n in _SAMPLES.items():
        words = "|".join((say(n) % {"number": n}).replace(str(n), "#") for say in says)
        if words != found.get("other"):
            found[category] = words
    return found.items()


# ---- A text with its links as HTML, and the beginning of a text.


_line_breaks = re.compile(r"[\r\n]+")
_seen_characters = regex.compile(r"\X").findall
_through_host = re.compile(r"(https?://)?[^/?#]*", re.IGNORECASE)

LONGEST_ADDRESS = 30  # characters that are shown of an address; its host is always shown

LINK = Fragment("timeline/posts/_link.html")
MENTION = Fragment("timeline/posts/_mention.html")
TAG = Fragment("timeline/posts/_tag.html")
MARK = Fragment("timeline/posts/_mark.html")

Marks = Sequence[tuple[int, int]]  # parts of a text, from and to, in their order; none overlap


def html_of(
    text: str, language: str, origin: str = "", names: Collection[str] | None = None, marks: Marks = ()
) -> Html:
    """A text of a user. `origin`, such as `https://retwis.example`, makes the links to profiles absolute. `names`: the
    usernames, in lower case, that are links; None: all. `marks`: these parts are highlighted, also inside links."""
    if not may_have_links(text):
        return escaped(_marked(text, 0, marks, language))
    return joined(_parts(text, language, origin, names, marks))


def _marked(piece: str, start: int, marks: Marks, language: str) -> str:
    """A piece of a text, which begins at `start`: as HTML where anything is highlighted, else as it is."""
    if not marks:
        return piece
    parts, at = [], 0
    opening, closing = _around_mark(language)
    for mark_start, mark_end in marks:
        begin, end = max(mark_start - start, at), min(mark_end - start, len(piece))
        if begin < end:
            parts += [piece[at:begin], opening, piece[begin:end], closing]
            at = end
    return joined([*parts, piece[at:]])


@lru_cache
def _around_mark(language: str) -> tuple[Html, Html]:
    """What comes before and after a highlighted text. A page has many."""
    return halves(MARK.fill(language, text="\0"), "\0")


def _parts(text: str, language: str, origin: str, names: Collection[str] | None, marks: Marks) -> Iterator[str]:
    start = 0
    for part in segments(text):
        yield _segment(part, start, language, origin, names, marks)
        start += len(part.text)


def _segment(part: Segment, start: int, language: str, origin: str, names: Collection[str] | None, marks: Marks) -> str:
    shown = _shown(part.text) if part.address else len(part.text)
    text = _marked(part.text[:shown], start, marks, language)
    if part.name and (names is None or part.name.lower() in names):
        return MENTION.fill(language, origin=origin, at=at(part.name), text=text)
    if part.tag:
        return TAG.fill(language, origin=origin, tag=tag_in_path(folded(part.tag)), text=text)
    if part.address:
        rest = _marked(part.text[shown:], start + shown, marks, language)
        return LINK.fill(language, is_long=bool(rest), address=part.address, text=text, rest=rest)
    return text


def _shown(address: str) -> int:
    """How many characters of an address are shown at once. A host that is cut could be taken for another one."""
    if len(address) <= LONGEST_ADDRESS:
        return len(address)
    host = _through_host.match(address)
    return max(LONGEST_ADDRESS, host.end() if host else 0)


@lru_cache(maxsize=5000)
def tag_in_path(folded_tag: str) -> Html:
    """The folded tag as a part of an address, for `{% url 'tag' tag %}` in a fragment."""
    return escaped(quote(folded_tag))


def beginning_of(text: str, length: int) -> str:
    """The beginning of a text in one line, for titles: at most `length` characters, as `shortened` counts them."""
    return _line_breaks.sub(" ", shortened(text, length))


def shortened(text: str, length: int) -> str:
    """The beginning of a text, with its line breaks: at most `length` characters as people see them. A letter with its
    marks is one, as a flag and a family are. Only a few times as many of Unicode's are looked at: a foreign database
    may have texts of any length."""
    if len(text) <= length:
        return text
    looked_at = text[: 4 * length]
    found = _seen_characters(looked_at)
    if len(found) <= length and looked_at == text:
        return text
    return "".join(found[: min(length, len(found)) - 1]) + "…"  # the last one may be cut


# ---- The actions on a post, with how often others have done them.


ACTIONS = Fragment("timeline/posts/_actions.html")


def actions(post: Post, by: Rendering) -> Html:
    """The row of actions of a post, with its counts."""
    return ACTIONS.fill(
        by.language,
        can_act=by.can_act,
        has_reposts=not by.can_act and post.counts.reposts > 0,
        has_likes=not by.can_act and post.counts.likes > 0,
        liked=post.context.acted.liked,
        reposted=post.context.acted.reposted,
        bookmarked=post.context.acted.bookmarked,
        pid=post.pid,
        at=at(post.author.username),
        replies=post.counts.replies or "",
        reposts=post.counts.reposts or "",
        likes=post.counts.likes or "",
    )


# ---- Post cards


CARD = Fragment("timeline/posts/_post.html")
QUOTED = Fragment("timeline/posts/_quoted.html")
NO_QUOTE = dict.fromkeys(("at", "pid", "name", "text", "pictures", "iso", "moment", "age", "short_age"), NOTHING)
REPOSTED = Fragment("timeline/posts/_reposted.html", shape={"people": ("1", "2", "2+")})
MUTED = Fragment("timeline/posts/_muted.html")

Place = Literal["list", "alone", "found"]  # found: in a list, with highlights, for which its text stays open
CardKey = tuple[int, str, bool, Place]  # pid, language, whether the viewer may act, and where it stands
NO_MARKS: Mapping[int, Marks] = {}

# Cards as they were filled last, with the posts for which. An entry has some 1.6 KB, so all have 6 MB.
_cards: Memory[CardKey, Refillable] = Memory(size=3500, seconds=3600)


def cards(posts: Sequence[Post], by: Rendering, place: Place = "list", marks: Mapping[int, Marks] = NO_MARKS) -> bytes:
    """Posts as HTML, in their order. `place`: "alone" for a post on its own page. `marks`: parts of the texts of posts
    that a search has found, by the post's id; they are highlighted."""
    now, language, can_act = time.time(), by.language, by.can_act
    keys: list[CardKey] = [(post.pid, language, can_act, "found" if post.pid in marks else place) for post in posts]
    known = _cards.some(keys)
    html = []
    for key, post in zip(keys, posts, strict=True):
        card = known.get(key)
        last = card.filled if card is not None else NEVER_FILLED
        # To most viewers a post looks the same, and it is the same object, so the last HTML serves again.
        if last.since <= now < last.until and last.state == post and post.pid not in marks:
            html.append(last.html)
        else:
            html.append(_as_seen(key, post, by, int(now), card, marks))
    return b"".join(html)


def _as_seen(
    key: CardKey, post: Post, by: Rendering, now: int, card: Refillable | None, marks: Mapping[int, Marks]
) -> bytes:
    """The card as most people see it, with what this viewer sees instead."""
    language, context = by.language, post.context
    last = card.filled if card is not None else NEVER_FILLED
    is_right = last.since <= now < last.until and isinstance(last.state, Post) and last.state.is_plainly(post)
    if card is None or not is_right:
        card, last = _filled(key, post.plain, by, now, card)
    instead: dict[str, Html] = {}
    if context.acted != NOT_ACTED:
        instead["actions"] = actions(post, by)
    if context.reposted_by:
        instead["reposted"] = _reposted(context.reposted_by, language)
    if post.pid in marks:
        instead["text"] = html_of(post.body, language, names=context.mentioned, marks=marks[post.pid])
    shown = card.filled_but(last, instead) if instead else last.html
    return shown if context.muted is None else MUTED.fill_as_sent(language, words=context.muted, post=shown)


def _filled(key: CardKey, post: Post, by: Rendering, now: int, card: Refillable | None) -> tuple[Refillable, LastFill]:
    """The card of a post as it looks now: `card`, or a new one when that was made of something else."""
    _, _, can_act, place = key
    last = card.filled.state if card is not None else None
    quoted = post.context.quoted
    until = holds_until(post.time, now)
    if quoted is not None:
        until = min(until, holds_until(quoted.time, now))
    values = Values(_differing(post, by, now, place), post, now, until)
    if card is not None and isinstance(last, Post) and _made_of(last) == _made_of(post):
        return card, card.fill(values)
    card = _new_card(post, by.language, can_act, place, values)
    filled = card.filled  # once it is kept, another thread may fill it for another viewer
    if not settings.DEBUG:  # then a changed template shows at once
        _cards.put(key, card)
    return card, filled


def _made_of(post: Post) -> tuple[object, ...]:
    """What of a post the fixed parts of its card are made of."""
    return (post.author, post.body, post.links, post.edited, post.media, post.context.answered, post.context.mentioned)


def _new_card(post: Post, language: str, can_act: bool, place: Place, values: Values) -> Refillable:
    """A card that is filled anew where pages differ."""
    date, when = moment(post.time, language)
    answered = post.context.answered
    text = {} if place == "found" else {"text": html_of(post.body, language, names=post.context.mentioned)}
    return CARD.to_keep(
        language,
        values,
        can_act=can_act,
        alone=place == "alone",
        is_reply=answered is not None,
        edited=post.edited is not None,
        pid=post.pid,
        **person_slots(post.author, language),
        **text,
        pictures=pictures_of(post.author.username, post.pid, post.media, language),
        iso=date,
        moment=when,
        answered=answered.username if answered else "",
        answered_at=at(answered.username) if answered else "",
        reply_to=post.links.reply_to or "",
    )


def _differing(post: Post, by: Rendering, now: int, place: Place) -> dict[str, Html]:
    """What may differ from page to page, as most people see it."""
    its_age = age(post.time, now, by.language)
    return {
        **({"text": NOTHING} if place == "found" else {}),  # its highlights differ
        "age": its_age.words,
        "short_age": its_age.short,
        "reposted": NOTHING,
        "quoted": _quoted(post.context.quoted, now, by.language) if post.links.quote else NOTHING,
        "actions": actions(post, by),
    }


@lru_cache(maxsize=500)  # 600 bytes each
def _reposted(people: Sequence[User], language: str) -> Html:
    others = len(people) - 2
    return REPOSTED.fill(
        language, people="2+" if others > 0 else str(len(people)), **first_two(people), others=max(others, 0)
    )


def about_post(author: User, pid: int) -> dict[str, Any]:
    """The slots of a page about a post."""
    return {"at": at(author.username), "pid": pid, **titled(author)}


def _quoted(post: Post | None, now: int, language: str) -> Html:
    if post is None:
        return QUOTED.fill(language, seen=False, **NO_QUOTE)
    its_age = age(post.time, now, language)
    date, when = moment(post.time, language)
    return QUOTED.fill(
        language,
        seen=True,
        at=at(post.author.username),
        pid=post.pid,
        name=name_of(post.author, language),
        text=html_of(post.body, language, names=post.context.mentioned),
        pictures=pictures_of(post.author.username, post.pid, post.media, language),
        iso=date,
        moment=when,
        age=its_age.words,
        short_age=its_age.short,
    )
