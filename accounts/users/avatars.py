"""A picture for each user: a shape in two hues, which follow from the uid, and the initials of the shown name.

Inline SVG of about 200 bytes. It takes nothing else from users than letters and digits, which need no escaping. The
stylesheet sets its size, the font of the letters and their colour.
"""

import re
from functools import lru_cache

from retwis_site.rendering.fragments import Html

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
