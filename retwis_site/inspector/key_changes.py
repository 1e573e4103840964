"""What keys hold before and after some commands.

Between the store and its transport, it looks at each key before the first command that may write it. Its own commands
are not recorded.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, field

from retwis_site.inspector.one_key import NO_KEY, Found, OneKey, Row, line_of, shown_key
from retwis_site.store.client import Store
from retwis_site.store.connection.recorder import keys_of
from retwis_site.store.connection.transport import Preceded, Queued
from retwis_site.store.schema import READS


@dataclass(frozen=True)
class Change:
    """A key that is not as it was. In `lines`, `+` is what was added, `-` what was removed; a value that was replaced
    is `name: before → after`. What is gone has no lines, and what the viewer may not see."""

    key: str  # as it may be shown
    type: str
    before: int | None  # members, fields, entries or bytes; None: there was no such key
    after: int | None
    lines: Sequence[str]


@dataclass
class WatchedKeys:
    """The keys that commands have written, with what each held before."""

    store: Store  # reads the keys
    viewer: int  # the uid of the user who may see what is private
    before: dict[str, Found] = field(default_factory=dict)

    def note(self, queued: Sequence[Queued]) -> None:
        """Look at the keys that these commands may write, before they are sent. Three round trips for each new key."""
        for command, _ in queued:
            for key in keys_of(command) if command[0] not in READS else ():
                if key not in self.before and (found := self._look(key)) is not None:
                    self.before[key] = found

    def changes(self) -> tuple[list[Change], list[str]]:
        """The keys that are not as they were, and the names of those that are as before. Three round trips a key."""
        changed, same = [], []
        for key, before in self.before.items():
            after = self._look(key)
            if after is None or (after.length == before.length and after.rows == before.rows):
                same.append(shown_key(key))
            else:
                changed.append(_change(key, before, after))
        return changed, same

    def _look(self, key: str) -> Found | None:
        """None for a key that is not in the key table. In a context of its own no recording sees the commands."""
        line = line_of(key)
        return Context().run(OneKey(self.store, key, line).look, 0, self.viewer) if line else None


@contextmanager
def watched_keys(store: Store, viewer: int) -> Iterator[WatchedKeys]:
    """For the time of the block, the keys that `store` writes are noted. Its stores of single servers are not."""
    transport = store.transport
    watched = WatchedKeys(Store(transport), viewer)
    store.transport = Preceded(transport, watched.note)
    try:
        yield watched
    finally:
        store.transport = transport


def _change(key: str, before: Found, after: Found) -> Change:
    was, now = _values(before.rows), _values(after.rows)
    replaced = [f"{name}: {was[name]} → {now[name]}" for name in now if name in was and was[name] != now[name]]
    added = [_line("+", name, now[name]) for name in now if name not in was]
    # Only a page of the key was read: what has left that page is removed only when the key has become shorter by it.
    number_removed = max(before.length + len(added) - after.length, 0)
    removed = [_line("-", name, was[name]) for name in was if name not in now][:number_removed]
    type_ = before.type if after.type == NO_KEY else after.type
    lines = [] if after.type == NO_KEY else [*removed, *added, *replaced]
    return Change(shown_key(key), type_, _length(before), _length(after), lines)


def _values(rows: Sequence[Row]) -> dict[str, str | None]:
    """The values by their names: fields of a hash, members with scores; entries and strings have none."""
    return {
        row.name.text or "": None if row.value is None else row.value.text or f"({row.value.size} bytes)"
        for row in rows
    }


def _line(sign: str, name: str, value: str | None) -> str:
    return f"{sign} {name}" if value is None or value == name else f"{sign} {name}: {value}"


def _length(found: Found) -> int | None:
    return None if found.type == NO_KEY else found.length
