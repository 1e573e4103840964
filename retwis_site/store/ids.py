"""Ids and scores as text and numbers."""

import secrets

LARGEST_ID = 2**53  # ids are sorted-set scores too, and a double holds no larger integer exactly


def parse_id(text: str) -> int | None:
    """A user's or post's id, or None for what cannot be one."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_ID))):
        return None
    number = int(text)
    return number if 0 < number <= LARGEST_ID else None


def whole(score: float) -> int:
    """A score, such as since when, as cursors have it. One that is infinite, as a database from elsewhere may hold, is
    the largest."""
    return int(min(max(score, 0), LARGEST_ID))


def nonce() -> str:
    """A random part for the name of a job or an entry, so that no two names are the same."""
    return secrets.token_hex(6)
