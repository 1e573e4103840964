"""Finds the links in a post's text: web addresses, @names and #tags. Everything else stays text; there is no markup."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge

from accounts.signing_in.forms import USERNAME
from timeline.posts.entities import LONGEST_POST
from timeline.posts.parsing.addresses import addresses
from timeline.posts.parsing.tags import folded, may_have_tags, tags


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of a text: plain text, or a link to a web address, to a user's profile or to a tag's page."""

    text: str
    address: str = ""  # a whole URL; empty when the segment is no web address
    name: str = ""  # a username; empty when the segment is no @name
    tag: str = ""  # as typed; empty when the segment is no #tag


# Of a text. What follows stays text: a link takes 20 us, and a page may have 50 texts full of them.
MOST_LINKS = 15
_NAME = re.compile(f"@{USERNAME}")
# A dot in an address stands before another character.
_has_inner_dot = re.compile(r"\.\S").search


def may_have_links(text: str) -> bool:
    """Whether a text may have links. Most texts have none. A search takes 10 us, this 0.2.

    A name and a mail address have an `@`, a tag has a hash sign. A web address has a host with a dot, or `//` before
    its host."""
    return "@" in text or "//" in text or may_have_tags(text) or ("." in text and _has_inner_dot(text) is not None)


def segments(text: str) -> list[Segment]:
    """The segments of a text; joined they are the text again. The last one is the rest after MOST_LINKS links, or what
    follows the last space that a post would have: a text of a foreign database may be longer than a post."""
    searched = len(text) if len(text) <= LONGEST_POST else text.rfind(" ", 0, LONGEST_POST) + 1
    found: list[Segment] = []
    links = end = 0
    for segment in _search(text[:searched]):
        found.append(segment)
        end += len(segment.text)
        links += bool(segment.address or segment.name or segment.tag)
        if links == MOST_LINKS:
            break
    if end < len(text):
        found.append(Segment(text[end:]))
    return found


def names_in(text: str) -> list[str]:
    """The usernames that a text mentions, as typed first, in their order; none twice in another letter case."""
    if "@" not in text:  # most texts
        return []
    found: dict[str, str] = {}
    for part in segments(text):
        if part.name:
            found.setdefault(part.name.lower(), part.name)
    return list(found.values())


def tags_in(text: str) -> dict[str, str]:
    """The tags of a text: folded -> as typed first. In their order."""
    if not may_have_tags(text):
        return {}
    found: dict[str, str] = {}
    for part in segments(text):
        if part.tag:
            found.setdefault(folded(part.tag), part.tag)
    return found


def _search(text: str) -> Iterator[Segment]:
    start = 0
    for address in addresses(text):
        yield from _names_and_tags(text, start, address.start)
        yield Segment(text[address.start : address.end], address=address.url)
        start = address.end
    yield from _names_and_tags(text, start, len(text))


def _names_and_tags(text: str, start: int, end: int) -> Iterator[Segment]:
    """The segments of `text[start:end]`, which has no web addresses."""
    for at, segment in merge(_names(text, start, end), _tags(text, start, end)):
        if start < at:
            yield Segment(text[start:at])
        yield segment
        start = at + len(segment.text)
    if start < end:
        yield Segment(text[start:end])


def _names(text: str, start: int, end: int) -> Iterator[tuple[int, Segment]]:
    for found in _NAME.finditer(text, start, end):
        if not _is_part_of_more(text, found.start(), found.end()):
            yield found.start(), Segment(found[0], name=found[0].removeprefix("@"))


def _tags(text: str, start: int, end: int) -> Iterator[tuple[int, Segment]]:
    for tag in tags(text, start, end):
        yield tag.start, Segment(text[tag.start : tag.end], tag=tag.name)


def _is_part_of_more(text: str, start: int, end: int) -> bool:
    """Whether a name is part of something longer: another name, a name of another site, a mail or web address."""
    before, after = text[max(0, start - 1) : start], text[end : end + 2]
    if _is_word_char(before) or before in {"@", "/"}:
        return True
    return _is_word_char(after[:1]) or after.startswith("@") or (after.startswith(".") and _is_word_char(after[1:]))


def _is_word_char(char: str) -> bool:
    """A letter of any script, a digit, a combining mark, or an underscore."""
    return char == "_" or (char != "" and unicodedata.category(char)[0] in "LMN")
