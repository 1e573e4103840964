"""Large sorted sets, a chunk at a time."""

from collections.abc import Iterator, Sequence

from retwis_site.store.client import Store

AT_ONCE = 500  # members


def newest_first(store: Store, key: str) -> Iterator[list[tuple[str, float]]]:
    """A sorted set in chunks, the highest score first; members of one score in descending order. One round trip
    a chunk.

    Each read starts at the last row of the chunk before. Many rows may share its score, so its offset among them is
    counted. When rows were removed, that row has moved: then a smaller offset is tried, so no row is left out. Rows
    that are not below the last row were read before: they are dropped, so no row comes twice.
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
    """The members with the lowest scores, at most AT_ONCE; empty without the set. One round trip."""
    return store.zrange(key, 0, AT_ONCE - 1)


def remove_members(store: Store, key: str, members: Sequence[str]) -> None:
    """Remove these members from a sorted set. One round trip."""
    pipe = store.pipeline()
    for member in members:
        pipe.zrem(key, member)
    pipe.execute()
