"""The database of another Retwis. It is only read: a command that is not in READS never leaves the process.

`SSCAN` has no method in store/commands.py, which has the commands that the site sends to its own store.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from retwis_site.maintenance.site_copy import connect_source, source_errors
from retwis_site.store import schema
from retwis_site.store.chunks import batches
from retwis_site.store.client import Pipe, RoundTrip, Store
from retwis_site.store.connection.recorder import Command
from retwis_site.store.connection.transport import OneServer, Queued
from retwis_site.store.ids import parse_id
from retwis_site.store.replies import Answer
from timeline.other_retwises.dates import seconds_of
from timeline.other_retwises.entities import CannotImport, Edge

AT_ONCE = 500  # keys that are read in one round trip, and about the number of members of each
SETS_AT_ONCE = 50  # each may have AT_ONCE members

READS = schema.READS | {"SSCAN"}

Scan = tuple[int, list[tuple[str, float | None]]]  # the next cursor, and some members with their scores
AskScan = Callable[[Pipe, str, int], Answer[Scan]]


class Source(Store):
    """Sends only READS. A StoreError says that it is about --from."""

    def round_trip(self, commands: list[Command]) -> RoundTrip:
        """Raises CannotImport for any command that is not in READS."""
        for name, *_ in commands:
            if name not in READS:
                raise CannotImport(f"{name} was not sent: an import only reads at --from.")
        return super().round_trip(commands)

    def exchange(self, queued: list[Queued]) -> list[Any]:
        with source_errors():
            return super().exchange(queued)

    def servers(self) -> list[Store]:
        with source_errors():
            return [Source(server.transport) for server in super().servers()]


def connect_to(urls: Sequence[str]) -> Source:
    """One round trip to each address. Raises StoreError, and CannotImport for servers that are no cluster."""
    source = Source(connect_source(urls).transport)
    if len(urls) > 1 and isinstance(source.transport, OneServer):
        raise CannotImport(
            "--from names several servers that are no cluster. Name one server, or servers of a cluster."
        )
    return source


# ---- keys with numbers: `post:id:<number>:content`


def numbers(source: Store, before: str, after: str = "") -> Iterator[list[int]]:
    """The numbers of all such keys, in chunks. A number may come twice. One round trip a chunk."""
    for names in source.scan_keys(f"{before}*{after}", AT_ONCE):
        texts = [name[len(before) : len(name) - len(after)] for name in names]
        yield [number for text in texts if (number := whole_id(text)) is not None]


def whole_id(text: str | None) -> int | None:
    """The id in a key or a value; None for any other text, such as one with a zero before it."""
    return parse_id(text) if text and not text.startswith("0") else None


def ranges(chunks: Iterable[list[int]]) -> Iterator[range]:
    """Ascending ranges of AT_ONCE ids, such that each id is in one of them. It holds one number for each range."""
    parts = {number // AT_ONCE for chunk in chunks for number in chunk}
    for part in sorted(parts):
        yield range(max(part * AT_ONCE, 1), (part + 1) * AT_ONCE)


# ---- edges, in sets and sorted sets


def ask_set(pipe: Pipe, key: str, cursor: int) -> Answer[Scan]:
    reply = pipe.send("SSCAN", key, cursor, "COUNT", AT_ONCE)
    return Answer(lambda: (reply.value[0], [(member, None) for member in reply.value[1]]))


def ask_sorted_set(pipe: Pipe, key: str, cursor: int) -> Answer[Scan]:
    reply = pipe.zscan(key, cursor, AT_ONCE)
    return Answer(lambda: (reply.value[0], list(reply.value[1])))


Member = tuple[int, str, float | None]  # the uid in the key, a member of the key, and its score


def members(source: Store, key: Callable[[int], str], uids: Sequence[int], ask: AskScan) -> Iterator[list[Member]]:
    """The members of a set of each person, in chunks of at most AT_ONCE. One round trip for SETS_AT_ONCE people, and
    one more for each further AT_ONCE members of a set. A member may come twice."""
    for some in batches(uids, SETS_AT_ONCE):
        pipe = source.pipeline()
        scans = [(uid, ask(pipe, key(uid), 0)) for uid in some]
        pipe.execute()
        for uid, scan in scans:
            cursor, found = scan.value
            yield from _split(uid, found)
            while cursor:
                rest = ask(pipe, key(uid), cursor)
                pipe.execute()
                cursor, found = rest.value
                yield from _split(uid, found)


def _split(uid: int, found: list[tuple[str, float | None]]) -> Iterator[list[Member]]:
    for start in range(0, len(found), AT_ONCE):
        yield [(uid, member, score) for member, score in found[start : start + AT_ONCE]]


def edges(chunks: Iterable[list[Member]]) -> Iterator[list[Edge]]:
    """The edges of chunks whose members are ids; other members are left out."""
    for chunk in chunks:
        yield [
            Edge(uid, target, seconds_of(score))
            for uid, member, score in chunk
            if (target := whole_id(member)) is not None
        ]
