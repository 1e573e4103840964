"""Texts that are meant to cost much: a generator that climbs from text to costlier text."""

import gc
import random
import re
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from unittest import mock

import regex

from timeline.posts import links
from timeline.posts.entities import LONGEST_POST
from timeline.posts.html import html_of

PATTERNS = (re.Pattern, regex.Pattern)
PIECES = [
    *["http://", "https://", "HTTPS://", "://", "//", "ftp://", "mailto:", "www.", "localhost", "http", "https"],
    *[
        "example.com",
        "a.de",
        ".com",
        ".io",
        ".xn--a",
        "xn--",
        "1.1",
        "1.2.3.4",
        ".",
        "..",
        "a",
        "a.",
        "é.",
        "日.",
        "א.",
    ],
    *[
        "xn--a.xn--b",
        "\u0338",
        "\u0301",
        "\u0327\u0301",
        "\u05d0",
        "\u0661",
        "\u30ce",
        "\u3002",
        "\uff0e",
        "\uff0f",
        "😀",
        "\u200c",
    ],
    *[
        "/",
        "?",
        "#",
        ":",
        ":80",
        ":99999",
        "@",
        "@alice",
        "a@",
        "@a.de",
        "#a",
        "#कि",
        "＃",
        "#می\u200cخ",
        "-",
        "_",
        "\\",
        "%",
        "&",
        "&amp;",
        "|",
        "=",
        "+",
    ],
    *[
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "()",
        '"',
        "'",
        "''",
        "<",
        ">",
        "\u200b",
        "\u202e",
        " ",
        "\xa0",
        "\t",
        ",",
        ";",
        "!",
        "…",
    ],
]
KEPT = 50  # texts of a search: as many as a page of the global timeline has
# What people write: a name and a link in a sentence.
ORDINARY = (
    "@bob has read https://redis.io/docs/latest/ and asks (again): what is a sorted set? See also example.com/{}."
)


def _mutated(chance: random.Random, parts: list[str]) -> list[str]:
    """One more, one fewer or another piece, or a run of pieces once more."""
    at, end = sorted(chance.randrange(len(parts) + 1) for _ in range(2))
    kind = chance.randrange(4)
    if kind == 0:
        return [*parts[:at], *chance.choices(PIECES, k=chance.randint(1, 4)), *parts[at:]]
    if kind == 1:
        return parts[:at] + parts[min(end, at + 3) :]
    if kind == 2:
        return [*parts[:at], chance.choice(PIECES), *parts[at + 1 :]]
    return parts[:end] + parts[at:end] * chance.randint(1, 5) + parts[end:]


def worst_texts(
    cost: Callable[[str], float], goes_on: Callable[[], bool], seed: int, length: int = LONGEST_POST
) -> list[str]:
    """The costliest texts that were found, the worst first: at most KEPT, of at most `length` characters."""
    chance = random.Random(seed)
    best: dict[str, tuple[float, list[str]]] = {}
    while goes_on():
        parents = list(best.values())
        parts = (
            _mutated(chance, chance.choice(parents)[1])
            if parents and chance.random() < 0.9
            else chance.choices(PIECES, k=20)
        )
        while len(text := "".join(parts).strip()) > length:
            parts = parts[:-1]
        if text and text not in best:
            best[text] = cost(text), parts
        if len(best) > KEPT:
            del best[min(best, key=lambda each: best[each][0])]
    return sorted(best, key=lambda each: -best[each][0])


def times(number: int) -> Callable[[], bool]:
    """True so many times."""
    left = iter(range(number))
    return lambda: next(left, None) is not None


def for_seconds(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end


class _Counting:
    """A pattern that notes how many characters it has looked at. Each pattern is of runs, so none looks twice."""

    def __init__(self, pattern, looked_at):
        self.pattern, self.looked_at = pattern, looked_at

    def match(self, text, at=0):
        found = self.pattern.match(text, at)
        self.looked_at.append((found.end() - at if found else 0) + 1)
        return found

    def fullmatch(self, text):
        self.looked_at.append(len(text))
        return self.pattern.fullmatch(text)

    def search(self, text):
        found = self.pattern.search(text)
        self.looked_at.append(found.end() if found else len(text))
        return found

    def sub(self, new, text):
        self.looked_at.append(len(text))
        return self.pattern.sub(new, text)

    def finditer(self, text, *limits):
        self.looked_at.append(len(text[slice(*limits)] if limits else text))
        return self.pattern.finditer(text, *limits)


def steps_of(text: str) -> int:
    """The lines of Python that run while a text becomes HTML, and the characters that regular expressions look at."""
    looked_at: list[int] = []
    html_of("@a a.de #a", "en")  # renders the templates
    with ExitStack() as patched:
        for name, value in vars(links).items():
            if isinstance(value, PATTERNS):
                patched.enter_context(mock.patch.object(links, name, _Counting(value, looked_at)))
            elif isinstance(pattern := getattr(value, "__self__", None), PATTERNS):
                method = getattr(_Counting(pattern, looked_at), value.__name__)
                patched.enter_context(mock.patch.object(links, name, method))
        lines = lines_of(lambda: html_of(text, "en"))
    return lines + sum(looked_at)


def lines_of(call: Callable[[], object], folders: tuple[str, ...] = ("",)) -> int:
    """The lines of Python that a call runs, of files below these folders."""
    lines = 0

    def count(frame, event, _argument):
        nonlocal lines
        if not frame.f_code.co_filename.startswith(folders):
            return None
        lines += event == "line"
        return count

    before = sys.gettrace()
    gc.disable()  # what it calls would be counted
    sys.settrace(count)
    try:
        call()
    finally:
        sys.settrace(before)
        gc.enable()
    return lines
