"""The table of `store/keys.py` for the key browser: the same as in docs/keys.md."""

from urllib.parse import quote

from django.urls import reverse

from retwis_site.store.keys import damaged
from retwis_site.store.kinds import Kind, is_ours, kind_of

CODE = "`"


def line_of(key: str) -> Kind | None:
    """The line of a key; None for a key that is not in the table."""
    return kind_of(key) or (damaged if is_ours(key) else None)


def address_of(key: str) -> str:
    """The address of a key in the key browser."""
    return f"{reverse('inspect')}{quote(key, safe=':')}"


def spans(text: str) -> list[tuple[bool, str]]:
    """The parts of a text with backquotes: whether each is code, and the part."""
    return [(number % 2 == 1, part) for number, part in enumerate(text.split(CODE)) if part]
