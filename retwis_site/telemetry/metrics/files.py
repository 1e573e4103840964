"""The files in which the processes of the site count: `VAR_DIR/metrics/`.

prometheus_client maps the numbers of a process into memory from files, so they outlive a killed process. Here the files
have a number. A process takes the lowest one whose lock is free, and counts on in the files of the process that had it
before. So sums never go down, and there are no more files than there were processes at the same time. A lock is seen
from other containers too; a process id is not.
"""

import fcntl
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import IO

from django.conf import settings
from prometheus_client import values
from prometheus_client.core import Metric
from prometheus_client.multiprocess import MultiProcessCollector

FOLDER: Path = settings.VAR_DIR / "metrics"
STATE = "gauge_livesum"  # files that say how a process is now
DAMAGED = (ValueError, TypeError, AttributeError, RuntimeError, struct.error)  # what prometheus_client raises then
RESERVED = 1 << 20  # bytes of a file, which are written at once: a mapped page that the disk lacks ends the process


@dataclass(frozen=True)
class _Place:
    """The files of a process, as long as it runs."""

    number: int
    pid: int
    lock: IO[bytes]


_place: _Place | None = None


def own_number() -> int:
    """The number of this process's files. A process that was forked takes another one. Raises OSError."""
    global _place
    if _place is None or _place.pid != os.getpid():
        if _place is not None:
            _place.lock.close()  # the parent keeps it
        _place = _take()
    return _place.number


def count_in_files() -> None:
    """Let all metrics that are made from now on count in the files of their process. Raises OSError."""
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(FOLDER)
    values.ValueClass = values.MultiProcessValue(own_number)


def files() -> list[str]:
    """The files of all processes, also of those that have ended, without what only says how a process is now."""
    with _turn():
        return [str(path) for path in FOLDER.glob("*.db") if not _is_state(path) or _is_taken(_number(path))]


def _take() -> _Place:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with _turn():
        for number in count():
            lock = _lock_of(number).open("ab")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                continue
            (FOLDER / f"{STATE}_{number}.db").unlink(missing_ok=True)
            for kind in ("counter", "histogram", STATE):
                _reserve(FOLDER / f"{kind}_{number}.db")
            return _Place(number, os.getpid(), lock)
    raise AssertionError("numbers do not end")


def sums(paths: Iterable[str]) -> Iterable[Metric]:
    """The numbers of these files together. Raises one of DAMAGED."""
    merged: Iterable[Metric] = MultiProcessCollector.merge(paths)
    return merged


def is_whole(path: str) -> bool:
    """Whether a file can be read. After a power failure it may have any content."""
    try:
        sums([path])
    except DAMAGED:
        return False
    return True


def _reserve(path: Path) -> None:
    if path.exists() and not is_whole(str(path)):
        path.unlink()
    with path.open("ab") as file:
        file.write(bytes(max(0, RESERVED - file.tell())))


def _is_taken(number: int) -> bool:
    with _lock_of(number).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def _lock_of(number: int) -> Path:
    return FOLDER / f"{number}.lock"


def _is_state(path: Path) -> bool:
    return path.name.startswith(STATE)


def _number(path: Path) -> int:
    return int(path.stem.rpartition("_")[2])


@contextmanager
def _turn() -> Iterator[None]:
    """A block that one process at a time runs: who looks at a lock holds it for a moment."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "turn.lock").open("ab") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield
