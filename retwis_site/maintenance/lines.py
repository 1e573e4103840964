"""The lines in the file of a whole site: what their fields may hold, and how they are read from a store and written.

A kind of key, or a field of `user:<uid>`, that says `line` in the key table has its lines by that alone: `lines_of`.
Lines that are more than one member or field have code of their own in their feature.
"""

import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import inf
from typing import Any

from retwis_site.features import Line, LineField, SiteLines
from retwis_site.rendering.dates import iso, unix
from retwis_site.store import ids, keys, kinds
from retwis_site.store.chunks import AT_ONCE, Writes, batches, in_order, newest_first_of_each
from retwis_site.store.client import Store, answers
from retwis_site.store.ids import LARGEST_ID, is_digest, note_bad
from retwis_site.store.kinds import Field, OfId, One, mirror_of
from retwis_site.store.schema import is_hash

# ---- What the fields of a line may hold.


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
NUMBER = LineField("a whole number from 0 to 2^53 - 1", lambda value: type(value) is int and 0 <= value <= LARGEST_ID)
TIME = LineField("a time such as 2026-11-20T15:04:05Z", _is_time)
TIME_OR_NULL = LineField(f"{TIME.what}, or null", lambda value: value is None or _is_time(value))
OPTIONAL_TIME = LineField(TIME.what, _is_time, required=False)
TEXT = LineField("a text", _is_text)
OPTIONAL_TEXT = LineField(TEXT.what, _is_text, required=False)
NAME = LineField("a text that is not empty", lambda value: value != "" and _is_text(value))
PASSWORD = LineField("a hash such as argon2$..., or null", _is_password)
DIGEST = LineField(f"{ids.DIGEST} hex digits", lambda value: isinstance(value, str) and is_digest(value) is not None)
HASH = LineField(
    "32 hex digits", lambda value: isinstance(value, str) and re.fullmatch("[0-9a-f]{32}", value) is not None
)


def seconds(line: Line, field: str) -> int:
    """The unix seconds of a field TIME."""
    return unix(line[field]) or 0


# ---- All users, for `read`.


def uids_in_order(store: Store) -> Iterator[list[int]]:
    """The uids of all users, deleted ones too, in ascending order: AT_ONCE in a chunk. They take 16 bytes each. One
    round trip for each AT_ONCE users, before the first chunk."""
    uids = array("q")
    for fields in store.hash_fields(keys.users(), AT_ONCE):
        uids.extend(ids.stored_ids(keys.users(), [text for _, text in fields]))
    yield from batches((uid for uid, _ in groupby(in_order(uids))), AT_ONCE)


def rows_of_users(store: Store, kind: OfId) -> Iterator[tuple[int, str, float]]:
    """The rows (uid, member, score) of a sorted set that each user has: by uid, the highest score first. Round trips as
    for `newest_first_of_each`."""
    for uids in uids_in_order(store):
        yield from newest_first_of_each(store, {uid: kind(uid) for uid in uids})


def fields_of_users(store: Store, names: Sequence[str]) -> Iterator[list[tuple[int, list[str | None]]]]:
    """These fields of all users, by uid, AT_ONCE users in a chunk. One round trip a chunk."""
    for uids in uids_in_order(store):
        yield [*answers(store, lambda pipe, uid: pipe.hmget(keys.user(uid), names), uids).items()]


# ---- The lines of which the key table tells.


@dataclass(frozen=True)
class Column:
    """How a value of the store stands in a line. What `field` does not accept is skipped."""

    field: LineField
    read: Callable[[str, Any], Any]  # of a key, and a text in it, or a member with its score
    write: Callable[[Any], Any] = str
    may_fail: bool = True  # whether `read` may give what `field` does not accept


def _named(key: str, text: str) -> str:
    if not text:
        note_bad(key, text)
    return text


_USERS, _POSTS = Column(ID, ids.stored_id), Column(ID, ids.stored_id)
_NUMBERS = Column(NUMBER, lambda key, text: next(iter(ids.stored_numbers(key, [text])), None))
_TEXTS, _HASHES = Column(NAME, _named), Column(HASH, _named)
_COLOURS = Column(
    LineField(f"one of {', '.join(kinds.COLOURS)}", lambda value: value in kinds.COLOURS), lambda key, text: text
)
_PICTURES = Column(DIGEST, lambda key, text: text)
# Of times, `iso` makes a right one of any number; to read each again takes a fifth of an export.
_TIMES = Column(
    TIME, lambda key, text: iso(ids.stored_time(key, text)), lambda time: str(unix(time) or 0), may_fail=False
)
_SINCE = Column(TIME, lambda key, scored: iso(ids.stored_score(key, *scored)), unix, may_fail=False)
_UNTIL = Column(
    TIME_OR_NULL,
    lambda key, scored: None if scored[1] == inf else _SINCE.read(key, scored),
    lambda time: inf if time is None else unix(time),
    may_fail=False,
)
_COLUMNS = {
    kinds.USER: _USERS,
    kinds.POST: _POSTS,
    kinds.THREAD: _POSTS,
    kinds.TEXT: _TEXTS,
    kinds.JSON: _TEXTS,
    kinds.COLOUR: _COLOURS,
    kinds.PICTURE: _PICTURES,
    kinds.NUMBER: _NUMBERS,
    kinds.TIME: _TIMES,
    kinds.OWN_TIME: _TIMES,
}

Told = OfId | One | Field  # a sorted set that each user has, a map, or a field of each user


def lines_of(told: Told, line: str = "") -> SiteLines:
    """The lines of which the key table tells. `line`: what they are called, where the table does not say it."""
    type_, *names = (line or told.line).split()
    columns = dict(zip(names, _columns(told), strict=True))
    fields = {name: column.field for name, column in columns.items()}
    unsure = [(place, column.field.accepts) for place, column in enumerate(columns.values()) if column.may_fail]

    def read(store: Store) -> Iterator[Line]:
        for key, *row in _rows(store, told):
            values = [column.read(key, value) for column, value in zip(columns.values(), row, strict=True)]
            if all(accepts(values[place]) for place, accepts in unsure):
                yield dict(zip(names, values, strict=True))

    def write(writes: Writes, lines: Sequence[Line]) -> None:
        for line in lines:
            _write(writes, told, [column.write(line[name]) for name, column in columns.items()])

    return SiteLines(
        type_,
        lambda line: fields,
        read,
        write,
        unique=names[:1] if isinstance(told, Field) and "<" not in told.name else (),
        users=[name for name, column in columns.items() if column is _USERS],
        posts=[name for name, column in columns.items() if column is _POSTS],
    )


def _columns(told: Told) -> list[Column]:
    if isinstance(told, Field):
        return [_USERS, *([_HASHES] if "<" in told.name else []), _COLUMNS[told.holds]]
    column = _COLUMNS[told.main]
    if isinstance(told, One):
        return [_COLUMNS[told.named], column]
    return [_USERS, column, _UNTIL if told.score == kinds.UNTIL else _SINCE]


def _rows(store: Store, told: Told) -> Iterator[tuple[Any, ...]]:
    """A key, and the values of each column: of sets the newest member first, else in the order of their names."""
    if isinstance(told, OfId):
        yield from ((told(uid), str(uid), member, (member, score)) for uid, member, score in rows_of_users(store, told))
    elif isinstance(told, One):
        yield from ((told(), *field) for field in sorted(store.hgetall(told()).items()))
    elif "<" in told.name:
        start = told.name.partition("<")[0]
        for uid, fields in _all_fields(store):
            found = [(name, text) for name, text in sorted(fields.items()) if name.startswith(start)]
            yield from ((keys.user(uid), str(uid), name.removeprefix(start), text) for name, text in found)
    else:
        for users in fields_of_users(store, (told.name, "deleted")):
            stored = [(uid, text) for uid, (text, deleted) in users if text is not None and deleted is None]
            yield from ((keys.user(uid), str(uid), text) for uid, text in stored)


def _all_fields(store: Store) -> Iterator[tuple[int, Mapping[str, str]]]:
    """All fields of each user, without deleted accounts. One round trip for AT_ONCE users."""
    for uids in uids_in_order(store):
        found = answers(store, lambda pipe, uid: pipe.hgetall(keys.user(uid)), uids)
        yield from ((uid, fields) for uid, fields in found.items() if "deleted" not in fields)


def _write(writes: Writes, told: Told, values: Sequence[Any]) -> None:
    """Write a row, and the other side of it."""
    first, *_, last = values
    if isinstance(told, Field):
        name = told.name.partition("<")[0] + "".join(values[1:-1])
        writes.hset(keys.user(int(first)), {name: last})
    elif isinstance(told, One):
        writes.hset(told(), {first: last})
    else:
        mirror = mirror_of(told)
        writes.zadd(told(int(first)), {values[1]: last})
        if mirror is not None:
            writes.zadd(mirror.of_member(values[1]), {first: last})
