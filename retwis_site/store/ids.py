"""Ids and scores as text and numbers: from visitors, and from the store.

A store may hold anything: another program may have written it, or a damaged disk. So whatever a key holds is read with
a `stored_...` function. It skips a bad value, so that the good ones are still shown, and logs it once.
"""

import hashlib
import json
import logging
import re
import secrets
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import TypeVar

from retwis_site.exceptions import IdInUse

T = TypeVar("T")

logger = logging.getLogger("retwis.store")

LARGEST_ID = 2**53 - 1  # ids are sorted-set scores too, and a double holds no larger integer exactly
NOT_UTF_8 = "\N{REPLACEMENT CHARACTER}"  # what the site reads for bytes that are no UTF-8
MOST_LOGGED = 1000  # bad values that a process logs, some 100 bytes each
LONGEST_LOGGED = 40  # characters of a bad value

_is_id = re.compile("[1-9][0-9]{0,15}").fullmatch
_is_number = re.compile("0|[1-9][0-9]{0,15}").fullmatch

DIGEST = 40  # hex digits of SHA-256, which the name of a picture has
is_digest = re.compile(f"[0-9a-f]{{{DIGEST}}}").fullmatch

logged: set[tuple[str, str]] = set()  # bad values that this process has logged, with their keys


def parse_number(text: str) -> int | None:
    """A whole number from 0 to LARGEST_ID; None for any other text, such as `007`."""
    number = int(text) if _is_number(text) else None
    return number if number is None or number <= LARGEST_ID else None


def parse_id(text: str) -> int | None:
    """The id of a user or post, from 1 to LARGEST_ID; None for any other text."""
    number = int(text) if _is_id(text) else None
    return number if number is None or number <= LARGEST_ID else None


def counted_id(counter: str, number: int) -> int:
    """The id that a counter has given out. Raises IdInUse for what is none."""
    if not 0 < number <= LARGEST_ID:
        raise IdInUse(counter, number)
    return number


def integer(score: float) -> int:
    """A score as a whole number, from 0 to LARGEST_ID. A foreign database may hold infinite scores."""
    return int(min(max(score, 0), LARGEST_ID))


# ---- what a key holds


def stored_record(kind: type[T], key: str, text: str, says: str = "") -> T | None:
    """The record in a stored JSON object: a dataclass of texts, and numbers from 0 to LARGEST_ID. Without fields that a
    newer version of the site has added; None for any other text. `says`: instead of a text that no log may have."""
    parts = fields(kind)  # type: ignore[arg-type]  # there is no name for the type of all dataclasses
    with suppress(ValueError, TypeError, RecursionError):
        stored = json.loads(text)
        found = kind(**{part.name: stored[part.name] for part in parts if part.name in stored})
        if all(_is_part(getattr(found, part.name), part.type) for part in parts):
            return found
    note_bad(key, says or text)
    return None


def _is_part(value: object, kind: object) -> bool:
    return type(value) is kind and (not isinstance(value, int) or 0 <= value <= LARGEST_ID)


def good_ids(texts: Sequence[str]) -> list[int] | None:
    """The ids in these texts, in their order. None when a text is no id, or when there are no texts.

    Nearly always all are good, so they are checked together: it takes a third of the time."""
    joined = "".join(texts)
    if not joined.isdigit() or not joined.isascii() or len(joined) > len(texts) * len(str(LARGEST_ID)):
        return None
    if min(texts) < "1":  # a text is empty or begins with 0
        return None
    numbers = [*map(int, texts)]
    return numbers if max(numbers) <= LARGEST_ID else None


def stored_numbers(key: str, texts: Sequence[str]) -> list[int]:
    """The numbers from 0 to LARGEST_ID among these texts, in their order."""
    if (ids := good_ids(texts)) is not None:
        return ids
    parsed = [(text, parse_number(text)) for text in texts]
    for text, number in parsed:
        if number is None:
            note_bad(key, text)
    return [number for _, number in parsed if number is not None]


def stored_ids(key: str, texts: Sequence[str]) -> list[int]:
    """The ids among these texts, in their order."""
    numbers = stored_numbers(key, texts)
    if 0 not in numbers:
        return numbers
    note_bad(key, "0")
    return [number for number in numbers if number]


def stored_id(key: str, text: str | None) -> int | None:
    """The id in a field or a string; None when there is none."""
    if text is None:
        return None
    number = parse_id(text)
    if number is None:
        note_bad(key, text)
    return number


def stored_digest(key: str, text: str | None) -> str:
    """The digest of a picture; empty without one."""
    if text and not is_digest(text):
        note_bad(key, text)
        return ""
    return text or ""


def stored_time(key: str, text: str | None) -> int:
    """The unix seconds in a field, at most LARGEST_ID; 0 when there are none."""
    if text is not None and text.isascii() and text.isdigit():
        return int(text) if len(text) < len(str(LARGEST_ID)) else LARGEST_ID
    if text is not None:
        note_bad(key, text)
    return 0


def stored_rows(key: str, rows: Iterable[tuple[str, float]]) -> list[tuple[int, int]]:
    """The ids in a sorted set with their scores, in their order. A score that is no number of seconds or users becomes
    the nearest one."""
    return [
        (number, stored_score(key, member, score))
        for member, score in rows
        if (number := stored_id(key, member)) is not None
    ]


def stored_score(key: str, member: str, score: float) -> int:
    """The score of a member as a whole number, from 0 to LARGEST_ID."""
    if 0 <= score <= LARGEST_ID:
        return int(score)
    note_bad(key, f"{score:g}, the score of {member}")
    return integer(score)


def stored_names(key: str, names: Sequence[str]) -> list[str]:
    """The names among these texts, in their order. An address has no place for an empty one."""
    found = [name for name in names if name]
    if len(found) < len(names):
        note_bad(key, "")
    return found


def note_bad(key: str, value: str) -> None:
    """Log a bad value, once for each key and value."""
    shown = value[:LONGEST_LOGGED]
    if (key, shown) not in logged and len(logged) < MOST_LOGGED:
        logged.add((key, shown))
        logger.warning("%s has a bad value, which is skipped: %r. See it with: manage.py doctor", key, shown)


def digest_of(text: str) -> str:
    """Names a text in 32 hex digits. One of 128 random bits, such as a token, cannot be found from them."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]


def nonce() -> str:
    """A random part for the name of a job or an entry: it makes the name unique."""
    return secrets.token_hex(6)
