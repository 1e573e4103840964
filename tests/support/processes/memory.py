"""How much memory a process takes, how many files it has open, and how many threads it has."""

import re
from pathlib import Path
from typing import NamedTuple

MIB = 1024 * 1024


class Use(NamedTuple):
    """What a process takes at a moment."""

    pid: int
    size: int  # bytes of its own memory
    files: int
    threads: int


def size_of(pid):
    """The bytes of a process's own memory."""
    return int(re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def use_of(pid):
    """What a process takes now."""
    files, threads = (len(list(Path(f"/proc/{pid}/{folder}").iterdir())) for folder in ("fd", "task"))
    return Use(pid, size_of(pid), files, threads)
