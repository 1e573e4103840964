"""What of a post's text is a link: web addresses and @names. All else is text, and nothing is markup."""

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
    """A piece of a text, and where it leads: to an address, to the profile of a name, or nowhere."""

    text: str
    address: str = ""
    name: str = ""


_linkifier = LinkifyIt()
_WEB = {"http:", "https:", ""}  # the last is `example.com`; mail is found too, so that no piece of it is such a one
_NAME = re.compile(f"@{USERNAME}")
# What is not seen, such as marks that turn the direction of writing. With one inside, an address could read otherwise
# than it leads; so each ends an address, as a space does.
_UNSEEN = dict.fromkeys(map(ord, "\xad\u061c\u200b\u200e\u200f\u2060\ufeff"), " ")
_UNSEEN |= dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], " ")
# The linkifier reads such a label in two ways, so each that a host has doubles the time: with 46, it takes years.
_PUNYCODE = "xn--"
MOST_PUNYCODE = 8


def segments(text: str) -> list[Segment]:
    """A text in pieces, which joined are the text again. Where it would take long to look for links there are none: in
    what is longer than any post of ours (from a database from elsewhere), or made to be slow."""
    if len(text) > LONGEST_POST or text.lower().count(_PUNYCODE) > MOST_PUNYCODE:
        return [Segment(text)]
    found: list[Segment] = []
    end = 0
    for match in _linkifier.match(text.translate(_UNSEEN)) or ():
        found += _with_names(text, end, match.index)
        found.append(Segment(match.raw, address=match.url if _is_web(match.schema, match.url) else ""))
        end = match.last_index
    found += _with_names(text, end, len(text))
    return found


def _is_web(schema: str, url: str) -> bool:
    """Whether an address leads over HTTP to the host that it seems to name: in `https://bank.example@evil.example` the
    first is none."""
    if schema not in _WEB:
        return False
    try:
        return "@" not in urlsplit(url).netloc
    except ValueError:  # a host with characters that become others, such as a slash
        return False


def _with_names(text: str, start: int, end: int) -> Iterator[Segment]:
    """A stretch of a text, in which no addresses are, in pieces."""
    for found in _NAME.finditer(text, start, end):
        if _goes_on(text, found.start(), found.end()):
            continue
        if start < found.start():
            yield Segment(text[start : found.start()])
        yield Segment(found[0], name=found[0].removeprefix("@"))
        start = found.end()
    if start < end:
        yield Segment(text[start:end])


def _goes_on(text: str, start: int, end: int) -> bool:
    """Whether what looks like a name is part of more: of a longer name, one of another site, mail, an address."""
    before, after = text[:start][-1:], text[end : end + 2]
    if _is_of_a_word(before) or before in {"@", "/"}:
        return True
    return _is_of_a_word(after[:1]) or after.startswith("@") or (after.startswith(".") and _is_of_a_word(after[1:]))


def _is_of_a_word(char: str) -> bool:
    """A letter of any script, a digit, a mark on one, or an underscore."""
    return char == "_" or (char != "" and unicodedata.category(char)[0] in "LMN")
