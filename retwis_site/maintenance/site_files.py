"""The file of a whole site: written while the site is in use; verified, before it is read into an empty store."""

import fcntl
import glob
import gzip
import hashlib
import io
import json
import os
import shutil
import tempfile
import time
import zlib
from array import array
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import IO, cast

import zstandard
from django.conf import settings

from retwis_site.exceptions import NotDone
from retwis_site.features import Line, LineField, SiteLines, site_lines
from retwis_site.rendering.dates import iso
from retwis_site.store import schema
from retwis_site.store.chunks import batches, in_order
from retwis_site.store.client import Store, answers
from retwis_site.store.ids import LARGEST_ID, nonce, parse_id
from retwis_site.store.schema import StoreState, examine
from retwis_site.store.snowflake import SMALLEST

# ---- The format of a whole site's file: JSON lines. docs/export.md describes it; a test checks that.


FORMAT, VERSION = "retwis-site", 1
PERSONAL = "retwis-export"  # the format of a personal download, which `import_account` reads
# Bytes of a line: other Retwises take posts as long as PHP takes a form, 8 MB, and JSON writes some bytes as six.
LONGEST = 64 << 20
AT_ONCE = 500  # lines of a chunk
HEAVY = 16 << 20  # bytes of a chunk


def encoded(line: Line) -> bytes:
    """A line as it stands in the file. The same line always gives the same bytes."""
    return f"{json.dumps(line, ensure_ascii=False, separators=(',', ':'))}\n".encode()


def head(now: int) -> Line:
    """The first line; `now` in unix seconds."""
    about = {"type": "site", "format": FORMAT, "version": VERSION}
    return {**about, "exported_at": iso(now), "schema": schema.VERSION}


def end(counts: Mapping[str, int], largest: Mapping[str, int], sha256: str) -> Line:
    """The last line: how many lines of each type the file has, the largest id of each counted type that the site has
    given out, and the hash of all bytes before this line."""
    return {"type": "end", "counts": dict(counts), "largest": dict(largest), "sha256": sha256}


# ---- The file as bytes: compressed or not, complete or absent, from a pipe as well.


# What the decompressors raise for a damaged file.
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError)


@contextmanager
def compressing(file: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    """What is written in this block goes to `file`, compressed as the ending of `name` says."""
    if name.endswith(".gz"):
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            yield cast("IO[bytes]", packed)
    elif name.endswith(".zst"):
        with zstandard.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False) as writer:
            yield cast("IO[bytes]", writer)
    else:
        yield file


SKIPPABLE = b"\x2a\x4d\x18"  # after a first byte: how a file of `pzstd` begins


def decompressed(file: IO[bytes]) -> IO[bytes]:
    """The content of `file` from its beginning, decompressed as its first bytes say: a pipe has no name, and a file may
    have got another one. Reading may raise DAMAGED."""
    file.seek(0)
    first = file.read(4)
    file.seek(0)
    if first.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file, mode="rb"))
    if first == zstandard.FRAME_HEADER or first[1:] == SKIPPABLE:
        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True, closefd=False)
        return io.BufferedReader(cast("io.RawIOBase", reader))
    return file


@contextmanager
def create(path: Path) -> Iterator[IO[bytes]]:
    """A new file for this user alone. After the block it is on the disk."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123
        yield file
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file, which gets its name at the end of the block, when it is on the disk: the name never stands for a
    part of it. Only its owner can read it. A symbolic link stays; the file that it names is replaced. What killed
    processes have left of such a file is removed. Raises OSError, and NotDone for a path that cannot become a file."""
    path = _real(path)
    _remove_remains(path)
    unfinished = path.with_name(f".{path.name}.{nonce()}")
    with ExitStack() as at_end:
        at_end.callback(unfinished.unlink, missing_ok=True)
        with create(unfinished) as file:
            with suppress(OSError):  # some network file systems have no locks: nothing removes remains there
                fcntl.flock(file, fcntl.LOCK_EX)
            at_end.callback(os.close, os.dup(file.fileno()))  # keeps the lock until the file has its name
            yield file
        unfinished.replace(path)


def _remove_remains(path: Path) -> None:
    """Remove the unfinished files without a lock: the system releases it when a process ends in any way. Those that
    cannot be locked or removed stay, and empty ones: an export that has just made its file may not have locked it yet.
    """
    remains = path.parent.glob(f".{glob.escape(path.name)}.{'[0-9a-f]' * len(nonce())}")
    for unfinished in filter(Path.is_file, remains):
        with suppress(OSError), unfinished.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file.fileno()).st_size:
                unfinished.unlink()


def _real(path: Path) -> Path:
    """The path without symbolic links. Raises NotDone."""
    try:
        real = path.resolve()
    except RuntimeError as error:  # before Python 3.13, for a link that leads to itself
        raise NotDone(f"{path} leads to itself. Name a file.") from error
    if real.is_dir() or not path.name:
        raise NotDone(f"{real} is a folder. Name a file in it, such as {real / 'site.jsonl.zst'}.")
    if real.exists() and not real.is_file():
        raise NotDone(f"{path} is no regular file. For a pipe or standard output, use `-`.")
    return real


def opened(path: Path) -> IO[bytes]:
    """The file, or what a pipe with this name gives. Raises OSError, NotDone."""
    if not path.is_fifo():
        return path.open("rb")
    with path.open("rb") as pipe:
        return spooled(pipe)


def unpacked(file: IO[bytes]) -> IO[bytes]:
    """The content of `file` as a file in which any place can be read at once. Raises NotDone."""
    content = decompressed(file)
    if content is file:
        return file
    with file, content:
        return spooled(content)


def spooled(pipe: IO[bytes]) -> IO[bytes]:
    """What a pipe gives, in a file without a name in VAR_DIR: a pipe cannot be read twice. Raises NotDone."""
    try:
        settings.VAR_DIR.mkdir(parents=True, exist_ok=True)
        file = tempfile.TemporaryFile(dir=settings.VAR_DIR)  # noqa: SIM115  the caller closes it
        shutil.copyfileobj(pipe, file)
        file.flush()
        file.seek(0)
    except DAMAGED as error:
        raise NotDone(f"The file cannot be decompressed: {error}. {NOT_COMPLETE}") from error
    except OSError as error:
        fix = "Set VAR_DIR to a folder with room for all of it, or name a file instead of `-`."
        raise NotDone(f"The input cannot be kept in {settings.VAR_DIR}: {error.strerror}. {fix}") from error
    return file


# ---- Exporting


class Export:
    """Writes all lines. Iterate to run it, a chunk a step.

    The lines are read one after the other, so a line may name a user or a post that is newer than the lines about users
    and posts, or was deleted meanwhile. `Filling` drops such lines."""

    def __init__(self, store: Store, file: IO[bytes]) -> None:
        self._store = store
        self._file = file
        self._hash = hashlib.sha256()
        self.counts: dict[str, int] = {}  # lines by type

    def __iter__(self) -> Iterator[None]:
        self._write([head(int(time.time()))])
        for kind in site_lines().values():
            self.counts[kind.type] = 0
            for lines in batches(kind.read(self._store), kind.at_once):
                self._write([{"type": kind.type} | line for line in lines])
                self.counts[kind.type] += len(lines)
                yield
            yield  # nobody may have such a line, and all were asked
        self._write([end(self.counts, self._largest(), self._hash.hexdigest())])

    def _largest(self) -> dict[str, int]:
        """By type, the largest id that the site has given out, 0 for none: a deleted post's id is not given out again.
        One round trip. Read last, so it is no smaller than the ids in the lines."""
        counters = {kind.type: kind.counter() for kind in site_lines().values() if kind.counter}
        largest = answers(self._store, lambda pipe, type_: pipe.get(counters[type_]), counters)
        return {type_: parse_id(text or "") or 0 for type_, text in largest.items()}

    def _write(self, lines: Sequence[Line]) -> None:
        content = b"".join(map(encoded, lines))
        self._hash.update(content)
        self._file.write(content)


def refuse_what_is_no_site(store: Store) -> None:
    """Raises NotDone for a store without users, for one that must be adopted first, and for an unfinished copy."""
    state = examine(store)
    if state is StoreState.UNFINISHED:
        raise NotDone("The store holds an unfinished copy or import, or a seeding. Run that again, and then this.")
    if state is StoreState.EMPTY:
        raise NotDone("No user is registered in this store. Set REDIS_URL and REDIS_KEY_PREFIX to the site's.")
    if state is StoreState.FOREIGN:
        raise NotDone("The official Retwis has written this store. Run `manage.py adopt`, and then this.")


# ---- Finds a value that stands twice among millions, in 8 bytes for each.


class Distinct:
    """Values that should all be different. Upper and lower case count as the same."""

    def __init__(self) -> None:
        self._hashes = array("q")

    def add(self, value: object) -> None:
        digest = blake2b(str(value).lower().encode(), digest_size=8).digest()
        self._hashes.append(int.from_bytes(digest, "big", signed=True))

    def repeated(self) -> int | None:
        """How many values were added before one that stood there already; None when all are different."""
        for one, other in pairwise(in_order(self._hashes)):
            if one == other:
                return self._hashes.index(one, self._hashes.index(one) + 1)
        return None


# ---- Reads JSON lines that may be damaged.


NEWER = "A newer version of the site has written this file. Import it with that version."
NOT_COMPLETE = "The file is damaged or not complete. Export it again."

_MISSING = object()  # no field accepts it


class BadFile(NotDone):
    """The file is damaged, or it is none of this site. The message names the line and the fix."""

    def __init__(self, number: int, what: str, fix: str = NOT_COMPLETE) -> None:
        super().__init__(f"Line {number}: {what}. {fix}")


def raw_lines(content: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file, without the BOM that some editors write before them; a line that is too long comes without
    its line break. Raises BadFile."""
    number = 0
    try:
        while raw := content.readline(LONGEST):
            number += 1
            yield raw if number > 1 else raw.removeprefix(BOM_UTF8)
    except DAMAGED as error:
        raise BadFile(number + 1, f"it cannot be decompressed: {error}") from error


def parsed(number: int, raw: bytes) -> Line:
    """The line `number`, an object with a type. Raises BadFile."""
    if not raw.endswith(b"\n"):
        raise BadFile(number, "it is too long, or has no line break")
    try:
        line = json.loads(raw.decode())
    except (ValueError, RecursionError):
        raise BadFile(number, "it is no JSON") from None
    if not isinstance(line, dict) or not isinstance(line.get("type"), str):
        raise BadFile(number, "it is no object with a type")
    return line


def check_fields(number: int, line: Line, fields: Mapping[str, LineField]) -> None:
    """Raises BadFile for a line whose fields are not these."""
    for name, expected in fields.items():
        if (name in line or expected.required) and not expected.accepts(line.get(name, _MISSING)):
            raise BadFile(number, f"{name} must be {expected.what}")


# ---- Importing


Open = Callable[[], IO[bytes]]  # the content of the file, from its beginning


@dataclass
class Verification:
    """Checks every line of a file. Iterate to run it, a chunk a step; raises BadFile. It takes 8 bytes of memory
    for each id and each name."""

    open: Open
    counts: Counter[str] = field(default_factory=Counter)  # lines by type
    largest: dict[str, int] = field(default_factory=dict)  # by type, the largest id that the other site has given out
    _number: int = 0  # of the line that is checked
    _first: dict[str, int] = field(default_factory=dict)  # the number of the first line of each type
    _distinct: dict[tuple[str, str], Distinct] = field(default_factory=dict)  # by type and field

    def __iter__(self) -> Iterator[None]:
        hashed = hashlib.sha256()
        ended = False
        for raw in raw_lines(self.open()):
            self._number += 1
            if ended:
                raise BadFile(self._number, "it stands below the line with the type end")
            line = parsed(self._number, raw)
            if self._number == 1:
                self._check_head(line)
            elif line["type"] == "end":
                self._check_end(raw, line, hashed.hexdigest())
                ended = True
            else:
                self._check(line)
            hashed.update(raw)
            if self._number % AT_ONCE == 0:
                yield
        if not ended:
            raise BadFile(self._number + 1, "there is no line with the type end")
        self._check_distinct()

    def _check_head(self, line: Line) -> None:
        if line.get("format") == PERSONAL:
            raise BadFile(1, "this is the download of one person", "Import it with `manage.py import_account`.")
        if line["type"] != "site" or line.get("format") != FORMAT:
            raise BadFile(1, "this is no file that `manage.py export` has written", "Name another file.")
        for name, known in (("version", VERSION), ("schema", schema.VERSION)):
            if type(line.get(name)) is not int or line[name] < 1:
                raise BadFile(1, f"{name} is no whole number from 1")
            if line[name] > known:
                raise BadFile(1, f"{name} is {line[name]}, but this site knows it up to {known}", NEWER)

    def _check(self, line: Line) -> None:
        kind = site_lines().get(line["type"])
        if kind is None:
            raise BadFile(self._number, f"the type {line['type']!r} is unknown", NEWER)
        self._check_order(kind.type)
        self._check_fields(kind, line)
        self.counts[kind.type] += 1
        self._first.setdefault(kind.type, self._number)
        for name in kind.unique:
            self._distinct.setdefault((kind.type, name), Distinct()).add(line[name])

    def _check_order(self, type_: str) -> None:
        if type_ == next(reversed(self._first), None):  # as the line before: a large file has millions of lines
            return
        order = list(site_lines())
        if any(later in self._first for later in order[order.index(type_) + 1 :]):
            raise BadFile(self._number, f"a line with the type {type_} must stand before those of later types")

    def _check_fields(self, kind: SiteLines, line: Line) -> None:
        check_fields(self._number, line, kind.fields(line))
        if kind.counter and settings.POST_IDS == "incr" and line["id"] >= SMALLEST:
            fix = "Set POST_IDS=snowflake, as on the site that wrote the file."
            raise BadFile(self._number, "the id was made from the time", fix)

    def _are_all(self, counts: object) -> bool:
        """Whether these are the numbers of the lines. The file of an older version does not name all types."""
        counted = {type_: self.counts[type_] for type_ in site_lines()}
        return isinstance(counts, dict) and dict.fromkeys(counted, 0) | counts == counted

    def _check_end(self, raw: bytes, line: Line, sha256: str) -> None:
        if not self._are_all(line.get("counts")):
            raise BadFile(self._number, f"counts is not {dict(self.counts)}, the number of lines of each type")
        self._check_largest(line.get("largest"))
        if line.get("sha256") != sha256:
            raise BadFile(self._number, "sha256 is not the hash of the lines before")
        if raw != encoded(line):
            raise BadFile(self._number, "it is not written as `manage.py export` writes it")

    def _check_largest(self, largest: object) -> None:
        counted = {kind.type for kind in site_lines().values() if kind.counter}
        if not isinstance(largest, dict) or set(largest) != counted:
            raise BadFile(self._number, f"largest is no object with an id for each of {', '.join(sorted(counted))}")
        for type_, number in largest.items():
            if type(number) is not int or not 0 <= number <= LARGEST_ID:
                raise BadFile(self._number, f"largest of {type_} must be a whole number from 0 to 2^53 - 1")
        self.largest = largest

    def _check_distinct(self) -> None:
        for (type_, name), distinct in self._distinct.items():
            position = distinct.repeated()
            if position is not None:
                raise BadFile(self._first[type_] + position, f"another {type_} has this {name}")


def line_chunks(content: IO[bytes]) -> Iterator[list[Line]]:
    """The lines of a verified file, without its first and last, mostly AT_ONCE together."""
    for some in _by_weight(raw_lines(content)):
        lines: Iterator[Line] = map(json.loads, some)
        yield [line for line in lines if line["type"] not in {"site", "end"}]


def _by_weight(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """At most AT_ONCE lines together, and fewer when they are long: those of pictures have up to a megabyte."""
    some: list[bytes] = []
    size = 0
    for line in lines:
        some.append(line)
        size += len(line)
        if len(some) == AT_ONCE or size > HEAVY:
            yield some
            some, size = [], 0
    yield some
