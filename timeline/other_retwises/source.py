"""The database of another Retwis. It is only read: a command that is not in READS never leaves the process.

`SSCAN` and `SISMEMBER` have no methods in store/commands.py, which has the commands that
the site sends to its own store.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import redis

from retwis_site.exceptions import NotDone
from retwis_site.maintenance.filling import SourceStore, connect_source
from retwis_site.rendering.dates import seconds_of
from retwis_site.store.chunks import batches, scanned
from retwis_site.store.client import Pipe, RecordedRoundTrip, Result, Store
from retwis_site.store.commands import READS
from retwis_site.store.connection.recorder import Command
from retwis_site.store.connection.transport import OneServer, Queued, Transport
from retwis_site.store.ids import parse_id
from timeline.other_retwises.values import ForeignPassword

# ---- What is taken from it. Ids are whole numbers, times are unix seconds.


@dataclass(frozen=True, slots=True)
class Account:
    """A person. An empty username: the source has none."""

    uid: int
    username: str
    password: ForeignPassword | None = None  # None: the source has none that can be verified
    registered: int | None = None
    name: str = ""
    bio: str = ""


@dataclass(frozen=True, slots=True)
class ForeignEdge:
    """A follow, from a person to a person; or a like, from a person to a post."""

    person: int
    target: int
    time: int | None


@dataclass(frozen=True, slots=True)
class ReplyTo:
    """What a reply answers."""

    pid: int
    root: int  # the first post of the thread
    author: int  # of the answered post


@dataclass(frozen=True, slots=True)
class SourcePost:
    """A post. `author` is None when the source does not lead to one."""

    pid: int
    author: int | None
    time: int | None
    text: str
    reply: ReplyTo | None = None


class CannotImport(NotDone):
    """The import was refused. The message names the fix."""


# ---- What could not be imported, counted by its reason, with a few examples of each.


T = TypeVar("T")

EXAMPLES = 5
LONGEST_EXAMPLE = 100  # characters


class Problems:
    """Reasons, with the number of times that each was met. It holds EXAMPLES of each, however many there are."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._examples: dict[str, list[str]] = {}
        self._deaf = False

    def note(self, reason: str, example: str) -> None:
        """The example may hold any text of the source: it is cut, and a terminal can show it."""
        if self._deaf:
            return
        self.counts[reason] += 1
        examples = self._examples.setdefault(reason, [])
        if len(examples) < EXAMPLES:
            examples.append(_shown(example))

    def unheard(self, chunks: Iterable[T]) -> Iterator[T]:
        """Chunks that are read a second time: what reading them notes is not counted again."""
        reading = iter(chunks)
        while True:
            self._deaf = True
            try:
                chunk = next(reading)
            except StopIteration:
                return
            finally:
                self._deaf = False
            yield chunk

    def lines(self) -> Iterator[str]:
        """A line for each reason, such as `posts without a known author: 2 (post 7, post 9)`."""
        for reason, count in sorted(self.counts.items()):
            more = ", ..." if count > EXAMPLES else ""
            yield f"{reason}: {count} ({', '.join(self._examples[reason])}{more})"


def _shown(text: str) -> str:
    """Control characters and bytes that are not UTF-8 become escapes."""
    chars = text if len(text) <= LONGEST_EXAMPLE else f"{text[:LONGEST_EXAMPLE]}..."
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in chars)


# ---- The store


AT_ONCE = 500  # keys that are read in one round trip, and about the number of members of each
MOST_NOTED = 10_000  # keys of the wrong type that are held; further ones may be counted twice
SETS_AT_ONCE = 50  # each may have AT_ONCE members

_ABSENT: dict[str, Any] = {"SSCAN": (0, []), "ZSCAN": (0, []), "SISMEMBER": 0}  # replies for no key; else None
_NUMBER = re.compile(r"[+-]?\d+\Z")

Scan = tuple[int, list[tuple[str, float | None]]]  # the next cursor, and some members with their scores
AskScan = Callable[[Pipe, str, int], Result[Scan]]


class Source(SourceStore):
    """Sends only READS.

    A key of the wrong type reads as absent. It is noted in `problems`, as is all else that reading leaves
    out."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.problems = Problems()
        self._wrong: set[str] = set()  # keys that were noted: some are read more than once

    def round_trip(self, commands: list[Command]) -> RecordedRoundTrip:
        """Raises CannotImport for any command that is not in READS."""
        for name, *_ in commands:
            if name not in READS:
                raise CannotImport(f"{name} was not sent: an import only reads at --from.")
        return super().round_trip(commands)

    def checked(self, queued: Sequence[Queued], replies: list[Any]) -> list[Any]:
        pairs = zip(queued, replies, strict=True)
        return super().checked(queued, [self._readable(command, reply) for (command, _), reply in pairs])

    def _readable(self, command: Command, reply: Any) -> Any:
        """The reply; for a key of the wrong type, that for a key which does not exist."""
        if not (isinstance(reply, redis.ResponseError) and str(reply).startswith("WRONGTYPE")):
            return reply
        name, key, *fields = map(str, command)
        if key not in self._wrong:
            self.problems.note("keys of the wrong type", key)
        if len(self._wrong) < MOST_NOTED:
            self._wrong.add(key)
        return [None] * len(fields) if name == "HMGET" else _ABSENT.get(name)


def connect_to(urls: Sequence[str]) -> Source:
    """One round trip to each address. Raises StoreError, and CannotImport for servers that are no cluster."""
    source = Source(connect_source(urls).transport)
    if len(urls) > 1 and isinstance(source.transport, OneServer):
        raise CannotImport(
            "--from names several servers that are no cluster. Name one server, or servers of a cluster."
        )
    return source


# ---- keys with numbers: `post:id:<number>:content`


def numbers(source: Source, before: str, after: str = "") -> Iterator[list[int]]:
    """The numbers of all such keys, in chunks. A number may come twice. One round trip a chunk."""
    for names in source.scan_keys(f"{before}*{after}", AT_ONCE):
        texts = [name[len(before) : len(name) - len(after)] for name in names]
        ids = [(text, parse_id(text)) for text in texts]
        for text, number in ids:
            if number is None and _NUMBER.match(text):
                source.problems.note("keys whose number is no id", f"{before}{text}{after}")
        yield [number for _, number in ids if number is not None]


def ranges(chunks: Iterable[list[int]]) -> Iterator[range]:
    """Ascending ranges of AT_ONCE ids, such that each id is in one of them. It holds one number for each range."""
    parts = {number // AT_ONCE for chunk in chunks for number in chunk}
    for part in sorted(parts):
        yield range(max(part * AT_ONCE, 1), (part + 1) * AT_ONCE)


# ---- edges, in sets and sorted sets


def ask_set(pipe: Pipe, key: str, cursor: int) -> Result[Scan]:
    reply = pipe.send("SSCAN", key, cursor, "COUNT", AT_ONCE)
    return Result(lambda: (reply.value[0], [(member, None) for member in reply.value[1]]))


def ask_sorted_set(pipe: Pipe, key: str, cursor: int) -> Result[Scan]:
    reply = pipe.zscan(key, cursor, AT_ONCE)
    return Result(lambda: (reply.value[0], list(reply.value[1])))


Member = tuple[int, str, float | None]  # the uid in the key, a member of the key, and its score


def members(source: Store, key: Callable[[int], str], uids: Sequence[int], ask: AskScan) -> Iterator[Member]:
    """The members of a set of each person. One round trip for AT_ONCE members of each of SETS_AT_ONCE people. A member
    may come twice."""
    for some in batches(uids, SETS_AT_ONCE):
        for parts in scanned(source, lambda pipe, uid, cursor: ask(pipe, key(uid), cursor), some):
            yield from ((uid, member, score) for uid, found in parts for member, score in found)


def edges(source: Source, key: Callable[[int], str], uids: Sequence[int], ask: AskScan) -> Iterator[ForeignEdge]:
    """The edges in the sets of these people, as `members` reads them. Members that are no ids are noted."""
    for uid, member, score in members(source, key, uids, ask):
        target = parse_id(member)
        if target is None:
            source.problems.note("members of sets that are no ids", f"{member} in {key(uid)}")
        else:
            yield ForeignEdge(uid, target, seconds_of(score))
