"""A text with its links as HTML, and the beginning of a text."""

import re
from collections.abc import Collection
from functools import lru_cache
from urllib.parse import quote

from django.utils.text import Truncator

from accounts.users.html import at
from retwis_site.rendering.fragments import EITHER, Fragment, Html, escaped, joined
from timeline.posts.parsing.links import Segment, may_have_links, segments
from timeline.posts.parsing.tags import folded

_line_breaks = re.compile(r"[\r\n]+")
_through_host = re.compile(r"(https?://)?[^/?#]*", re.IGNORECASE)

LONGEST_ADDRESS = 30  # characters that are shown of an address; its host is always shown

LINK = Fragment("timeline/posts/_link.html", slots=("address", "text", "rest"), shape={"is_long": EITHER})
MENTION = Fragment("timeline/posts/_mention.html", slots=("origin", "at", "text"))
TAG = Fragment("timeline/posts/_tag.html", slots=("origin", "tag", "text"))


def html_of(text: str, language: str, origin: str = "", names: Collection[str] | None = None) -> Html:
    """A text of a user. `origin`, such as `https://retwis.example`, makes the links to profiles absolute. `names`: the
    usernames, in lower case, that are links; None: all."""
    if not may_have_links(text):
        return escaped(text)
    return joined(_segment(part, language, origin, names) for part in segments(text))


def _segment(part: Segment, language: str, origin: str, names: Collection[str] | None) -> str:
    if part.name and (names is None or part.name.lower() in names):
        return MENTION.fill(language, origin=origin, at=at(part.name), text=part.text)
    if part.tag:
        return TAG.fill(language, origin=origin, tag=tag_in_path(folded(part.tag)), text=part.text)
    if part.address:
        shown = _shown(part.text)
        rest = part.text[shown:]
        return LINK.fill(language, is_long=bool(rest), address=part.address, text=part.text[:shown], rest=rest)
    return part.text


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
    return shortened(_line_breaks.sub(" ", text[: 4 * length]), length)


def shortened(text: str, length: int) -> str:
    """The beginning of a text, with its line breaks: at most `length` characters. Marks over letters do not count. Only
    a few times as many characters are looked at: a foreign database may have texts of any length, and sorting 10,000
    marks after a letter takes most of a second."""
    return text if len(text) <= length else Truncator(text[: 4 * length]).chars(length)
