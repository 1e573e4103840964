"""Finds the web addresses in a text.

The work is linear in the length of the text, whatever the text is. Every regular expression here matches a run of
characters of one kind, so none goes back. Runs follow each other, and what was refused is not looked at again.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from timeline.posts.html.hosts import has_known_ending, is_host


@dataclass(frozen=True, slots=True)
class Address:
    """`text[start:end]` is a web address. `url` has a scheme, also when the text has none."""

    start: int
    end: int
    url: str


# No address goes over these. Among them are invisible characters, such as marks that turn the direction of writing:
# with one inside, a shown address could differ from its link.
_INVISIBLE = "\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
_SPACES = rf"\s\x00-\x1f\x7f-\x9f<>\uff5c{_INVISIBLE}"
_PUNCTUATION = "".join(char for char in map(chr, range(0x10000)) if unicodedata.category(char)[0] == "P")
_OUTSIDE_HOSTS = re.escape("$+=^`|" + re.sub("[-._]", "", _PUNCTUATION))
# Characters that look like one of `/ \ ? # : @ .`, or that browsers turn into one (confusables.txt of UTS #39, NFKC);
# of them only punctuation: hosts.py refuses the letters, and nothing else may follow a host.
_LIKE_PARTS_OF_ADDRESSES = frozenset(
    ".:\\@%\u0589\u05c3\u0609\u060a\u066a\u0701\u0702\u0703\u0704\u16ec\u1735\u1803\u1809\u2024\u2025\u2026\u2030\u2031"
    "\u2041\u2047\u2048\u2049\u205a\u2cf9\u3002\ua4fe\ua60e\ufe12\ufe13\ufe16\ufe19\ufe30\ufe52\ufe55\ufe56\ufe5f\ufe68"
    "\ufe6a\ufe6b\uff03\uff05\uff0e\uff0f\uff1a\uff1f\uff20\uff3c\uff61"
)
_NOT_BEFORE_HOSTS = frozenset("/\\:@\uff0f\uff3c\uff20\ufe68\ufe6b")

_host_runs = re.compile(f"[^{_SPACES}{_OUTSIDE_HOSTS}]+")
_rest_of_word = re.compile(f"[^{_SPACES}]*").match
_rest_of_mail_name = re.compile(r'[-;:&=+$,".\w]*', re.ASCII).match
_ends = re.compile(f"[{_SPACES}{re.escape(_PUNCTUATION)}]|$").match
_port = re.compile(":[0-9]{1,5}").match
_path = re.compile(f"[/?#][^{_SPACES}]*").match
_brackets = re.compile(r'[][(){}"]').finditer

HIGHEST_PORT = 65535
_OPENING = {")": "(", "]": "[", "}": "{"}
_NO_LAST_CHARACTER = '.,;:!?"。，、；：！？…」』】》〉）'


def addresses(text: str) -> Iterator[Address]:
    """The web addresses in a text, in their order: with `http://` or `https://`, or a host with a known ending."""
    done = 0  # what was found or refused ends here
    mail_name = 0  # the last name that was followed, to an `@` or not, ends here
    for run in _host_runs.finditer(text):
        if run.start() < done:
            continue
        host: re.Match[str] | None = run
        start = run.start()
        if text.startswith("://", run.end()):
            host = _host_runs.match(text, run.end() + 3)
            start = _start_of_scheme(run)
            if host is None:
                continue
        elif not _may_lack_a_scheme(text, run):
            continue
        end = _end(text, host) if start >= 0 else 0
        if end and end <= host.end():
            if end >= mail_name:
                mail_name = _rest_of_mail_name(text, end).end()
            if text.startswith("@", mail_name) and text[mail_name - 1].isalnum():
                end = 0
        if end:
            found = text[start:end]
            yield Address(start, end, found if host is not run else f"http://{found}")
        done = end or _rest_of_word(text, host.end()).end()


def _start_of_scheme(run: re.Match[str]) -> int:
    """Where `http` or `https` starts, at the end of this run: perhaps after a full stop without a space. Otherwise -1."""
    before, _, scheme = run[0].replace("-", ".").rpartition(".")
    return run.end() - len(scheme) if scheme.lower() in {"http", "https"} else -1


def _may_lack_a_scheme(text: str, run: re.Match[str]) -> bool:
    """Whether this run is a host such as `example.com`, and not part of something longer."""
    return (
        "." in run[0]
        and text[max(0, run.start() - 1) : run.start()] not in _NOT_BEFORE_HOSTS
        and has_known_ending(run[0].rstrip("."))
    )


def _end(text: str, run: re.Match[str]) -> int:
    """The end of the address whose host begins this run; 0 when it is none. Right after a host comes a port, a path, or
    what ends an address. A part that only looks like a port, a path or more of the host does not."""
    host = run[0].rstrip(".")
    if not is_host(host):
        return 0
    end = run.start() + len(host)
    if end < run.end():
        return end if _may_end(text, run.end()) else 0
    if port := _port(text, end):
        end = port.end()
        if int(port[0][1:]) > HIGHEST_PORT:
            return 0
    if path := _path(text, end):
        return end + len(_trimmed(path[0]))
    return end if _may_end(text, end) else 0


def _may_end(text: str, end: int) -> bool:
    after, next_after = text[end : end + 1], text[end + 1 : end + 2]
    if not _ends(text, end):
        return False
    return after not in _LIKE_PARTS_OF_ADDRESSES or (
        _ends(text, end + 1) is not None and next_after not in _LIKE_PARTS_OF_ADDRESSES and next_after not in {"/", "#"}
    )


def _trimmed(path: str) -> str:
    """A path without what belongs to the sentence around it: a bracket without its partner and what follows it,
    punctuation at the end, a single quote that was opened before the address."""
    opened: list[int] = []
    end = len(path)
    for bracket in _brackets(path):
        if bracket[0] in _OPENING.values():
            opened.append(bracket.start())
        elif opened and path[opened[-1]] == _OPENING.get(bracket[0]):
            opened.pop()
        else:
            end = bracket.start()
            break
    path = path[: opened[0] if opened else end].rstrip(_NO_LAST_CHARACTER)
    if path.endswith("'") and path.count("'") % 2:
        return path[:-1].rstrip(_NO_LAST_CHARACTER)
    return path
