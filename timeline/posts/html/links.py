"""Finds the links in a post's text: web addresses and @names. Everything else stays text; there is no markup."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from linkify_it import LinkifyIt

from accounts.signing_in.forms import USERNAME
from timeline.posts.entities import LONGEST_POST


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of a text: plain text, or a link to a web address or to a user's profile."""

    text: str
    address: str = ""  # a whole URL; empty when the segment is no web address
    name: str = ""  # a username; empty when the segment is no @name


_linkifier = LinkifyIt()
# The schemes of web addresses; `example.com` has none. The linkifier finds mail addresses too, and must: otherwise it
# would find the host of a mail address as a web address.
_WEB_SCHEMES = {"http:", "https:", ""}
_NAME = re.compile(f"@{USERNAME}")
# Invisible characters, such as marks that turn the direction of writing. With one inside, a shown address could differ
# from its link. So each ends an address, as a space does.
_INVISIBLE = dict.fromkeys(map(ord, "\xad\u061c\u200b\u200e\u200f\u2060\ufeff"), " ")
_INVISIBLE |= dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], " ")
# The linkifier tries two ways to read a punycode label, so each label of a host doubles the time: 46 take years.
_PUNYCODE = "xn--"
MOST_PUNYCODE = 8


# A dot in an address stands before another character.
_has_inner_dot = re.compile(r"\.\S").search


def may_have_links(text: str) -> bool:
    """Whether a text may have links. Most texts have none. A search takes 80 us, this 0.3.

    A name and a mail address have an `@`. A web address has a host with a dot, or `//` before its host."""
    return "@" in text or "//" in text or ("." in text and _has_inner_dot(text) is not None)


def segments(text: str) -> list[Segment]:
    """The segments of a text; joined they are the text again. A text is one segment without links when a search would
    take long: it is longer than a post (in a foreign database), or has more than MOST_PUNYCODE punycode labels."""
    if len(text) > LONGEST_POST or text.lower().count(_PUNYCODE) > MOST_PUNYCODE:
        return [Segment(text)]
    found: list[Segment] = []
    end = 0
    for match in _linkifier.match(text.translate(_INVISIBLE)) or ():
        found += _names(text, end, match.index)
        found.append(Segment(match.raw, address=match.url if _is_web(match.schema, match.url) else ""))
        end = match.last_index
    found += _names(text, end, len(text))
    return found


def _is_web(schema: str, url: str) -> bool:
    """Whether an address is HTTP and leads to the host that it shows. `https://bank.example@evil.example` does not."""
    if schema not in _WEB_SCHEMES:
        return False
    try:
        return "@" not in urlsplit(url).netloc
    except ValueError:  # the host has characters that normalization turns into others, such as a slash
        return False


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
    before, after = text[:start][-1:], text[end : end + 2]
    if _is_word_char(before) or before in {"@", "/"}:
        return True
    return _is_word_char(after[:1]) or after.startswith("@") or (after.startswith(".") and _is_word_char(after[1:]))


def _is_word_char(char: str) -> bool:
    """A letter of any script, a digit, a combining mark, or an underscore."""
    return char == "_" or (char != "" and unicodedata.category(char)[0] in "LMN")
