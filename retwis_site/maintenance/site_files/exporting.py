"""Writes the file of a whole site, while the site is in use."""

import hashlib
import time
from collections.abc import Iterator, Sequence
from typing import IO

from retwis_site.features import Line, site_lines
from retwis_site.maintenance.site_files.streams import encoded, end, head
from retwis_site.store.chunks import batches
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_id
from retwis_site.store.schema import State, examine

AT_ONCE = 500  # lines of a chunk, about


class CannotExport(Exception):
    """The store cannot be exported. The message names the fix."""


class Export:
    """Writes all lines. Iterate to run it, a chunk a step. `len` estimates the number of steps.

    The lines are read one after the other, so a line may name a user or a post that is newer than the lines about users
    and posts, or was deleted meanwhile. `Filling` drops such lines."""

    def __init__(self, store: Store, file: IO[bytes]) -> None:
        self._store = store
        self._file = file
        self._hash = hashlib.sha256()
        self.counts: dict[str, int] = {}  # lines by type

    def __len__(self) -> int:
        return self._store.dbsize() // AT_ONCE + 1

    def __iter__(self) -> Iterator[None]:
        self._write([head(int(time.time()))])
        for kind in site_lines().values():
            self.counts[kind.type] = 0
            for lines in batches(kind.read(self._store), AT_ONCE):
                self._write([{"type": kind.type} | line for line in lines])
                self.counts[kind.type] += len(lines)
                yield
        self._write([end(self.counts, self._largest(), self._hash.hexdigest())])

    def _largest(self) -> dict[str, int]:
        """By type, the largest id that the site has given out, 0 for none: a deleted post's id is not given out again.
        One round trip. Read last, so it is no smaller than the ids in the lines."""
        pipe = self._store.pipeline()
        counters = {kind.type: pipe.get(kind.counter()) for kind in site_lines().values() if kind.counter}
        pipe.execute()
        return {type_: parse_id(counter.value or "") or 0 for type_, counter in counters.items()}

    def _write(self, lines: Sequence[Line]) -> None:
        content = b"".join(map(encoded, lines))
        self._hash.update(content)
        self._file.write(content)


def refuse_what_is_no_site(store: Store) -> None:
    """Raises CannotExport for a store without users, for one that must be adopted first, and for an unfinished copy."""
    state = examine(store)
    if state is State.UNFINISHED:
        raise CannotExport("The store holds an unfinished copy or import. Run that again, and then this.")
    if state is State.EMPTY:
        raise CannotExport("No user is registered in this store. Set REDIS_URL and REDIS_KEY_PREFIX to the site's.")
    if state is State.FOREIGN:
        raise CannotExport("The official Retwis has written this store. Run `manage.py adopt`, and then this.")
