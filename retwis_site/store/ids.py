"""Ids and scores as text and numbers."""

import secrets
from collections.abc import Iterable

LARGEST_ID = 2**53  # ids are sorted-set scores too, and a double holds no larger integer exactly


def parse_id(text: str) -> int | None:
    """The id of a user or post, from 1 to LARGEST_ID; None for any other text."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_ID))):
        return None
    number = int(text)
    return number if 0 < number <= LARGEST_ID else None


def parse_ids(texts: Iterable[str]) -> list[int]:
    """The ids among these texts, in their order. `doctor` finds the others."""
    return [number for text in texts if (number := parse_id(text)) is not None]


def whole(score: float) -> int:
    """A score as a whole number for a cursor, from 0 to LARGEST_ID. A foreign database may hold infinite scores."""
    return int(min(max(score, 0), LARGEST_ID))


def nonce() -> str:
    """A random part for the name of a job or an entry: it makes the name unique."""
    return secrets.token_hex(6)
