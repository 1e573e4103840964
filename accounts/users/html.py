"""A user as HTML: the picture, the name, and the username in addresses."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from accounts.users.entities import User
from accounts.users.names import isolated
from retwis_site.http.url_converters import in_path
from retwis_site.rendering.fragments import Fragment, Html, escaped

# ---- A picture for each user: a shape in two hues, which follow from the uid, and the initials of the shown name.
#
# Inline SVG of about 200 bytes. It takes nothing else from users than letters and digits, which need no escaping. The
# stylesheet sets its size, the font of the letters and their colour.


# White letters are legible on both. Each ground stands out from each shade, and from the page in both themes.
GROUNDS = (
    *("#cf3030", "#aa5913", "#816d0e", "#4e7c0e", "#1d7c3d", "#1d7c6f"),
    *("#227591", "#2f6ec6", "#5e5ed9", "#864dd5", "#b62ec2", "#c62f7a"),
)
SHADES = (
    *("#711414", "#522e0f", "#41380b", "#283d0b", "#0b411d", "#0b413a"),
    *("#0e3e4e", "#13386c", "#1e1ea9", "#48188b", "#611268", "#6c1340"),
)
SHAPES = (
    "M0 8 8 0v8z",
    "M0 0l8 8H0z",
    "M4 .8a3.2 3.2 0 0 1 0 6.4 3.2 3.2 0 0 1 0-6.4z",
    "M0 4h8v4H0z",
    "M4 0h4v8H4z",
    "M4 0 8 4 4 8 0 4z",
    "M0 8a8 8 0 0 1 8-8v8z",
    "M2.5 0h3v8h-3z",
    "M0 2.5h8v3H0z",
    "M0 0h4v4H0zM4 4h4v4H4z",
    "M4 0 8 8H0z",
    "M0 0h3L0 3zM8 8H5l3-3zM8 0v3L5 0zM0 8V5l3 3z",
)
SVG = (
    '<svg class="avatar" viewBox="0 0 8 8" aria-hidden="true"><path fill="{}" d="M0 0h8v8H0z"/><path fill="{}" d="{}"/>'
    '<text x="4" y="4">{}</text></svg>'
)

NUMBER = len(GROUNDS) * (len(SHADES) - 1) * len(SHAPES)  # a shade has another hue than its ground
_STRIDE = 977  # near NUMBER / 1.618, so successive uids differ most; no common factor, so all NUMBER differ

# The first character of each word; in the middle of one, a capital before a small letter: the C of DanielJCosta.
_INITIALS = re.compile(r"(?<![^\W_])[^\W_]|(?<=[A-Za-z])[A-Z](?=[a-z])")


@lru_cache(maxsize=5000)
def avatar(uid: int, name: str) -> Html:
    """The user's picture, `<svg class="avatar">`. `name`: as it is shown. The shape and the hues of two users are the
    same only when their uids differ by a multiple of NUMBER."""
    rest, ground = divmod(uid * _STRIDE % NUMBER, len(GROUNDS))
    shape, hue = divmod(rest, len(SHADES) - 1)
    shade = SHADES[(ground + 1 + hue) % len(SHADES)]
    return Html(SVG.format(GROUNDS[ground], shade, SHAPES[shape], initials(name)))


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


@lru_cache(maxsize=5000)
def name_of(person: User, language: str) -> Html:
    """The display name with the username, or the username alone."""
    return NAME.fill(language, has_name=bool(person.name), name=person.name, username=person.username)


def person(user: User, language: str) -> dict[str, Any]:
    """The slots of a person: the picture, the username in addresses, and the name."""
    return {"avatar": avatar(user.uid, user.shown_name), "at": at(user.username), "name": name_of(user, language)}


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


@lru_cache(maxsize=5000)
def at(username: str) -> Html:
    """The username as a part of an address, for `{% url 'profile' at %}` in a fragment."""
    return escaped(in_path(username))
