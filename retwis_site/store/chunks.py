"""Large sorted sets, a chunk at a time."""

from collections.abc import Iterator, Sequence

from retwis_site.store.client import Store

AT_ONCE = 500  # members


def newest_first(store: Store, key: str) -> Iterator[list[tuple[str, float]]]:
    """A sorted set in chunks, the highest score first; members of one score in descending order. One round trip
    a chunk.

    Each chunk begins with the last row of the one before. Any number of rows may have its score, so the number of rows
    read with that score tells where it is. When it is not there, because rows have gone, more is read again: no row is
    left out. A row that does not come below the last one was read before: no row comes twice.
    """
    last: tuple[float, str] | None = None
    high, offset = "+inf", 0
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


def first_members(store: Store, key: str) -> list[str]:
    """The first chunk of a sorted set, the lowest scores; empty without the set. One round trip."""
    return store.zrange(key, 0, AT_ONCE - 1)


def remove_members(store: Store, key: str, members: Sequence[str]) -> None:
    """Remove a chunk of members. One round trip."""
    pipe = store.pipeline()
    for member in members:
        pipe.zrem(key, member)
    pipe.execute()
