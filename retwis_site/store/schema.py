"""The key `schema`: which version of the key table a store follows, and whether this site may write to it.

A store of the official Retwis (2014) has the same keys, but its lists have no marks, its names are as typed, and its
passwords are readable. Until `manage.py adopt` has run, the site only reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum, auto
from typing import TYPE_CHECKING

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX, UNUSABLE_PASSWORD_SUFFIX_LENGTH, identify_hasher

from retwis_site.exceptions import StoreError, StoreReadOnly, StoreRefused
from retwis_site.store import keys
from retwis_site.store.commands import READS
from retwis_site.store.ids import parse_number, stored_id, stored_ids
from retwis_site.store.local_cache import Memory

if TYPE_CHECKING:
    from retwis_site.store.client import Pipe, Store

VERSION = 1
ADOPTING = "adopting"  # instead of a version while `adopt` is under way
UNFINISHED = "copying"  # instead of the number of `next_user_id` until an import, copy, restore or seeding has ended
SHORTEST_HASH = 31  # characters: bcrypt's; MD5 has 32
SAMPLE = 20  # names whose accounts are looked at; the server returns a small hash as a whole

_UNUSABLE = re.compile(f"{UNUSABLE_PASSWORD_PREFIX}[A-Za-z0-9]{{{UNUSABLE_PASSWORD_SUFFIX_LENGTH}}}")


class StoreState(Enum):
    """What kind of store it is."""

    EMPTY = auto()  # no users
    OURS = auto()  # as this version of the site writes it
    OLDER = auto()  # an older version of the site has written it: `manage.py db upgrade`
    NEWER = auto()  # a newer version of the site has written it
    FOREIGN = auto()  # the official Retwis has written it, and `manage.py adopt` has not finished
    UNFINISHED = auto()  # an import, copy, restore or seeding was killed, or is under way


class NewerSchema(StoreError):
    """A newer version of the site has written this store."""


class NotFilled(StoreError):
    """The store has a part of a site."""


class NotAdopted(StoreReadOnly):
    """The official Retwis has written this store: the site only reads it."""

    def __str__(self) -> str:
        return (
            "the store takes no writes: the official Retwis has written it. Turn it into one of this site with "
            "`manage.py adopt`; docs/adopting.md says what that does."
        )


def examine(store: Store) -> StoreState:
    """What kind of store it is. One round trip; two more for one without `schema`. Raises StoreError. A key of
    the wrong type counts as absent, but for those of `looks_official`: else no process could begin, `doctor --fix`
    neither, which moves such a key away.

    Without `schema`, a store is official when a password can be read and it `looks_official`: up to four round trips
    more."""
    with store.pipeline() as pipe:
        version, counter = pipe.get_or_none(keys.schema()), pipe.get_or_none(keys.next_user_id())
    if counter.value == UNFINISHED:
        return StoreState.UNFINISHED
    known = _of_version(version.value)
    if known is not None:
        return known
    try:
        fields = next((chunk for chunk in store.hash_fields(keys.users(), SAMPLE) if chunk), None)
    except StoreRefused:  # `users` has the wrong type, which `doctor --fix` repairs
        return StoreState.OLDER
    if fields is None:
        return StoreState.EMPTY
    uids = stored_ids(keys.users(), [uid for _, uid in fields])
    with store.pipeline() as pipe:
        passwords = [pipe.hget_or_none(keys.user(uid), "password") for uid in uids]
    readable = any(one.value and not is_hash(one.value) for one in passwords)
    return StoreState.FOREIGN if readable and looks_official(store) else StoreState.OLDER


def looks_official(store: Store) -> bool:
    """Whether most names are missing from `users_by_name`, or the newest posts of `timeline` from all `updates:`: only
    this site has both keys. Up to three round trips."""
    with store.pipeline() as pipe:
        names, indexed = pipe.hlen(keys.users()), pipe.zcard(keys.users_by_name())
        timeline = keys.timeline.whatever_shards()[0]
        newest = pipe.lrange(timeline, 0, SAMPLE - 1)
    if indexed.value < names.value / 2:
        return True
    with store.pipeline() as pipe:
        posts = [(pid, pipe.hget(keys.post(pid), "user_id")) for pid in stored_ids(timeline, newest.value)]
    written = [(pid, stored_id(keys.post(pid), author.value)) for pid, author in posts]
    with store.pipeline() as pipe:
        scores = [pipe.zscore(keys.updates(author), str(pid)) for pid, author in written if author]
    return bool(scores) and all(score.value is None for score in scores)


def mark(store: Store | Pipe) -> None:
    """Say that the store is as this version of the site writes it. One round trip; a pipe queues it."""
    store.set(keys.schema(), str(VERSION))


def is_hash(password: str) -> bool:
    """Whether a stored password is a hash of one of PASSWORD_HASHERS, or Django's value for an unusable one. The
    official Retwis keeps passwords as typed, and a typed one may begin with `!` too."""
    try:
        decoded = identify_hasher(password).decode(password)
    except (ValueError, AssertionError):  # a typed one may also begin as a hash does
        return _UNUSABLE.fullmatch(password) is not None
    return len(decoded.get("hash") or decoded["checksum"]) >= SHORTEST_HASH


def _of_version(version: str | None) -> StoreState | None:
    """The state that the key `schema` tells; None without it."""
    if version == ADOPTING:
        return StoreState.FOREIGN
    number = parse_number(version or "")
    if number is None:
        return None
    if number == VERSION:
        return StoreState.OURS
    return StoreState.OLDER if number < VERSION else StoreState.NEWER


class Gate:
    """Stands before the commands of a process until its store is known to be one that the site may write to.

    While it is closed, each round trip costs those of `examine` more: the store may be filled or adopted at any time.
    It closes again when the server may be another one, or hold other data."""

    def __init__(self, store: Store) -> None:
        """`store`: the same store without a gate, with connections of its own."""
        self._store = store
        self.is_open = False
        self.is_foreign = False  # as the last look has found

    def close(self) -> None:
        """Look again before the next commands, and forget what this process knows of the store."""
        self.is_open = False
        Memory.clear_what_ends()

    def pass_(self, commands: Iterable[str]) -> None:
        """Return if these commands may be sent. Raises StoreReadOnly, NewerSchema, NotFilled."""
        state = examine(self._store)
        self.is_foreign = state is StoreState.FOREIGN
        if state in {StoreState.OURS, StoreState.OLDER}:
            self.is_open = True
        elif state is StoreState.NEWER:
            raise NewerSchema(
                f"a newer version of the site has written this store; this one knows its schema up to {VERSION}: "
                "install the newer version, or set REDIS_URL to another store"
            )
        elif state is StoreState.UNFINISHED:
            raise NotFilled(
                "the store has a part of a site: an import, a copy, a restore or a seeding has not ended. Run that "
                "again, or set REDIS_URL to another store"
            )
        elif self.is_foreign and not READS.issuperset(commands):
            raise NotAdopted
