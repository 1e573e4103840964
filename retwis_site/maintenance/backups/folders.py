"""The folder of a backup: an RDB file of each server, and `manifest.json`, which says what they are.

A folder gets its name, the time, only when it is complete and on the disk. Until then it has another name, and a lock.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from retwis_site.maintenance.site_copy import Copy, connect_source
from retwis_site.store.client import Store
from retwis_site.store.embedded import empty_server, servers_on

# ---- The data of a backup as a store: temporary servers load its RDB files.


@contextmanager
def loaded(files: Sequence[Path], database: int) -> Iterator[Store]:
    """A store of a server for each file, to be copied from. Raises EmbeddedServerError for a file that the server
    program cannot load."""
    with servers_on(files, database) as addresses:
        yield connect_source(addresses)


@contextmanager
def loaded_in_one_server(files: Sequence[Path], database: int) -> Iterator[Store]:
    """Like `loaded`, but one server has all keys, so each command finds its key. Of several files, the lists are not in
    it: they are caches. Raises CannotFill too."""
    with loaded(files, database) as source:
        if len(files) == 1:
            yield source
            return
        with empty_server() as address:
            target = connect_source([address])
            copy = Copy(source, target)
            copy.begin()
            for _ in copy:
                continue
            copy.finish()
            yield target


# ---- The folder of a backup


FORMAT = 1
MANIFEST = "manifest.json"
UNFINISHED = ".unfinished-"  # the beginning of the name of a folder that is not complete
CHUNK = 1 << 20  # bytes


class BackupError(Exception):
    """A backup cannot be made, read or restored. The message names the fix."""


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
    """The manifest of a complete backup. Raises BackupError."""
    try:
        content = json.loads((folder / MANIFEST).read_text())
        if not isinstance(content, dict) or content.pop("format") != "retwis-backup":
            raise ValueError("not a backup of this site")
        if content.pop("version") != FORMAT:
            raise BackupError(f"{folder} was made by another version of the site. Install that version.")
        files = tuple(DataFile(**file) for file in content.pop("files"))
        if not files:
            raise ValueError("it names no file")
        return Manifest(**content, files=files)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BackupError(f"{folder / MANIFEST} cannot be read: {error}. Take another backup.") from error


def newest(folder: Path) -> Path:
    """The folder itself if it is a backup, else the newest complete backup in it. Raises BackupError."""
    if (folder / MANIFEST).exists():
        return folder
    names = [path.parent for path in folder.glob(f"*/{MANIFEST}") if not path.parent.name.startswith(".")]
    if not names:
        raise BackupError(f"{folder} has no complete backup. Name a folder that `manage.py backup` has written to.")
    return max(names, key=lambda path: path.name)


class Unfinished:
    """The folder of a backup that is being made."""

    def __init__(self, place: Path, path: Path) -> None:
        self._place = place
        self.path = path

    def complete(self, manifest: Manifest) -> Path:
        """Give the folder its name, once everything is on the disk. The commit point. Raises BackupError."""
        with create(self.path / MANIFEST) as file:
            file.write(manifest.to_json().encode())
        _sync_folder(self.path)
        complete = self._place / manifest.made_at.replace(":", "-")
        try:
            self.path.rename(complete)
        except OSError as error:
            raise BackupError(f"{complete} cannot be made: {error.strerror}. Take the backup once more.") from error
        _sync_folder(self._place)
        return complete


@contextlib.contextmanager
def unfinished(place: Path) -> Iterator[Unfinished]:
    """A new folder in `place`, removed after the block unless it is complete. Folders that killed backups have left in
    `place` are removed. Raises BackupError when the disk refuses."""
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            with _locked(place):
                _remove_remains(place)
                path = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=place))
                stack.enter_context(_locked(path))
            try:
                yield Unfinished(place, path)
            finally:
                shutil.rmtree(path, ignore_errors=True)
    except OSError as error:
        raise BackupError(f"{error.filename or place}: {error.strerror}. Name a folder on a disk with room.") from error


@contextlib.contextmanager
def create(path: Path) -> Iterator[Any]:
    """A new file for this user alone. After the block it is on the disk."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123
        yield file
        file.flush()
        os.fsync(file.fileno())


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Proof:
    """Compares the files of a backup with its manifest. Iterate to run it, a chunk a step; raises BackupError."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._folder = folder
        self._files = manifest.files

    def __len__(self) -> int:
        return sum(file.bytes // CHUNK + 1 for file in self._files)

    def __iter__(self) -> Iterator[None]:
        for file in self._files:
            digest = hashlib.sha256()
            try:
                with (self._folder / file.name).open("rb") as stored:
                    while chunk := stored.read(CHUNK):
                        digest.update(chunk)
                        yield
            except OSError as error:
                raise BackupError(f"{self._folder / file.name}: {error.strerror}. Use another backup.") from error
            if digest.hexdigest() != file.sha256:
                raise BackupError(f"{self._folder / file.name} is not as it was written. Use another backup.")


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; the system releases it when the process ends in any way."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove_remains(place: Path) -> None:
    for path in place.glob(f"{UNFINISHED}*"):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # another process is at work in it
            continue
        finally:
            os.close(descriptor)
        shutil.rmtree(path)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
