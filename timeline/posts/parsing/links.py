"""Finds the links in a post's text: web addresses, @names and #tags. Everything else stays text; there is no markup."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge

from accounts.signing_in.forms import USERNAME
from timeline.posts.entities import LONGEST_POST
from timeline.posts.parsing.addresses import addresses

# ---- Hashtags: which part of a text is one, and when two are the same.
#
# A tag is a hash sign and an identifier (UAX #31): letters of any script with their marks, digits and underscores, with
# at least one letter. Digits may stand first: `#2026goals`.


LONGEST_TAG = 100  # characters
HASH_SIGNS = "#\uff03\ufe5f"  # also the fullwidth one of Chinese and Japanese keyboards, and the small one

_sign = re.compile(f"[{HASH_SIGNS}]")
_ZWNJ, _ZWJ = "\u200c", "\u200d"
_JOINERS = frozenset((_ZWNJ, _ZWJ))
_VIRAMA = 9  # the combining class of the signs that join two consonants, in the scripts of India
_ARABIC = "AL"  # the direction of letters of Arabic, Syriac and other scripts whose letters join
# Identifiers may have these, but nobody sees them: two tags that look the same would differ. In Unicode 15.1, which is
# Python 3.13's, the joiners are among them; `_is_joiner` says where a tag may have one.
_UNSEEN = (
    _JOINERS
    | frozenset(
        map(
            chr, (0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10))
        )
    )
    | frozenset(map(chr, range(0xE0100, 0xE01F0)))
)
_DOTTED_I = re.compile("i\N{COMBINING DOT ABOVE}+")


@dataclass(frozen=True, slots=True)
class Tag:
    """`text[start:end]` is a hash sign and the tag's `name`."""

    start: int
    end: int
    name: str


def may_have_tags(text: str) -> bool:
    """Whether a text may have tags. It takes 0.1 us."""
    return "#" in text or "\uff03" in text or "\ufe5f" in text


def tags(text: str, start: int, end: int) -> Iterator[Tag]:
    """The tags in `text[start:end]`, in their order. The work is linear: no character is looked at by two tags."""
    for sign in _sign.finditer(text, start, end):
        name_end = _end_of_name(text, sign.end(), end)
        name = text[sign.end() : name_end]
        if _may_be_a_tag(name) and not _follows_a_word(text, sign.start()):
            yield Tag(sign.start(), name_end, name)


def is_tag(name: str) -> bool:
    """Whether a text, without a hash sign, is a whole tag."""
    return _may_be_a_tag(name) and _end_of_name(name, 0, len(name)) == len(name)


def folded(name: str) -> str:
    """The form in which tags are compared and stored: Unicode's NFKC_Casefold. A Turkish capital I also loses its dot,
    which is not typed in small letters. Folding a folded tag changes nothing."""
    if name.isascii():  # most tags, at a tenth of the time
        return name.lower()
    plain = "".join(char for char in name if char not in _JOINERS)
    caseless = unicodedata.normalize("NFKC", unicodedata.normalize("NFD", plain).casefold()).casefold()
    return unicodedata.normalize("NFKC", _DOTTED_I.sub("i", unicodedata.normalize("NFKD", caseless)))


def in_index(folded_tag: str) -> str:
    """The form of a folded tag in `tags_by_name`, by whose beginning it is found. Letters and their marks are apart, as
    they are typed: the beginning of a Korean syllable is then the beginning of its letters."""
    return unicodedata.normalize("NFD", folded_tag)


def _may_be_a_tag(run: str) -> bool:
    """Whether a run of the characters of tags has a letter, and is short enough, also when folded."""
    return _is_short_enough(run) and any(char != "_" and char.isidentifier() for char in run)


def _is_short_enough(run: str) -> bool:
    """Folding makes at most 18 characters of one, so that most runs need not be folded to know."""
    return len(run) * 18 <= LONGEST_TAG or max(len(run), len(folded(run))) <= LONGEST_TAG


def _end_of_name(text: str, start: int, end: int) -> int:
    """The end of the run of characters that a tag may have."""
    at = start
    while at < end and (_continues(text[at]) or _is_joiner(text, start, at, end)):
        at += 1
    return at


def _continues(char: str) -> bool:
    """Whether it is in XID_Continue, and is seen."""
    return f"a{char}".isidentifier() and char not in _UNSEEN


def _is_joiner(text: str, start: int, at: int, end: int) -> bool:
    """Whether this character is a joiner that a word needs (UAX #31, 2.3): after a virama, or between letters that
    would join. It stands before another letter, so that no tag ends with something unseen."""
    if text[at] not in _JOINERS or at == start or at + 1 == end or not text[at + 1].isidentifier():
        return False
    before = text[at - 1]
    if unicodedata.combining(before) == _VIRAMA:
        return True
    return text[at] == _ZWNJ and unicodedata.bidirectional(before) in {_ARABIC, "NSM"} and _is_arabic(text[at + 1])


def _is_arabic(char: str) -> bool:
    return unicodedata.bidirectional(char) == _ARABIC


def _follows_a_word(text: str, start: int) -> bool:
    """Whether a hash sign is part of something longer: `a#b`, `/#b`, `&#x27;`."""
    before = text[max(0, start - 1) : start]
    return before != "" and (_continues(before) or before in _BEFORE_NO_TAG)


_BEFORE_NO_TAG = frozenset(f"{HASH_SIGNS}&@/")


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
