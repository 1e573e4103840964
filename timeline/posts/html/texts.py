"""A text with its links as HTML, and the beginning of a text."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from urllib.parse import quote

from django.utils.text import Truncator

from accounts.users.html import at
from retwis_site.rendering.fragments import EITHER, Fragment, Html, escaped, halves, joined
from timeline.posts.parsing.links import Segment, may_have_links, segments
from timeline.posts.parsing.tags import folded

_line_breaks = re.compile(r"[\r\n]+")
_through_host = re.compile(r"(https?://)?[^/?#]*", re.IGNORECASE)

LONGEST_ADDRESS = 30  # characters that are shown of an address; its host is always shown

LINK = Fragment("timeline/posts/_link.html", slots=("address", "text", "rest"), shape={"is_long": EITHER})
MENTION = Fragment("timeline/posts/_mention.html", slots=("origin", "at", "text"))
TAG = Fragment("timeline/posts/_tag.html", slots=("origin", "tag", "text"))
MARK = Fragment("timeline/posts/_mark.html", slots=("text",))

Marks = Sequence[tuple[int, int]]  # parts of a text, from and to, in their order; none overlap
# How a piece of a text is shown. Takes the piece, and where it begins in the text.
_Show = Callable[[str, int], str]


def html_of(text: str, language: str, origin: str = "", names: Collection[str] | None = None) -> Html:
    """A text of a user. `origin`, such as `https://retwis.example`, makes the links to profiles absolute. `names`: the
    usernames, in lower case, that are links; None: all."""
    if not may_have_links(text):
        return escaped(text)
    return joined(_parts(text, language, origin, names, _as_it_is))


def html_with_marks(text: str, language: str, names: Collection[str] | None, marks: Marks) -> Html:
    """As `html_of`, with these parts of the text highlighted, also inside links."""

    def show(piece: str, start: int) -> str:
        return _marked(piece, start, marks, language)

    if not may_have_links(text):
        return _marked(text, 0, marks, language)
    return joined(_parts(text, language, "", names, show))


def _as_it_is(piece: str, start: int) -> str:
    return piece


def _marked(piece: str, start: int, marks: Marks, language: str) -> Html:
    """A piece of a text, which begins at `start`."""
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


def _parts(text: str, language: str, origin: str, names: Collection[str] | None, show: _Show) -> Iterator[str]:
    start = 0
    for part in segments(text):
        yield _segment(part, start, language, origin, names, show)
        start += len(part.text)


def _segment(part: Segment, start: int, language: str, origin: str, names: Collection[str] | None, show: _Show) -> str:
    if part.name and (names is None or part.name.lower() in names):
        return MENTION.fill(language, origin=origin, at=at(part.name), text=show(part.text, start))
    if part.tag:
        return TAG.fill(language, origin=origin, tag=tag_in_path(folded(part.tag)), text=show(part.text, start))
    if part.address:
        shown = _shown(part.text)
        rest = show(part.text[shown:], start + shown)
        text = show(part.text[:shown], start)
        return LINK.fill(language, is_long=bool(rest), address=part.address, text=text, rest=rest)
    return show(part.text, start)


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
