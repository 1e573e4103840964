"""Finds the links in a post's text: web addresses and @names. Everything else stays text; there is no markup."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from accounts.signing_in.forms import USERNAME
from timeline.posts.entities import LONGEST_POST
from timeline.posts.html.addresses import addresses


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of a text: plain text, or a link to a web address or to a user's profile."""

    text: str
    address: str = ""  # a whole URL; empty when the segment is no web address
    name: str = ""  # a username; empty when the segment is no @name


# Of a text. What follows stays text: a link takes 5 us, and a page may have 50 texts full of them.
MOST_LINKS = 20
_NAME = re.compile(f"@{USERNAME}")
# A dot in an address stands before another character.
_has_inner_dot = re.compile(r"\.\S").search


def may_have_links(text: str) -> bool:
    """Whether a text may have links. Most texts have none. A search takes 10 us, this 0.1.

    A name and a mail address have an `@`. A web address has a host with a dot, or `//` before its host."""
    return "@" in text or "//" in text or ("." in text and _has_inner_dot(text) is not None)


def segments(text: str) -> list[Segment]:
    """The segments of a text; joined they are the text again. The last one is the rest after MOST_LINKS links, or what
    follows the last space that a post would have: a text of a foreign database may be longer than a post."""
    searched = len(text) if len(text) <= LONGEST_POST else text.rfind(" ", 0, LONGEST_POST) + 1
    found: list[Segment] = []
    links = end = 0
    for segment in _search(text[:searched]):
        found.append(segment)
        end += len(segment.text)
        links += bool(segment.address or segment.name)
        if links == MOST_LINKS:
            break
    if end < len(text):
        found.append(Segment(text[end:]))
    return found


def _search(text: str) -> Iterator[Segment]:
    start = 0
    for address in addresses(text):
        yield from _names(text, start, address.start)
        yield Segment(text[address.start : address.end], address=address.url)
        start = address.end
    yield from _names(text, start, len(text))


def _names(text: str, start: int, end: int) -> Iterator[Segment]:
    """The segments of `text[start:end]`, which has no web addresses."""
    for found in _NAME.finditer(text, start, end):
        if _is_part_of_more(text, found.start(), found.end()):
            continue
        if start < found.start():
            yield Segment(text[start : found.start()])
        yield Segment(found[0], name=found[0].removeprefix("@"))
        start = found.end()
    if start < end:
        yield Segment(text[start:end])


def _is_part_of_more(text: str, start: int, end: int) -> bool:
    """Whether a name is part of something longer: another name, a name of another site, a mail or web address."""
    before, after = text[max(0, start - 1) : start], text[end : end + 2]
    if _is_word_char(before) or before in {"@", "/"}:
        return True
    return _is_word_char(after[:1]) or after.startswith("@") or (after.startswith(".") and _is_word_char(after[1:]))


def _is_word_char(char: str) -> bool:
    """A letter of any script, a digit, a combining mark, or an underscore."""
    return char == "_" or (char != "" and unicodedata.category(char)[0] in "LMN")
