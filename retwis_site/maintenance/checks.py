"""The parts of a check. `doctor` and `cleanup` search all keys of a kind, in chunks, while the site runs.

A check is about keys of some kinds: it gets their names in chunks, and yields its findings. The checks run one after
another, and `KeyNames` has the names for all of them: a key may be gone before its check. Most checks have a `look`,
which returns what is wrong at one moment. An operation under way leaves keys inconsistent for a moment. That is no
finding: `confirmed` leaves it out.
"""

import json
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain, count
from typing import Any, NamedTuple, TypeVar
from zlib import compress, decompress

from retwis_site.jobs.outbox import Outbox
from retwis_site.store import keys
from retwis_site.store.chunks import SETS_AT_ONCE, batches, scanned
from retwis_site.store.client import Handle, Pipe, Result, Scored, Store, answers
from retwis_site.store.commands import MAKE_NO_KEY
from retwis_site.store.connection import recorder
from retwis_site.store.ids import parse_id
from retwis_site.store.kinds import KINDS, Kind, OfId, id_in, is_ours, matching, may_be
from retwis_site.store.local_cache import Memory

T = TypeVar("T")

AT_ONCE = 500  # keys, fields or members that are read in one round trip
SCANNED_AT_ONCE = 2000  # names of keys, without what they hold
EXAMPLES = 20  # findings of a check that are described; the others are only counted


@dataclass(frozen=True)
class Finding:
    """One inconsistency or orphan: a description without secrets, and its repair. A repair can run twice."""

    what: str
    # Its arguments may hold a secret. None: only the operator knows what is right, and the description says how.
    repair: Callable[[], object] | None = field(repr=False)
    number: int = 1  # of keys or fields, where one repair is for many
    is_last: bool = False  # it stands for all that the check would find in further keys


Chunks = Iterator[list[Finding]]


@dataclass(frozen=True)
class Check:
    """One invariant of the keys of some kinds. It may rely on the checks before it: they have ended."""

    label: str
    of: tuple[Kind, ...] = ()
    # The findings in keys of one of these kinds, at most AT_ONCE.
    find: Callable[[list[str]], Chunks] = lambda names: iter(())
    at_end: Callable[[], Chunks] = lambda: iter(())  # what is found when all keys were seen
    most_told: float = EXAMPLES


class KeyNames:
    """The names of all keys, from one pass over them, in chunks of at most AT_ONCE names of one kind. Each chunk is
    packed, so a key takes some 5 to 10 bytes of memory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._packed: dict[Kind, list[bytes]] = {}  # empty until `walk` has ended

    def steps(self, of: Sequence[Kind]) -> int:
        """About how many steps it takes to go through the keys of these kinds."""
        if self._must_walk(of):
            return len(of) + self._store.dbsize() // AT_ONCE
        return sum(len(self._packed[kind]) if kind.parts else 1 for kind in of)

    def walk(self, of: Sequence[Kind]) -> Iterator[None]:
        """Make the names of these kinds known, and with them all others; no step where they are known."""
        if not self._must_walk(of):
            return
        packed: dict[Kind, list[bytes]] = {kind: [] for kind in KINDS.values() if kind.parts}
        for kind, names in keys_of(self._store, list(packed)):
            packed[kind].append(_packed(names))
            yield
        self._packed = packed

    def names(self, of: Sequence[Kind]) -> Iterator[list[str]]:
        """The names of the keys of these kinds, of one kind in each chunk. No round trip."""
        for kind in of:
            if kind.parts:
                yield from (json.loads(decompress(some)) for some in self._packed[kind])
            else:
                yield [kind.only_key]

    def add(self, made: "KeysMade") -> None:
        """Keys that a check has made have names for the checks after it. No round trip."""
        of = [kind for kind in self._packed.keys() & set(map(may_be, made.names)) if kind]
        for known in self.names(of):
            made.names.difference_update(known)
        for kind, names in _by_kind([made.names], of):
            self._packed[kind].append(_packed(names))

    def _must_walk(self, of: Sequence[Kind]) -> bool:
        return not self._packed and any(kind.parts for kind in of)


def _packed(names: list[str]) -> bytes:
    return compress(json.dumps(names).encode(), 1)


class KeysMade(recorder.Recording):
    """A recording that has, of all commands, the names of the keys that they may have made."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def add(self, commands: Sequence[recorder.Command]) -> recorder.RoundTrip[recorder.Command]:
        self.names.update(str(key) for name, *rest in commands if name not in MAKE_NO_KEY for key in rest[:1])
        return recorder.RoundTrip((), len(commands))


def keys_of(store: Store, of: Sequence[Kind]) -> Iterator[tuple[Kind, list[str]]]:
    """All keys of some kinds, in one pass: at most AT_ONCE names of one kind at once. It keeps no more than that of
    each kind. One round trip for each SCANNED_AT_ONCE keys of the site; none for kinds that are a single key."""
    several = [kind for kind in of if kind.parts]
    yield from ((kind, [kind.only_key]) for kind in of if not kind.parts)
    if several:
        yield from _by_kind(_scanned(store, several), several)


def _by_kind(chunks: Iterable[Iterable[str]], of: Sequence[Kind]) -> Iterator[tuple[Kind, list[str]]]:
    """Those of these names that keys of some kinds have, at most AT_ONCE of one kind at once."""
    waiting: dict[Kind, list[str]] = {kind: [] for kind in of}
    for name in chain.from_iterable(chunks):
        found = may_be(name)
        if found not in waiting or not is_ours(name):  # a program may have `thread:settings` beside the site's keys
            continue
        waiting[found].append(name)
        if len(waiting[found]) == AT_ONCE:
            yield found, waiting[found]
            waiting[found] = []
    yield from ((kind, names) for kind, names in waiting.items() if names)


def _scanned(store: Store, of: Sequence[Kind]) -> Iterator[list[str]]:
    """The names of all keys, or of those of a kind that is alone: then the server leaves out the others."""
    if len(of) == 1:
        return store.scan_keys(matching(of[0].pattern), AT_ONCE)
    return store.scan_keys(matching("*"), SCANNED_AT_ONCE)


# ---- What is read of the keys of a chunk. Each yields chunks, which may be empty.

Read = Callable[[Store, list[str]], Iterator[list[Any]]]


def names_alone(store: Store, names: list[str]) -> Iterator[list[str]]:
    """The names of the keys themselves. No round trip."""
    yield names


def ids(store: Store, names: list[str]) -> Iterator[list[int]]:
    """The ids in their names, such as in `user:12`. No round trip."""
    yield [number for name in names if (number := id_in(name)) is not None]


def fields(store: Store, names: list[str]) -> Iterator[list[tuple[str, str]]]:
    """The fields of hashes with their values. One round trip for each AT_ONCE fields."""
    return chain.from_iterable(store.hash_fields(name, AT_ONCE) for name in names)


def names_in(store: Store, names: list[str]) -> Iterator[list[str]]:
    """The fields of hashes without their values. Round trips as for `fields`."""
    return ([field for field, _ in chunk] for chunk in fields(store, names))


def scored_in(store: Store, names: list[str]) -> Iterator[Scored]:
    """The members of sorted sets with their scores. One round trip for each AT_ONCE members."""
    return chain.from_iterable(store.zset_scored(name, AT_ONCE) for name in names)


def texts_in(store: Store, names: list[str]) -> Iterator[list[str]]:
    """The members of sorted sets without their scores. Round trips as for `scored_in`."""
    return ([member for member, _ in chunk] for chunk in scored_in(store, names))


def entries(store: Store, names: list[str]) -> Iterator[list[tuple[str, str, float]]]:
    """What sorted sets have, as (key, member, score).

    One round trip reads AT_ONCE members of each of SETS_AT_ONCE sets."""
    return batches(_each_entry(store, names), AT_ONCE)


def places(store: Store, names: list[str]) -> Iterator[list[tuple[str, str]]]:
    """As `entries`, without the scores."""
    return ([(key, member) for key, member, _ in chunk] for chunk in entries(store, names))


def _each_entry(store: Store, names: list[str]) -> Iterator[tuple[str, str, float]]:
    for some in batches(names, SETS_AT_ONCE):
        for parts in scanned(store, lambda pipe, name, cursor: pipe.zscan(name, cursor, AT_ONCE), some):
            yield from ((key, member, score) for key, found in parts for member, score in found)


def rows(store: Store, names: list[str]) -> Iterator[list[tuple[int, str, float]]]:
    """As `entries`, with the id in the key."""
    named = {name: number for name in names if (number := id_in(name)) is not None}
    return ([(named[key], member, score) for key, member, score in chunk] for chunk in entries(store, list(named)))


def members(store: Store, names: list[str]) -> Iterator[list[tuple[int, int, float]]]:
    """As `rows`, of members that are ids. `KeyChecks` find the others."""
    return (
        [(number, member, score) for number, text, score in chunk if (member := parse_id(text)) is not None]
        for chunk in rows(store, names)
    )


def pairs(store: Store, names: list[str]) -> Iterator[list[tuple[int, int]]]:
    """As `members`, without the scores."""
    return ([(number, member) for number, member, _ in chunk] for chunk in members(store, names))


def ids_of(store: Store, of: Kind) -> Iterator[list[int]]:
    """The ids of all keys of a kind. Yields chunks, which may be empty."""
    return chain.from_iterable(ids(store, names) for _, names in keys_of(store, [of]))


# ---- What is wrong


class AtWork(NamedTuple):
    """Explains a finding as the name of a job does: that one is at work on `what`, where no name says it. `find` tells
    on what all jobs are, from the store and the beginnings of their names."""

    find: Callable[[Store, Collection[str]], Container[Any]]
    what: Hashable


Jobs = Callable[..., Collection[str | AtWork]]  # those that would explain a finding, as `Outbox.under_way` has them


def _itself(one: T) -> T:
    return one


def confirmed(
    store: Store,
    suspects: Sequence[T],
    look: Callable[[list[Any]], Iterable[T]],
    jobs: Jobs = lambda _: (),
    subject: Callable[[T], Any] = _itself,
) -> list[T]:
    """The suspects that no operation under way explains, and that a second `look` at their subjects finds again.

    The job of an operation is in the outbox before truth and mirrors disagree, and stays until they agree again. `jobs`
    returns those that would explain a suspect.

    The outbox is only read for suspects that the jobs of its last read do not explain. A job of that read may have
    ended since: what it has left then is found by the next run.
    """
    known = _last_read.get(store)
    left = {one for one in suspects if known is None or not known.has(jobs(one))}
    if not left:
        return []
    now = _UnderWay(store)
    _last_read.put(store, now)
    left = {one for one in left if not now.has(jobs(one))}
    again = look(list(dict.fromkeys(subject(one) for one in suspects if one in left))) if left else ()
    return [one for one in again if one in left]


class _UnderWay:
    """What one read of the outbox has found."""

    def __init__(self, store: Store) -> None:
        self._names = names = Outbox(store).under_way()
        self._found = cache(lambda find: find(store, names))

    def has(self, jobs: Collection[str | AtWork]) -> bool:
        """Whether one of these jobs is under way. What they are at work on is found out once, when no name says it."""
        if not self._names.isdisjoint(jobs):
            return True
        return any(one.what in self._found(one.find) for one in jobs if isinstance(one, AtWork))


# What the last read of a store has found; some 300 bytes for each job.
_last_read: Memory[Store, _UnderWay] = Memory(size=2, seconds=60)


@dataclass(frozen=True)
class Built:
    """A sorted set without which all that a check looks at is wrong. Then one finding stands for all of it."""

    key: str
    build: Callable[[], object]


def check_of(
    store: Store,
    label: str,
    of: Kind,
    look: Callable[[list[Any]], Sequence[Any]],
    says: str = "",
    repair: Callable[..., object] | None = None,
    *,
    repair_all: Callable[[Sequence[Any]], object] | None = None,
    read: Read | None = None,
    jobs: Jobs | None = None,
    built: Built | None = None,
) -> Check:
    """A check that looks at what it reads of each key. `look` returns what is wrong now, of what it gets: each is an id
    or a text, or a tuple that begins with the id in a key and a member. Where `look` gets ids or names, a tuple begins
    with one of them.

    `says` describes a finding: `{0}` is the first part of what is wrong, or all of it; `{key}` its key. `repair` and
    `jobs` get the parts. Without them a finding is named by its key and member, and removed, and the key table says
    which jobs may be at work on it. `repair_all`, in place of `repair`: it gets all of a chunk, so that a lost key of
    many members is back in few round trips."""
    read = read or (ids if of.parts else fields if of.type == "hash" else texts_in)
    repair = repair or partial(_remove, store, of)
    jobs = jobs or partial(_explained_by, of)

    def find(names: list[str]) -> Chunks:
        for chunk in read(store, names):
            suspects = look(chunk) if chunk else []
            subject = _itself if chunk and isinstance(chunk[0], tuple) else _first
            found = confirmed(store, suspects, look, lambda one: jobs(*_parts(one)), subject)
            if found and read in (ids, names_alone):  # the others have just read the keys
                found = still_there(store, found, lambda one: _place(of, one)[0])
            if found and built is not None and not store.zcard(built.key):
                what = f"there is no {built.key}, as in a foreign database"
                yield [Finding(what, built.build, is_last=True)]
                return
            if repair_all is None:
                yield [Finding(_described(says, of, one), partial(repair, *_parts(one))) for one in found]
            else:
                yield [
                    Finding(_described(says, of, one), (lambda: None) if number else partial(repair_all, found))
                    for number, one in enumerate(found)
                ]

    return Check(label, (of,), find)


def _parts(one: Any) -> tuple[Any, ...]:
    return one if isinstance(one, tuple) else (one,)


def _first(one: Any) -> Any:
    return _parts(one)[0]


def _described(says: str, of: Kind, one: Any) -> str:
    place = _place(of, one)
    return says.format(*_parts(one), key=place[0]) if says else " has ".join(place)


def _place(of: Kind, one: Any) -> list[str]:
    """The key of what is wrong, and a member or a field of it, unless it is the key itself."""
    first, *more = _parts(one)
    if isinstance(of, OfId):
        return [of(first), *map(str, more[:1])]
    return [first, *map(str, more[:1])] if of.parts else [of.only_key, first]


def _remove(store: Store, of: Kind, *parts: Any) -> None:
    key, *named = _place(of, parts)
    if not named:
        store.unlink(key)
    else:
        store.send("HDEL" if of.type == "hash" else "ZREM", key, *named)


def _explained_by(of: Kind, owner: Any, *more: Any) -> set[str]:
    return of.explained_by(owner, str(more[0] if more else owner))


def still_there(store: Store, found: Sequence[T], key_of: Callable[[T], str]) -> list[T]:
    """What is wrong about keys that still exist. Their names may have been read an hour ago. One round trip."""
    types = answers(store, lambda pipe, key: pipe.type(key), {key_of(one) for one in found})
    return [one for one in found if types[key_of(one)] != "none"]


class Searcher:
    """Finds what is wrong about one thing. The methods are its checks, or what they look at."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._check_of = partial(check_of, store)

    def inconsistencies(self) -> list[Check]:
        """What contradicts something else."""
        return []

    def orphans(self) -> list[Check]:
        """What is harmless; `cleanup` removes it."""
        return []


def looking(store: Store, ask: Callable[[Pipe, T], Handle[bool]]) -> Callable[[Iterable[T]], list[T]]:
    """A look of one round trip: those of which `ask` says that they are wrong."""

    return lambda some: [one for one, is_wrong in answers(store, ask, some).items() if is_wrong]


def only(ask: Callable[[Pipe, Any], Handle[bool]]) -> Read:
    """Of the ids in their names, those of which `ask` says yes. One round trip a chunk."""
    return lambda store, names: map(looking(store, ask), ids(store, names))


# ---- What `doctor --fix` removes because it is bad is kept under `damaged:`, until that expires.


def _values_of(key: str) -> str:
    return f"{keys.damaged(key)}:values"


def move_away(store: Store, key: str) -> None:
    """Move a key to the first name under `damaged:` that is free. Four round trips, one more for each name in use."""
    dumped = store.dump(key)
    if dumped is not None:
        names = chain([keys.damaged(key)], (f"{keys.damaged(key)}:again:{number}" for number in count(2)))
        # The same content is there already when a repair was killed.
        free = next(name for name in names if store.dump(name) in {None, dumped})
        store.restore(free, keys.damaged.lives, dumped)
        store.unlink(key)


def keep(store: Store, key: str, name: bytes, value: bytes | float) -> None:
    """Keep a member of `key` with its score, or a field with its value. What is kept of this name already stays. One
    round trip."""
    with store.pipeline() as pipe:
        queue_keep(pipe, key, name, value)


def queue_keep(pipe: Pipe, key: str, name: bytes | str, value: bytes | float) -> None:
    """The same of many. Two commands."""
    pipe.send("HSETNX", _values_of(key), name, value)
    pipe.expire(_values_of(key), keys.damaged.lives)


LOSSES = "losses"  # no member of a sorted set of ids


def queue_note_losses(pipe: Pipe, key: str) -> None:
    """Let `ask_damaged` say yes until all that is lost of the key is back, also in the next run. Two commands."""
    queue_keep(pipe, key, LOSSES, 1)


def queue_end_losses(pipe: Pipe, key: str) -> None:
    """All is back. One command."""
    pipe.hdel(_values_of(key), LOSSES)


def ask_damaged(pipe: Pipe, key: str) -> Result[bool]:
    """Whether a repair has moved the key away or has removed values of it, or is not finished. Two commands."""
    types = [pipe.type(name) for name in (keys.damaged(key), _values_of(key))]
    return Result(lambda: any(each.value != "none" for each in types))
