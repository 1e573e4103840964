"""The files of the book, and what stands in them: sessions with redis-cli, excerpts of code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from timeline.book.views import FOLDER, PROMPT, chapters

FENCE = re.compile(r"^```(\w+)(?: ([^\n]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Session:
    """A block of a chapter: commands with the replies that are printed below them."""

    situation: str  # what has happened on the site before; empty: the block goes on from the one before it
    text: str

    @property
    def exchanges(self) -> list[tuple[str, str]]:
        """Each command, and its reply."""
        found: list[list[str]] = []
        for line in self.text.splitlines():
            if line.startswith(PROMPT):
                found.append([line.removeprefix(PROMPT)])
            else:
                found[-1].append(line)
        return [(command, "\n".join(reply)) for command, *reply in found]


@dataclass(frozen=True)
class Excerpt:
    """A block of code from a file. `where`: the name of a function, class or method in it; empty: anywhere."""

    path: str
    where: str
    runs: list[list[str]]  # lines that follow each other, without what stands before the first character


def names() -> list[str]:
    """The names of all chapters."""
    return list(chapters())


def file_of(name: str) -> Path:
    return FOLDER / f"{name}.md"


def sessions(name: str) -> list[Session]:
    return [Session(situation, text) for kind, situation, text in FENCE.findall(_text(name)) if kind == "redis"]


def excerpts(name: str) -> Iterator[Excerpt]:
    for kind, _, text in FENCE.findall(_text(name)):
        if kind != "python":
            continue
        first, *lines = text.splitlines()
        path, _, where = first.removeprefix("# ").partition(": ")
        runs: list[list[str]] = [[]]
        for line in filter(None, map(str.strip, lines)):
            if line == "...":
                runs.append([])
            else:
                runs[-1].append(line)
        yield Excerpt(path, where, [run for run in runs if run])


def _text(name: str) -> str:
    return file_of(name).read_text()
