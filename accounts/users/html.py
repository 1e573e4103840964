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
# Some 60 bytes of HTML that name the hues and the shape; `retwis.css` draws them. It takes nothing else from users than
# letters and digits, which need no escaping.


GROUNDS = SHADES = SHAPES = 12  # how many the stylesheet has: `.g0` to `.g11`, `.s0` to `.s11`, `.f0` to `.f11`

NUMBER = GROUNDS * (SHADES - 1) * SHAPES  # a shade has another hue than its ground
_STRIDE = 977  # near NUMBER / 1.618, so successive uids differ most; no common factor, so all NUMBER differ

# The first character of each word; in the middle of one, a capital before a small letter: the C of DanielJCosta.
_INITIALS = re.compile(r"(?<![^\W_])[^\W_]|(?<=[A-Za-z])[A-Z](?=[a-z])")


@lru_cache(maxsize=2000)
def avatar(uid: int, name: str) -> Html:
    """The user's picture, `<span class="avatar ...">`. `name`: as it is shown. The shape and the hues of two users are
    the same only when their uids differ by a multiple of NUMBER."""
    rest, ground = divmod(uid * _STRIDE % NUMBER, GROUNDS)
    shape, hue = divmod(rest, SHADES - 1)
    shade = (ground + 1 + hue) % SHADES
    return Html(f'<span class="avatar g{ground} s{shade} f{shape}" aria-hidden="true">{initials(name)}</span>')


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


@lru_cache(maxsize=2000)
def name_of(person: User, language: str) -> Html:
    """The display name and beside it `@` and the username, or these alone."""
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


@lru_cache(maxsize=2000)
def at(username: str) -> Html:
    """The username as a part of an address, for `{% url 'profile' at %}` in a fragment."""
    return escaped(in_path(username))
