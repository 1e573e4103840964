"""An import: the lines of a conversion, written into an empty store or only counted; and its summary."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from retwis_site.features import Line
from timeline.other_retwises.conversion import Conversion
from timeline.other_retwises.source import AT_ONCE, Source

# The kind of a password -> what becomes of it.
PASSWORDS = {
    "clear text": "passwords hashed while importing",
    "argon2": "passwords taken over, as Argon2",
    "md5": "passwords kept as salted MD5 until the next login",
    "bcrypt": "passwords kept as bcrypt until the next login",
    "none": "people without a password that can be verified (`manage.py changepassword NAME` sets one)",
}


class Target(Protocol):
    """Where lines go: `Filling`, or nowhere."""

    dropped: Counter[str]

    def begin(self) -> None: ...
    def write(self, lines: list[Line]) -> None: ...
    def finish(self, largest: Mapping[str, int]) -> None: ...


@dataclass
class Nowhere:
    """The target of a dry run."""

    dropped: Counter[str] = field(default_factory=Counter)

    def begin(self) -> None:
        """Nothing to begin."""

    def write(self, lines: list[Line]) -> None:
        """Written nowhere."""

    def finish(self, largest: Mapping[str, int]) -> None:
        """Nothing to finish."""


class Import:
    """Iterate to run it, a chunk a step. `len` estimates the steps. Then `summary` has its lines."""

    def __init__(self, source: Source, conversion: Conversion, target: Target) -> None:
        self._source = source
        self._conversion = conversion
        self._problems = source.problems
        self._target = target
        self._counts: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._source.dbsize() // AT_ONCE + 1

    def __iter__(self) -> Iterator[None]:
        self._target.begin()
        for lines in self._conversion:
            self._target.write(lines)
            self._counts.update(line["type"] for line in lines)
            yield
        self._target.finish({})

    def summary(self) -> Iterator[str]:
        """What was imported, the passwords by kind, and what was not imported and why."""
        written = self._counts - self._target.dropped
        yield f"people: {written['user']}, follows: {written['follow']}, likes: {written['like']}"
        yield f"posts: {written['post']}, of these replies: {self._conversion.replies}"
        for kind, number in sorted(self._conversion.passwords.items()):
            yield f"{PASSWORDS[kind]}: {number}"
        for one in self._conversion.renamed:
            yield f"renamed: {one.before!r} (user {one.uid}) is now {one.after!r}; another user has that name"
        for kind, number in sorted(self._target.dropped.items()):
            if number:
                yield f"not imported: {kind} lines about unknown users or posts: {number}"
        for line in self._problems.lines():
            yield f"note: {line}"
