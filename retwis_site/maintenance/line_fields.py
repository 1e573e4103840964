"""What the fields of a line in the file of a whole site may hold."""

from retwis_site.features import Line, LineField
from retwis_site.rendering.dates import unix
from retwis_site.store.ids import LARGEST_ID
from retwis_site.store.schema import is_hash


def _is_id(value: object) -> bool:
    return type(value) is int and 0 < value <= LARGEST_ID


def _is_time(value: object) -> bool:
    return isinstance(value, str) and unix(value) is not None


def _is_text(value: object) -> bool:
    """Whether it is a text that UTF-8 can hold: JSON may escape half of a character."""
    return isinstance(value, str) and not any("\ud800" <= char <= "\udfff" for char in value)


def _is_password(value: object) -> bool:
    """Whether it is a hash of any hasher, which has a `$`, or Django's value for an unusable password."""
    return value is None or (_is_text(value) and ("$" in str(value) or is_hash(str(value))))


ID = LineField("a whole number from 1 to 2^53 - 1", _is_id)
OPTIONAL_ID = LineField(ID.what, _is_id, required=False)
OPTIONAL_IDS = LineField(
    "a list of ids", lambda value: isinstance(value, list) and all(map(_is_id, value)), required=False
)
TIME = LineField("a time such as 2026-11-20T15:04:05Z", _is_time)
TIME_OR_NULL = LineField(f"{TIME.what}, or null", lambda value: value is None or _is_time(value))
TEXT = LineField("a text", _is_text)
NAME = LineField("a text that is not empty", lambda value: value != "" and _is_text(value))
PASSWORD = LineField("a hash such as argon2$..., or null", _is_password)


def seconds(line: Line, field: str) -> int:
    """The unix seconds of a field TIME."""
    return unix(line[field]) or 0
