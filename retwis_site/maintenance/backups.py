"""Backups: the snapshot of each server, in a folder with `manifest.json`, which says what they are.

A folder gets its name, the time, only when it is complete and on the disk. Until then it has another name, and a lock.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

import redis
from django.conf import settings
from redis.exceptions import NoPermissionError

from retwis_site.exceptions import NotDone, StoreError, StoreRefused
from retwis_site.maintenance.filling import Copy
from retwis_site.maintenance.site_files import create
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.client import Store, exactly
from retwis_site.store.connection import recorder, topology
from retwis_site.store.connection.failures import no_answer, refusal
from retwis_site.store.embedded import temporary_server

# ---- The snapshot of a server: all its data at one moment, as the RDB file that it sends to a new replica.
#
# The server forks for it, so no command of the site waits, and it needs no access to the server's disk. It is the way
# of `redis-cli --rdb`. It arrives over a connection like the site's own, so user, password, TLS and sentinels are the
# same.


CHUNK = 1 << 20  # bytes
PATIENCE = 60.0  # seconds without a byte; a server that prepares a snapshot sends a newline every few seconds
MARK = 40  # bytes: the random text at the end of a snapshot of unknown length
LOOKS_EVERY = 0.2  # seconds between two looks at how much is written

# Each may be unknown to an older server. `capa eof`: it can send without a file of its own. `rdb-only`: it need not
# remember later writes for this replica.
_OPTIONS = (("capa", "eof"), ("rdb-only", "1"))

ELSE_EXPORT = "Where the server gives no snapshot, `manage.py export FILE` keeps the site as text."


class Snapshot:
    """The snapshot of the server that `client` talks to. Iterate to read it, in chunks of at most 1 MiB; `close` ends
    it, also from another thread. `request` is sent first: then several servers can begin at the same moment."""

    def __init__(self, client: "redis.Redis") -> None:
        self._connection: Any = client.connection_pool.make_connection()
        self._received = b""

    def request(self) -> None:
        """Ask the server for its snapshot. Two round trips, and the time to connect. Raises StoreError."""
        recorder.note([("SYNC",)])
        try:
            self._connection.connect()
            for option in _OPTIONS:
                self._tell(*option)
            self._connection.send_command("SYNC", check_health=False)
            self._connection._sock.settimeout(PATIENCE)
        except redis.ResponseError as error:
            raise refusal("the connection", error) from error
        except redis.RedisError as error:
            raise no_answer(error) from error

    def __iter__(self) -> Iterator[bytes]:
        """Raises StoreRefused when the server gives no snapshot, and StoreError when it stops in the middle."""
        first = self._first_line()
        if first.startswith(b"$EOF:"):
            yield from self._until(first.removeprefix(b"$EOF:"))
        elif first.startswith(b"$"):
            yield from self._counted(int(first[1:]))
        else:
            raise _refused(first.decode(errors="replace").removeprefix("-"))

    def close(self) -> None:
        """Close the connection. A thread that waits for data gets a StoreError."""
        self._connection.disconnect()

    def _tell(self, *option: str) -> None:
        self._connection.send_command("REPLCONF", *option, check_health=False)
        try:
            self._connection.read_response()
        except NoPermissionError as error:
            raise _refused(str(error)) from error
        except redis.ResponseError:  # an older server, or one without REPLCONF, which refuses SYNC next
            return

    def _first_line(self) -> bytes:
        """The first line with a text. Newlines before it only say that the server is at work."""
        while True:
            line, newline, rest = self._received.partition(b"\n")
            if not newline:
                self._received += self._receive()
                continue
            self._received = rest
            if line.strip():
                return line.strip()

    def _counted(self, length: int) -> Iterator[bytes]:
        left = length
        while left:
            chunk = (self._received or self._receive())[:left]
            self._received = b""
            left -= len(chunk)
            yield chunk

    def _until(self, mark: bytes) -> Iterator[bytes]:
        held = self._received  # its end may be the beginning of the mark
        while (end := held.find(mark)) < 0:
            if len(held) > MARK:
                yield held[:-MARK]
                held = held[-MARK:]
            held += self._receive()
        yield held[:end]

    def _receive(self) -> bytes:
        received = b""
        with contextlib.suppress(OSError, AttributeError):  # AttributeError: `close` has removed the socket
            received = self._connection._sock.recv(CHUNK)
        if not received:
            raise StoreError(
                f"{self._name()} stopped in the middle of its snapshot. Its log says why: a full memory or disk, or "
                "its limits `repl-timeout` and `client-output-buffer-limit replica`."
            )
        return bytes(received)

    def _name(self) -> str:
        where = self._connection
        return str(getattr(where, "path", "")) or f"{where.host}:{where.port}"


def _refused(reason: str) -> StoreRefused:
    if "permission" in reason:
        return StoreRefused(f"the store refused SYNC: {reason}. Give its user +sync +replconf. {ELSE_EXPORT}")
    return StoreRefused(f"the store refused SYNC: {reason.partition(', with args')[0]}. {ELSE_EXPORT}")


# ---- The data of a backup as a store: temporary servers load its RDB files.


@contextmanager
def loaded(files: Sequence[Path], database: int) -> Iterator[Store]:
    """A store of a server for each file, to be copied from. Raises EmbeddedServerError for a file that the server
    program cannot load."""
    with contextlib.ExitStack() as servers:
        addresses = [servers.enter_context(temporary_server(file)) for file in files]
        yield Store(topology.servers([f"{address}?db={database}" for address in addresses], exactly()))


@contextmanager
def loaded_in_one_server(files: Sequence[Path], database: int) -> Iterator[Store]:
    """Like `loaded`, but one server has all keys, so each command finds its key. Of several files, the lists are not in
    it: they are caches. Raises CannotFill too."""
    with loaded(files, database) as source:
        if len(files) == 1:
            yield source
            return
        with temporary_server() as address:
            target = Store(topology.servers([address], exactly()))
            copy = Copy(source, target)
            copy.begin()
            for _ in copy:
                continue
            copy.finish()
            yield target


# ---- The folder of a backup


FORMAT = 1
MANIFEST = "manifest.json"
TIMED = "[0-9][0-9][0-9][0-9]-*"  # the name of a complete backup, by its time; a folder that was renamed has another
UNFINISHED = ".unfinished-"  # the beginning of the name of a folder that is not complete


@dataclass(frozen=True)
class DataFile:
    """The RDB file of a server."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What a backup is. `users` and `keys` are those of the store when the backup began; `errors` is the number of
    errors that `--verify` found, None without it."""

    made_at: str  # ISO 8601, UTC
    servers: list[str]  # program and version of each, such as `redis 7.0.15`; empty where INFO is forbidden
    key_prefix: str
    database: int
    post_ids: str
    timeline_shards: int
    outbox_shards: int
    users: int
    keys: int
    errors: int | None
    files: tuple[DataFile, ...]

    def to_json(self) -> str:
        return json.dumps({"format": "retwis-backup", "version": FORMAT, **asdict(self)}, indent=2) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a complete backup. Raises NotDone."""
    try:
        content = json.loads((folder / MANIFEST).read_text(encoding="utf-8-sig"))
        if not isinstance(content, dict) or content.pop("format") != "retwis-backup":
            raise ValueError("not a backup of this site")
        if content.pop("version") != FORMAT:
            raise NotDone(f"{folder} was made by another version of the site. Install that version.")
        files = tuple(DataFile(**file) for file in content.pop("files"))
        if not files:
            raise ValueError("it names no file")
        return Manifest(**content, files=files)
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise NotDone(f"{folder / MANIFEST} cannot be read: {error}. Take another backup.") from error


def newest(folder: Path) -> Path:
    """The folder itself if it is a backup, else the newest complete backup in it, by the times in their names. Raises
    NotDone, also for a newest one in which `--verify` has found errors: the older one without them may be the one to
    restore. Raises PermissionError where one cannot be read."""
    if (folder / MANIFEST).exists():
        return folder
    for path in folder.glob(f"{TIMED}/"):
        os.scandir(path).close()  # `glob` passes over an unreadable folder, which may be the newest
    names = [path.parent for path in folder.glob(f"{TIMED}/{MANIFEST}")]
    if not names:
        raise NotDone(f"{folder} has no complete backup. Name a folder that `manage.py db backup` has written to.")
    last, *older = sorted(names, key=lambda path: path.name, reverse=True)
    errors = read_manifest(last).errors
    if errors:
        sound = next(filter(_has_no_errors, older), None)
        other = f" The newest one without errors is {sound}." if sound else ""
        raise NotDone(f"{last}, the newest backup, has errors: {errors}.{other} Name the one to restore.")
    return last


def _has_no_errors(backup: Path) -> bool:
    """Whether a backup was verified, and no error found in it."""
    with contextlib.suppress(NotDone):
        return read_manifest(backup).errors == 0
    return False


def complete(unfinished: Path, manifest: Manifest) -> Path:
    """Give the folder of a backup its name, once everything is on the disk. The commit point. Raises NotDone."""
    with create(unfinished / MANIFEST) as file:
        file.write(manifest.to_json().encode())
    _sync_folder(unfinished)
    named = unfinished.with_name(manifest.made_at.replace(":", "-"))
    try:
        unfinished.rename(named)
    except OSError as error:
        raise NotDone(f"{named} cannot be made: {error.strerror}. Take the backup once more.") from error
    _sync_folder(named.parent)
    return named


@contextlib.contextmanager
def unfinished(place: Path) -> Iterator[Path]:
    """A new folder in `place`, removed after the block unless it is `complete`. Folders that killed backups have left
    there are removed. Raises NotDone when the disk refuses."""
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            with _locked(place):
                _remove_remains(place)
                path = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=place))
                stack.enter_context(_locked(path))
            try:
                yield path
            finally:
                shutil.rmtree(path, ignore_errors=True)
    except OSError as error:
        raise NotDone(f"{error.filename or place}: {error.strerror}. Name a folder on a disk with room.") from error


def proof(folder: Path, manifest: Manifest) -> Iterator[None]:
    """Compare the files of a backup with its manifest, a chunk a step. Raises NotDone."""
    for file in manifest.files:
        digest = hashlib.sha256()
        try:
            with (folder / file.name).open("rb") as stored:
                while chunk := stored.read(CHUNK):
                    digest.update(chunk)
                    yield
        except OSError as error:
            raise NotDone(f"{folder / file.name}: {error.strerror}. Use another backup.") from error
        if digest.hexdigest() != file.sha256:
            raise NotDone(f"{folder / file.name} is not as it was written. Use another backup.")


@contextlib.contextmanager
def _locked(folder: Path, how: int = fcntl.LOCK_EX) -> Iterator[None]:
    """Hold the lock of a folder; the system releases it when the process ends in any way. With LOCK_NB it raises
    BlockingIOError where another process has the lock."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)


def _remove_remains(place: Path) -> None:
    """Remove the unfinished folders without a lock. Those that cannot be removed stay, such as another user's; another
    backup may have completed its own meanwhile."""
    for path in place.glob(f"{UNFINISHED}*"):
        with contextlib.suppress(OSError), _locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB):
            shutil.rmtree(path)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# ---- The snapshots of all servers of a store, written to files, and what the manifest says about the store.


class Snapshots:
    """Writes a snapshot of each server into a folder. Iterate to run it; `steps` estimates the number of steps.

    All servers are asked at once and read side by side: so their snapshots are of about the same moment."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self.files: tuple[DataFile, ...] = ()

    def steps(self) -> int:
        """An RDB file is about half as large as the memory of its server."""
        return sum(int(info.get("used_memory", 0)) for info in self._store.info()) // 2 // CHUNK + 1

    def __iter__(self) -> Iterator[None]:
        """Raises StoreError when a server gives no snapshot, and OSError when the disk refuses."""
        snapshots = [Snapshot(client) for client in self._store.transport.servers()]
        with ThreadPoolExecutor(len(snapshots)) as threads:
            try:
                for snapshot in snapshots:
                    snapshot.request()
                running = [threads.submit(self._write, number, one) for number, one in enumerate(snapshots, 1)]
                told, left = 0, {*running}
                while left:
                    done, left = wait(left, LOOKS_EVERY, FIRST_EXCEPTION)
                    for one in done:
                        one.result()
                    written = sum(file.stat().st_size for file in self._folder.iterdir()) // CHUNK
                    yield from repeat(None, written - told)
                    told = written
                self.files = tuple(one.result() for one in running)
            finally:  # a failure ends all of them
                for snapshot in snapshots:
                    snapshot.close()

    def _write(self, number: int, snapshot: Snapshot) -> DataFile:
        name, digest, size = f"store-{number}.rdb", hashlib.sha256(), 0
        with create(self._folder / name) as file:
            for chunk in snapshot:
                file.write(chunk)
                digest.update(chunk)
                size += len(chunk)
        return DataFile(name, size, digest.hexdigest())


def describe(store: Store) -> Manifest:
    """The manifest for a backup of this store that begins now, still without files. Two round trips, and one to each
    server. Raises StoreError."""
    [first, *_] = store.transport.servers()
    return Manifest(
        made_at=iso(int(time.time())),
        servers=programs(store),
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


def programs(store: Store) -> list[str]:
    """Name and version of each server, such as `valkey 9.1.2`; none when the user may not send INFO. One round trip a
    server. Raises StoreError."""
    try:
        return [_program(info) for info in store.info()]
    except StoreRefused:
        return []


def _program(info: dict[str, Any]) -> str:
    name = info.get("server_name", "redis")
    return f"{name} {info.get(f'{name}_version', info.get('redis_version', ''))}"
