"""The snapshots of all servers of a store, written to files, and what the manifest says about the store."""

import hashlib
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from django.conf import settings

from retwis_site.exceptions import StoreRefused
from retwis_site.maintenance.backups.folders import CHUNK, DataFile, Manifest, create, now
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.connection.snapshot import Snapshot


class Download:
    """Writes a snapshot of each server into a folder. Iterate to run it, a chunk a step; `len` estimates the steps.

    All servers are asked at once and read side by side: so their snapshots are of about the same moment."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self.files: tuple[DataFile, ...] = ()

    def __len__(self) -> int:
        """An RDB file is about half as large as the memory of its server."""
        try:
            used = sum(int(info.get("used_memory", 0)) for info in self._store.info())
        except StoreRefused:
            used = 0
        return used // 2 // CHUNK + 1

    def __iter__(self) -> Iterator[None]:
        """Raises StoreError when a server gives no snapshot, and OSError when the disk refuses."""
        snapshots = [Snapshot(client) for client in self._store.transport.servers()]
        written: SimpleQueue[bool] = SimpleQueue()  # True for each CHUNK bytes, False for the end of a file
        with ThreadPoolExecutor(len(snapshots)) as threads:
            try:
                for snapshot in snapshots:
                    snapshot.request()
                running = [
                    threads.submit(self._write, number, snapshot, written)
                    for number, snapshot in enumerate(snapshots, 1)
                ]
                yield from _steps(running, written)
                for one in wait(running, return_when=FIRST_EXCEPTION).done:
                    one.result()
                self.files = tuple(one.result() for one in running)
            finally:  # a failure ends all of them
                for snapshot in snapshots:
                    snapshot.close()

    def _write(self, number: int, snapshot: Snapshot, written: "SimpleQueue[bool]") -> DataFile:
        name = f"store-{number}.rdb"
        digest = hashlib.sha256()
        size = 0
        try:
            with create(self._folder / name) as file:
                for chunk in snapshot:
                    file.write(chunk)
                    digest.update(chunk)
                    for _ in range(size // CHUNK, (size + len(chunk)) // CHUNK):
                        written.put(True)
                    size += len(chunk)
        finally:
            written.put(False)
        return DataFile(name, size, digest.hexdigest())


def _steps(running: list["Future[DataFile]"], written: "SimpleQueue[bool]") -> Iterator[None]:
    """A step for each chunk, until all files are written or one has failed."""
    open_files = len(running)
    while open_files and not any(one.done() and one.exception() for one in running):
        if written.get():
            yield
        else:
            open_files -= 1


def describe(store: Store) -> Manifest:
    """The manifest for a backup of this store that begins now, still without files. Two round trips, and one to each
    server. Raises StoreError."""
    [first, *_] = store.transport.servers()
    return Manifest(
        made_at=now(),
        servers=_programs(store),
        key_prefix=keys.PREFIX,
        database=int(first.connection_pool.connection_kwargs.get("db") or 0),
        post_ids=settings.POST_IDS,
        timeline_shards=settings.TIMELINE_SHARDS,
        outbox_shards=settings.OUTBOX_SHARDS,
        users=store.hlen(keys.users()),
        keys=store.dbsize(),
        errors=None,
        files=(),
    )


def _programs(store: Store) -> list[str]:
    try:
        return [_program(info) for info in store.info()]
    except StoreRefused:
        return []


def _program(info: dict[str, Any]) -> str:
    name = info.get("server_name", "redis")
    return f"{name} {info.get(f'{name}_version', info.get('redis_version', ''))}"
