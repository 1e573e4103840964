"""The personal download: a user's data as a file of JSON lines. docs/export.md describes it; a test checks that."""

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import chain
from tempfile import SpooledTemporaryFile
from typing import IO

from django.conf import settings

from accounts.users.entities import User
from retwis_site.features import AddressOf, Line, features
from retwis_site.rendering.dates import iso
from retwis_site.store.client import Store

FORMAT, VERSION = "retwis-export", 1
CONTENT_TYPE = "application/x-ndjson; charset=utf-8"
IN_MEMORY = 1 << 20  # bytes; a longer file goes to the disk


def file_name(user: User) -> str:
    """Such as `retwis-alice-2026-11-20.jsonl`."""
    return f"retwis-{user.username}-{datetime.now(UTC):%Y-%m-%d}.jsonl"


def export(store: Store, user: User, address_of: AddressOf) -> IO[bytes]:
    """The whole file, open at its beginning. A long file is on the disk without a name, and is removed when it is
    closed. Two round trips for each chunk. Raises StoreError."""
    settings.VAR_DIR.mkdir(parents=True, exist_ok=True)
    with ExitStack() as on_failure:  # closes the file
        file = on_failure.enter_context(SpooledTemporaryFile(IN_MEMORY, dir=str(settings.VAR_DIR)))
        written = 0
        for lines in _lines(store, user, address_of):
            written += len(lines)
            file.write(_encoded(lines))
        file.write(_encoded([{"type": "end", "lines": written + 1}]))
        file.seek(0)
        on_failure.pop_all()
    return file


def _lines(store: Store, user: User, address_of: AddressOf) -> Iterator[list[Line]]:
    head: Line = {"type": "export", "format": FORMAT, "version": VERSION, "exported_at": iso(int(time.time()))}
    sources = (feature.account_lines for feature in features() if feature.account_lines)
    chunks = chain.from_iterable(source(store, user, address_of) for source in sources)
    yield [head, *next(chunks)]
    yield from chunks


def _encoded(lines: Iterable[Line]) -> bytes:
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines).encode()
