"""A whole site from one store to another, whatever the two are: key by key, with plain commands.

While a copy is not finished, its counters hold UNFINISHED instead of a number. So no site registers anybody in it or
posts, whoever is killed leaves what the next run knows for its own, and the commit point is the SET of `next_user_id`.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from retwis_site.exceptions import StoreError, StoreRefused
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store, connect_exactly
from retwis_site.store.commands import Commands

AT_ONCE = 500  # keys that are read in one round trip, and about as many fields or members of each
UNFINISHED = "copying"
COUNTERS = (keys.next_post_id(), keys.next_user_id())  # the last one says that the copy is whole

# Lists are caches, which the next read rebuilds; a lease names a worker of the old site, and `health` its probe.
LEFT = {"lease:*", "health"}
COPIED = {kind: is_type for kind, is_type in keys.TYPES.items() if is_type != "list" and kind not in LEFT}


_KINDS: dict[str, list[str]] = defaultdict(list)  # by what stands before the colon
for _pattern in keys.ALL:
    _KINDS[_pattern.partition(":")[0]].append(_pattern)


class CannotCopy(Exception):
    """The copy was not begun, or is not whole; the message names the fix."""


@dataclass(frozen=True)
class Key:
    """A key to be copied. `life`: milliseconds that it has left, -1 without an end."""

    name: str
    kind: str
    life: int

    @property
    def type(self) -> str:
        return COPIED[self.kind]


@dataclass(frozen=True)
class KeyChunk:
    """A string, or some of the fields or members of a key: what one command reads and one writes."""

    key: Key
    content: Any


@dataclass
class Arrived:
    """Of one kind: how many keys there are at the source, how many fields or members they have together, and how many
    of the keys have come to the target whole."""

    keys: int = 0
    entries: int = 0
    whole: int = 0


class Copy:
    """The work; its length is about how many chunks it goes through: iterate to go on."""

    def __init__(self, source: Store, target: Store) -> None:
        self._source = source
        self._target = target
        self._counters: dict[str, str | None] = {}

    def begin(self) -> None:
        """Mark the target, and clear what an earlier copy left in it. Raises CannotCopy."""
        with _of_the_source():
            _refuse_replicas(self._source)
            self._counters = _counters(self._source)
            if not _holder(self._source, keys.users()):
                raise CannotCopy(
                    f"Nobody is registered at --from, with REDIS_KEY_PREFIX={keys.PREFIX!r}. Name all servers that "
                    "have the site's keys, and set that variable as the site has it."
                )
        if UNFINISHED in self._counters.values():
            raise CannotCopy("What --from names is a copy that was not finished. Name the store that it was made from.")
        _refuse_used(self._target)
        for counter in COUNTERS:
            self._target.set(counter, UNFINISHED)
        _clear(self._target)

    def __len__(self) -> int:
        with _of_the_source():
            return self._source.dbsize() // AT_ONCE + 1

    def __iter__(self) -> Iterator[None]:
        for chunks in self._parts():
            pipe = self._target.pipeline()
            for chunk in chunks:
                _write(pipe, chunk)
            pipe.execute()
            yield

    def _parts(self) -> Iterator[list[KeyChunk]]:
        with _of_the_source():
            for server, found in _chunks(self._source):
                yield from _read(server, [key for key in found if key.name not in COUNTERS])

    def comparison(self) -> "Comparison":
        return Comparison(self._source, self._target)

    def finish(self) -> None:
        """The commit. Raises CannotCopy when the site was at work meanwhile."""
        with _of_the_source():
            if _counters(self._source) != self._counters:
                raise CannotCopy("Somebody posted or registered meanwhile. Stop the site, and run this again.")
        for counter in COUNTERS:
            value = self._counters[counter]
            if value is None:
                self._target.unlink(counter)
            else:
                self._target.set(counter, value)


class Comparison:
    """What has arrived, kind by kind; to be gone through likewise."""

    def __init__(self, source: Store, target: Store) -> None:
        self._source = source
        self._target = target
        self.kinds: dict[str, Arrived] = defaultdict(Arrived)

    def __len__(self) -> int:
        with _of_the_source():
            return self._source.dbsize() // AT_ONCE + 1

    def __iter__(self) -> Iterator[None]:
        for server, found in _from_the_source(self._source):
            here = _sizes(self._target, found)  # first: a key ends here a little later than there
            with _of_the_source():
                there = _sizes(server, found)
            for key, arrived, size in zip(found, here, there, strict=True):
                kind = self.kinds[key.kind]
                kind.keys += size > 0
                kind.entries += size
                kind.whole += 0 < size <= arrived
            yield


def connect_source(urls: Sequence[str]) -> Store:
    """The store that those servers have between them. One round trip to each. Raises StoreError."""
    with _of_the_source():
        return connect_exactly(urls)


_FIX = "Name a server that runs, with a user and password that it knows."


@contextmanager
def _of_the_source() -> Iterator[None]:
    """Say of which of the two stores a failure is."""
    try:
        yield
    except StoreRefused as error:
        raise StoreError(f"at --from, {error}") from error
    except StoreError as error:
        reason = str(error.__cause__ or error).rstrip(".")
        raise StoreError(f"--from does not answer: {reason}. {_FIX}") from error


def _refuse_replicas(source: Store) -> None:
    try:
        roles = {said.get("role") for said in source.info()}
    except StoreRefused:  # it tells nothing about itself
        return
    if roles != {"master"}:
        raise CannotCopy("--from names a replica, which may lag behind, or a sentinel. Name the primary.")


def _refuse_used(target: Store) -> None:
    pipe = target.pipeline()
    pipe.hlen(keys.users())
    pipe.get(keys.next_user_id())
    users, counter = pipe.execute()
    if counter != UNFINISHED and (users or counter is not None):
        raise CannotCopy("The store at REDIS_URL holds users, or what is left of some. Name an empty one.")


def _clear(target: Store) -> None:
    """Away with every key of the key table but the counters."""
    for found in target.scan_keys(keys.matching("*"), AT_ONCE):
        pipe = target.pipeline()
        for name in found:
            if _kind(name) and name not in COUNTERS:
                pipe.unlink(name)
        pipe.execute()


def _holder(store: Store, name: str) -> Store | None:
    """The server that has a key. Of several that know nothing of each other, only they can tell."""
    pattern = keys.matching(name.removeprefix(keys.PREFIX))
    return next((server for server in store.servers() if any(server.scan_keys(pattern, 10_000))), None)


def _counters(source: Store) -> dict[str, str | None]:
    holders = {counter: _holder(source, counter) for counter in COUNTERS}
    return {counter: holder.get(counter) if holder else None for counter, holder in holders.items()}


def _kind(name: str) -> str | None:
    """Which of the patterns of the key table a key has: `post:*` for `post:7`. None for a stranger."""
    own = name.removeprefix(keys.PREFIX)
    return next((kind for kind in _KINDS.get(own.partition(":")[0], []) if fnmatchcase(own, kind)), None)


def _chunks(store: Store) -> Iterator[tuple[Store, list[Key]]]:
    """All keys that are to be copied, and the server that has them. What is there with another type than the key
    table's, a neighbour's key or damage, is passed over."""
    for server in store.servers():
        for found in server.scan_keys(keys.matching("*"), AT_ONCE):
            named = [(name, kind) for name in found if (kind := _kind(name)) in COPIED]
            pipe = server.pipeline()
            for name, _ in named:
                pipe.type(name)
                pipe.pttl(name)
            replies = iter(pipe.execute())
            keyed = zip(named, replies, replies, strict=True)
            yield server, [Key(name, kind, life) for (name, kind), is_type, life in keyed if is_type == COPIED[kind]]


def _from_the_source(source: Store) -> Iterator[tuple[Store, list[Key]]]:
    with _of_the_source():
        yield from _chunks(source)


def _read(server: Store, found: list[Key]) -> Iterator[list[KeyChunk]]:
    """Most keys come whole in one round trip for all; large ones are read on, one after the other."""
    pipe = server.pipeline()
    for key in found:
        _ask(pipe, key, 0)
    large: list[tuple[Key, int]] = []
    chunks: list[KeyChunk] = []
    for key, reply in zip(found, pipe.execute(), strict=True):
        cursor, content = (0, reply) if key.type == "string" else reply
        chunks.append(KeyChunk(key, content))
        large.append((key, cursor))
    yield chunks
    for key, cursor in large:
        while cursor:
            cursor, content = _ask(server, key, cursor)
            yield [KeyChunk(key, content)]


def _ask(commands: Commands, key: Key, cursor: int) -> Any:
    if key.type == "hash":
        return commands.hscan(key.name, cursor, AT_ONCE)
    if key.type == "zset":
        return commands.zscan(key.name, cursor, AT_ONCE)
    return commands.get(key.name)


def _write(pipe: Pipe, chunk: KeyChunk) -> None:
    key, content = chunk.key, chunk.content
    if content in (None, {}, []):  # it has ended meanwhile, or a chunk is empty
        return
    if key.type == "hash":
        pipe.hset(key.name, content)
    elif key.type == "zset":
        pipe.zadd(key.name, dict(content))
    else:
        pipe.set(key.name, content)
    if key.life >= 0:
        pipe.pexpire(key.name, key.life)


def _sizes(store: Store, found: list[Key]) -> list[int]:
    """How many fields or members each has, a string one; 0 without such a key. One round trip."""
    pipe = store.pipeline()
    for key in found:
        {"hash": pipe.hlen, "zset": pipe.zcard, "string": pipe.type}[key.type](key.name)
    replies = pipe.execute()
    return [int(reply != "none") if key.type == "string" else reply for key, reply in zip(found, replies, strict=True)]
