"""Fills a store that has no people: with the lines of a whole site, as a file or another system gives them, with the
keys of another store, or with a demo community.

While it is unfinished, its counters begin with UNFINISHED. So no site can register users or post in it,
and the next run recognises what a killed run has left. The commit point is the SET of `next_user_id`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import redis
from django.conf import settings

from retwis_site.exceptions import NotDone, StoreError, StoreRefused
from retwis_site.features import Line, SiteLines, site_lines
from retwis_site.jobs.outbox import alone, owned
from retwis_site.store import keys, schema
from retwis_site.store.chunks import Writes, ask_part, batches, scanned
from retwis_site.store.client import Handle, Pipe, Result, Store, answers, exactly, for_each
from retwis_site.store.connection import topology
from retwis_site.store.connection.failures import refusal
from retwis_site.store.ids import nonce
from retwis_site.store.kinds import About, Kind, is_ours, kind_of, matching, may_be, unprefixed
from retwis_site.store.schema import UNFINISHED
from retwis_site.store.snowflake import SMALLEST

AT_ONCE = 500  # keys that are read or removed in one round trip, and about the number of fields or members of each


FILLING = "filling"  # one run at a time begins or commits: none begins in the commit of another
BEGINS_WITHIN = 60  # seconds until a run has marked the store for good
PICTURES_AT_ONCE = 16  # of up to 640 KB


class CannotFill(NotDone):
    """The store was not filled, or not completely. The message names the fix."""


class Filling:
    """Writes a site into an empty store: `fill`, which takes all three steps.

    After a crash, begin again: nothing of the unfinished run stays. `dropped` counts, by type, the lines that named an
    unknown user or post."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._run = ""
        self._largest: dict[str, int] = dict.fromkeys(counters(), 0)  # ids, by the key that counts them
        self.dropped: Counter[str] = Counter()

    def fill(self, chunks: Iterable[Sequence[Line]], largest: Mapping[str, int]) -> Iterator[None]:
        """Iterate to write all lines, a chunk a step, and what follows from them. Raises CannotFill."""
        self.begin()
        for lines in chunks:
            self.write(lines)
            yield
        yield from self.finish(largest)

    def begin(self) -> None:
        """Mark the store as unfinished, and remove what an earlier unfinished run has left. Raises CannotFill for a
        store with people."""
        self._run = begin(self._store)

    def write(self, lines: Sequence[Line]) -> None:
        """Write at most 500 lines of any types. All lines of a type come before those of the types after it: user,
        follow, post, like. At most three round trips for each type, and one. Raises what `require` does."""
        mine = require(self._store, self._run)
        for kind in site_lines().values():
            own = [line for line in lines if line["type"] == kind.type]
            if own:
                self._write(mine, kind, own)

    def _write(self, mine: Store, kind: SiteLines, lines: Sequence[Line]) -> None:
        known = self._known(kind, lines)
        self.dropped[kind.type] += len(lines) - len(known)
        writes = Writes(mine)
        kind.write(writes, known)
        writes.execute()
        if kind.counter:
            counted = [line["id"] for line in lines if settings.POST_IDS == "incr" or line["id"] < SMALLEST]
            self._largest[kind.counter()] = max(self._largest[kind.counter()], *counted, 0)

    def _known(self, kind: SiteLines, lines: Sequence[Line]) -> list[Line]:
        """The lines without those that name an unknown or deleted user or post. A field that is left out, or 0, names
        nobody. At most one round trip."""
        with self._store.pipeline() as pipe:
            uids = {line[field] for line in lines for field in kind.users if line.get(field)}
            pids = {line[field] for line in lines for field in kind.posts}
            users = {uid: pipe.hmget(keys.user(uid), ("username", "deleted")) for uid in uids}
            posts = {pid: pipe.hmget(keys.post(pid), ("user_id", "deleted")) for pid in pids}
        known_users = {uid for uid, fields in users.items() if _exists(*fields.value)}
        known_posts = {pid for pid, fields in posts.items() if _exists(*fields.value)}
        return [
            line
            for line in lines
            if known_users.issuperset(line[field] for field in kind.users if line.get(field))
            and known_posts.issuperset(line[field] for field in kind.posts)
        ]

    def finish(self, largest: Mapping[str, int]) -> Iterator[None]:
        """Iterate to write what follows from the lines, the schema and the counters. Commit: the SET of `next_user_id`.
        Raises CannotFill as `write` does.

        `largest`: by type, the largest id that the other site has ever given out. A deleted post keeps its id."""
        for kind in site_lines().values():
            yield from kind.finish(self._store)
            if kind.counter:
                self._largest[kind.counter()] = max(self._largest[kind.counter()], largest.get(kind.type, 0))
        commit(self._store, self._run, self._largest)


def _exists(name: str | None, deleted: str | None) -> bool:
    return name is not None and deleted is None


def counters() -> tuple[str, str]:
    """The keys that begin with UNFINISHED until all else is written. Setting the last one commits."""
    return keys.next_post_id(), keys.next_user_id()


def begin(store: Store, what: str = UNFINISHED) -> str:
    """Mark a store as unfinished, and remove the keys of an earlier unfinished run. Returns the name of this run, for
    `require`; it begins with `what`. Raises CannotFill for a store with people, and what `require` does."""
    refuse_people(store)
    run = f"{what}-{nonce()}"
    with alone(store, FILLING) as mine:
        if not mine.set_nx_ex(keys.next_user_id(), UNFINISHED, BEGINS_WITHIN):
            refuse_people(mine)  # somebody may have registered since then, or another run has come to its commit
        mine.set(keys.next_user_id(), UNFINISHED)
        mine.set(keys.next_post_id(), run)
    for names in _own_names(store):
        _remove(require(store, run), [name for name in names if name not in counters()])
    return run


def require(store: Store, run: str) -> Store:
    """The store for what this run changes next. It raises LeaseEnded after OWNER_GIVES_UP: a run may be stopped here,
    and another one may fill the store meanwhile, so that people use it. Raises CannotFill when another run has begun,
    which has removed what this one has written. One round trip."""
    mine = owned(store)
    if mine.get(keys.next_post_id()) != run:
        raise CannotFill(
            "Another import, copy or restore into this store has begun, or another `seed`, or it has lost its keys. "
            "Leave the store to that one; where there is none, run this again."
        )
    return mine


def commit(store: Store, run: str, largest: Mapping[str, int]) -> None:
    """Note the schema, and of each counter the largest id. Raises CannotFill as `require` does."""
    with alone(store, FILLING) as mine:
        require(mine, run)
        schema.mark(mine)
        for counter in counters():
            mine.set(counter, str(largest[counter]))


def refuse_people(store: Store) -> None:
    """Raises CannotFill for a store with people. One round trip."""
    if is_used(store):
        raise CannotFill(
            "The store at REDIS_URL holds users or posts, or remains of them. Name an empty one. After a run that was "
            "killed at its end, the site is whole: `manage.py doctor` says what is missing."
        )


def is_used(store: Store) -> bool:
    """Whether a store has users or posts, of this site or another, or remains of them other than those of an unfinished
    run: other Retwises have keys with the same names. One round trip; more where other programs have many keys."""
    counter = store.get(keys.next_user_id())
    if counter is not None:
        return counter != UNFINISHED
    return any(
        (kind := may_be(name)) is not None and kind.about is About.PEOPLE
        for names in store.scan_keys(matching("*"), AT_ONCE)
        for name in names
    )


def clear(store: Store) -> int:
    """Remove every key of the key table, with the KEY_PREFIX. Keys of other programs stay, such as `user:settings`.
    Returns how many were removed."""
    return sum(_remove(store, names) for names in _own_names(store))


def _own_names(store: Store) -> Iterator[list[str]]:
    for names in store.scan_keys(matching("*"), AT_ONCE):
        yield [name for name in names if is_ours(name)]


def _remove(store: Store, names: Iterable[str]) -> int:
    return sum(answers(store, lambda pipe, name: pipe.unlink(name), names).values())


# ---- Copies a whole site from one store to another, of any topology: key by key, with plain commands.


@dataclass(frozen=True)
class Key:
    """A key to be copied. `ttl` in milliseconds; -1 without an expiry."""

    name: str
    kind: Kind
    ttl: int


@dataclass
class KindCounts:
    """The counts for one kind of key."""

    keys: int = 0  # at the source
    entries: int = 0  # their fields or members together
    complete: int = 0  # the keys that have arrived at the target with all entries


class Copy:
    """Copies the keys. Iterate to run it, a chunk a step."""

    def __init__(self, source: Store, target: Store) -> None:
        self._source = source
        self._target = target
        self._run = ""
        self._counters: dict[str, str | None] = {}
        self._worker_seen: list[str | None] = []

    def begin(self) -> None:
        """Mark the target as unfinished, and remove the keys of an earlier unfinished copy. Raises CannotFill."""
        _refuse_replicas(self._source)
        self._counters, self._worker_seen = _counters(self._source), _worker_seen(self._source)
        if not _holder(self._source, keys.users()):
            raise CannotFill(
                f"No user is registered at --from with REDIS_KEY_PREFIX={keys.PREFIX!r}. "
                "Name all servers of the site, and set the same REDIS_KEY_PREFIX as the site."
            )
        if UNFINISHED in self._counters.values():
            raise CannotFill("--from names an unfinished copy. Name the store that it was made from.")
        self._run = begin(self._target)

    def __iter__(self) -> Iterator[None]:
        """Two round trips to the target for each part of keys. Raises what `require` does."""
        for server, chunk in _chunks(self._source):
            for some in _by_weight([key for key in chunk if key.name not in counters()]):
                for parts in scanned(server, _ask_part, some):
                    mine = require(self._target, self._run)
                    for_each(mine, lambda pipe, part: _write(pipe, *part), parts)
                    yield

    def finish(self) -> None:
        """Commit the copy. Raises CannotFill when the site has changed the counters since `begin`, or its worker has
        run, and after another `begin`. No count of both stores shows a new password, or a key that was copied before
        it was changed; a worker notes each ten seconds that it runs."""
        if _counters(self._source) != self._counters:
            raise CannotFill("A user posted or registered during the copy. Stop the site, and run this again.")
        if _worker_seen(self._source) != self._worker_seen:
            raise CannotFill(
                "The site at --from runs: its worker has noted so during the copy. Stop its web processes and "
                "`deliver`, and run this again."
            )
        with alone(self._target, FILLING) as target:
            require(target, self._run)
            for counter in counters():
                value = self._counters[counter]
                if value is None:
                    target.unlink(counter)
                else:
                    target.set(counter, value)


def compared(source: Store, target: Store, kinds: defaultdict[str, KindCounts]) -> Iterator[None]:
    """Compare two stores, a chunk a step. The counts of each kind of key are added to `kinds`."""
    for server, chunk in _chunks(source):
        target_sizes = _sizes(target, chunk)  # first: a key expires a little later in the target
        source_sizes = _sizes(server, chunk)
        for key, arrived, size in zip(chunk, target_sizes, source_sizes, strict=True):
            counts = kinds[key.kind.pattern]
            counts.keys += size > 0
            counts.entries += size
            counts.complete += 0 < size <= arrived
        yield


class SourceStore(Store):
    """The store at --from: its errors say so."""

    def failure(self, error: redis.RedisError, of: str = "the connection") -> StoreError:
        if isinstance(error, redis.ResponseError):
            refused = refusal(of, error)
            return type(refused)(f"at --from, {refused}")
        fix = "Name a running server, with a user and password that it accepts."
        return StoreError(f"--from does not answer: {str(error).rstrip('.')}. {fix}")

    def servers(self) -> list[Store]:
        return [type(self)(server.transport) for server in super().servers()]


def connect_source(urls: Sequence[str]) -> SourceStore:
    """The store that these servers make up, with every byte unchanged. One round trip to each. Raises StoreError."""
    source = SourceStore(topology.servers(urls, exactly()))
    with suppress(StoreRefused):  # the user may not send INFO
        if any(info.get("cluster_enabled") for info in source.info()):
            return SourceStore(topology.cluster(urls, exactly()))
    return source


def _refuse_replicas(source: Store) -> None:
    try:
        roles = {info.get("role") for info in source.info()}
    except StoreRefused:  # INFO is not allowed: the role is unknown
        return
    if roles != {"master"}:
        raise CannotFill("--from names a replica, which may lag behind, or a sentinel. Name the primary.")


def _holder(store: Store, name: str) -> Store | None:
    """The server that has a key. Servers behind a proxy do not know each other, so each one is asked."""
    pattern = matching(unprefixed(name))
    return next((server for server in store.servers() if any(server.scan_keys(pattern, AT_ONCE))), None)


def _counters(source: Store) -> dict[str, str | None]:
    holders = {counter: _holder(source, counter) for counter in counters()}
    return {counter: holder.get(counter) if holder else None for counter, holder in holders.items()}


def _worker_seen(source: Store) -> list[str | None]:
    """When a worker last ran, as the servers have it. A server of a cluster that has not this key refuses."""
    seen = []
    for server in source.servers():
        with suppress(StoreRefused):
            seen.append(server.get(keys.worker_seen()))
    return seen


def _chunks(source: Store) -> Iterator[tuple[Store, list[Key]]]:
    """All keys to be copied, in chunks, with the server that has them. A key whose type differs from the key table is
    skipped: it is inconsistent, or belongs to another program."""
    for server in source.servers():
        for names in server.scan_keys(matching("*"), AT_ONCE):
            named = [(name, kind) for name in names if (kind := kind_of(name)) and kind.is_copied]
            with server.pipeline() as pipe:
                states = [(name, kind, pipe.type(name), pipe.pttl(name)) for name, kind in named]
            right = [(name, kind, ttl) for name, kind, found, ttl in states if found.value == kind.type]
            yield server, [Key(name, kind, ttl.value) for name, kind, ttl in right]


def _by_weight(chunk: list[Key]) -> Iterator[list[Key]]:
    """Pictures are long, so that few are read together."""
    yield [key for key in chunk if key.kind is not keys.media]
    yield from batches((key for key in chunk if key.kind is keys.media), PICTURES_AT_ONCE)


def _ask_part(pipe: Pipe, key: Key, cursor: int) -> Handle[tuple[int, Any]]:
    """Ask for what one command reads, and one writes."""
    return ask_part(pipe, key.kind.type, key.name, cursor)


def _write(pipe: Pipe, key: Key, content: Any) -> None:
    if content in (None, {}, []):  # the key has expired meanwhile, or SCAN returned an empty chunk
        return
    if key.kind.type == "hash":
        pipe.hset(key.name, content)
    elif key.kind.type == "zset":
        pipe.zadd(key.name, dict(content))
    else:
        pipe.set(key.name, content)
    if key.ttl >= 0:
        pipe.pexpire(key.name, key.ttl)


def _sizes(store: Store, chunk: list[Key]) -> list[int]:
    """The number of fields or members of each key; 1 for a string, 0 for a missing key. One round trip."""
    sizes = answers(store, _ask_size, chunk)
    return [sizes[key] for key in chunk]  # SCAN may name a key twice


def _ask_size(pipe: Pipe, key: Key) -> Handle[int]:
    if key.kind.type == "hash":
        return pipe.hlen(key.name)
    if key.kind.type == "zset":
        return pipe.zcard(key.name)
    found = pipe.type(key.name)
    return Result(lambda: int(found.value != "none"))
