"""A user as HTML: the picture, the name, and the username in addresses."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.conf import settings

from accounts.users.entities import User
from retwis_site.http.url_converters import in_path
from retwis_site.rendering.fragments import Fragment, Html, escaped
from retwis_site.store.kinds import COLOURS

# ---- The name, where no element isolates its writing direction.


FIRST_STRONG_ISOLATE, POP = "\u2068", "\u2069"
# Characters that begin or end a change of the writing direction.
_DIRECTION_MARKS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])


def isolated(person: User) -> str:
    """The shown name for a title or an attribute. Its writing direction does not change the text around it.

    In a page, `<bdi>` does the same; a title and an attribute have no elements.
    """
    if not person.name:
        return person.shown_name
    return f"{FIRST_STRONG_ISOLATE}{person.name.translate(_DIRECTION_MARKS)}{POP}"


# ---- A picture for each user: a shape in two hues, and the initials of the shown name. The shape and the hues follow
# from the uid, but for a ground that the user has chosen. Instead of it, a picture that the user has uploaded.
#
# Some 60 bytes of HTML that name the hues and the shape; `retwis.css` draws them. It takes nothing else from users than
# letters and digits, which need no escaping. The HTML of an uploaded picture has its digest alone.


GROUNDS = SHADES = SHAPES = len(COLOURS)  # the stylesheet has as many: `.g0` to `.g11`, `.s0` on, `.f0` on

NUMBER = GROUNDS * (SHADES - 1) * SHAPES  # a shade has another hue than its ground
SIZES = (48, 96, 192)  # of an uploaded picture, in pixels; the largest one has no size in its name
_STRIDE = 977  # near NUMBER / 1.618, so successive uids differ most; no common factor, so all NUMBER differ

# The first character of each word; in the middle of one, a capital before a small letter: the C of DanielJCosta.
_INITIALS = re.compile(r"(?<![^\W_])[^\W_]|(?<=[A-Za-z])[A-Z](?=[a-z])")


@lru_cache(maxsize=500)
def avatar(user: User) -> Html:
    """The user's picture, small, as rows and cards have it. A card is kept and serves in any place, so it says of each
    picture that it may wait until it is near the screen."""
    if not user.picture:
        return drawn(user)
    small, middle, large = (picture_address(user, size) for size in SIZES)
    sources = f'src="{small}" srcset="{middle} 2x, {large} 3x" width="{SIZES[0]}" height="{SIZES[0]}"'
    return Html(f'<img class="avatar" {sources} alt="" loading="lazy">')


@lru_cache(maxsize=250)
def portrait(user: User) -> Html:
    """The user's picture, larger, for the head of a page, which is seen at once."""
    if not user.picture:
        return drawn(user)
    middle, large = (picture_address(user, size) for size in SIZES[1:])
    return Html(
        f'<img class="avatar" src="{middle}" srcset="{large} 2x" width="{SIZES[1]}" height="{SIZES[1]}" alt="">'
    )


def picture_address(user: User, size: int) -> str:
    """The path of a user's picture, a square: `size` is one of SIZES, in pixels. Empty for a user without one."""
    if not user.picture:
        return ""
    return media_address(user.picture if size == SIZES[-1] else f"{user.picture}-{size}")


def header_address(header: str) -> str:
    """The path of a header, by the digest of it; empty without one."""
    return media_address(header) if header else ""


FILE = Fragment("accounts/users/_file.html")


@lru_cache(maxsize=20_000)
def media_address(file: str) -> str:
    """The path of a file of a picture, by its name."""
    return FILE.fill(settings.LANGUAGE_CODE, file=file).strip()


def drawn(user: User) -> Html:
    """The initials, `<span class="avatar ...">`. Of two users without a chosen colour, the shape and the hues are the
    same only when their uids differ by a multiple of NUMBER."""
    rest, ground = divmod(user.uid * _STRIDE % NUMBER, GROUNDS)
    if user.colour:
        ground = COLOURS.index(user.colour)
    shape, hue = divmod(rest, SHADES - 1)
    shade = (ground + 1 + hue) % SHADES
    letters = initials(user.shown_name)
    return Html(f'<span class="avatar g{ground} s{shade} f{shape}" aria-hidden="true">{letters}</span>')


def initials(name: str) -> str:
    """At most two letters or digits: those with which the first and the last word begin. One in a script without
    capitals, whose letters may join."""
    found: list[str] = _INITIALS.findall(name)
    if not found:
        return ""
    first, last = found[0].title()[:1], found[-1].title()[:1]
    return first + last if len(found) > 1 and not (_is_caseless(first) or _is_caseless(last)) else first


def _is_caseless(character: str) -> bool:
    return character.isalpha() and character.lower() == character.upper()


# ---- The slots of pages


NAME = Fragment("accounts/users/_name.html")


@lru_cache(maxsize=500)
def name_of(person: User, language: str) -> Html:
    """The display name and beside it `@` and the username, or these alone."""
    return NAME.fill(language, has_name=bool(person.name), name=person.name, username=person.username)


def person_slots(user: User, language: str) -> dict[str, Any]:
    """The slots of a person: the picture, the username in addresses, and the name."""
    return {"avatar": avatar(user), "at": at(user.username), "name": name_of(user, language)}


def heading(user: User, language: str) -> dict[str, Any]:
    """The same slots at the head of a page, or beside it."""
    return {**person_slots(user, language), "avatar": portrait(user)}


def titled(user: User) -> dict[str, Any]:
    """The slots of a page about a user: the name in its title, and in its headings."""
    return {"title_name": isolated(user), "shown_name": user.shown_name}


def first_two(people: Sequence[User]) -> dict[str, Any]:
    """The slots of a sentence that names one or two people: their names, and their usernames in addresses."""
    first, second = (*people, None, None)[:2]
    return {
        "first": first.shown_name if first else "",
        "first_at": at(first.username) if first else "",
        "second": second.shown_name if second else "",
        "second_at": at(second.username) if second else "",
    }


@lru_cache(maxsize=500)
def at(username: str) -> Html:
    """The username as a part of an address, for `{% url 'profile' at %}` in a fragment."""
    return escaped(in_path(username))
