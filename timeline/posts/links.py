"""Finds the links in a post's text: web addresses, @names and #tags. Everything else stays text; there is no markup.

The work is linear in the length of the text, whatever the text is. Every regular expression here matches a run of
characters of one kind, so none goes back. What was found or refused is not looked at again; only the name of a mail
address that begins like a host is looked at once for each host, and a text has few of these.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

import regex

from accounts.signing_in.forms import USERNAME
from retwis_site.rendering.linking import digits_move_before, has_known_ending, host_at_the_start
from timeline.posts.entities import LONGEST_POST


class Segment(NamedTuple):
    """A segment of a text: plain text, or a link to a web address, to a user's profile or to a tag's page."""

    text: str
    address: str = ""  # a whole URL, also when the text has no scheme; empty when the segment is no web address
    name: str = ""  # a username; empty when the segment is no @name
    tag: str = ""  # as typed; empty when the segment is no #tag


Placed = tuple[int, Segment]  # where a link begins in a text, and the link


# ---- Addresses


# No address goes over these. Among them are invisible characters, such as marks that turn the direction of writing:
# with one inside, a shown address could differ from its link.
_INVISIBLE = "\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
_SPACES = rf"\s\x00-\x1f\x7f-\x9f<>\uff5c{_INVISIBLE}"
_PUNCTUATION = "".join(char for char in map(chr, range(0x10000)) if unicodedata.category(char)[0] == "P") + "❛❜❝❞❟❠🙶🙷🙸"
# Each language opens and closes quotations in its own way: „a“, »a«, ”a”. So all these end an address.
_QUOTES = frozenset(regex.findall(r'[\p{Pi}\p{Pf}"＂＇‚„⹂〝〞〟❛-❠🙶-🙸]', _PUNCTUATION))
_APOSTROPHE = "\u2019"  # one of them; in the middle of a word it is an apostrophe
_BRACKETS = (sorted({*regex.findall(side, _PUNCTUATION)} - _QUOTES) for side in (r"\p{Ps}", r"\p{Pe}"))
# Unicode has the two of a pair in the same order, but for two pairs.
_CLOSING = {**dict(zip(*_BRACKETS, strict=False)), "⦍": "⦐", "⦏": "⦎"}
_OUTSIDE_HOSTS = re.escape("$+=^`|" + re.sub("[-._]", "", _PUNCTUATION))
# Characters that look like one of `/ \ ? # : @ .` or like a middle dot, or that browsers turn into one of these
# (confusables.txt of UTS #39, NFKC);
# of them only punctuation: `is_host` refuses the letters, and nothing else may follow a host. The fullwidth colon and
# question mark are not here. What stands before them is read as the host, and a Chinese sentence goes on after them.
_LIKE_PARTS_OF_ADDRESSES = frozenset(
    ".:\\@%\xb7\u0387\u0589\u05c3\u0609\u060a\u066a\u0701\u0702\u0703\u0704\u16eb\u16ec\u1735\u1803\u1809\u2022\u2024\u2025\u2026\u2027\u2030\u2031"
    "\u2041\u2047\u2048\u2049\u205a\u2cf9\u2e31\u3002\u30fb\ua4fe\ua60e\ufe12\ufe13\ufe16\ufe19\ufe30\ufe52\ufe55\ufe56\ufe5f\ufe68"
    "\ufe6a\ufe6b\uff03\uff05\uff0e\uff0f\uff20\uff3c\uff61\uff65"
)
_NOT_BEFORE_HOSTS = frozenset("/\\:@\uff0f\uff3c\uff20\ufe68\ufe6b")

_host_runs = re.compile(f"[^{_SPACES}{_OUTSIDE_HOSTS}]+")
_word = re.compile(f"[^{_SPACES}]+")
_mail_name = re.compile(r'[-;:&=+$,".\w]+', re.ASCII)
_ends = re.compile(f"[{_SPACES}{re.escape(_PUNCTUATION)}|]|$").match
_port = re.compile(":[0-9]{1,5}").match
# Full stops and commas of other scripts: a sentence goes on after them without a space. Browsers copy an address with
# `%` in their place.
_STOPS = regex.findall(r"[\p{Terminal_Punctuation}--\p{ASCII}]", _PUNCTUATION, regex.V1)
_NOT_IN_PATH_PIECES = re.escape("".join([*_CLOSING, *_CLOSING.values(), *sorted(_QUOTES), *_STOPS]))
_path_piece = re.compile(f"[^{_SPACES}{_NOT_IN_PATH_PIECES}]+")

MOST_LABELS = 30  # of all hosts of a text
AS_SO_MANY = 3  # labels; a label of a host with letters outside ASCII counts as so many: its check takes longer
HIGHEST_PORT = 65535
_last_marks = regex.compile(r"(?r)[\p{Terminal_Punctuation}…|`]+").match  # goes backwards from the end


def addresses(text: str) -> Iterator[Placed]:
    """The web addresses in a text, in their order: with `http://` or `https://`, or a host with a known ending. Hosts
    are checked until they have more than MOST_LABELS labels together."""
    if not _may_have_addresses(text):
        return
    checked = 0
    done = 0  # what was found or refused ends here
    for run in _host_runs.finditer(text):
        if run.start() < done:
            continue
        has_scheme = text.startswith("://", run.end())
        host = _host_runs.match(text, run.end() + 3) if has_scheme else run
        if host is None:
            continue
        scheme = _scheme(run[0]) if has_scheme else ""
        if scheme is None or (not has_scheme and not _may_lack_a_scheme(text, run)):
            done = host.end()
            continue
        checked += (1 + host[0].count(".")) * (1 if host[0].isascii() else AS_SO_MANY)
        if checked > MOST_LABELS:
            return
        start = run.end() - len(scheme) if has_scheme else run.start()
        end, done = _end(text, host, in_quotes=text[start - 1 : start] in _QUOTES)
        if 0 < end <= host.end():
            mail_name = _skip(_mail_name, text, end)
            if text.startswith("@", mail_name) and text[mail_name - 1].isalnum():
                end = 0
        if end:
            found = text[start:end]
            yield start, Segment(found, address=found if has_scheme else f"http://{found}")
        elif has_scheme:
            done = _skip(_word, text, done)


def _scheme(word: str) -> str | None:
    """The scheme of the web at the end of a word, as typed. Before it may stand what is no part of a scheme: a full
    stop without a space, or a script without spaces."""
    for scheme in ("https", "http"):
        if word.lower().endswith(scheme):
            before = word[: -len(scheme)][-1:]
            return None if before.isascii() and (before.isalnum() or before == "_") else word[-len(scheme) :]
    return None


def _may_lack_a_scheme(text: str, run: re.Match[str]) -> bool:
    """Whether this run is a host such as `example.com`, and not part of something longer."""
    if "." not in run[0]:
        return False
    host, before = run[0].rstrip("."), text[max(0, run.start() - 1) : run.start()]
    return "." in host and has_known_ending(host) and before not in _NOT_BEFORE_HOSTS


def _end(text: str, run: re.Match[str], *, in_quotes: bool) -> tuple[int, int]:
    """The end of the address whose host begins this run, or 0 when it is none; and the end of what was looked at.
    `in_quotes`: a quotation mark stands before it.

    Right after a host comes a port, a path, or what ends an address."""
    host = host_at_the_start(run[0].rstrip("."))
    if not host:
        return 0, run.end()
    host_end = end = run.start() + len(host)
    if end < run.end():
        return (end if _may_end(text, run.end()) else 0), run.end()
    if port := _port(text, end):
        end = port.end()
        if int(port[0][1:]) > HIGHEST_PORT:
            return 0, end
    if text[end : end + 1] in {"/", "?", "#"}:
        end, done = _end_of_path(text, end, in_quotes=in_quotes)
    elif _may_end(text, end):
        done = end
    else:
        return 0, end
    return (0 if digits_move_before(host, text[host_end:end]) else end), done


def _may_end(text: str, end: int) -> bool:
    """Whether an address that is only a host may end here. What looks like more of it must be followed by nothing; an
    ideographic full stop also by a sentence, which has no dot and ends likewise."""
    after, next_after = text[end : end + 1], text[end + 1 : end + 2]
    if not _ends(text, end):
        return False
    if after == "。" and not next_after.isascii() and (sentence := _host_runs.match(text, end + 1)):
        return "." not in sentence[0].rstrip(".") and _may_end(text, sentence.end())
    return after not in _LIKE_PARTS_OF_ADDRESSES or (
        _ends(text, end + 1) is not None and next_after not in _LIKE_PARTS_OF_ADDRESSES and next_after not in {"/", "#"}
    )


def _end_of_path(text: str, start: int, *, in_quotes: bool) -> tuple[int, int]:
    """The end of a path, without what belongs to the sentence around it: a full stop of another script, a quotation
    mark or a bracket without its partner and what follows them, punctuation at the end, a single quote that was opened
    before the address. And the end of what was looked at."""
    opened: list[int] = []
    at = _skip(_path_piece, text, start)
    while mark := text[at : at + 1]:
        if mark in _CLOSING:
            opened.append(at)
        elif opened and _CLOSING[text[opened[-1]]] == mark:
            opened.pop()
        elif mark != _APOSTROPHE or in_quotes or not text[at + 1 : at + 2].isalpha():
            break
        at = _skip(_path_piece, text, at + 1)
    path = _without_last_marks(text[start : opened[0] if opened else at])
    if path.endswith("'") and path.count("'") % 2:
        path = _without_last_marks(path[:-1])
    return start + len(path), at


def _without_last_marks(path: str) -> str:
    return path[: last.start()] if (last := _last_marks(path)) else path


def _skip(run: re.Pattern[str], text: str, start: int) -> int:
    """The end of the run that begins at `start`; `start` when there is none."""
    found = run.match(text, start)
    return found.end() if found else start


# ---- Hashtags: which part of a text is one, and when two are the same.
#
# A tag is a hash sign and an identifier (UAX #31): letters of any script with their marks, digits and underscores, with
# at least one letter. Digits may stand first: `#2026goals`.


LONGEST_TAG = 100  # characters
# Also the fullwidth ones of Chinese and Japanese keyboards, and the small ones.
HASH_SIGNS = "#\uff03\ufe5f"
AT_SIGNS = "@\uff20\ufe6b"

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


def may_have_tags(text: str) -> bool:
    """Whether a text may have tags. It takes 0.1 us."""
    return "#" in text or "\uff03" in text or "\ufe5f" in text


def tags(text: str, start: int, end: int) -> Iterator[Placed]:
    """The tags in `text[start:end]`, in their order. The work is linear: no character is looked at by two tags."""
    for sign in _sign.finditer(text, start, end):
        name_end = _end_of_name(text, sign.end(), end)
        name = text[sign.end() : name_end]
        if _may_be_a_tag(name) and not _follows_a_word(text, sign.start()):
            yield sign.start(), Segment(text[sign.start() : name_end], tag=name)


def is_tag(name: str) -> bool:
    """Whether a text, without a hash sign, is a whole tag."""
    return _may_be_a_tag(name) and _end_of_name(name, 0, len(name)) == len(name)


def folded(name: str) -> str:
    """The form in which tags are compared and stored: Unicode's NFKC_Casefold. A Turkish capital I also loses its dot,
    which is not typed in small letters. Folding a folded tag changes nothing. What is too long for a tag stays as it is
    but for capitals: marks in the wrong order take as many steps as their number squared."""
    if name.isascii() or len(name) > LONGEST_TAG:  # most tags are ASCII, and take a tenth of the time
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


_BEFORE_NO_TAG = frozenset(f"{HASH_SIGNS}{AT_SIGNS}&/")


# ---- The segments of a text


# Of a text. What follows stays text: a link takes 20 us, and a page may have 50 texts full of them.
MOST_LINKS = 15
# A username is ASCII, so a letter of another script ends it; another Latin letter makes it another name. After a
# letter, a name that goes on as a host does belongs to a mail address.
_NAME = regex.compile(
    rf"""
    (?<! [{AT_SIGNS}/] | [\p{{Latin}}0-9_] \p{{M}}* )
    (?: (?<! [\p{{L}}\p{{N}}] \p{{M}}* ) | (?! . [\w-]*+ \.\w ) )
    [{AT_SIGNS}] (?P<name> {USERNAME}+ )  # as much as there is
    (?! [\p{{Latin}}\p{{M}}0-9_{AT_SIGNS}] | \w*+ \.\w )
    """,
    regex.VERBOSE,
)
# A dot in an address stands before another character.
_has_inner_dot = re.compile(r"\.\S").search


def may_have_links(text: str) -> bool:
    """Whether a text may have links. Most texts have none. A search takes 10 us, this 0.2.

    A name has an at sign, a tag has a hash sign. A web address has a host with a dot, or `//` before
    its host."""
    return _may_have_names(text) or may_have_tags(text) or _may_have_addresses(text)


def _may_have_addresses(text: str) -> bool:
    return "//" in text or ("." in text and _has_inner_dot(text) is not None)


def _may_have_names(text: str) -> bool:
    return "@" in text or "\uff20" in text or "\ufe6b" in text


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
    if not _may_have_names(text):  # most texts
        return []
    found: dict[str, str] = {}
    for part in segments(text):
        if part.name:
            found.setdefault(part.name.lower(), part.name)
    return list(found.values())


def with_own_names(text: str, host: str) -> str:
    """The text with `@ann` in the place of `@ann@host`, as Mastodon's users write it, which is no mention here. Web
    addresses stay as they are."""
    if f"@{host.lower()}" not in text.lower():  # most texts
        return text
    own = re.compile(rf"(?<![\w/@])(@{USERNAME})@{re.escape(host)}(?![\w@]|[.:-]\w)", re.IGNORECASE)
    written, done = [], 0
    for at, link in addresses(text):
        written += [own.sub(r"\1", text[done:at]), link.text]
        done = at + len(link.text)
    return "".join((*written, own.sub(r"\1", text[done:])))


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
    for at, address in addresses(text):
        yield from _names_and_tags(text, start, at)
        yield address
        start = at + len(address.text)
    yield from _names_and_tags(text, start, len(text))


def _names_and_tags(text: str, start: int, end: int) -> Iterator[Segment]:
    """The segments of `text[start:end]`, which has no web addresses."""
    for at, segment in sorted((*_names(text, start, end), *tags(text, start, end))):
        if start < at:
            yield Segment(text[start:at])
        yield segment
        start = at + len(segment.text)
    if start < end:
        yield Segment(text[start:end])


def _names(text: str, start: int, end: int) -> Iterator[Placed]:
    for found in _NAME.finditer(text, start, end):
        yield found.start(), Segment(found[0], name=found["name"])
