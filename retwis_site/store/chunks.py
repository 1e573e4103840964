"""Much at once: large sorted sets, a chunk at a time; many fields or keys; and writes that are collected."""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import merge
from itertools import islice
from typing import Any, TypeVar

from redis.client import NEVER_DECODE

from retwis_site.store.client import Handle, Pipe, Reply, Result, Scored, Store, answers, for_each
from retwis_site.store.ids import integer
from retwis_site.store.kinds import Kind, OfId

AT_ONCE = 500  # members
MISSING = -2  # what TTL answers without the key
AS_BYTES = {NEVER_DECODE: True}
SETS_AT_ONCE = 50  # sorted sets of which one round trip reads AT_ONCE members each

T = TypeVar("T")
V = TypeVar("V")


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items in lists of `size`; the last list may be shorter."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


SORTED_AT_ONCE = 100_000  # numbers


def in_order(numbers: "array[int]") -> Iterator[int]:
    """The numbers in ascending order. 8 bytes of memory more for each; a sorted list takes 50."""
    parts = range(0, len(numbers), SORTED_AT_ONCE)
    return merge(*(array(numbers.typecode, sorted(numbers[one : one + SORTED_AT_ONCE])) for one in parts))


def newest_first(store: Store, key: str, last: tuple[float, str] | None = None) -> Iterator[list[tuple[str, float]]]:
    """A sorted set in chunks, the highest score first; members of one score in descending order. `last`: the score and
    the member below which it begins. One round trip a chunk.

    Each read starts at the last row of the chunk before. Many rows may share its score, so its offset among them is
    counted. When rows were removed, that row has moved: then a smaller offset is tried, so no row is left out. Rows
    that are not below the last row were read before: they are dropped, so no row comes twice.
    """
    high, offset = "+inf" if last is None else f"{last[0]:.17g}", 0
    while True:
        rows = store.zrevrangebyscore_withscores(key, high, "-inf", offset, AT_ONCE)
        below = [(member, score) for member, score in rows if last is None or (score, member) < last]
        if offset and len(below) == len(rows):
            offset //= 2
            continue
        if below:
            yield below
            member, score = below[-1]
            last = (score, member)
        if len(rows) < AT_ONCE:
            return
        _, lowest = rows[-1]
        before = offset if f"{lowest:.17g}" == high else 0
        offset = before + sum(score == lowest for _, score in rows) - 1
        high = f"{lowest:.17g}"


def newest_below(store: Store, parts: Iterable[str], before: int | None, number: int) -> tuple[Scored, int | None]:
    """The newest rows of a sorted set, or those below a score: `number` of them, and the others of the last score, so
    that none is left out between two pages. Then the cursor of the next page; None on the last one. `parts`: its key;
    of one that is split by scores, all of them, the newest first. Two round trips at most."""
    high = "+inf" if before is None else f"({before}"
    asked = answers(store, lambda pipe, key: pipe.zrevrangebyscore_withscores(key, high, "-inf", 0, number + 1), parts)
    found = [(key, row) for key, rows in asked.items() for row in rows]
    rows = [row for _, row in found[:number]]
    if len(found) <= number:
        return rows, None
    key, last = found[number - 1][0], integer(rows[-1][1])
    with store.pipeline() as pipe:
        of_last = pipe.zrevrangebyscore_withscores(key, str(last), str(last), 0, AT_ONCE)
        below = pipe.zrevrangebyscore(key, f"({last}", "-inf", 1)
    is_last = not below.value and found[-1][0] == key  # else a part behind it has rows
    return [*(row for row in rows if row[1] > last), *of_last.value], None if is_last else last


def newest_first_of_each(store: Store, keys_of: Mapping[int, str]) -> Iterator[tuple[int, str, float]]:
    """The rows (id, member, score) of many sorted sets, named by ids: set after set, each as `newest_first` reads it.
    One round trip for each SETS_AT_ONCE sets, and one more for each AT_ONCE members of a set that has as many."""
    for some in batches(keys_of.items(), SETS_AT_ONCE):
        heads = answers(store, lambda pipe, one: pipe.zrevrange_withscores(one[1], 0, AT_ONCE - 1), some)
        for (number, key), head in heads.items():
            chunks = iter([head]) if len(head) < AT_ONCE else newest_first(store, key)
            for rows in chunks:
                yield from ((number, member, score) for member, score in rows)


def scanned(
    store: Store, ask: Callable[[Pipe, T, int], Handle[tuple[int, V]]], of: Iterable[T]
) -> Iterator[list[tuple[T, V]]]:
    """What many keys have, a part of each at once. `ask` asks for the part of one from a cursor on, and for the next
    cursor, as HSCAN does; 0 at the end. One round trip for the first parts of all keys; then one more for the next part
    of those that have more, and so on."""
    asked = dict.fromkeys(of, 0)
    while asked:
        found = answers(store, lambda pipe, at: ask(pipe, *at), asked.items())
        yield [(one, part) for (one, _), (_, part) in found.items()]
        asked = {one: cursor for (one, _), (cursor, _) in found.items() if cursor}


def ask_part(pipe: Pipe, type_: str, key: str, cursor: int) -> Handle[tuple[int, Any]]:
    """For `scanned`, of a key of this type: a dict of fields, members with scores, entries, or a string. All in bytes,
    as the store has them."""
    if type_ in {"hash", "zset"}:
        return pipe.send("HSCAN" if type_ == "hash" else "ZSCAN", key, cursor, "COUNT", AT_ONCE, **AS_BYTES)
    if type_ == "list":
        entries = pipe.send("LRANGE", key, cursor, cursor + AT_ONCE - 1, **AS_BYTES)
        return Result(lambda: (cursor + AT_ONCE if len(entries.value) == AT_ONCE else 0, entries.value))
    text = pipe.get_bytes(key)
    return Result(lambda: (0, text.value))


def emptied(store: Store, key: str) -> Iterator[list[str]]:
    """The first AT_ONCE members of a sorted set, the lowest scores first, again and again until the set is empty. The
    caller removes each chunk from the set, after what it leads to: after a kill, the set still leads there. One round
    trip a chunk."""
    while members := store.zrange(key, 0, AT_ONCE - 1):
        yield members


def remove_members(store: Store, key: str, members: Iterable[str]) -> None:
    """Remove these from a sorted set. One round trip; none without any."""
    for_each(store, lambda pipe, member: pipe.zrem(key, member), members)


def heads(store: Store, keys_of: Mapping[int, str]) -> list[tuple[int, str]]:
    """The first members of many sorted sets, named by ids: at most AT_ONCE rows (id, member) together. Two round trips;
    one when all sets are empty."""
    sizes = answers(store, lambda pipe, one: pipe.zcard(one[1]), keys_of.items())
    room = AT_ONCE
    asked: list[tuple[int, Reply[list[str]]]] = []
    with store.pipeline() as pipe:
        for (number, key), size in sizes.items():
            some = min(size, room)
            if some:
                asked.append((number, pipe.zrange(key, 0, some - 1)))
            room -= some
    return [(number, member) for number, members in asked for member in members.value]


def remove_unchanged(store: Store, key: str, read: Mapping[str, str]) -> list[str]:
    """Remove fields of a hash that were read as these texts. Returns those that have another text by now, which stays.
    One round trip, one more where that comes meanwhile; none without any.

    No command removes a field only if it has a text. So each is read in the round trip that removes it, and another
    text is put back, unless a newer one is there."""
    with store.pipeline() as pipe:
        removed = {name: pipe.hget(key, name) for name in read}
        for name in read:
            pipe.hdel(key, name)
    others = {name: text for name, reply in removed.items() if (text := reply.value) is not None and text != read[name]}
    with store.pipeline() as pipe:
        for name, text in others.items():
            pipe.hsetnx(key, name, text)
    return [*others]


def ask_has_keys(pipe: Pipe, number: int, kinds: Iterable[Kind]) -> Result[bool]:
    """Whether a user or a post with this id has a key of these kinds. One command for each kind.

    Where several servers share the keys, one may lose a user's or a post's hash, and the counter that gave the id. The
    others still have the rest."""
    lives = [pipe.ttl(kind(number)) for kind in kinds if isinstance(kind, OfId)]
    return Result(lambda: any(one.value != MISSING for one in lives))


# ---- Writes that are collected, so that many of them are one command.


class Writes:
    """Fields of hashes and members of sorted sets: one command for each key, all in one round trip."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.pipe = store.pipeline()  # for other commands
        self._fields: dict[str, dict[str, str]] = defaultdict(dict)  # by key
        self._scores: dict[str, dict[str, float]] = defaultdict(dict)

    def hset(self, key: str, fields: Mapping[str, str]) -> None:
        self._fields[key].update(fields)

    def zadd(self, key: str, scores: Mapping[str, float]) -> None:
        self._scores[key].update(scores)

    def execute(self) -> None:
        """One round trip; none when nothing was collected."""
        for key, fields in self._fields.items():
            if fields:
                self.pipe.hset(key, fields)
        for key, scores in self._scores.items():
            if scores:
                self.pipe.zadd(key, scores)
        self.pipe.execute()
