"""The file of a whole site as bytes: compressed by its ending, complete or absent, from a pipe as well."""

import gzip
import io
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

import zstandard
from django.conf import settings

from retwis_site.features import Line
from retwis_site.rendering.dates import iso
from retwis_site.store import schema
from retwis_site.store.ids import nonce

# ---- The format of a whole site's file: JSON lines. docs/export.md describes it; a test checks that.


FORMAT, VERSION = "retwis-site", 1
PERSONAL = "retwis-export"  # the format of a personal download, which `import_account` reads
LONGEST = 1 << 20  # bytes of a line


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


# ---- The file as bytes


# What the decompressors raise for a damaged file.
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError)


class NoFile(Exception):
    """A path that cannot become a file. The message names the fix."""


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


def decompressed(file: IO[bytes], name: str) -> IO[bytes]:
    """The content of `file` from its beginning, decompressed as the ending of `name` says. Reading may raise
    DAMAGED."""
    file.seek(0)
    if name.endswith(".gz"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file, mode="rb"))
    if name.endswith(".zst"):
        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True, closefd=False)
        return io.BufferedReader(cast("io.RawIOBase", reader))
    return file


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file, which gets its name at the end of the block, when it is on the disk: the name never stands for a
    part of it. Only its owner can read it. A symbolic link stays; the file that it names is replaced. Raises OSError,
    and NoFile for a path that cannot become a file."""
    path = _real(path)
    unfinished = path.with_name(f".{path.name}.{nonce()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        with suppress(FileNotFoundError):
            unfinished.unlink()


def _real(path: Path) -> Path:
    """The path without symbolic links. Raises NoFile."""
    try:
        real = path.resolve()
    except RuntimeError as error:  # before Python 3.13, for a link that leads to itself
        raise NoFile(f"{path} leads to itself. Name a file.") from error
    if real.is_dir() or not path.name:
        raise NoFile(f"{real} is a folder. Name a file in it, such as {real / 'site.jsonl.zst'}.")
    if real.exists() and not real.is_file():
        raise NoFile(f"{path} is no regular file. For a pipe or standard output, use `-`.")
    return real


def spooled(pipe: IO[bytes]) -> IO[bytes]:
    """What a pipe gives, in a file without a name in VAR_DIR: a pipe cannot be read twice. Raises OSError."""
    settings.VAR_DIR.mkdir(parents=True, exist_ok=True)
    file = tempfile.TemporaryFile(dir=settings.VAR_DIR)  # noqa: SIM115  the caller closes it
    shutil.copyfileobj(pipe, file)
    return file
