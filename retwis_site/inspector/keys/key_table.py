"""The lines of the key table, from `store/keys.py`: the same table as in docs/keys.md."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from urllib.parse import quote

from django.conf import settings
from django.urls import reverse

from retwis_site.store import key_kinds, keys
from retwis_site.store.key_kinds import kind_of

CODE = "`"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table."""

    pattern: str  # one of key_kinds.ALL
    name: str  # such as `following:<uid>`
    type: str
    holds: str  # with backquotes around what is code
    kind: str  # "official, truth"; empty for what can be rebuilt

    @property
    def is_one_key(self) -> bool:
        return "*" not in self.pattern

    @property
    def about(self) -> str:
        """`uid` or `pid` when the id in the key is that of a user or a post; else empty."""
        placeholder = re.search(r":<(uid|pid)>$", self.name)
        return placeholder[1] if placeholder else ""


@cache
def lines() -> Mapping[str, Line]:
    """The lines by pattern, in the order of key_kinds.ALL."""
    found = {line.pattern: line for line in reversed(list(_read(keys.__doc__ or "")))}
    for pattern, type_ in settings.KEY_KINDS.items():
        found[pattern] = Line(pattern, pattern, type_, "what a feature of this site alone keeps", "")
    return {pattern: found[pattern] for pattern in key_kinds.ALL}


def line_of(key: str) -> Line | None:
    """The line of a key; None for a key that is not in the table."""
    if key.startswith(f"{keys.PREFIX}damaged:"):
        return lines()["damaged:*"]
    kind = kind_of(key) if key.startswith(keys.PREFIX) else None
    return lines()[kind] if kind else None


def address_of(key: str) -> str:
    """The address of a key in the key browser."""
    return f"{reverse('inspect')}{quote(key, safe=':')}"


def spans(text: str) -> list[tuple[bool, str]]:
    """The parts of a text with backquotes: whether each is code, and the part."""
    return [(number % 2 == 1, part) for number, part in enumerate(text.split(CODE)) if part]


def _read(table: str) -> Iterator[Line]:
    for row in table.splitlines():
        if row.startswith(f"| {CODE}"):
            names, type_, holds, kind = (cell.strip() for cell in row.strip("|").split("|"))
            for name in re.findall(r"`([^`]+)`", names):
                yield Line(_pattern(name), name, type_, holds, kind)


def _pattern(name: str) -> str:
    """As in key_kinds.ALL: `following:*`, `timeline:[0-9]*`."""
    first, colon, rest = name.partition(":")
    return f"{first}:{'[0-9]*' if rest == '<n>' else '*'}" if colon else name
